#!/usr/bin/env bash
# Prints the path of cargo-deny, building it once into the user's cache.
set -euo pipefail
version=0.20.2
root="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}/cargo-deny-$version"
if [ ! -x "$root/bin/cargo-deny" ]; then
  echo "building cargo-deny $version into $root (about two minutes, once)" >&2
  CARGO_TARGET_DIR="$root/build" cargo install --quiet --locked --root "$root" --version "$version" cargo-deny >&2
  rm -rf "$root/build"
fi
echo "$root/bin/cargo-deny"

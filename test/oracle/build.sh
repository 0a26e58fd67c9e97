#!/usr/bin/env bash
# Prints the path of the reference translator's program, building it once into the user's cache. The
# version and every module under it are pinned by tools/go.mod and tools/go.sum.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$(awk '$1 == "k8s.io/csi-translation-lib" { print $2 }' "$here/tools/go.mod")"
# The program is ours, so its own text is part of what the cached one was built from.
source="$(cat "$here"/tools/*.go "$here/tools/go.mod" "$here/tools/go.sum" | sha256sum | cut -c1-16)"
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
binary="$cache/translation-oracle-$version-$source"

if [ -x "$binary" ]; then
  echo "$binary"
  exit 0
fi
mkdir -p "$cache"

go="$("$here/../setup/go.sh")"
echo "building the translation oracle $version into $cache with $("$go" env GOVERSION) (about a minute, once)" >&2
part="$(mktemp "$binary.XXXXXX")"
trap 'rm -f "$part"' EXIT
(
  cd "$here/tools"
  CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS= GOWORK=off \
    "$go" build -mod=readonly -trimpath -buildvcs=false -o "$part" .
)
chmod 0755 "$part"
mv "$part" "$binary"
trap - EXIT
echo "$binary"

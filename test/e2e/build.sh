#!/usr/bin/env bash
# Prints the path of a program of the cluster suite, building it once into the user's cache. Versions, and
# every module under them, are pinned by the go.mod and go.sum of the modules in tools/.
#   build.sh PROGRAM...    one path a line (`build.sh --list` names the programs)
#   build.sh --all         a folder that holds a link per program, for PATH
# A build is cold once: about twenty minutes for everything on two cores, a few minutes a module.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"

# program|module in tools/|the module whose version names it|package|how long
programs=(
  'etcd|etcd|go.etcd.io/etcd/server/v3|.|half a minute'
  'containerd|containerd|github.com/containerd/containerd/v2|*/cmd/containerd|a minute'
  'containerd-shim-runc-v2|containerd|github.com/containerd/containerd/v2|*/cmd/containerd-shim-runc-v2|seconds'
  'ctr|containerd|github.com/containerd/containerd/v2|*/cmd/ctr|seconds'
  'runc|runc|github.com/opencontainers/runc|*|seconds'
  'bridge|cni|github.com/containernetworking/plugins|*/plugins/main/bridge|seconds'
  'loopback|cni|github.com/containernetworking/plugins|*/plugins/main/loopback|seconds'
  'host-local|cni|github.com/containernetworking/plugins|*/plugins/ipam/host-local|seconds'
  'kube-apiserver|kubernetes|k8s.io/kubernetes|*/cmd/kube-apiserver|four minutes'
  'kube-controller-manager|kubernetes|k8s.io/kubernetes|*/cmd/kube-controller-manager|a minute'
  'kube-scheduler|kubernetes|k8s.io/kubernetes|*/cmd/kube-scheduler|half a minute'
  'kubelet|kubernetes|k8s.io/kubernetes|*/cmd/kubelet|two minutes'
  'kubectl|kubernetes|k8s.io/kubernetes|*/cmd/kubectl|half a minute'
  'csi-provisioner|sidecars|github.com/kubernetes-csi/external-provisioner/v6|*/cmd/csi-provisioner|two minutes'
  'csi-attacher|sidecars|github.com/kubernetes-csi/external-attacher/v4|*/cmd/csi-attacher|seconds'
  'csi-resizer|sidecars|github.com/kubernetes-csi/external-resizer/v2|*/cmd/csi-resizer|seconds'
  'csi-snapshotter|sidecars|github.com/kubernetes-csi/external-snapshotter/v8|*/cmd/csi-snapshotter|seconds'
  'snapshot-controller|sidecars|github.com/kubernetes-csi/external-snapshotter/v8|*/cmd/snapshot-controller|seconds'
)

# version MODULE-FOLDER MODULE: as the folder's go.mod requires it
version() {
  awk -v module="$2" '$1 == module && $2 != "=>" { print $2; exit } $2 == module { print $3; exit }' "$here/tools/$1/go.mod"
}

# Tags, linker flags and environment of one program, one `go build` argument a line.
flags_of() {
  local folder="$1" version="$2" gv=k8s.io/component-base/version
  local stripped='-s -w'
  case "$folder" in
    # Without a version the server calls itself v0.0.0, and clients refuse it.
    kubernetes)
      printf '%s\n' -ldflags "$stripped -X $gv.gitVersion=$version -X $gv.gitMajor=1 -X $gv.gitMinor=$(cut -d. -f2 <<<"$version") -X $gv.gitTreeState=clean"
      ;;
    sidecars) printf '%s\n' -ldflags "$stripped -X main.version=$version" ;;
    containerd)
      printf '%s\n' -tags 'no_btrfs no_devmapper no_zfs osusergo netgo' \
        -ldflags "$stripped -X github.com/containerd/containerd/v2/version.Version=$version"
      ;;
    # It filters system calls for every pod that is not privileged, so it needs the C library for that.
    runc) printf '%s\n' -tags 'seccomp osusergo netgo' -ldflags "$stripped -extldflags -static -X main.version=${version#v}" ;;
    *) printf '%s\n' -ldflags "$stripped" ;;
  esac
}

seccomp_headers() {
  pkg-config --exists libseccomp 2>/dev/null && return
  if ! command -v apt-get >/dev/null; then
    echo "runc needs the headers of libseccomp and pkg-config: install them with this system's package manager" >&2
    return 1
  fi
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing system packages: libseccomp-dev pkg-config" >&2
  "${as_root[@]}" apt-get -qq update >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends libseccomp-dev pkg-config >/dev/null
}

# build PROGRAM: prints the path
build() {
  local line name folder module package time version binary part go cgo=0 flags started
  line="$(printf '%s\n' "${programs[@]}" | grep "^$1|")" || { echo "build.sh: no program $1" >&2; return 1; }
  IFS='|' read -r name folder module package time <<<"$line"
  version="$(version "$folder" "$module")"
  package="${package/#\*/$module}"
  binary="$cache/e2e/$name-$version"
  if ! [ -x "$binary" ]; then
    go="$("$here/../setup/go.sh")"
    if [ "$folder" = runc ]; then
      seccomp_headers || return 1
      cgo=1
    fi
    mkdir -p "$cache/e2e"
    echo "building $name $version into $cache/e2e ($time, once)" >&2
    started=$SECONDS
    part="$(mktemp "$binary.XXXXXX")"
    mapfile -t flags < <(flags_of "$folder" "$version")
    (
      cd "$here/tools/$folder"
      CGO_ENABLED=$cgo GOTOOLCHAIN=local GOFLAGS= GOWORK=off nice -n "${BUILD_NICE:-10}" \
        "$go" build -mod="${BUILD_MOD:-readonly}" -p "${BUILD_JOBS:-2}" -trimpath -buildvcs=false \
        "${flags[@]}" -o "$part" "$package" >&2
    ) || { rm -f "$part"; return 1; }
    chmod 0755 "$part"
    mv "$part" "$binary"
    echo "built $name in $((SECONDS - started)) s, $(($(stat -c %s "$binary") / 1048576)) MiB" >&2
  fi
  echo "$binary"
}

case "${1:-}" in
  --list)
    printf '%s\n' "${programs[@]}" | cut -d'|' -f1
    ;;
  --all)
    mkdir -p "$cache/e2e"
    # A folder per set of versions: another checkout with other pins does not disturb a running suite.
    paths="$(for line in "${programs[@]}"; do build "${line%%|*}" || exit 1; done)"
    folder="$cache/e2e/bin-$(sha256sum <<<"$paths" | cut -c1-12)"
    mkdir -p "$folder"
    while read -r path; do
      name="$(basename "$path")"
      ln -sfn "$path" "$folder/${name%-v*}"
    done <<<"$paths"
    echo "$folder"
    ;;
  '' | -*)
    echo "build.sh: expected --list, --all or names of programs, not '${1:-}'" >&2
    exit 1
    ;;
  *)
    for name in "$@"; do build "$name"; done
    ;;
esac

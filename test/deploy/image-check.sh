#!/usr/bin/env bash
# Makes the image of a driver twice and looks at it: the same bytes, every tool starts from its content
# alone, no shell, every file accounted for, and a containerd takes the archive without an engine.
#   image-check.sh disk|file PROGRAM        as root: it enters the content, and starts a containerd
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
driver="$1" program="$2" name="azure$1-csi"
scratch="$(mktemp -d)"
daemon=''
clean() {
  if [ -n "$daemon" ]; then
    kill -TERM "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$scratch"
}
trap clean EXIT
fail() { echo "image-check: $1" >&2; exit 1; }

"$root/deploy/image/build.sh" "$driver" "$program" "$scratch/a" 1.2.3
"$root/deploy/image/build.sh" "$driver" "$program" "$scratch/b" 1.2.3 >/dev/null
diff -r "$scratch/a" "$scratch/b" || fail "the same content made other bytes"

mkdir "$scratch/root"
tar -C "$scratch/root" -xf "$scratch/a/rootfs.tar"
mapfile -t tools < <(grep -v '^#' "$root/deploy/image/tools-$driver.txt")
if [ "$driver" = disk ]; then
  # The list is the one of the code.
  diff <(printf '%s\n' "${tools[@]}") <(sed -n '/^pub const NAMES/,/\];/s/^ *"\(.*\)",$/\1/p' "$root/common/host/src/tools.rs") ||
    fail "tools-disk.txt and common/host/src/tools.rs name other tools"
fi
starts() { chroot "$scratch/root" "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "$1 does not start"; }; }
for tool in "${tools[@]}"; do
  case "$tool" in
    # These two say their version with an error's code.
    resize2fs | e2fsck) chroot "$scratch/root" "/usr/sbin/$tool" -V >"$scratch/log" 2>&1 || true
      grep -q "$tool 1\." "$scratch/log" || fail "$tool does not start: $(cat "$scratch/log")" ;;
    btrfs) starts /usr/bin/btrfs --version ;;
    mkfs.btrfs) starts "/usr/sbin/$tool" --version ;;
    *) starts "/usr/sbin/$tool" -V ;;
  esac
done
starts "/usr/bin/$name" --version
starts "/azure${driver}plugin" --version
for shell in sh bash dash busybox; do
  [ -z "$(find "$scratch/root" -name "$shell" -print -quit)" ] || fail "there is a $shell in the image"
done
# Files of this machine have a package, or nobody knows what they are.
if awk -F'\t' '$2 == "image" && $1 !~ /^\/etc\/(passwd|group|hosts|nsswitch\.conf)$/ { print; found = 1 } END { exit !found }' \
  "$scratch/a/$name-1.2.3.sbom.tsv"; then
  fail "files of no package"
fi
[ "$(find "$scratch/root" -type f | wc -l)" -eq "$(($(wc -l <"$scratch/a/$name-1.2.3.sbom.tsv") - 1))" ] || fail "files that the list does not name"
echo "ok    $name: ${#tools[@]} tools and the driver start, no shell, every file has a package"

if ! command -v containerd >/dev/null || ! command -v ctr >/dev/null; then
  echo "NOT RUN: import into containerd, which is not installed"
  exit 0
fi
printf 'version = 2\nroot = "%s/c/root"\nstate = "%s/c/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\n  address = "%s/c.sock"\n' \
  "$scratch" "$scratch" "$scratch" >"$scratch/containerd.toml"
containerd --config "$scratch/containerd.toml" >"$scratch/containerd.log" 2>&1 &
daemon=$!
until ctr -a "$scratch/c.sock" version >/dev/null 2>&1; do
  kill -0 "$daemon" 2>/dev/null || fail "containerd ended: $(tail -1 "$scratch/containerd.log")"
  sleep 0.2
done
ctr -a "$scratch/c.sock" -n k8s.io images import --snapshotter native "$scratch/a/$name-1.2.3.tar" >/dev/null
ctr -a "$scratch/c.sock" -n k8s.io images check | grep "localhost/azcsi/$name:1.2.3" | grep -q complete || fail "containerd does not know the image"
echo "ok    $name: containerd $(containerd --version | cut -d' ' -f3) has the image as localhost/azcsi/$name:1.2.3"

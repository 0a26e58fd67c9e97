#!/usr/bin/env bash
# Installs the system packages that the demo and the tests run: a linker, and the tools that make,
# check, grow and mount filesystems. Does nothing where they are present.
set -euo pipefail

declare -A package_of=(
  [cc]=gcc
  [make]=make
  [mkfs.ext4]=e2fsprogs
  [mkfs.xfs]=xfsprogs
  [mkfs.btrfs]=btrfs-progs
  [blkid]=util-linux
  [mount]=mount
  [python3]=python3
  [curl]=curl
)

missing=()
for tool in "${!package_of[@]}"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" >/dev/null || missing+=("${package_of[$tool]}")
done
if PATH="$PATH:/usr/sbin" command -v python3 >/dev/null; then
  python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}. Install them with this system's package manager, then run again." >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing system packages: ${missing[*]}"
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null

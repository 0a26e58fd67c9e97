#!/usr/bin/env bash
# Installs the system packages that the node lab runs: QEMU, and the tools that make a root
# filesystem from packages. Does nothing where they are present. Where they cannot be had, it says
# so and fails: nothing but `make lab` needs them.
set -euo pipefail

declare -A package_of=(
  [qemu-system-x86_64]=qemu-system-x86
  [qemu-img]=qemu-utils
  [depmod]=kmod
  [mke2fs]=e2fsprogs
  [dpkg-deb]=dpkg
  [tar]=tar
  [strip]=binutils
)

if [ "$(uname -m)" != x86_64 ]; then
  echo "lab: this machine is $(uname -m); the node lab runs on x86_64 only" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "lab: the node lab makes its machines from packages of Debian or Ubuntu, and there is no apt-get here" >&2
  exit 1
fi

missing=()
for tool in "${!package_of[@]}"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" >/dev/null || missing+=("${package_of[$tool]}")
done
lists=(/var/lib/apt/lists/*_Packages*)
[ ${#missing[@]} -eq 0 ] && [ -e "${lists[0]}" ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "lab: missing: ${missing[*]}. Install them as root: apt-get update; apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get -qq update
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing system packages: ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null

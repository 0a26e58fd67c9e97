#!/usr/bin/env bash
# Installs the system packages that the cluster suite runs: namespaces, networks, keys, and a static
# busybox for its pods. Does nothing where they are present.
set -euo pipefail

declare -A package_of=(
  [unshare]=util-linux
  [losetup]=mount
  [ip]=iproute2
  [openssl]=openssl
  [busybox]=busybox-static
)

missing=()
for tool in "${!package_of[@]}"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "$tool" >/dev/null || missing+=("${package_of[$tool]}")
done
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

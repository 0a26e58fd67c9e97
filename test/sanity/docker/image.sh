#!/usr/bin/env bash
# Makes a container image that holds some programs of this machine, the libraries that they load, and
# nothing else: no shell, no package manager. The images of the drivers are made of the same content.
#   image.sh NAME ENTRYPOINT PROGRAM...
# NAME is the image, ENTRYPOINT the program that it starts, and each PROGRAM a file or the name of one.
# The engine is the one that DOCKER_HOST names.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
name="$1" entry="$2"
shift 2

root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
"$here/../../../deploy/image/root.sh" "$root" "$@"
# Nothing here has a name in the world.
echo 'hosts: files' >"$root/etc/nsswitch.conf"

tar -C "$root" --numeric-owner --owner=0 --group=0 -c . |
  docker import -c "ENTRYPOINT [\"$entry\"]" -c 'ENV PATH=/usr/sbin:/usr/bin' - "$name" >/dev/null
echo "image $name: $(du -sh "$root" | cut -f1), $(find "$root" -type f | wc -l) files"

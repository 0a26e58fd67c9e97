#!/usr/bin/env bash
# Makes a container image that holds some programs of this machine, the libraries that they load, and
# nothing else: no shell, no package manager.
#   image.sh NAME ENTRYPOINT PROGRAM...
# NAME is the image, ENTRYPOINT the program that it starts, and each PROGRAM a file or the name of one.
# The engine is the one that DOCKER_HOST names.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
name="$1" entry="$2"
shift 2

root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,etc,proc,run,sys,tmp,usr/bin,usr/sbin,usr/lib,usr/lib64,var}
for folder in sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
rmdir "$root/bin" && ln -s usr/bin "$root/bin"
chmod 1777 "$root/tmp"
echo 'root:x:0:0:root:/:/nonexistent' >"$root/etc/passwd"
echo 'hosts: files' >"$root/etc/nsswitch.conf"
printf '127.0.0.1\tlocalhost\n' >"$root/etc/hosts"

# A file under its own path; links are followed, so that each name is a file of its own.
copy() {
  local to="$root$1"
  [ -e "$to" ] && return
  mkdir -p "$(dirname "$to")"
  cp -L "$1" "$to"
}

libraries() {
  # A static program has none; ldd says so with an error.
  { ldd "$1" 2>/dev/null || true; } | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
}

for program in "$@"; do
  path="$(command -v "$program")" || { echo "image.sh: no program '$program' on this machine" >&2; exit 1; }
  path="$(realpath -s "$path")"
  if [ "$(head -c 2 "$path")" = '#!' ]; then
    echo "image.sh: $path is a script, and the image has no interpreter" >&2
    exit 1
  fi
  case "$path" in
    /usr/* | /sbin/* | /bin/*) copy "$path" ;;
    # Built here: its folder is nobody's business.
    *) cp -L "$path" "$root/usr/bin/$(basename "$path")" ;;
  esac
  for library in $(libraries "$path"); do copy "$library"; done
done
# The formatter's own defaults, and the authorities that TLS clients trust.
for file in /etc/mke2fs.conf /etc/ssl/certs/ca-certificates.crt; do
  [ -e "$file" ] || { echo "image.sh: $file is missing: apt-get install e2fsprogs ca-certificates" >&2; exit 1; }
  copy "$file"
done

tar -C "$root" --numeric-owner --owner=0 --group=0 -c . |
  docker import -c "ENTRYPOINT [\"$entry\"]" -c 'ENV PATH=/usr/sbin:/usr/bin' - "$name" >/dev/null
echo "image $name: $(du -sh "$root" | cut -f1), $(find "$root" -type f | wc -l) files"

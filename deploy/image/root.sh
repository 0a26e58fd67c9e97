#!/usr/bin/env bash
# Fills a folder with what an image holds: some programs of this machine, the libraries that they load,
# and nothing else: no shell, no package manager.
#   root.sh FOLDER PROGRAM...
# Each PROGRAM is a file or the name of one. A program that no package brought goes to /usr/bin.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
root="$1"
shift

mkdir -p "$root"/{dev,etc,proc,run,sys,tmp,usr/bin,usr/sbin,usr/lib,usr/lib64,var}
for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
chmod 1777 "$root/tmp"
printf 'root:x:0:0:root:/:/nonexistent\nnonroot:x:65532:65532:nonroot:/:/nonexistent\n' >"$root/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$root/etc/hosts"

# A file at its real place, and its name as a link to it.
copy() {
  local name real
  # The folders of the image are those of a system where /bin is a link.
  name="$(sed -E 's#^/(s?bin|lib|lib64)/#/usr/\1/#' <<<"$1")"
  real="$(realpath "$1")"
  if ! [ -e "$root$real" ]; then
    mkdir -p "$root$(dirname "$real")"
    cp "$real" "$root$real"
  fi
  if ! [ -e "$root$name" ]; then
    mkdir -p "$root$(dirname "$name")"
    ln -s "$real" "$root$name"
  fi
}

libraries() {
  # A static program has none; ldd says so with an error.
  { ldd "$1" 2>/dev/null || true; } | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'
}

for program in "$@"; do
  path="$(command -v "$program")" || { echo "root.sh: no program '$program' on this machine" >&2; exit 1; }
  path="$(realpath -s "$path")"
  if [ "$(head -c 2 "$path")" = '#!' ]; then
    echo "root.sh: $path is a script, and the image has no interpreter" >&2
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
  [ -e "$file" ] || { echo "root.sh: $file is missing: apt-get install e2fsprogs ca-certificates" >&2; exit 1; }
  copy "$file"
done

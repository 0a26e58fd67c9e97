#!/usr/bin/env bash
# Makes the images of the suite as archives for `ctr images import`: the sidecars, a shell for pods. It
# pulls nothing, and needs neither an engine nor root.
#   images.sh PROGRAMS FOLDER     PROGRAMS: the folder of the programs that build.sh prints
# An image is one layer of static files. Its name is localhost/azcsi/NAME:e2e.
set -euo pipefail
programs="$1"
mkdir -p "$2"
to="$(realpath "$2")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# pack NAME ENTRYPOINT: the image of what is in $work/root
pack() {
  local name="$1" entry="$2" layer config
  tar --sort=name --mtime=@0 --numeric-owner --owner=0 --group=0 --format=gnu -C "$work/root" -cf "$work/layer.tar" .
  layer="$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)"
  printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":%s,"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$entry" "$layer" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["localhost/azcsi/%s:e2e"],"Layers":["layer.tar"]}]' "$name" >"$work/manifest.json"
  tar -C "$work" -cf "$to/$name.tar" manifest.json config.json layer.tar
  rm -rf "$work/root" "$work/layer.tar"
}

fresh() {
  mkdir -p "$work/root"/{bin,dev,etc,proc,run,sys,tmp,var}
  chmod 1777 "$work/root/tmp"
  printf 'root:x:0:0:root:/:/bin/sh\n' >"$work/root/etc/passwd"
  printf 'root:x:0:\n' >"$work/root/etc/group"
}

for name in csi-provisioner csi-attacher csi-resizer csi-snapshotter snapshot-controller; do
  fresh
  cp -L "$programs/$name" "$work/root/bin/$name"
  pack "$name" "[\"/bin/$name\"]"
done
fresh
busybox="$(command -v busybox)" || { echo "images.sh: busybox is missing: apt-get install busybox-static" >&2; exit 1; }
if ldd "$busybox" >/dev/null 2>&1; then echo "images.sh: $busybox is not static: apt-get install busybox-static" >&2; exit 1; fi
cp "$busybox" "$work/root/bin/busybox"
for applet in $("$busybox" --list); do
  [ "$applet" = busybox ] || ln -s busybox "$work/root/bin/$applet"
done
# With no command it does nothing for ever: so it is the image of pods' sandboxes too.
pack busybox '["/bin/sleep","2147483647"]'

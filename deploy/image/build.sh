#!/usr/bin/env bash
# Makes the image of a driver from its program and the filesystem tools of this machine. It pulls
# nothing, and needs neither an engine nor root.
#   build.sh disk|file PROGRAM FOLDER [VERSION]
# FOLDER then holds, for NAME azuredisk-csi or azurefile-csi:
#   NAME-VERSION.tar         the image, for `ctr images import`, `docker load`, `podman load`
#   NAME-VERSION.sbom.tsv    every file in it: path, package, version, SHA-256
#   rootfs.tar, Containerfile    the same content for a builder: `podman build FOLDER`
# The same program and packages make the same bytes; SOURCE_DATE_EPOCH is the time that they bear.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
case "${1:-}" in
  disk | file) driver="$1" name="azure$1-csi" ;;
  *) echo "build.sh: expected disk or file, a program and a folder" >&2; exit 1 ;;
esac
program="$2"
mkdir -p "$3"
to="$(realpath "$3")"
version="${4:-$(sed -n 's/^appVersion: "\(.*\)"$/\1/p' "$here/../charts/$driver/Chart.yaml")}"
time="@${SOURCE_DATE_EPOCH:-0}"
[ "$(basename "$program")" = "$name" ] || { echo "build.sh: the program is to be called $name" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
root="$work/root" layout="$work/layout"
mapfile -t tools < <(grep -v '^#' "$here/tools-$driver.txt")
mkdir "$root"
"$here/root.sh" "$root" "$(realpath "$program")" "${tools[@]}"
# Where manifests of the driver that this one replaces look for the program.
ln -s "usr/bin/$name" "$root/azure${driver}plugin"

# The package that brought a file of this machine, and its version. Its list may know the file by its
# place before /bin became a link.
package() {
  local found
  found="$(dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}" 2>/dev/null || true)"
  found="$(head -1 <<<"$found")"
  found="${found%%: *}"
  if [ -n "$found" ]; then
    printf '%s\t%s' "${found%%:*}" "$(dpkg-query -W -f '${Version}' "$found")"
  else
    printf '%s\t%s' "$2" "$version"
  fi
}

sbom="$to/$name-$version.sbom.tsv"
printf 'path\tpackage\tversion\tsha256\n' >"$sbom"
while read -r file; do
  case "$file" in
    "/usr/bin/$name") owner="$(printf '%s\t%s' "$name" "$version")" ;;
    /etc/passwd | /etc/group | /etc/nsswitch.conf | /etc/hosts) owner="$(printf 'image\t%s' "$version")" ;;
    /etc/ssl/certs/ca-certificates.crt) owner="$(package /usr/sbin/update-ca-certificates image)" ;;
    *) owner="$(package "$file" image)" ;;
  esac
  printf '%s\t%s\t%s\n' "$file" "$owner" "$(sha256sum <"$root$file" | cut -d' ' -f1)" >>"$sbom"
done < <(cd "$root" && find . -type f | sed 's/^\.//' | LC_ALL=C sort)

pack() { tar --sort=name --mtime="$time" --numeric-owner --owner=0 --group=0 --format=gnu -C "$1" -cf "$2" .; }
pack "$root" "$to/rootfs.tar"

# An image layout (OCI image specification 1.1) with the index that `docker load` reads beside it.
blobs="$layout/blobs/sha256"
mkdir -p "$blobs"
size() { stat -c %s "$1"; }
# Stores a file under its hash, and prints the hash.
store() {
  local hash
  hash="$(sha256sum <"$1" | cut -d' ' -f1)"
  mv "$1" "$blobs/$hash"
  echo "$hash"
}
case "$(uname -m)" in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch="$(uname -m)" ;; esac
created="$(date --utc --date="$time" +%Y-%m-%dT%H:%M:%SZ)"
cp "$to/rootfs.tar" "$work/layer"
layer="$(store "$work/layer")"
printf '{"created":"%s","architecture":"%s","os":"linux","config":{"Entrypoint":["/usr/bin/%s"],"Env":["PATH=/usr/sbin:/usr/bin"],"Labels":{"org.opencontainers.image.version":"%s"}},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"%s"}]}' \
  "$created" "$arch" "$name" "$version" "$layer" "$created" >"$work/config"
config_size="$(size "$work/config")"
config="$(store "$work/config")"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%s},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:%s","size":%s}]}' \
  "$config" "$config_size" "$layer" "$(size "$blobs/$layer")" >"$work/manifest"
manifest_size="$(size "$work/manifest")"
manifest="$(store "$work/manifest")"
full="localhost/azcsi/$name:$version"
echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%s,"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
  "$manifest" "$manifest_size" "$full" "$version" >"$layout/index.json"
printf '[{"Config":"blobs/sha256/%s","RepoTags":["%s"],"Layers":["blobs/sha256/%s"]}]' "$config" "$full" "$layer" >"$layout/manifest.json"
pack "$layout" "$to/$name-$version.tar"
cp "$here/Containerfile.$driver" "$to/Containerfile"

beyond="$(awk -F'\t' -v name="$name" 'NR > 1 && $2 == name { print $1 }' "$sbom" | while read -r file; do size "$root$file"; done | awk '{ all += $1 } END { printf "%.1f", all / 1048576 }')"
echo "$full: $(du -sh --apparent-size "$root" | cut -f1), of which the driver $beyond MiB; $(($(wc -l <"$sbom") - 1)) files, image sha256:$manifest"

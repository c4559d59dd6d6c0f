#!/bin/sh
# Makes an image of the program that release/build.sh has built, as an OCI layout in a tar, and prints its digest:
# release/image.sh x86_64|aarch64 PROGRAM ARCHIVE. The same program gives the same digest. It needs buildah, zstd,
# Python, and certificate authorities at /etc/ssl/certs/ca-certificates.crt (Debian: buildah, zstd, ca-certificates).
set -eu
[ $# = 3 ] || { echo "usage: $0 x86_64|aarch64 PROGRAM ARCHIVE" >&2; exit 2; }
machine=$1 program=$(realpath "$2") archive=$(realpath -m "$3")
cd "$(dirname "$0")/.."
case $machine in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

folder=$(mktemp -d)
# Without root, the storage has files of other users, which only the namespace that made them may remove.
trap 'rm -rf "$folder" 2>/dev/null || command buildah unshare rm -rf "$folder"' EXIT
root=$folder/root
mkdir -p "$root/etc/ssl/certs" "$root/licenses"
cp "$program" "$root/catalogql"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'catalogql:x:65532:65532::/:/nonexistent' >"$root/etc/passwd"
echo 'catalogql:x:65532:' >"$root/etc/group"
cp LICENSE "$root/licenses/"
release/third_party.py licenses.gz "$machine" >"$root/licenses/third-party.txt.gz"
release/third_party.py sbom "$machine" >"$root/sbom.cdx.json"
chmod -R u=rwX,go=rX "$root"
chmod 755 "$root/catalogql"

buildah() {
  command buildah --root "$folder/storage" --runroot "$folder/run" --storage-driver vfs "$@"
}
buildah build --quiet --isolation chroot --arch "$architecture" --timestamp "$SOURCE_DATE_EPOCH" --format oci \
  --build-arg VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)" \
  --build-arg COMMIT="$(git rev-parse HEAD)" --file release/Containerfile --tag catalogql "$folder" >&2
buildah push --quiet catalogql "oci:$folder/layout:latest" >&2
# Runtimes of every Kubernetes that the manifests need know zstd; gzip is a sixth larger.
release/compress_layers.py "$folder/layout"
tar --create --file "$archive" --directory "$folder/layout" --sort name --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 \
  --numeric-owner blobs index.json oci-layout

#!/bin/sh
# Checks an image that release/image.py has made, on this machine: release/check.sh ARCHIVE. It has to be small, and its
# root file system alone has to serve the example, read-only, as a user that nobody knows, without /dev, /proc, /tmp and
# network. It needs root, skopeo, tar, zstd and curl.
set -eu
[ $# = 1 ] || { echo "usage: $0 ARCHIVE" >&2; exit 2; }
archive=$(realpath "$1")
cd "$(dirname "$0")/.."
MAX_COMPRESSED=12000000
MAX_UNPACKED=26000000

if [ -z "${CATALOGQL_UNSHARED:-}" ]; then
  CATALOGQL_UNSHARED=1 exec unshare --mount --net "$0" "$archive"
fi
folder=$(mktemp -d)
trap 'umount -R "$folder/root" 2>/dev/null; rm -rf "$folder"' EXIT
fail() {
  echo "error: $1" >&2
  exit 1
}

mkdir "$folder/image" "$folder/root"
tar --extract --file "$archive" --directory "$folder/image"
compressed=0
for layer in $(skopeo inspect --format '{{range .Layers}}{{.}} {{end}}' "oci-archive:$archive"); do
  blob=$folder/image/blobs/sha256/${layer#sha256:}
  compressed=$((compressed + $(stat --format %s "$blob")))
  zstd --decompress --stdout --quiet "$blob" | tar --extract --directory "$folder/root"
done
unpacked=$(find "$folder/root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
echo "compressed: $compressed bytes, unpacked: $unpacked bytes"
for file in etc/ssl/certs/ca-certificates.crt licenses/third-party.txt.gz sbom.cdx.json; do
  [ -s "$folder/root/$file" ] || fail "the image has no $file"
done

# The mount points are made before the root is read-only.
mkdir "$folder/root/catalog" "$folder/root/store"
mount --bind "$folder/root" "$folder/root"
mount --bind examples/catalog "$folder/root/catalog"
mount --types tmpfs --options mode=1777,size=64m none "$folder/root/store"
mount --options remount,bind,ro "$folder/root"
mount --options remount,bind,ro "$folder/root/catalog"
ip link set lo up
chroot --userspec 1000660000:0 "$folder/root" /catalogql serve example=/catalog --store /store \
  >"$folder/stdout" 2>"$folder/stderr" &
served=$!
answer() {
  curl --silent http://127.0.0.1:8080/graphql --header 'content-type: application/json' \
    --data '{"query":"{ packages { totalCount } }"}'
}
tries=0
until [ "$(answer)" = '{"data":{"packages":{"totalCount":5}}}' ]; do
  tries=$((tries + 1))
  { [ $tries -lt 100 ] && kill -0 $served; } || { cat "$folder/stderr" >&2; fail 'the example is not served'; }
  sleep 0.1
done
! grep --quiet ' rwx' "/proc/$served/maps" || fail 'the program has memory that is writable and executable'
kill -TERM $served
wait $served || fail "the program ended with $?"
echo 'the example is served from the root file system alone'
[ "$compressed" -le $MAX_COMPRESSED ] || fail "the image is larger than $MAX_COMPRESSED bytes"
[ "$unpacked" -le $MAX_UNPACKED ] || fail "the root file system is larger than $MAX_UNPACKED bytes"

#!/bin/sh
# Prints the folder of opm and catalogd, in the user's cache, into which they are built once at the versions of go.mod and
# catalogd.mod.
set -eu
cd "$(dirname "$0")"

pins=$(cat ./*.mod ./*.sum build.sh | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/publish/$pins"
if [ -x "$folder/catalogd" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building opm and catalogd into $folder" >&2
mkdir -p "$folder"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not. The tags leave out what needs libraries in C.
export GOTOOLCHAIN=auto CGO_ENABLED=0
tags=containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -tags "$tags" -o "$new/" tool
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -tags "$tags" -modfile=catalogd.mod -o "$new/" tool
mv "$new/opm" "$folder"
# The last one, which says that both are there.
mv "$new/catalogd" "$folder"
echo "$folder"

#!/bin/sh
# Prints the path of the recorder, in the user's cache, into which it is built once at the versions of go.mod.
set -eu
cd "$(dirname "$0")"

pins=$(cat go.mod go.sum main.go build.sh | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/mirror/$pins"
if [ -x "$folder/recorder" ]; then
  echo "$folder/recorder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building the recorder into $folder" >&2
mkdir -p "$folder"
# A Go that is older than go.mod asks for downloads one that is not. The tags leave out what needs libraries in C.
export GOTOOLCHAIN=auto CGO_ENABLED=0
tags=containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -tags "$tags" -o "$folder/recorder.new" .
mv "$folder/recorder.new" "$folder/recorder"
echo "$folder/recorder"

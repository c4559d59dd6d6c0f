#!/bin/sh
# Prints the folder of the clients of gRPC that tests run, in the user's cache, into which they are built once at the
# versions of go.mod: grpcurl and grpc-health-probe. That took two minutes on two busy cores.
#
# usage: build.sh [--where]
# --where   only prints the folder, whether they are there or not
set -eu
cd "$(dirname "$0")"

pins=$(cat go.mod go.sum build.sh | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/grpc-tools/$pins"
if [ "${1:-}" = --where ] || [ -x "$folder/grpcurl" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building grpcurl and grpc-health-probe into $folder" >&2
mkdir -p "$folder"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not.
export GOTOOLCHAIN=auto CGO_ENABLED=0
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new/" tool
mv "$new/grpc-health-probe" "$folder"
# The last one, which says that both are there.
mv "$new/grpcurl" "$folder"
echo "$folder"

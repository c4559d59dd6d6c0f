#!/bin/sh
# Prints the folder of the programs that sign and judge, in the user's cache, into which they are built once at the versions of
# go.mod, cosign2.mod and cosign3.mod.
set -eu
cd "$(dirname "$0")"

pins=$(cat ./*.mod ./*.sum main.go build.sh | sha256sum | cut -c -16)
folder="${CATALOGQL_UPSTREAM:-${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/upstream}/signatures/$pins"
if [ -x "$folder/cosign2" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building cosign 2, cosign 3 and the library of podman into $folder (20 minutes on two busy cores)" >&2
mkdir -p "$folder"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not. The tags leave out what needs libraries in C.
export GOTOOLCHAIN=auto CGO_ENABLED=0
tags=containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper
build() {
  nice go build -trimpath -buildvcs=false -ldflags '-s -w' "$@"
}
build -tags "$tags" -o "$new/containers" .
build -modfile=cosign3.mod -o "$new/cosign3" github.com/sigstore/cosign/v3/cmd/cosign
build -modfile=cosign2.mod -o "$new/cosign2" github.com/sigstore/cosign/v2/cmd/cosign
mv "$new/containers" "$new/cosign3" "$folder"
# The last one, which says that all are there.
mv "$new/cosign2" "$folder"
echo "$folder"

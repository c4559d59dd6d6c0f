#!/bin/sh
# Prints the folder of oauth2-proxy and a provider of OpenID Connect, in the user's cache, into which they are built once at the
# versions of go.mod.
set -eu
cd "$(dirname "$0")"

pins=$(cat main.go go.mod go.sum build.sh | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/oauth2-proxy/$pins"
if [ -x "$folder/oauth2-proxy" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building oauth2-proxy and a provider into $folder" >&2
mkdir -p "$folder"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not.
export GOTOOLCHAIN=auto CGO_ENABLED=0
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new/provider" .
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new/" tool
mv "$new/provider" "$folder"
# The last one, which says that both are there.
mv "$new/oauth2-proxy" "$folder"
echo "$folder"

#!/bin/sh
# Prints the path of the program `informer`, which is built once from its source with the client library of the same version as
# the control plane. That takes seconds where build.sh has built kubectl.
#
# usage: informer.sh [--where]
# --where   only prints the path, whether it is there or not
set -eu
cd "$(dirname "$0")"

pins=$(cat go.mod go.sum informer/main.go | sha256sum | cut -c -16)
program="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/informer/$pins"
if [ "${1:-}" = --where ] || [ -x "$program" ]; then
  echo "$program"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}
mkdir -p "${program%/*}"
new=$(mktemp "${program%/*}/build.XXXXXX")
trap 'rm -f "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not.
GOTOOLCHAIN=auto CGO_ENABLED=0 nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new" ./informer
chmod +x "$new"
mv "$new" "$program"
echo "$program"

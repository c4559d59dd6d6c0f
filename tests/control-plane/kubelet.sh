#!/bin/sh
# Prints the path of the program `kubelet`, which stands in for one; it is built once from its source with the library of the
# kubelet, which takes seconds.
#
# usage: kubelet.sh [--where]
# --where   only prints the path, whether it is there or not
set -eu
cd "$(dirname "$0")/kubelet"

pins=$(cat go.mod go.sum main.go | sha256sum | cut -c -16)
program="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/kubelet/$pins"
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
GOTOOLCHAIN=auto CGO_ENABLED=0 nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new" .
chmod +x "$new"
mv "$new" "$program"
echo "$program"

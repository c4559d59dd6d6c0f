#!/bin/sh
# Prints the path of a program in Go that tests run, which is built once from its source: `informer` with the client library
# of the same version as the control plane, `kubelet`, which stands in for one, with the library of the kubelet. That takes
# seconds where build.sh has built kubectl.
#
# usage: program.sh informer|kubelet [--where]
# --where   only prints the path, whether it is there or not
set -eu
cd "$(dirname "$0")"
name=$1
package=./$name
# A module of its own, or of the control plane.
if [ -e "$name/go.mod" ]; then
  cd "$name"
  package=.
fi

pins=$(cat go.mod go.sum "$package/main.go" | sha256sum | cut -c -16)
program="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/$name/$pins"
if [ "${2:-}" = --where ] || [ -x "$program" ]; then
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
GOTOOLCHAIN=auto CGO_ENABLED=0 nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new" "$package"
chmod +x "$new"
mv "$new" "$program"
echo "$program"

#!/bin/sh
# Prints the folder of etcd, kube-apiserver and kubectl, which the tests of the controller run: $KUBEBUILDER_ASSETS
# where it is set, else one in the user's cache, into which they are built once at the versions of go.mod. That took ten
# minutes on two busy cores, 0.8 GiB of modules and 3 GiB of Go's build cache.
#
# usage: build.sh [--where]
# --where   only prints the folder, whether they are there or not
set -eu
cd "$(dirname "$0")"

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  echo "$KUBEBUILDER_ASSETS"
  exit
fi
pins=$(cat go.mod go.sum | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/control-plane/$pins"
if [ "${1:-}" = --where ] || [ -x "$folder/kubectl" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with etcd,' \
    'kube-apiserver and kubectl (setup-envtest makes one)' >&2
  exit 1
}

version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
echo "building etcd, kube-apiserver and kubectl of Kubernetes $version into $folder" >&2
mkdir -p "$folder"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not.
GOTOOLCHAIN=auto CGO_ENABLED=0 nice go build -trimpath -buildvcs=false \
  -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$new/" tool
mv "$new/server" "$folder/etcd"
mv "$new/kube-apiserver" "$folder/kube-apiserver"
# The last one, which says that all are there.
mv "$new/kubectl" "$folder/kubectl"
echo "$folder"

#!/bin/sh
# Prints the folder of kube-controller-manager and metrics-server in the user's cache, into which they are built once: the
# controllers at the version of go.mod, which is that of the control plane of the tests (5 minutes on two busy cores).
set -eu
cd "$(dirname "$0")"

metrics_server=v0.9.0
pins=$( (cat go.mod go.sum && echo "$metrics_server") | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/autoscaling/$pins"
if [ -x "$folder/metrics-server" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

version=$(sed -n 's|^\tk8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
echo "building kube-controller-manager $version and metrics-server $metrics_server into $folder" >&2
mkdir -p "$folder"
# A Go that is older than go.mod asks for downloads one that is not.
export GOTOOLCHAIN=auto CGO_ENABLED=0
nice go build -trimpath -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" \
  -o "$folder/" k8s.io/kubernetes/cmd/kube-controller-manager
# The last one, which says that both are there.
GOBIN="$folder" nice go install -trimpath -ldflags '-s -w' "sigs.k8s.io/metrics-server/cmd/metrics-server@$metrics_server"
echo "$folder"

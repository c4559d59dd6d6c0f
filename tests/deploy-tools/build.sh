#!/bin/sh
# Prints the folder of what the tests of deploy/ run, in the user's cache, into which it is built once at the versions of
# the *.mod files: helm, kubeconform, kube-score, and in `definitions` the CustomResourceDefinitions of cert-manager, the
# Prometheus Operator, the Gateway API and OpenShift's Route. That took four minutes on two busy cores and 1 GiB of modules.
#
# usage: build.sh [--where]
# --where   only prints the folder, whether they are there or not
set -eu
cd "$(dirname "$0")"

pins=$(cat ./*.mod ./*.sum build.sh | sha256sum | cut -c -16)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/deploy-tools/$pins"
if [ "${1:-}" = --where ] || [ -x "$folder/helm" ]; then
  echo "$folder"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building helm, kubeconform and kube-score into $folder" >&2
mkdir -p "$folder/definitions"
new=$(mktemp -d "$folder/build.XXXXXX")
trap 'rm -rf "$new"' EXIT
# A Go that is older than go.mod asks for downloads one that is not.
export GOTOOLCHAIN=auto CGO_ENABLED=0

# Prints the folder of a module of definitions.mod.
module() {
  go mod download -modfile=definitions.mod -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'
}
certificates=$(module github.com/cert-manager/cert-manager)/deploy/crds
gateway=$(module sigs.k8s.io/gateway-api)/config/crd/standard
monitoring=$(module github.com/prometheus-operator/prometheus-operator)/example/prometheus-operator-crd
routes=$(module github.com/openshift/api)/route/v1/zz_generated.crd-manifests
for file in "$certificates/cert-manager.io_certificates.yaml" "$certificates/cert-manager.io_issuers.yaml" \
  "$gateway/gateway.networking.k8s.io_backendtlspolicies.yaml" "$gateway/gateway.networking.k8s.io_httproutes.yaml" \
  "$monitoring/monitoring.coreos.com_prometheusrules.yaml" "$monitoring/monitoring.coreos.com_servicemonitors.yaml" \
  "$routes/routes-Default.crd.yaml"; do
  cat "$file" >"$folder/definitions/${file##*/}"
done

nice go build -trimpath -buildvcs=false -ldflags '-s -w' -modfile=kube-score.mod -o "$new/" tool
nice go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$new/" tool
mv "$new/kube-score" "$new/kubeconform" "$folder"
# The last one, which says that all are there.
mv "$new/helm" "$folder"
echo "$folder"

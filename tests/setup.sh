#!/bin/sh
# Installs what the tests need that cargo does not bring: a registry, tools of images and Prometheus, on a Debian that
# one may change (elsewhere it says what is missing), and what Go builds once: a control plane of Kubernetes, tools
# for manifests, and clients of gRPC.
set -eu
cd "$(dirname "$0")"

packages='curl docker-registry openssl prometheus skopeo umoci valgrind'
missing=
for package in $packages; do
  command -v "$package" >/dev/null || missing="$missing $package"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing:$missing: install them (Debian: apt-get install$missing)" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  apt-get install -y -qq --no-install-recommends $missing
fi

# Without them the tests of the controller and of manifests are skipped, and named at the end; where CI is set they
# would fail.
control-plane/build.sh >/dev/null || [ -z "${CI:-}" ]
control-plane/program.sh informer >/dev/null || [ -z "${CI:-}" ]
control-plane/program.sh kubelet >/dev/null || [ -z "${CI:-}" ]
deploy-tools/build.sh >/dev/null || [ -z "${CI:-}" ]
python/install.sh >/dev/null || [ -z "${CI:-}" ]
grpc-tools/build.sh >/dev/null || [ -z "${CI:-}" ]

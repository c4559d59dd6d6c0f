#!/bin/sh
# Installs what tests need that cargo and npm do not bring.
#
# usage: setup.sh [cluster]
# (nothing)  system packages for `make test`, and a client in Python
# cluster    what `make test-cluster` runs, built once from Go modules: a control plane of Kubernetes, tools for
#            manifests, and clients of gRPC
set -eu
cd "$(dirname "$0")"

install_packages() {
  packages='curl docker-registry openssl prometheus skopeo umoci valgrind zstd'
  missing=
  for package in $packages; do
    command -v "$package" >/dev/null || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0

  echo "==> missing system packages:$missing" >&2
  echo '(a registry and tools for images, the checker of alert rules, certificates, a heap profiler)' >&2
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "install them, on Debian: sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi

  # Packages of servers enable and start them. The tests start their own on free ports, so this keeps them from starting.
  policy=/usr/sbin/policy-rc.d
  if ! [ -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  apt-get install -y -qq --no-install-recommends $missing >/dev/null
  if [ -d /run/systemd/system ]; then
    systemctl disable --quiet docker-registry prometheus 2>/dev/null || true
  fi
}

# Without one of these, the tests that need it are skipped by name; where CI is set, the set-up fails.
build() {
  "./step.sh" "$@" >/dev/null || [ -z "${CI:-}" ]
}

case "${1:-}" in
  '')
    install_packages
    build 'a GraphQL client in Python' 'seconds, once' python/install.sh
    ;;
  cluster)
    build 'control plane of Kubernetes' '10 minutes, once' control-plane/build.sh
    build 'informer of client-go' 'seconds, once' control-plane/program.sh informer
    build 'stand-in for a kubelet' 'seconds, once' control-plane/program.sh kubelet
    build 'tools for manifests' '4 minutes, once' deploy-tools/build.sh
    build 'clients of gRPC' '2 minutes, once' grpc-tools/build.sh
    ;;
  *)
    echo "usage: $0 [cluster]" >&2
    exit 2
    ;;
esac

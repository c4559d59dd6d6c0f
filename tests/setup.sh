#!/bin/sh
# Installs what the tests need that cargo does not bring: a registry and tools of images, on a Debian that one may
# change (elsewhere it says what is missing), and a control plane of Kubernetes, which Go builds once.
set -eu
cd "$(dirname "$0")"

packages='docker-registry skopeo umoci'
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

# Without it the tests of the controller are skipped, and named at the end; where CI is set they would fail.
control-plane/build.sh >/dev/null || [ -z "${CI:-}" ]

#!/bin/sh
# Installs the registry and the tools that the tests of images need, on a Debian that one may change; elsewhere it says
# what is missing.
set -eu

packages='docker-registry skopeo umoci'
missing=
for package in $packages; do
  command -v "$package" >/dev/null || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing:$missing: install them (Debian: apt-get install$missing)" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
apt-get install -y -qq --no-install-recommends $missing

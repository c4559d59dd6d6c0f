#!/bin/sh
# Keeps the public interface of a release in api/VERSION: the lists of its elements, and its GraphQL schema. Tests compare
# later versions with it (docs/reference/stability.md).
#
# usage: release/snapshot.sh
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

if [ -e "api/$version" ]; then
  echo "api/$version exists: the snapshot of a release does not change" >&2
  exit 1
fi
cp -R api/next "api/$version"
cp schema.graphql "api/$version/schema.graphql"
echo "api/$version"

#!/bin/sh
# Makes a release in the folder target/release-VERSION: everything that is downloaded, and its checksums. It prints the
# checksums. docs/how-to/publish-a-release.md says how to publish the folder.
#
# usage: [MACHINES='x86_64 aarch64 x86_64-windows'] [URL=https://…] release/make.sh
#
# MACHINES  what is built, by default all three; x86_64-windows is the plugin of kubectl alone
# URL       where the files will be, for the manifest of krew
#
# release/build.sh says what building needs; packing needs Python, git, zstd and certificate authorities besides.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
machines=${MACHINES:-x86_64 aarch64 x86_64-windows}
url=${URL:-https://downloads.example.com/catalogql/v$version}

command -v zstd >/dev/null || { echo 'zstd is missing (Debian: apt-get install zstd)' >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || echo 'warning: the source has changes that are not committed' >&2
diff -r --exclude=schema.graphql api/next "api/$version" >/dev/null 2>&1 ||
  echo "warning: api/$version is not the interface of this version: release/snapshot.sh writes it" >&2
[ -n "${URL:-}" ] || echo "warning: no URL is given: the manifest for krew names $url" >&2

set --
for machine in $machines; do
  if [ "$machine" != x86_64-windows ]; then
    program=$(release/build.sh "$machine" catalogql)
    set -- "$@" "$program"
  fi
  program=$(release/build.sh "$machine" kubectl-catalog)
  set -- "$@" "$program"
done
release/pack.py "$url" "${CARGO_TARGET_DIR:-target}/release-$version" "$@"

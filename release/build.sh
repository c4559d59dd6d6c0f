#!/bin/sh
# Builds the static program of a release: release/build.sh x86_64|aarch64. It prints the path of the program, beside
# which is one file with its line tables (.debug). No time and no path of the machine that builds is in it.
#
# It needs Rust, a C compiler and binutils, for aarch64 on another machine those of that processor (Debian:
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross), Node for the pages for people, and Python for the list of licences.
set -eu
cd "$(dirname "$0")/.."

machine=${1:-$(uname -m)}
case $machine in
  x86_64 | aarch64) target=$machine-unknown-linux-gnu ;;
  *) echo "usage: $0 x86_64|aarch64" >&2; exit 2 ;;
esac
tools=
if [ "$machine" != "$(uname -m)" ]; then
  tools=$machine-linux-gnu-
  for tool in gcc ar objcopy; do
    command -v "$tools$tool" >/dev/null || {
      echo "$tools$tool is missing (Debian: apt-get install gcc-$machine-linux-gnu libc6-dev-arm64-cross)" >&2
      exit 1
    }
  done
  rustup target add "$target" >&2
  name=$(echo "$target" | tr a-z- A-Z_)
  export "CARGO_TARGET_${name}_LINKER=${tools}gcc"
  name=$(echo "$target" | tr - _)
  export "CC_$name=${tools}gcc" "AR_$name=${tools}ar"
fi
# jemalloc would take the pages of the machine that builds; kernels for arm64 have pages of up to 64 KiB.
[ "$machine" != aarch64 ] || export JEMALLOC_SYS_WITH_LG_PAGE=16

export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
GIT_COMMIT=${GIT_COMMIT:-$(git rev-parse --short=12 HEAD)}
export SOURCE_DATE_EPOCH GIT_COMMIT
built=${CARGO_TARGET_DIR:-$PWD/target}
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
# No path of this machine stays in the program. Static, so that it runs in an image without anything else.
rust="-Ctarget-feature=+crt-static --remap-path-prefix=$PWD=catalogql"
# Relative relocations take 16 KiB in place of 900; linkers that do not know them take no notice.
rust="$rust -Clink-arg=-Wl,--build-id=none -Clink-arg=-Wl,-z,pack-relative-relocs"
# Random numbers by the system call: in a static program the crate would not find it, and open /dev/urandom.
rust="$rust --cfg=getrandom_backend=\"linux_getrandom\""
c="-ffile-prefix-map=$PWD=catalogql -ffile-prefix-map=$built=target"
for folder in "$registry"/*; do
  rust="$rust --remap-path-prefix=$folder=crates"
  c="$c -ffile-prefix-map=$folder=crates"
done
export RUSTFLAGS="$rust" CFLAGS="$c"

make --no-print-directory --always-make MACHINE="$machine" release/dist/third-party.txt.gz >&2
cargo build --profile dist --locked --target "$target" --bin catalogql >&2
program=$built/$target/dist/catalogql
"${tools}objcopy" --only-keep-debug "$program" "$built/catalogql-$machine.debug"
"${tools}objcopy" --strip-all --add-gnu-debuglink="$built/catalogql-$machine.debug" "$program" \
  "$built/catalogql-$machine"
echo "$built/catalogql-$machine"

#!/bin/sh
# Builds a static program of a release: release/build.sh x86_64|aarch64 [catalogql|kubectl-catalog]. It prints the path of the
# program, beside which is one file with its line tables (.debug). No time and no path of the machine that builds is in it.
#
# It needs Rust, a C compiler and binutils, for aarch64 on another machine those of that processor (Debian:
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross), Node for the pages for people, and Python for the list of licences.
set -eu
cd "$(dirname "$0")/.."

machine=${1:-$(uname -m)} name=${2:-catalogql}
case $machine,$name in
  x86_64,catalogql | aarch64,catalogql) profile=dist ;;
  x86_64,kubectl-catalog | aarch64,kubectl-catalog) profile=plugin ;;
  *) echo "usage: $0 x86_64|aarch64 [catalogql|kubectl-catalog]" >&2; exit 2 ;;
esac
target=$machine-unknown-linux-gnu
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
  variable=$(echo "$target" | tr a-z- A-Z_)
  export "CARGO_TARGET_${variable}_LINKER=${tools}gcc"
  variable=$(echo "$target" | tr - _)
  export "CC_$variable=${tools}gcc" "AR_$variable=${tools}ar"
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
# Functions of the same code become one. Linkers other than Rust's for x86_64 may not know how.
[ "$machine" != x86_64 ] || rust="$rust -Clink-arg=-Wl,--icf=all"
c="-ffile-prefix-map=$PWD=catalogql -ffile-prefix-map=$built=target"
# No panic comes through C.
c="$c -fno-asynchronous-unwind-tables -fno-unwind-tables"
for folder in "$registry"/*; do
  rust="$rust --remap-path-prefix=$folder=crates"
  c="$c -ffile-prefix-map=$folder=crates"
done
if [ "$name" = kubectl-catalog ]; then
  # Nobody unwinds its stack, and it encrypts a few kilobytes: the code for AVX-512 alone would be 680 kB.
  rust="$rust -Cforce-unwind-tables=no"
  c="$c -DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX"
  # To gather randomness from the jitter of the processor takes 30 ms, more than all else of most commands: the kernel's does.
  export AWS_LC_SYS_NO_JITTER_ENTROPY=1
else
  make --no-print-directory --always-make MACHINE="$machine" release/dist/third-party.txt.gz >&2
fi
export RUSTFLAGS="$rust" CFLAGS="$c"

cargo build --profile "$profile" --locked --target "$target" --package "$name" --bin "$name" >&2
program=$built/$target/$profile/$name
"${tools}objcopy" --only-keep-debug "$program" "$built/$name-$machine.debug"
"${tools}objcopy" --strip-all --add-gnu-debuglink="$built/$name-$machine.debug" "$program" "$built/$name-$machine"
echo "$built/$name-$machine"

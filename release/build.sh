#!/bin/sh
# Builds a static program of a release: release/build.sh x86_64|aarch64|x86_64-windows [catalogql|kubectl-catalog]. For Windows
# there is the plugin only. It prints the path of the program, beside which is one file with its line tables (.debug). No time
# and no path of the machine that builds is in it.
#
# It needs Rust, a C compiler and binutils, for another machine those of that machine (Debian: gcc-aarch64-linux-gnu and
# libc6-dev-arm64-cross, or gcc-mingw-w64-x86-64), Node for the pages for people, and Python for the list of licences.
#
# RUSTC may name a compiler that rustup does not manage. If that has no standard library for the machine, the library is
# built too, from the compiler's source (Debian: rustc-web and rust-web-src).
set -eu
cd "$(dirname "$0")/.."

machine=${1:-$(uname -m)} name=${2:-catalogql}
case $machine,$name in
  x86_64,catalogql | aarch64,catalogql) profile=dist ;;
  x86_64,kubectl-catalog | aarch64,kubectl-catalog | x86_64-windows,kubectl-catalog) profile=plugin ;;
  *) echo "usage: $0 x86_64|aarch64|x86_64-windows [catalogql|kubectl-catalog], kubectl-catalog for Windows" >&2; exit 2 ;;
esac
target=$machine-unknown-linux-gnu tools=$machine-linux-gnu- packages="gcc-$machine-linux-gnu libc6-dev-arm64-cross" ending=
case $machine in
  "$(uname -m)") tools= ;;
  x86_64-windows) target=x86_64-pc-windows-gnu tools=x86_64-w64-mingw32- packages=gcc-mingw-w64-x86-64 ending=.exe ;;
esac
library=
if [ -n "$tools" ]; then
  for tool in gcc ar objcopy; do
    command -v "$tools$tool" >/dev/null || {
      echo "$tools$tool is missing (Debian: apt-get install $packages)" >&2
      exit 1
    }
  done
  if [ -z "${RUSTC:-}" ]; then
    rustup target add "$target" >&2
  elif [ ! -d "$("$RUSTC" --print target-libdir --target "$target")" ]; then
    # To build it is not stable yet.
    library=-Zbuild-std=std,panic_abort
    export RUSTC_BOOTSTRAP=1
  fi
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
if [ "$machine" = x86_64-windows ]; then
  rust="$rust -Clink-arg=-Wl,--no-insert-timestamp"
  # In place of an assembler that few have.
  export AWS_LC_SYS_PREBUILT_NASM=1
else
  # Relative relocations take 16 KiB in place of 900; linkers that do not know them take no notice.
  rust="$rust -Clink-arg=-Wl,--build-id=none -Clink-arg=-Wl,-z,pack-relative-relocs"
  # Random numbers by the system call: in a static program the crate would not find it, and open /dev/urandom.
  rust="$rust --cfg=getrandom_backend=\"linux_getrandom\""
fi
# Functions of the same code become one. Linkers other than Rust's for x86_64 may not know how.
[ "$machine" != x86_64 ] || rust="$rust -Clink-arg=-Wl,--icf=all"
c="-ffile-prefix-map=$PWD=catalogql -ffile-prefix-map=$built=target"
# No panic comes through C.
c="$c -fno-asynchronous-unwind-tables -fno-unwind-tables"
[ -z "$library" ] || rust="$rust --remap-path-prefix=$("$RUSTC" --print sysroot)/lib/rustlib/src=rust"
# On a machine that has built nothing yet there would be no folder.
cargo fetch --locked --target "$target" >&2
for folder in "$registry"/*; do
  rust="$rust --remap-path-prefix=$folder=crates"
  c="$c -ffile-prefix-map=$folder=crates"
done
if [ "$name" = kubectl-catalog ]; then
  # Nobody unwinds its stack, which Windows wants to be able to. It encrypts a few kilobytes: the code for AVX-512 alone would
  # be 680 kB.
  [ "$machine" = x86_64-windows ] || rust="$rust -Cforce-unwind-tables=no"
  c="$c -DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX"
  # To gather randomness from the jitter of the processor takes 30 ms, more than all else of most commands: the kernel's does.
  export AWS_LC_SYS_NO_JITTER_ENTROPY=1
else
  make --no-print-directory --always-make MACHINE="$machine" release/dist/third-party.txt.gz >&2
fi
export RUSTFLAGS="$rust" CFLAGS="$c"

cargo build --profile "$profile" --locked --target "$target" --package "$name" --bin "$name" ${library:+"$library"} >&2
program=$built/$target/$profile/$name$ending stripped=$built/$name-$machine
"${tools}objcopy" --only-keep-debug "$program" "$stripped.debug"
"${tools}objcopy" --strip-all --add-gnu-debuglink="$stripped.debug" "$program" "$stripped$ending"
echo "$stripped$ending"

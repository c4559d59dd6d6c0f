#!/bin/sh
# Builds a static program of a release, and prints its path. Beside it is a file with its line tables (.debug). No time and
# no path of the machine that builds is in the program.
#
# usage: release/build.sh x86_64|aarch64|ppc64le|s390x|x86_64-windows [catalogql|kubectl-catalog]
#
# For Windows there is the plugin only. It needs git, Rust, a C compiler and binutils, for another machine those of that
# machine (Debian: gcc-aarch64-linux-gnu and libc6-dev-arm64-cross, and so on: the script names what is missing); for
# catalogql also make, Node for the pages for people, and Python for the list of licences.
#
# RUSTC may name a compiler that rustup does not manage. If that has no standard library for the machine, the library is
# built too, from the compiler's source (Debian: rustc-web and rust-web-src).
set -eu
cd "$(dirname "$0")/.."

machine=${1:-$(uname -m)}
name=${2:-catalogql}
case $machine,$name in
  x86_64,catalogql | aarch64,catalogql | ppc64le,catalogql | s390x,catalogql) profile=dist ;;
  x86_64,kubectl-catalog | aarch64,kubectl-catalog | ppc64le,kubectl-catalog | s390x,kubectl-catalog | \
    x86_64-windows,kubectl-catalog) profile=plugin ;;
  *)
    echo "usage: $0 x86_64|aarch64|ppc64le|s390x|x86_64-windows [catalogql|kubectl-catalog], kubectl-catalog for Windows" >&2
    exit 2
    ;;
esac

# The target, the prefix of its tools, the packages that have them, and how names of programs end.
case $machine in
  x86_64-windows)
    target=x86_64-pc-windows-gnu
    tools=x86_64-w64-mingw32-
    packages=gcc-mingw-w64-x86-64
    ending=.exe
    ;;
  ppc64le)
    target=powerpc64le-unknown-linux-gnu
    tools=powerpc64le-linux-gnu-
    packages='gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross'
    ending=
    ;;
  *)
    target=$machine-unknown-linux-gnu
    tools=$machine-linux-gnu-
    case $machine in
      aarch64) packages='gcc-aarch64-linux-gnu libc6-dev-arm64-cross' ;;
      s390x) packages='gcc-s390x-linux-gnu libc6-dev-s390x-cross' ;;
      *) packages='gcc-x86-64-linux-gnu libc6-dev-amd64-cross' ;;
    esac
    ending=
    ;;
esac
[ "$machine" != "$(uname -m)" ] || tools=

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
  export "CC_$variable=${tools}gcc"
  export "AR_$variable=${tools}ar"
fi
# jemalloc would take the pages of the machine that builds; kernels for arm64 and POWER have pages of up to 64 KiB.
case $machine in
  aarch64 | ppc64le) export JEMALLOC_SYS_WITH_LG_PAGE=16 ;;
esac

export LC_ALL=C
export TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
GIT_COMMIT=${GIT_COMMIT:-$(git rev-parse --short=12 HEAD)}
export SOURCE_DATE_EPOCH GIT_COMMIT

# No path of this machine stays in the program. Static, so that it runs in an image without anything else.
built=${CARGO_TARGET_DIR:-$PWD/target}
rust="-Ctarget-feature=+crt-static --remap-path-prefix=$PWD=catalogql --remap-path-prefix=$built=target"
c="-ffile-prefix-map=$PWD=catalogql -ffile-prefix-map=$built=target"
# The source of the standard library, where it is installed.
rust="$rust --remap-path-prefix=$("${RUSTC:-rustc}" --print sysroot)/lib/rustlib/src=rust"
# On a machine that has built nothing yet there would be no folder.
cargo fetch --locked --target "$target" >&2
for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  rust="$rust --remap-path-prefix=$folder=crates"
  c="$c -ffile-prefix-map=$folder=crates"
done

# No panic comes through C.
c="$c -fno-asynchronous-unwind-tables -fno-unwind-tables"
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

if [ "$name" = kubectl-catalog ]; then
  # Nobody unwinds its stack, which Windows wants to be able to. It encrypts a few kilobytes: the code for AVX-512 alone would
  # be 680 kB.
  [ "$machine" = x86_64-windows ] || rust="$rust -Cforce-unwind-tables=no"
  c="$c -DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX"
  # To gather randomness from the jitter of the processor takes 30 ms, more than all else of most commands: the kernel's does.
  export AWS_LC_SYS_NO_JITTER_ENTROPY=1
else
  # The pages and licences of another build may lie there, and the licences of another machine.
  make --no-print-directory --always-make MACHINE="$machine" release/dist/third-party.txt.gz >&2
fi
export RUSTFLAGS="$rust"
export CFLAGS="$c"

# What only releases have: OpenPGP, Parquet, tools for assistants and the shared store, whose libraries would make every other build longer, and git.
[ "$name" != catalogql ] || features=export-parquet,mcp,shared-store,signatures-gpg,source-git
cargo build --profile "$profile" --locked --target "$target" --package "$name" --bin "$name" \
  ${features:+--features "$features"} ${library:+"$library"} >&2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
program=$built/$target/$profile/$name$ending
stripped=$built/$name-$version-$machine$ending
# The stripped program names the file of its line tables, so that debuggers find it beside it.
"${tools}objcopy" --only-keep-debug "$program" "$stripped.debug"
"${tools}objcopy" --strip-all --add-gnu-debuglink="$stripped.debug" "$program" "$stripped"
echo "$stripped"

#!/bin/sh
# Runs the plugin for Windows by Wine against a server: tests/conformance/windows.sh CATALOGQL KUBECTL_CATALOG KUBECTL_CATALOG_EXE.
# What it prints and how it ends must be as of the plugin for this machine. It needs Wine and a C compiler for Windows
# (Debian: wine64, gcc-mingw-w64-x86-64).
set -eu
[ $# = 3 ] || { echo "usage: $0 CATALOGQL KUBECTL_CATALOG KUBECTL_CATALOG_EXE" >&2; exit 2; }
here=$(realpath "$2") there=$(realpath "$3")
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
. "$(dirname "$0")/served.sh"

mkdir "$work/bin"
cp "$there" "$work/bin/kubectl-catalog.exe"
# Rust's standard library takes random numbers from a library of Windows that Wine has since version 8.20 only.
cat >"$work/random.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T length) { return SystemFunction036(bytes, length); }
END
x86_64-w64-mingw32-gcc -shared -o "$work/bin/bcryptprimitives.dll" "$work/random.c" -ladvapi32
export WINEPREFIX="$work/wine" WINEDEBUG=-all
# The first time, Wine tells of what it creates.
"$wine" "$work/bin/kubectl-catalog.exe" --version >"$work/first" 2>&1

serve "$1"
export CATALOGQL_SERVER="$address" NO_COLOR=1
run() {
  status=0
  "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
  printf '%s\n--- stderr\n%s\n--- status %s\n' "$(cat "$work/stdout")" "$(cat "$work/stderr")" "$status"
}
compared=0
while read -r line; do
  # shellcheck disable=SC2086 # The words of the command line.
  run "$here" $line >"$work/here"
  # shellcheck disable=SC2086
  run "$wine" "$work/bin/kubectl-catalog.exe" $line >"$work/there"
  diff --unified --label 'this machine' --label Windows "$work/here" "$work/there" || {
    echo "error: \`$line\` differs" >&2
    exit 1
  }
  compared=$((compared + 1))
done <<'END'
--version
search lamp
search lamp -o wide
get catalogs -o name
get packages -o json
get problems
describe package lampglow
heads lampglow
versions lampglow -o yaml
graph lampglow
graph lampglow -o mermaid
images lampglow
path lampglow 1.0.0
diff example nasty
query {catalogs{name}}
get package absent
search --limit x
completion powershell
END
echo "$compared commands print the same on Windows as on this machine"

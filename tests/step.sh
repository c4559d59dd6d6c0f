#!/bin/sh
# Runs a command as one step of the tests: prints the step and how long it usually takes before it, and how long it took
# after it, with the CPU time in user and system mode. All go to standard error, so that a step may print a result.
#
# usage: step.sh NAME EXPECTED COMMAND [ARGUMENT]...
set -eu
name=$1
expected=$2
shift 2

echo "==> $name ($expected)" >&2
begin=$(date +%s)
status=0
"$@" || status=$?
seconds=$(($(date +%s) - begin))

# A pipe or a substitution would be a process of its own, whose children took no time.
spent=$(mktemp)
times >"$spent"
failure=
[ "$status" -eq 0 ] || failure=", failed with status $status"
echo "<== $name: $seconds s, CPU $(sed -n '2s/ / + /p' "$spent")$failure" >&2
rm -f "$spent"
exit "$status"

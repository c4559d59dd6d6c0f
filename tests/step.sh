#!/bin/sh
# Runs a command as one step of the tests: prints the step and how long it usually takes before it, and how long it took
# after it. Both go to standard error, so that a step may print a result.
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
echo "<== $name: $(($(date +%s) - begin)) s$([ "$status" -eq 0 ] || echo ", failed with status $status")" >&2
exit "$status"

#!/bin/sh
# Asks a server everything that openapi.json and the GraphQL schema say can be asked, and holds the answers to them:
# schemathesis, from PyPI, in an environment of its own below the user's cache folder.
#
#     tests/conformance/schemathesis.sh target/debug/catalogql [SECONDS]
#
# SECONDS is for the GraphQL part. `Query.bundle` and `Query.diff` are left out: it does not know `@oneOf`.
set -eu
. "$(dirname "$0")/served.sh"
seconds=${2:-600}

install schemathesis 4.32.5
serve "$1"
"$bin/schemathesis" --config-file "$root/tests/conformance/schemathesis.toml" run "$address/openapi.json" \
    --max-examples 50 --seed 1 --workers 1 --checks all
PYTHONPATH=$root/tests/conformance SCHEMATHESIS_HOOKS=graphql_hooks "$bin/schemathesis" run "$address/graphql" \
    --exclude-name-regex 'Query\.(bundle|diff)$' --checks not_a_server_error,no_fault_of_the_server \
    --max-examples 100000 --max-time "$seconds" --seed 1 --workers 1
# It may still live: a panic that was caught is in its log.
kill -0 "$server"
if grep -E 'panicked|ERROR' "$work/log"; then exit 1; fi

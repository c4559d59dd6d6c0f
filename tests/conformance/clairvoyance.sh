#!/bin/sh
# What a server that serves trusted documents alone tells somebody who guesses names: nothing. clairvoyance, from PyPI, is
# given every name of the schema to guess with. graphql-js with the same schema shows that it would find them.
#
#     tests/conformance/clairvoyance.sh target/debug/catalogql
set -eu
. "$(dirname "$0")/served.sh"
program=$(realpath "$1")

install clairvoyance 2.5.5
grep -oE '^  [a-zA-Z]+' "$root/schema.graphql" | tr -d ' ' | sort -u >"$work/names"
printf '{"names": "{ catalogs { name } }"}' >"$work/documents.json"

# How many fields it finds at an address; it fails where it finds nothing to begin with.
found() {
    rm -f "$work/found"
    "$bin/clairvoyance" -w "$work/names" -o "$work/found" -p fast "$1" >"$work/clairvoyance" 2>&1 || true
    [ -f "$work/found" ] || { echo 0; return; }
    python3 -c 'import json, sys
types = json.load(open(sys.argv[1]))["data"]["__schema"]["types"]
print(sum(len(one.get("fields") or []) for one in types if not one["name"].startswith("__")))' "$work/found"
}

node "$root/tests/js/plain.mjs" >"$work/plain" &
server=$!
until [ -s "$work/plain" ]; do
    kill -0 $server
    sleep 0.1
done
open=$(found "$(cat "$work/plain")")
kill $server

serve "$program" --documents "$work/documents.json" --trusted-only
closed=$(found "$address/graphql")
echo "fields found: $open of graphql-js, $closed with --trusted-only"
[ "$open" -gt 100 ] && [ "$closed" -eq 0 ]

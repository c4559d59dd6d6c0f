#!/bin/sh
# Asks a server everything that openapi.json says can be asked, and holds the answers to it: schemathesis, from PyPI, in
# an environment of its own below the user's cache folder.
#
#     tests/conformance/schemathesis.sh target/debug/catalogql [EXAMPLES]
set -eu

program=$(realpath "$1")
examples=${2:-50}
root=$(cd "$(dirname "$0")/../.." && pwd)
version=4.32.5
cache=${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/schemathesis-$version

command -v python3 >/dev/null || { echo 'python3 is missing (Debian: apt-get install python3 python3-venv)' >&2; exit 1; }
if ! [ -x "$cache/bin/schemathesis" ]; then
    python3 -m venv "$cache"
    "$cache/bin/pip" install --quiet "schemathesis==$version"
fi

work=$(mktemp -d)
"$program" serve "example=$root/examples/catalog" --listen 127.0.0.1:0 --store "$work/store" >"$work/out" 2>"$work/log" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
address=
while [ -z "$address" ]; do
    kill -0 $server || { cat "$work/log" >&2; exit 1; }
    address=$(sed -n 's,^Listening on \(http://.*\)/graphql$,\1,p' "$work/out")
    sleep 0.1
done

# It leaves a folder of what it found where it is.
cd "$work"
"$cache/bin/schemathesis" --config-file "$root/tests/conformance/schemathesis.toml" run "$address/openapi.json" --max-examples "$examples" --seed 1 --workers 1 --checks all

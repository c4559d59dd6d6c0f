# For the scripts beside it: `install PACKAGE VERSION` leaves the folder of a program from PyPI in $bin, and
# `serve PROGRAM FLAGS…` serves the test catalogs and leaves the server's address in $address until the script ends.
# It also makes $work, a folder that is gone then.

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$work"' EXIT

install() {
    command -v python3 >/dev/null || { echo 'python3 is missing (Debian: apt-get install python3 python3-venv)' >&2; exit 1; }
    bin=${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/$1-$2/bin
    if ! [ -x "$bin/$1" ]; then
        python3 -m venv "$(dirname "$bin")"
        "$bin/pip" install --quiet "$1==$2"
    fi
}

serve() {
    program=$(realpath "$1")
    shift
    "$program" serve "example=$root/examples/catalog" "nasty=$root/tests/testdata/catalogs/nasty" "$@" \
        --listen 127.0.0.1:0 --store "$work/store" >"$work/out" 2>"$work/log" &
    server=$!
    address=
    while [ -z "$address" ]; do
        kill -0 $server || { cat "$work/log" >&2; exit 1; }
        address=$(sed -n 's,^Listening on \(http://.*\)/graphql$,\1,p' "$work/out")
        sleep 0.1
    done
    # Programs leave folders of what they found where they are.
    cd "$work"
}

#!/bin/sh
# Sends traces to a collector of OpenTelemetry's own code, which is built once from Go modules (three minutes on two busy
# cores), and looks for the spans of a load and of a request in what it prints: tests/conformance/collector.sh CATALOGQL
set -eu
[ $# = 1 ] || { echo "usage: $0 CATALOGQL" >&2; exit 2; }
program=$(realpath "$1")
cd "$(dirname "$0")/collector"

pins=$(cat main.go go.mod go.sum | sha256sum | cut -c -16)
collector="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/collector/$pins/collector"
[ -x "$collector" ] || GOTOOLCHAIN=auto CGO_ENABLED=0 nice go build -trimpath -buildvcs=false -o "$collector" .

folder=$(mktemp -d)
touch "$folder/collector" "$folder/server"
processes=
trap 'kill $processes 2>/dev/null; wait; rm -rf "$folder"' EXIT
fail() {
  echo "error: $1" >&2
  cat "$folder/collector" "$folder/server" >&2
  exit 1
}
# Waits until a file has a line that matches.
has() {
  tries=0
  until grep --quiet --extended-regexp "$2" "$folder/$1"; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "no line of the $1 matches $2"
    sleep 0.1
  done
}

cat >"$folder/config.yaml" <<'END'
receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:14318" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  pipelines: { traces: { receivers: [otlp], exporters: [debug] } }
  telemetry: { metrics: { level: none } }
END
"$collector" --config "file:$folder/config.yaml" >"$folder/collector" 2>&1 &
processes=$!
has collector 'Everything is ready'
"$program" serve example=../../../examples/catalog --store "$folder/store" --listen 127.0.0.1:0 \
  --otlp-endpoint http://127.0.0.1:14318 >"$folder/server" 2>&1 &
processes="$processes $!"
has server 'http://127'
url=$(grep --only-matching --extended-regexp 'http://127[^"/ ]+' "$folder/server" | head -1)
curl --silent --fail --output "$folder/response" --header 'content-type: application/json' \
  --header 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' \
  --data '{"query":"{ catalogs { name } }"}' "$url/graphql"
for line in 'Name +: load' 'Name +: index' 'catalogql.result: Str\(loaded\)' 'service.name: Str\(catalogql\)' \
  'Name +: POST graphql' 'Trace ID +: 0af7651916cd43dd8448eb211c80319c' 'Parent ID +: b7ad6b7169203331' \
  'Kind +: Server' 'http.response.status_code: Int\(200\)' 'catalogql.graphql.outcome: Str\(ok\)'; do
  has collector "$line"
done
echo 'the collector has received the spans of a load and of a request'

#!/usr/bin/env python3
"""Measures GraphQL over HTTP against graphql-js, mercurius and routes of our own: one core serves, another one asks.

    make bench-http
    python3 benches/http/graphql.py target/release/catalogql [SECONDS [CATALOG]]

Everything is asked in turns, five times over, and what counts is the median of the ratios of one turn. A turn counts only
when every answer is there and has its length, and when the driver had time to spare. Requests a second and CPU seconds of
the server for 1,000 requests are both shown; the bar is on CPU seconds, which are the steadier ones.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from dataclasses import dataclass

import machine
from machine import Request, catalogql, corpus, drive, fetch, program, query, spread

ROUNDS = 5
CLIENTS = 8
HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "..", "peers")
SCHEMA = os.path.join(HERE, "..", "..", "schema.graphql")

CACHING, PLAIN, GRAPHQL_JS, MERCURIUS, OBJECTS = (f"127.0.0.1:{port}" for port in range(18482, 18487))

TILE = """{
      id
      name
      catalog { name }
      icon { url }
      deprecation { message }
      metadata { displayName provider { name } categories capabilityLevel infrastructureFeatures }
    }"""
TILES = f"""query Tiles($first: Int, $after: String) {{
  packages(first: $first, after: $after) {{
    totalCount
    pageInfo {{ hasNextPage endCursor }}
    nodes {TILE}
  }}
}}"""
EDGES = f"{{ packages(first: 500) {{ edges {{ cursor node {TILE} }} pageInfo {{ hasNextPage }} }} }}"
BUNDLES = """query Bundles($first: Int) {
  bundles(first: $first) { nodes { id name version image package { name } channelEntries { channel { name } } } }
}"""
CONTENT = """query Content($package: String!) {
  metas(filter: {package: $package}, first: 500) { nodes { schema name packageName blob } }
}"""
WALK = """query Walk($after: String) {
  metas(first: 500, after: $after) { pageInfo { hasNextPage endCursor } nodes { schema name packageName blob } }
}"""


SIZES = """query ($after: String) {
  packages(first: 500, after: $after) { pageInfo { hasNextPage endCursor } nodes { name bundles { totalCount } } }
}"""

# What costs most to answer, as fields of the root with pages of SIZE.
WORST = {
    "metadata of bundles": "bundles(first: SIZE) { nodes { metadata { displayName description } } }",
    "decoded manifests": "bundles(first: SIZE) { nodes { properties { ... on BundleObjectProperty { object } } } }",
    "values of properties": "bundles(first: SIZE) { nodes { properties { type value } } }",
    "blobs": "metas(first: SIZE) { nodes { blob } }",
    "searches with facets": """packages(first: SIZE, filter: {search: "oprator databse clster a"}) {
      facets { categories { count } providers { count } keywords { count } } nodes { name } }""",
    "bundles in a range": """bundles(first: SIZE, orderBy: {field: VERSION}, filter: {versionRange: ">=0.0.1 || <9.0.0"}) {
      totalCount nodes { name } }""",
    "upgrade paths": "bundles(first: SIZE) { nodes { upgradePath { toName } } }",
    "update graphs": "packages(first: SIZE) { nodes { updateGraph { replaces { from { name } to { name } } skips { from { name } to { name } } skipRanges { range to { name } spans { count } } } } }",
}


@dataclass
class Subject:
    """Something that is asked, and who answers."""

    address: str
    pid: int
    request: Request
    status: int = 200


def by_digest(text, variables, **headers):
    """A document by its digest in a URL."""
    named = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}}
    parameters = urllib.parse.urlencode({"extensions": json.dumps(named), "variables": json.dumps(variables)})
    return Request(f"/graphql?{parameters}", None, {"accept": "application/json", **headers})


def register(address, text):
    named = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest()}}
    body = json.dumps({"query": text, "extensions": named})
    fetch(address, "/graphql", body, {"content-type": "application/json"})


def tag_of(address, request):
    """The validator of an answer."""
    import urllib.request

    asked = urllib.request.Request(f"http://{address}{request.path}", headers=request.headers)
    with urllib.request.urlopen(asked) as response:
        return response.headers["etag"]


def data(address, request):
    status, body = fetch(address, request.path, request.body, request.headers)
    answer = json.loads(body)
    if status != 200 or "errors" in answer:
        sys.exit(f"{address} answers {status}: {body[:500]}")
    return answer["data"]


def uncached(server):
    """The flags that disable the response cache, by any of its names so far."""
    told = subprocess.run([server, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    flags = [flag for flag in ("--cache-size", "--max-kept") if flag in told]
    return [flags[0], "0"] if flags else []


def measured(wrk, work, subjects, seconds):
    """Samples of all subjects, each turn a row by name."""
    expected = {}
    for name, subject in subjects.items():
        drive(wrk, subject.address, subject.request, subject.pid, max(1, seconds), CLIENTS, work)
        expected[name] = fetch(subject.address, subject.request.path, subject.request.body, subject.request.headers)
        if expected[name][0] != subject.status:
            sys.exit(f"{name}: status {expected[name][0]}")
    rows = []
    for turn in range(ROUNDS):
        row = {}
        for name, subject in subjects.items():
            sample = drive(wrk, subject.address, subject.request, subject.pid, seconds, CLIENTS, work)
            again = fetch(subject.address, subject.request.path, subject.request.body, subject.request.headers)
            length = len(expected[name][1])
            if again != expected[name] or not 0.98 * length <= sample.length <= length + 2000:
                sys.exit(f"{name}: not every answer was the right one")
            row[name] = sample
        rows.append(row)
        print(f"turn {turn + 1} of {ROUNDS}", file=sys.stderr)
    for name in subjects:
        rate = spread([row[name].rate for row in rows])
        cpu = spread([row[name].cpu for row in rows])
        busy = max(row[name].busy for row in rows)
        note = "" if busy <= machine.BUSY else f"  THE DRIVER WAS BUSY ({busy:.0%})"
        print(
            f"  {name:<22} {rate[0]:>9,.0f} req/s ({rate[1]:,.0f} to {rate[2]:,.0f}), "
            f"{cpu[0]:.3f} CPU s for 1,000 ({cpu[1]:.3f} to {cpu[2]:.3f}){note}"
        )
    return rows


class Report:
    """The table of what was to be reached."""

    def __init__(self):
        self.lines = []
        self.good = True

    def ratio(self, name, what, pairs, bar, at_least=True):
        """`pairs` has, by turn, the ratio by requests a second and the one by CPU seconds."""
        rate, cpu = spread([pair[0] for pair in pairs]), spread([pair[1] for pair in pairs])
        shown = f"{cpu[0]:.2f} by CPU ({cpu[1]:.2f} to {cpu[2]:.2f}), {rate[0]:.2f} by requests ({rate[1]:.2f} to {rate[2]:.2f})"
        self.add(name, what, shown, f"{'≥' if at_least else '≤'} {bar}", cpu[0] >= bar if at_least else cpu[0] <= bar)

    def add(self, name, what, shown, bar, holds):
        self.good = self.good and holds
        self.lines.append(f"{name:<4} {what:<54} {shown:<76} {bar:<12} {'MET' if holds else 'MISSED'}")

    def print(self):
        print("\n".join(self.lines))


def between(small, large, length, of):
    """What a static route of this many bytes would take, by two that there are."""
    (few, at_few), (many, at_many) = ((sample.length, of(sample)) for sample in (small, large))
    return at_few + (at_many - at_few) * (length - few) / (many - few)


def against_static(rows, name):
    """Ratios to a static route of the size of the answer."""
    pairs = []
    for row in rows:
        static = [
            between(row["static, small"], row["static, large"], row[name].length, of)
            for of in (lambda s: 1 / s.rate, lambda s: s.cpu)
        ]
        pairs.append((static[0] * row[name].rate, static[1] / row[name].cpu))
    return pairs


def against(rows, name, other):
    """How many times better one is than the other."""
    return [(row[name].rate / row[other].rate, row[other].cpu / row[name].cpu) for row in rows]


def one_client(address, request, times):
    """Milliseconds of one request after the other, and the length of the answer."""
    import http.client

    connection = http.client.HTTPConnection(address)
    took = []
    for _ in range(times):
        began = time.perf_counter()
        connection.request("POST", request.path, request.body, request.headers)
        response = connection.getresponse()
        body = response.read()
        took.append((time.perf_counter() - began) * 1000)
        if response.status != 200 or b'"errors"' in body[:12]:
            sys.exit(f"status {response.status}: {body[:300]}")
    return sorted(took), len(body)


def walk(address):
    """Seconds for a whole catalog by pages of blobs, and its bytes."""
    import http.client

    connection = http.client.HTTPConnection(address)
    total, after, began = 0, None, time.perf_counter()
    while True:
        request = query(WALK, {"after": after})
        connection.request("POST", request.path, request.body, request.headers)
        body = connection.getresponse().read()
        total += len(body)
        found = re.match(rb'\{"data":\{"metas":\{"pageInfo":\{"hasNextPage":(true|false),"endCursor":"([^"]*)"', body)
        if not found:
            sys.exit(f"no page: {body[:300]}")
        if found[1] == b"false":
            return time.perf_counter() - began, total
        after = found[2].decode()


def whole_content(address, package):
    return query(CONTENT, {"package": package})


def package_of(address, bytes_wanted):
    """The package whose blobs are nearest to this many bytes."""
    names, after = [], None
    while True:
        page = data(
            address,
            query(
                SIZES,
                {"after": after},
            ),
        )["packages"]
        names += [node["name"] for node in page["nodes"] if 5 <= node["bundles"]["totalCount"] <= 60]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    lengths = {name: len(fetch(address, f"/catalogs/c/api/v1/metas?package={name}")[1]) for name in names}
    return min(lengths, key=lambda name: abs(lengths[name] - bytes_wanted))


def compressed(address):
    """Bytes of all tiles in zstd, and of the whole catalog as it is."""
    total, after = 0, None
    while True:
        request = query(TILES, {"first": 500, "after": after})
        page = data(address, request)["packages"]["pageInfo"]
        total += len(fetch(address, request.path, request.body, {**request.headers, "accept-encoding": "zstd"})[1])
        after = page["endCursor"]
        if not page["hasNextPage"]:
            return total, len(fetch(address, "/catalogs/c/api/v1/all")[1])


def throughput(wrk, work, ours, plain, peers, seconds, report):
    for address in (CACHING, PLAIN):
        register(address, TILES)
    cached = by_digest(TILES, {"first": 50})
    tile, page = query(TILES, {"first": 50}), lambda size: query(BUNDLES, {"first": size})
    subjects = {
        "static, small": Subject(CACHING, ours, Request("/healthz")),
        "static, large": Subject(CACHING, ours, Request("/schema.graphql")),
        "{ __typename }": Subject(PLAIN, plain, query("{ __typename }")),
        "tiles, cached": Subject(CACHING, ours, cached),
        "tiles, 304": Subject(
            CACHING, ours, by_digest(TILES, {"first": 50}, **{"if-none-match": tag_of(CACHING, cached)}), 304
        ),
        "tiles": Subject(PLAIN, plain, tile),
        "50 bundles": Subject(PLAIN, plain, page(50)),
        "500 bundles": Subject(PLAIN, plain, page(500)),
        "graphql-js": Subject(GRAPHQL_JS, peers[0], tile),
        "mercurius": Subject(MERCURIUS, peers[1], tile),
    }
    said = {name: data(subjects[name].address, tile) for name in ("tiles", "graphql-js", "mercurius")}
    if len({json.dumps(answer) for answer in said.values()}) != 1:
        sys.exit("the peers do not answer what catalogql answers")
    rows = measured(wrk, work, subjects, seconds)
    report.ratio("P1", "{ __typename }, POST, uncached / static route", against_static(rows, "{ __typename }"), 0.60)
    report.ratio("P2", "tile page, GET and digest, cached / static route", against_static(rows, "tiles, cached"), 0.85)
    report.ratio("P3", "tile page, 304 / static route", against_static(rows, "tiles, 304"), 0.90)
    report.ratio("P4", "tile page, uncached / graphql-js over graphql-http", against(rows, "tiles", "graphql-js"), 10)
    report.ratio("P5", "tile page, uncached / mercurius with jit", against(rows, "tiles", "mercurius"), 3)
    report.ratio(
        "P8", "page of 500 / page of 50, in time", against(rows, "50 bundles", "500 bundles"), 11, at_least=False
    )


def single(report):
    package = package_of(PLAIN, 288_000)
    took, length = one_client(PLAIN, whole_content(PLAIN, package), 300)
    median, tail = took[len(took) // 2], took[len(took) * 99 // 100]
    report.add(
        "P9",
        f"all blobs of {package}, {length:,} bytes",
        f"{median:.3f} ms (p99 {tail:.3f})",
        "≤ 0.5 ms",
        median <= 0.5,
    )
    walks = [walk(PLAIN) for _ in range(ROUNDS)]
    seconds = spread([took for took, _ in walks])
    report.add(
        "P10",
        f"whole catalog by pages of blobs, {walks[0][1]:,} bytes",
        f"{seconds[0]:.3f} s ({seconds[1]:.3f} to {seconds[2]:.3f})",
        "≤ 0.2 s",
        seconds[0] <= 0.2,
    )
    tiles, whole = compressed(CACHING)
    report.add(
        "P13",
        f"all tiles, zstd / whole catalog, {whole:,} bytes",
        f"{tiles:,} bytes, 1/{whole / tiles:,.0f}",
        "≤ 1/500",
        tiles * 500 <= whole,
    )
    slowest(report, PLAIN, "the catalog")


def slowest(report, address, catalog):
    """The slowest of the queries that are admitted: the largest pages of each kind. `make bench` tries more kinds."""
    took = {}
    for name, fields in WORST.items():
        for roots in (20, 5, 1):
            times = largest_admitted(address, fields, roots)
            if times:
                took[f"{roots} × {name}"] = min(times)
    name = max(took, key=took.get)
    what = f"worst of {len(took)} admitted queries over {catalog}"
    report.add("P16", what, f"{took[name]:.0f} ms, {name}", "≤ 250 ms", took[name] <= 250)


def largest_admitted(address, fields, roots):
    """Milliseconds of the query with the largest pages that are not refused, asked three times."""
    for size in (500, 350, 250, 150, 100, 70, 50, 35, 25, 15, 10, 5, 2, 1):
        text = "{ " + " ".join(f"r{root}: {fields.replace('SIZE', str(size))}" for root in range(roots)) + " }"
        request, times = query(text), []
        for _ in range(3):
            began = time.perf_counter()
            status, body = fetch(address, request.path, request.body, request.headers)
            times.append((time.perf_counter() - began) * 1000)
        if status != 200:
            sys.exit(f"status {status} for {text}")
        if not body.startswith(b'{"errors"') or b"_ESTIMATED_" not in body[:400]:
            return times
    return []


def main():
    server, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    directory = corpus(sys.argv[3] if len(sys.argv) > 3 else "community")
    inline = corpus("community-objects")
    wrk, node = program("wrk", "wrk"), program("node", "nodejs")
    program("taskset", "util-linux")
    for peer in ("graphql-js", "mercurius"):
        if not os.path.isdir(os.path.join(PEERS, peer, "node_modules")):
            sys.exit(f"{peer} is missing: npm --prefix benches/peers/{peer} ci")
    report = Report()
    with machine.folder() as work, contextlib.ExitStack() as open_ones:
        ours = open_ones.enter_context(catalogql(server, work, CACHING, f"c={directory}"))
        plain = open_ones.enter_context(catalogql(server, work, PLAIN, f"c={directory}", *uncached(server)))
        edges = data(PLAIN, query(EDGES))["packages"]
        if edges["pageInfo"]["hasNextPage"]:
            sys.exit("the catalog has more packages than a page")
        packages = os.path.join(work, "packages.json")
        with open(packages, "w", encoding="utf-8") as file:
            json.dump(edges["edges"], file)
        peers = []
        for peer, address in (("graphql-js", GRAPHQL_JS), ("mercurius", MERCURIUS)):
            script = os.path.join(PEERS, peer, "server.mjs")
            command = [node, script, SCHEMA, packages, address.rpartition(":")[2]]
            peers.append(open_ones.enter_context(machine.serving(work, *command)).pid)
            for _ in range(100):
                with contextlib.suppress(OSError):
                    fetch(address, "/graphql?query=%7B__typename%7D")
                    break
                time.sleep(0.1)
        throughput(wrk, work, ours.pid, plain.pid, peers, seconds, report)
        single(report)
        # Its manifests are inline, which costs most.
        open_ones.enter_context(catalogql(server, work, OBJECTS, f"c={inline}", *uncached(server)))
        slowest(report, OBJECTS, "inline manifests")
    report.print()
    sys.exit(0 if report.good else 1)


main()

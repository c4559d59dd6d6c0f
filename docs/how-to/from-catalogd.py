#!/usr/bin/env python3
"""Generates from-catalogd.md: the jq pipelines of catalogd's documentation beside GraphQL queries, with bytes and times.

    catalogql serve path/to/catalog --listen 127.0.0.1:8080
    python3 docs/how-to/from-catalogd.py http://127.0.0.1:8080 NAME PACKAGE CHANNEL BUNDLE > docs/how-to/from-catalogd.md

It needs curl and jq. Bytes are those of the responses; a time is that of the fastest of three runs, until the last byte was
read.
"""

import json
import subprocess
import sys
import time
import urllib.request

RUNS = 3

INTRODUCTION = """\
# From catalogd to GraphQL

Clients of catalogd's HTTP API work with catalogql unchanged: `/catalogs/NAME/api/v1/all` and `/metas` are the same
([reference](../reference/http.md)). So do clients of its alpha GraphQL, `/catalogs/NAME/api/v1/graphql`
([reference](../reference/http.md#catalogds-alpha-graphql)). This page shows how to replace downloads of whole catalogs
with queries to `/graphql`.

To move from catalogd's GraphQL to `/graphql`, change names: a schema is a type with relations, pages are connections,
and JSON texts are objects with fields.

| catalogd's GraphQL of the catalog `NAME` | `/graphql` |
|---|---|
| `{{ olmpackages(limit: 10) {{ name defaultChannel }} }}` | `{{ packages(catalogs: ["NAME"], first: 10) {{ nodes {{ name defaultChannel {{ name }} }} }} }}` |
| `{{ olmchannels {{ name package entries {{ name replaces }} }} }}` | `{{ packages(catalogs: ["NAME"]) {{ nodes {{ name channels {{ name entries {{ name replaces }} }} }} }} }}` |
| `{{ olmbundles {{ name package image }} }}` | `{{ packages(catalogs: ["NAME"]) {{ nodes {{ name bundles {{ nodes {{ name image }} }} }} }} }}` |
| `{{ olmbundles {{ properties {{ type value }} }} }}` | `{{ packages(catalogs: ["NAME"]) {{ nodes {{ bundles {{ nodes {{ properties {{ type value }} }} }} }} }} }}` |
| `{{ summary {{ schemas {{ name totalObjects }} }} }}` | `{{ catalog(name: "NAME") {{ schemas {{ schema count }} }} }}` |

Each section has a pipeline from catalogd's documentation, which downloads a whole catalog and filters it, and a GraphQL
query for the same data. The pipelines read from

```sh
curl -s {server}/catalogs/{catalog}/api/v1/all | PIPELINE
```

and the queries are sent with

```sh
curl -s {server}/graphql -H 'content-type: application/json' -d '{{"query": "QUERY"}}'
```

The catalog is `{catalog}` ({size} bytes), and client and server run on the same machine; over a network, the number of
bytes matters more. To measure your own catalog, run [from-catalogd.py](from-catalogd.py), which generates this page.
"""

# Title, note, pipeline, query.
SECTIONS = [
    (
        "Packages of a catalog",
        "",
        "jq -s '.[] | select(.schema == \"olm.package\")'",
        '{{ packages(catalogs: ["{catalog}"], first: 500) {{ nodes {{ name defaultChannel {{ name }} }} }} }}',
    ),
    (
        "Packages that can be installed for all namespaces",
        "The pipeline reads inline manifests, which few catalogs still have; it prints nothing if bundles have "
        "`olm.csv.metadata` instead. The query reads both, for the head of each default channel. It does not check webhooks, "
        "which are only in manifests.",
        "jq -c 'select(.schema == \"olm.bundle\") | {{\"package\": .package, \"version\": .properties[] | "
        'select(.type == "olm.bundle.object").value.data | @base64d | fromjson | select(.kind == "ClusterServiceVersion" '
        'and (.spec.installModes[] | select(.type == "AllNamespaces" and .supported == true) != null) and '
        ".spec.webhookdefinitions == null).spec.version}}'",
        '{{ packages(catalogs: ["{catalog}"], first: 500, filter: {{installModes: [ALL_NAMESPACES]}}) '
        "{{ nodes {{ name defaultChannel {{ head {{ bundle {{ version }} }} }} }} }} }}",
    ),
    (
        "Description of a package",
        "The icon has a URL of its own and can be cached indefinitely.",
        "jq -s '.[] | select(.schema == \"olm.package\") | select(.name == \"{package}\")'",
        '{{ package(catalog: "{catalog}", name: "{package}") '
        "{{ name description defaultChannel {{ name }} icon {{ url }} }} }}",
    ),
    (
        "Blobs of a package",
        "Both return every blob whole.",
        "jq -s '.[] | select(.package == \"{package}\")'",
        '{{ metas(catalogs: ["{catalog}"], filter: {{package: "{package}"}}, first: 500) {{ nodes {{ blob }} }} }}',
    ),
    (
        "Channels of a package",
        "",
        "jq -s '.[] | select(.schema == \"olm.channel\") | select(.package == \"{package}\") | .name'",
        '{{ package(catalog: "{catalog}", name: "{package}") {{ channels {{ name }} }} }}',
    ),
    (
        "Entries of a channel",
        "",
        "jq -s '.[] | select(.package == \"{package}\") | select(.schema == \"olm.channel\") | "
        'select(.name == "{channel}") | .entries | .[] | .name\'',
        '{{ package(catalog: "{catalog}", name: "{package}") {{ channel(name: "{channel}") {{ entries {{ name }} }} }} }}',
    ),
    (
        "Head of a channel, and the upgrades to it",
        "The pipeline prints the entries; it does not determine which one is the head.",
        "jq -s '.[] | select(.schema == \"olm.channel\") | select(.name == \"{channel}\") | select(.package == \"{package}\")'",
        '{{ package(catalog: "{catalog}", name: "{package}") {{ channel(name: "{channel}") '
        "{{ head {{ name }} entries {{ name replaces skips skipRange }} }} }} }}",
    ),
    (
        "Bundles of a package",
        "",
        "jq -s '.[] | select(.schema == \"olm.bundle\") | select(.package == \"{package}\") | .name'",
        '{{ bundles(catalogs: ["{catalog}"], packages: ["{package}"], first: 500) {{ nodes {{ name }} }} }}',
    ),
    (
        "APIs and packages that a bundle provides and requires",
        "",
        "jq -s '.[] | select(.schema == \"olm.bundle\") | select(.name == \"{bundle}\") | select(.package == \"{package}\")'",
        '{{ bundle(catalog: "{catalog}", package: "{package}", name: "{bundle}") '
        "{{ providedApis {{ group version kind }} requiredApis {{ group version kind }} "
        "requiredPackages {{ packageName versionRange }} }} }}",
    ),
]


def shortest(run):
    """The result of a function, and the seconds of its shortest run."""
    times = []
    for _ in range(RUNS):
        begun = time.monotonic()
        result = run()
        times.append(time.monotonic() - begun)
    return result, min(times)


def piped(url, pipeline):
    """What is printed, and how many bytes were downloaded for it."""
    command = f"curl -sS --fail -w '%{{stderr}}%{{size_download}}' '{url}' | {pipeline}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=True)
    return done.stdout, int(done.stderr)


def asked(server, query):
    """The answer, of which every page must be the last."""
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{server}/graphql", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        answer = response.read()
    if "errors" in json.loads(answer):
        sys.exit(f"{query}\n{answer.decode()}")
    return answer


def number(count):
    return f"{count:,}"


def milliseconds(seconds):
    return f"{seconds * 1000:,.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"


def section(values, title, note, pipeline, query):
    pipeline, query = pipeline.format(**values), query.format(**values)
    url = f"{values['server']}/catalogs/{values['catalog']}/api/v1/all"
    (printed, downloaded), piping = shortest(lambda: piped(url, pipeline))
    answer, asking = shortest(lambda: asked(values["server"], query))
    lines = [f"## {title}", ""]
    lines += [note, ""] if note else []
    lines += ["```sh", pipeline, "```", "", "```graphql", query, "```", ""]
    lines += ["| | bytes downloaded | bytes of the result | time |", "|---|---|---|---|"]
    lines += [f"| pipeline | {number(downloaded)} | {number(len(printed))} | {milliseconds(piping)} |"]
    lines += [f"| query | {number(len(answer))} | {number(len(answer))} | {milliseconds(asking)} |"]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    values = dict(zip(["server", "catalog", "package", "channel", "bundle"], sys.argv[1:]))
    head = urllib.request.Request(f"{values['server']}/catalogs/{values['catalog']}/api/v1/all", method="HEAD")
    with urllib.request.urlopen(head) as response:
        values["size"] = number(int(response.headers["content-length"]))
    sections = [section(values, *one) for one in SECTIONS]
    print("\n\n".join([INTRODUCTION.format(**values).rstrip(), *sections]))


main()

#!/usr/bin/env python3
"""Measures how a server grows with its catalogs: memory, disk, starts, and requests.

    python3 benches/http/many.py target/release/catalogql [--small] [--json FILE] [CATALOGS…]

The catalogs are copies of *community* that differ in a blob, so that each is a content of its own. What is stored takes
90 MB for each; with `--small`, descriptions, examples and icons are left out of the copies, which have as many packages,
channels and bundles, and take 19 MB. Each number of catalogs is loaded into an empty store, and started again with it.
`--json` keeps the figures for `picture.py`.
"""

import argparse
import json
import math
import os
import re
import shutil
import statistics
import tempfile
import time
import urllib.parse

from machine import anonymous, answers, corpus, cpu_seconds, fetch, serving

ADDRESS = "127.0.0.1:18490"

# Time without work after which a server is at rest.
QUIET_SECONDS = 3

# Time after which a change of a directory would be seen in its times.
SETTLED_SECONDS = 3

# Times that each request is repeated; its figure is the median.
REPEATED = 101

# Parts of the metadata of a bundle that are long and that small copies lack.
LONG = ["crdDescriptions", "description", "links", "maintainers"]
LONG_ANNOTATIONS = ["alm-examples", "operatorframework.io/suggested-namespace-template"]

# A request of each kind; `{name}` is the last catalog.
REQUESTS = {
    "look-up of a package": '{{ package(catalog: "{name}", name: "etcd") {{ name displayName }} }}',
    "look-up of a bundle": '{{ bundle(catalog: "{name}", package: "etcd", name: "etcdoperator.v0.9.4") {{ name version }} }}',
    "a page of a package": '{{ catalog(name: "{name}") {{ package(name: "etcd") {{ name bundles(first: 1) {{ nodes {{ name version }} }} }} }} }}',
    "first 50 packages by name": "{{ packages(first: 50) {{ nodes {{ name }} }} }}",
    "first 50 packages by date": "{{ packages(first: 50, orderBy: {{field: CREATED_AT, direction: DESC}}) {{ nodes {{ name }} }} }}",
    "first 50 bundles by version": "{{ bundles(first: 50, orderBy: {{field: VERSION, direction: DESC}}) {{ nodes {{ name }} }} }}",
    "first 50 packages by relevance": '{{ packages(first: 50, filter: {{search: "database"}}) {{ nodes {{ name }} }} }}',
    "facets": "{{ packages(first: 1) {{ facets {{ categories {{ value count }} }} }} }}",
    "totals": "{{ packages(first: 1) {{ totalCount }} bundles(first: 1) {{ totalCount }} }}",
}


def rest(pid):
    """Waits until the server does nothing, and returns its CPU time."""
    last, since = cpu_seconds(pid), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(0.2)
        if (now := cpu_seconds(pid)) > last + 0.02:
            last, since = now, time.monotonic()
    return last


def median_microseconds(query):
    """The median time of a request; `None` where it is refused, because it takes too much work."""
    times = []
    for at in range(REPEATED):
        # Another text each time, so that no answer is kept.
        path = "/graphql?query=" + urllib.parse.quote(query + " " * at)
        began = time.monotonic()
        status, body = fetch(ADDRESS, path)
        times.append(time.monotonic() - began)
        if b"COST_ACTUAL_TOO_EXPENSIVE" in body:
            return None
        assert status == 200 and b'"errors"' not in body, body[:300]
    return statistics.median(times) * 1e6


def fetch_or_none(path):
    try:
        return fetch(ADDRESS, path)[0]
    except OSError:
        return None


def shown(figure):
    return f"{'refused':>12}" if figure is None else f"{figure:12.2f}"


def start(program, work, what, names):
    """Starts the server, and returns the figures of this start."""
    flags = ["--listen", ADDRESS, "--store", os.path.join(work, "store"), "--store-quota", "1000Gi", "--compress-after", "1h"]
    sources = [f"{name}={os.path.join(work, name)}" for name in names]
    began = time.monotonic()
    with serving(work, program, "serve", *sources, *flags, cores="0,1") as process:
        while fetch_or_none("/readyz") != 200:
            assert process.poll() is None, f"the server ended: see {work}/servers.log"
            time.sleep(0.005)
        ready = time.monotonic() - began
        cpu = cpu_seconds(process.pid)
        cpu_at_rest = rest(process.pid)
        memory = anonymous(process.pid)
        bundles = json.loads(answers(ADDRESS, "/graphql?query={bundles{totalCount}}"))["data"]["bundles"]["totalCount"]
        requests = {kind: median_microseconds(query.format(name=names[-1])) for kind, query in REQUESTS.items()}
        rest(process.pid)
        figures = {
            "ready, s": ready,
            "CPU until ready, s": cpu,
            "CPU until at rest, s": cpu_at_rest,
            "anonymous memory, MiB": memory / 2**20,
            "anonymous memory after requests, MiB": anonymous(process.pid) / 2**20,
            "bundles": bundles,
            **{f"{kind}, µs": figure for kind, figure in requests.items()},
        }
    print(f"  {what}")
    for name, figure in figures.items():
        print(f"    {name:<40} {shown(figure)}", flush=True)
    return figures


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def blobs(text):
    decoder, space = json.JSONDecoder(), re.compile(r"\s*")
    at = space.match(text).end()
    while at < len(text):
        blob, at = decoder.raw_decode(text, at)
        yield blob
        at = space.match(text, at).end()


def shorten(blob):
    """Leaves out what is long and what no list, search or facet needs."""
    blob.pop("icon", None)
    blob.pop("relatedImages", None)
    if "description" in blob:
        blob["description"] = blob["description"][:200]
    for item in blob.get("properties", []):
        if item["type"] == "olm.csv.metadata":
            for name in LONG:
                item["value"].pop(name, None)
            for name in LONG_ANNOTATIONS:
                item["value"].get("annotations", {}).pop(name, None)


def small_copy(source, target):
    for folder, _, files in os.walk(source):
        os.makedirs(os.path.join(target, os.path.relpath(folder, source)), exist_ok=True)
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = list(blobs(file.read()))
            for blob in found:
                shorten(blob)
            path = os.path.join(target, os.path.relpath(os.path.join(folder, name), source))
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(blob) + "\n" for blob in found)


def size(folder, *endings):
    return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(endings))


def measure(program, source, count):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(source)) as work:
        names = [f"copy-{number:04}" for number in range(count)]
        for name in names:
            shutil.copytree(source, os.path.join(work, name), copy_function=link)
            with open(os.path.join(work, name, "copy.json"), "w", encoding="utf-8") as file:
                json.dump({"schema": "example.com.copy", "name": name}, file)
        # A directory that has just changed is read again by the next start.
        time.sleep(SETTLED_SECONDS)
        print(f"{count} catalogs", flush=True)
        first = start(program, work, "empty store", names)
        again = start(program, work, "started again", names)
        content = os.path.join(work, "store", "content")
        disk = {"contents, MiB": size(content, ".jsonl") / 2**20, "indexes, MiB": size(content, ".index") / 2**20}
        print(f"  store: {disk}", flush=True)
    return {"catalogs": count, "empty store": first, "started again": again, "store": disk}


def exponent(counts, figures):
    """The slope of the logarithm of a figure over that of the number of catalogs."""
    points = [(math.log(count), math.log(figure)) for count, figure in zip(counts, figures)]
    x, y = (statistics.mean(values) for values in zip(*points))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program")
    parser.add_argument("counts", nargs="*", type=int, default=[1, 10, 40])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_intermixed_args()

    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "community")
        if arguments.small:
            small_copy(corpus("community"), source)
        else:
            # Links, so that the copies of it are on the same disk.
            shutil.copytree(corpus("community"), source, copy_function=link)
        measured = [measure(arguments.program, source, count) for count in arguments.counts]

    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(measured, file, indent=1)
    for part in ["empty store", "started again"]:
        print(f"{part}: the figure with one catalog, with most, and the exponent")
        for name in measured[0][part]:
            figures = [figures[part][name] for figures in measured]
            taken = [(count, figure) for count, figure in zip(arguments.counts, figures) if figure]
            slope = f"{exponent(*zip(*taken)):6.2f}" if len(taken) > 1 else ""
            print(f"  {name:<42} {shown(figures[0])} {shown(figures[-1])} {slope}")
        first, last = measured[0][part], measured[-1][part]
        if last["bundles"] > first["bundles"]:
            growth = (last["anonymous memory, MiB"] - first["anonymous memory, MiB"]) * 2**20
            print(f"  {growth / (last['bundles'] - first['bundles']):.0f} bytes of anonymous memory for each further bundle")


main()

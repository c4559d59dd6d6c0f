#!/usr/bin/env python3
"""Measures how memory and starts grow with the number of catalogs: copies of one that differ in a blob.

    python3 benches/http/many.py target/release/catalogql [CATALOGS…]

Each number of catalogs is loaded into an empty store, and then started again with it. The copies are hard links where
the temporary folder is on the disk of the corpus, and what is stored takes 90 MB for each catalog.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time

from machine import anonymous, answers, corpus, cpu_seconds, fetch, serving

ADDRESS = "127.0.0.1:18490"

# Time without work after which a server is at rest.
QUIET_SECONDS = 3

# Time after which a change of a directory would be seen in its times.
SETTLED_SECONDS = 3

LOOK_UPS = 400
QUERY = '{ catalog(name: "%s") { package(name: "etcd") { name bundles(first: 1) { nodes { name version } } } } }'


def rest(pid):
    """Waits until the server does nothing, and returns its CPU time."""
    last, since = cpu_seconds(pid), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(0.2)
        if (now := cpu_seconds(pid)) > last + 0.02:
            last, since = now, time.monotonic()
    return last


def median_look_up(name):
    times = []
    for at in range(LOOK_UPS):
        # Another text each time, so that no answer is kept.
        body = json.dumps({"query": QUERY % name + " " * at})
        began = time.monotonic()
        status, _ = fetch(ADDRESS, "/graphql", body, {"content-type": "application/json"})
        times.append(time.monotonic() - began)
        assert status == 200
    return statistics.median(times) * 1e6


def start(program, work, what, names):
    began = time.monotonic()
    flags = ["--listen", ADDRESS, "--store", os.path.join(work, "store"), "--compress-after", "1h"]
    sources = [f"{name}={os.path.join(work, name)}" for name in names]
    with serving(work, program, "serve", *sources, *flags, cores="0,1") as process:
        while fetch_or_none("/readyz") != 200:
            time.sleep(0.005)
        ready, cpu = time.monotonic() - began, cpu_seconds(process.pid)
        total = rest(process.pid)
        bundles = json.loads(answers(ADDRESS, "/graphql?query={bundles{totalCount}}"))["data"]["bundles"]["totalCount"]
        rest(process.pid)
        memory = anonymous(process.pid)
        print(
            f"  {what:<16} ready {ready:6.2f} s   CPU {cpu:6.2f} s, at rest {total:6.2f} s   "
            f"RssAnon {memory / 2**20:7.1f} MiB   {bundles} bundles   look-up {median_look_up(names[-1]):5.0f} µs",
            flush=True,
        )
    return memory, bundles


def fetch_or_none(path):
    try:
        return fetch(ADDRESS, path)[0]
    except OSError:
        return None


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def measure(program, count):
    source = corpus("community")
    with tempfile.TemporaryDirectory() as work:
        names = [f"copy-{number:04}" for number in range(count)]
        for name in names:
            shutil.copytree(source, os.path.join(work, name), copy_function=link)
            with open(os.path.join(work, name, "copy.json"), "w", encoding="utf-8") as file:
                json.dump({"schema": "example.com.copy", "name": name}, file)
        # A directory that has just changed is read again by the next start.
        time.sleep(SETTLED_SECONDS)
        print(f"{count} catalogs")
        cold = start(program, work, "empty store", names)
        warm = start(program, work, "started again", names)
        content = os.path.join(work, "store", "content")
        indexes = [entry.stat().st_size for entry in os.scandir(content) if entry.name.endswith(".index")]
        print(f"  indexes {sum(indexes) / 2**20:.1f} MiB, {sum(indexes) / warm[1]:.0f} bytes a bundle", flush=True)
        return cold, warm


def main():
    program = sys.argv[1]
    counts = [int(count) for count in sys.argv[2:]] or [1, 10, 40]
    measured = [measure(program, count) for count in counts]
    for at, what in enumerate(["empty store", "started again"]):
        first, last = measured[0][at], measured[-1][at]
        if last[1] > first[1]:
            growth = (last[0] - first[0]) / (last[1] - first[1])
            print(f"{what}: {growth:.0f} bytes of anonymous memory for each further bundle")


main()

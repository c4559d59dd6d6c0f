#!/usr/bin/env python3
"""Measures catalogd's alpha GraphQL beside catalogd itself: CPU of the server for a request, the same queries in one run.

    CATALOGD_ALPHA=… python3 benches/http/alpha.py target/release/catalogql

CATALOGD_ALPHA is catalogd's own storage and handlers around a directory; benches/peers/catalogd-alpha/main.go says how it
is built. It is asked in turns with a server without response cache and one with it, each over one connection, without
compression, and all must give the same data. What counts is the least of each, because nothing else on the machine makes
a request cheaper, and the server without cache. The time until the first response is printed too: a schema is made then.
"""

import http.client
import json
import os
import sys
import time

import machine
from machine import anonymous, corpus, cpu_seconds

THEIRS, OURS, CACHING = "127.0.0.1:18592", "127.0.0.1:18593", "127.0.0.1:18594"

# What must hold: how many times less CPU.
BAR = 20

ROUNDS = 5

# CPU in seconds that a round takes at least: clocks of processes tick in hundredths.
ROUND_SECONDS = 0.6

CATALOGS = ["community", "community-v4.18-yaml"]

QUERIES = {
    "summary": "{ summary { totalSchemas schemas { name totalObjects totalFields } } }",
    "packages": "{ olmpackages { name defaultChannel schema } }",
    "packages with icons": "{ olmpackages { name description icon } }",
    "channels with entries": "{ olmchannels { name package entries { name replaces skipRange } } }",
    "bundles": "{ olmbundles { name package image } }",
    "bundles with properties": "{ olmbundles { name package image properties { type value } relatedImages { name image } } }",
}


class Client:
    """One connection to a server, and its process."""

    def __init__(self, address, process, catalog):
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.path, self.pid = f"/catalogs/{catalog}/api/v1/graphql", process.pid

    def ask(self, query):
        self.connection.request("POST", self.path, json.dumps({"query": query}), {"content-type": "application/json"})
        response = self.connection.getresponse()
        text = response.read()
        if response.status != 200:
            sys.exit(f"{self.path} answers {response.status} {text[:200]}")
        return text

    def cpu(self, query, count):
        """Milliseconds of CPU of the server for a request."""
        before = cpu_seconds(self.pid)
        for _ in range(count):
            self.ask(query)
        return (cpu_seconds(self.pid) - before) / count * 1e3

    def count(self, query):
        """How often to ask so that clocks tell enough."""
        count = 20
        while True:
            taken = self.cpu(query, count) * count / 1e3
            if taken >= ROUND_SECONDS / 4:
                return int(count * ROUND_SECONDS / taken) + 1
            count *= 4


def main():
    server, theirs = os.path.abspath(sys.argv[1]), os.environ["CATALOGD_ALPHA"]
    missed = []
    for catalog in CATALOGS:
        with machine.folder() as work:
            os.mkdir(os.path.join(work, "catalogd"))
            directory = corpus(catalog)
            command = [theirs, THEIRS, os.path.join(work, "catalogd"), catalog, directory]
            caching = [server, "serve", directory, "--listen", CACHING, "--store", os.path.join(work, "caching")]
            ours = [server, "serve", directory, "--listen", OURS, "--store", os.path.join(work, "store"), "--cache-size", "0"]
            with (
                machine.serving(work, *command) as one,
                machine.serving(work, *ours) as other,
                machine.serving(work, *caching) as third,
            ):
                served = f"/catalogs/{catalog}/api/v1/all"
                for address, path in [(OURS, "/readyz"), (CACHING, "/readyz"), (THEIRS, served)]:
                    machine.answers(address, path)
                sides = [(THEIRS, one), (OURS, other), (CACHING, third)]
                missed += measure(catalog, [Client(address, process, catalog) for address, process in sides])
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


def measure(catalog, sides):
    missed = []
    began = time.monotonic()
    sides[1].ask(QUERIES["summary"])
    print(f"\n{catalog}: the first request takes {(time.monotonic() - began) * 1e3:.0f} ms\n")
    print("| query | bytes | catalogd | catalogql | times less | cached | times less |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, query in QUERIES.items():
        texts = [side.ask(query) for side in sides]
        answers = [ordered(json.loads(text)) for text in texts]
        if any(answer != answers[0] for answer in answers):
            sys.exit(f"{catalog}: {name} is answered differently")
        counts = [side.count(query) for side in sides]
        found = [[] for _ in sides]
        for _ in range(ROUNDS):
            for side, count, values in zip(sides, counts, found):
                values.append(side.cpu(query, count))
        theirs, ours, cached = map(min, found)
        ratio = theirs / ours
        row = [name, f"{len(texts[1]):,}", f"{theirs:.3f} ms", f"{ours:.3f} ms", f"{ratio:.1f}"]
        print("|", " | ".join([*row, f"{cached:.3f} ms", f"{theirs / cached:.1f}"]), "|", flush=True)
        if ratio < BAR:
            missed.append(f"{catalog} {name}: {ratio:.1f} times")
    memory = [anonymous(side.pid) / 2**20 for side in sides]
    print("\nanonymous memory after it: catalogd {:.0f} MiB, catalogql {:.0f} MiB, with cache {:.0f} MiB".format(*memory))
    return missed


def ordered(answer):
    """The order of schemas is random in catalogd."""
    summary = answer["data"].get("summary")
    if summary:
        summary["schemas"].sort(key=lambda schema: schema["name"])
    return answer


if __name__ == "__main__":
    main()

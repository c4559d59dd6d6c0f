#!/usr/bin/env python3
"""Measures what clients notice of others that send the dearest queries they can think of, one after the other.

    python3 benches/http/attackers.py target/release/catalogql [CATALOG]

Attackers are of every kind that was found once: nested scans, searches, facets, and queries at the limit of work, each
with a name of its own so that no response is cached. Meanwhile one client asks `{ catalogs { name } }`.
"""

import asyncio
import itertools
import json
import statistics
import sys
import time

from machine import catalogql, corpus, cpu_seconds, folder

ADDRESS = "127.0.0.1:18491"
HOST, PORT = ADDRESS.split(":")
SAMPLES = 400
# What 99 of a hundred requests must not exceed.
P99_MS = 50

DEAR = [
    "packages(first: 100) { nodes { catalog { packages(first: 100) { nodes { catalog { bundles(first: 0, "
    'orderBy: {field: VERSION}, filter: {versionRange: ">=0.0.0-0"}) { totalCount } } } } } } }',
    'packages(first: 400) { nodes { catalog { packages(first: 0, filter: {search: "oprator databse clster"}) { totalCount } } } }',
    'metas(first: 500) { nodes { catalog { metas(first: 0, filter: {schema: "olm.bundle"}) { totalCount } } } }',
    "packages(first: 400) { nodes { metadata { description } } facets { keywords(first: 100) { value count } } }",
    'bundles(first: 500, filter: {versionRange: ">=0.0.0-0"}) { nodes { metadata { description examples } } }',
    "packages(first: 50) { nodes { updateGraph { replaces { reasons } skipRanges { fromCount } } } }",
]


class Client:
    """A connection that is kept alive."""

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(HOST, PORT, limit=1 << 26)
        return self

    async def ask(self, query):
        body = json.dumps({"query": query}).encode()
        head = f"POST /graphql HTTP/1.1\r\nhost: {ADDRESS}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await self.reader.readexactly(length)
        return status


async def attack(number, statuses, names):
    client = await Client().open()
    for query in itertools.cycle(DEAR[number % len(DEAR) :] + DEAR[: number % len(DEAR)]):
        status = await client.ask(f"query a{next(names)} {{ {query} }}")
        statuses[status] = statuses.get(status, 0) + 1
        if status == 503:
            # As the response asks for.
            await asyncio.sleep(1)


async def measure(attackers):
    statuses, names = {}, itertools.count()
    tasks = [asyncio.create_task(attack(number, statuses, names)) for number in range(attackers)]
    await asyncio.sleep(2)
    client, times = await Client().open(), []
    for _ in range(SAMPLES):
        start = time.perf_counter()
        status = await client.ask(f"query b{next(names)} {{ catalogs {{ name }} }}")
        assert status == 200, status
        times.append((time.perf_counter() - start) * 1000)
        await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return times, statuses


def main(program, catalog=None):
    with folder() as work, catalogql(program, work, ADDRESS, f"c={catalog or corpus('community')}") as server:
        pid = getattr(server, "pid", server)
        for attackers in (0, 4, 16, 64):
            before = cpu_seconds(pid)
            times, statuses = asyncio.run(measure(attackers))
            times.sort()
            p99 = times[len(times) * 99 // 100 - 1]
            verdict = "ok" if p99 <= P99_MS else "MISSED"
            print(
                f"{attackers:3} attackers: p50 {statistics.median(times):6.1f} ms, p99 {p99:6.1f} ms, most {times[-1]:6.1f} ms "
                f"({verdict}: at most {P99_MS} ms); their responses {statuses}; {cpu_seconds(pid) - before:.1f} CPU s"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])

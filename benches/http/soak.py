#!/usr/bin/env python3
"""Keeps a server busy for a long while with everything that clients do, good and bad, and watches its memory.

    make soak
    python3 benches/http/soak.py target/release/catalogql [MINUTES [CATALOG]]

Every sample operation is asked in turn. Meanwhile there are subscriptions that come and go, readers that are slow and
readers that are gone, requests that are half sent, and 2,000 connections on which nothing happens. The memory that no
file backs must be the same in the last third of the time as in the first.
"""

import asyncio
import itertools
import json
import os
import random
import re
import resource
import statistics
import sys
import time

import machine
from machine import anonymous, catalogql, corpus, fetch, program

ADDRESS = "127.0.0.1:18487"
HOST, PORT = ADDRESS.split(":")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "operations.graphql")
IDLE = 2000
WORKERS, SLOW, DEAD, HALF, STREAMS = 8, 4, 4, 4, 8
# Before it counts, everything was there once.
WARM = 60
SAMPLE = 5
RATIO = 1.05


def operations():
    """The sample operations by name, in one document."""
    with open(EXAMPLES, encoding="utf-8") as file:
        text = file.read()
    return text, re.findall(r"^(query|subscription) (\w+)", text, re.MULTILINE)


class Samples:
    """Variables for the sample operations, drawn from what the catalog has."""

    def __init__(self):
        ask = lambda query: json.loads(
            fetch(ADDRESS, "/graphql", json.dumps({"query": query}), {"content-type": "application/json"})[1]
        )["data"]
        self.digest = ask('{ catalog(name: "c") { digest } }')["catalog"]["digest"]
        found = ask(
            "{ packages(first: 500) { nodes { id name } }"
            "  bundles(first: 500) { nodes { name package { name } providedApis { group version kind } } } }"
        )
        self.packages = found["packages"]["nodes"]
        self.bundles = found["bundles"]["nodes"]
        self.apis = [api for bundle in self.bundles for api in bundle["providedApis"]]
        self.random = random.Random(20260821)

    def variables(self):
        """For every operation at once: what an operation does not declare is ignored."""
        package, bundle = self.random.choice(self.packages), self.random.choice(self.bundles)
        return {
            "catalog": "c",
            "package": bundle["package"]["name"],
            "name": package["name"],
            "id": package["id"],
            "digest": self.digest,
            "bundle": bundle["name"],
            "gvk": self.random.choice(self.apis),
            "latest": self.random.random() < 0.5,
            "schema": "olm.channel",
            "search": self.random.choice(["database", "operator", "net", "", "zzz"]),
            "request": {"packageName": package["name"]},
            "from": {"name": "c"},
            "to": {"name": "c"},
            "names": ["c"],
        }


def message(body, path="/graphql", accept="application/json"):
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: {ADDRESS}\r\naccept: {accept}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


async def answer(reader):
    """Status and body of one answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    body = await reader.readexactly(int(length[1])) if length else b""
    return int(head.split(b" ", 2)[1]), body


class Clients:
    """All that goes on at once, each kind counted."""

    def __init__(self, samples):
        self.samples = samples
        self.text, named = operations()
        self.queries = [name for kind, name in named if kind == "query"]
        self.subscriptions = [name for kind, name in named if kind == "subscription"]
        self.counts = dict.fromkeys(
            ["answers", "with errors", "slow", "dead", "half sent", "streams", "sockets", "idle"], 0
        )
        self.faults = []

    async def ask(self):
        """Sample operations one after the other, over connections that last a while."""
        names = itertools.cycle(self.queries)
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            for name in itertools.islice(names, 500):
                writer.write(
                    message({"query": self.text, "operationName": name, "variables": self.samples.variables()})
                )
                status, body = await answer(reader)
                if status != 200 or b"INTERNAL_SERVER_ERROR" in body:
                    self.faults.append(f"{name}: {status} {body[:300]}")
                self.counts["answers"] += 1
                self.counts["with errors"] += b'"errors":' in body[-400:] or b'{"errors"' in body[:10]
                await asyncio.sleep(0.005)
            writer.close()

    async def slow(self):
        """Takes a whole catalog, a little at a time."""
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT, limit=4096)
            writer.write(f"GET /catalogs/c/api/v1/all HTTP/1.1\r\nhost: {ADDRESS}\r\n\r\n".encode())
            for _ in range(200):
                if not await reader.read(4096):
                    break
                await asyncio.sleep(0.1)
            writer.transport.abort()
            self.counts["slow"] += 1

    async def dead(self):
        """Asks for much and goes away, without reading a byte or in the middle."""
        page = "{ metas(first: 500) { nodes { blob } } }"
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT, limit=4096)
            writer.write(message({"query": page}))
            if self.counts["dead"] % 2:
                await reader.read(1000)
            await asyncio.sleep(0.5)
            writer.transport.abort()
            self.counts["dead"] += 1

    async def half(self):
        """Sends half of a request and waits until the server has enough of it, or goes away."""
        whole = message({"query": "{ __typename }"})
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            writer.write(whole[: random.randrange(1, len(whole))])
            try:
                await asyncio.wait_for(reader.read(), 40 if self.counts["half sent"] % 10 == 0 else 1)
            except (asyncio.TimeoutError, ConnectionError):
                pass
            writer.transport.abort()
            self.counts["half sent"] += 1

    async def idle(self):
        """Holds a connection; the server closes it after a while, and another one takes its place."""
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            self.counts["idle"] += 1
            try:
                await reader.read()
            except ConnectionError:
                pass
            writer.transport.abort()

    async def stream(self):
        """Subscriptions over server-sent events that come and go."""
        names = itertools.cycle(self.subscriptions)
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            body = {"query": self.text, "operationName": next(names), "variables": self.samples.variables()}
            writer.write(message(body, accept="text/event-stream"))
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(self.samples.random.random() * 3)
            writer.transport.abort()
            self.counts["streams"] += 1

    async def socket(self):
        """The same over WebSockets."""
        names = itertools.cycle(self.subscriptions)
        head = (
            f"GET /graphql HTTP/1.1\r\nhost: {ADDRESS}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
            "sec-websocket-key: c29ha3NvYWtzb2Frc29haw==\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n"
        )
        while True:
            reader, writer = await asyncio.open_connection(HOST, PORT)
            writer.write(head.encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(frame({"type": "connection_init"}))
            payload = {"query": self.text, "operationName": next(names), "variables": self.samples.variables()}
            writer.write(frame({"id": "1", "type": "subscribe", "payload": payload}))
            await asyncio.sleep(self.samples.random.random() * 3)
            if self.counts["sockets"] % 2:
                writer.write(frame({"id": "1", "type": "complete"}))
                await writer.drain()
            writer.transport.abort()
            self.counts["sockets"] += 1

    async def again(self, kind):
        """A client whose connection was refused or cut off comes again."""
        while True:
            try:
                await kind()
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.2)

    def all(self):
        kinds = [(self.ask, WORKERS), (self.slow, SLOW), (self.dead, DEAD), (self.half, HALF), (self.idle, IDLE)]
        if self.subscriptions:
            kinds += [(self.stream, STREAMS), (self.socket, STREAMS)]
        return [asyncio.ensure_future(self.again(kind)) for kind, count in kinds for _ in range(count)]


def frame(body):
    """A text frame of a WebSocket, masked with zeros."""
    data = json.dumps(body).encode()
    length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + length + b"\0\0\0\0" + data


async def soak(pid, minutes):
    """Memory every few seconds, and what the clients did."""
    clients = Clients(Samples())
    running = clients.all()
    await asyncio.sleep(WARM)
    samples, until = [], time.monotonic() + minutes * 60
    while time.monotonic() < until:
        samples.append(anonymous(pid))
        if len(samples) % 12 == 1:
            print(f"{(len(samples) - 1) * SAMPLE:>5} s: {samples[-1] / 2**20:.1f} MiB; {clients.counts}", flush=True)
        await asyncio.sleep(SAMPLE)
    for one in running:
        one.cancel()
    return samples, clients


def main():
    server, minutes = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 15
    directory = corpus(sys.argv[3] if len(sys.argv) > 3 else "community")
    program("taskset", "util-linux")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < 2 * IDLE:
        sys.exit(f"{most} open files are not enough for {IDLE} connections: raise the limit (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with machine.folder() as work, catalogql(server, work, ADDRESS, f"c={directory}", cores="0,1") as process:
        samples, clients = asyncio.run(soak(process.pid, minutes))
        lives = process.poll() is None
    third = max(1, len(samples) // 3)
    first, last = statistics.median(samples[:third]), statistics.median(samples[-third:])
    print(f"answers: {clients.counts}")
    print("memory in MiB: " + " ".join(f"{sample / 2**20:.1f}" for sample in samples[:: max(1, len(samples) // 60)]))
    for fault in clients.faults[:5]:
        print(fault)
    good = lives and not clients.faults and last <= RATIO * first
    print(
        f"last third / first third: {last / 2**20:.2f} / {first / 2**20:.2f} MiB = {last / first:.3f} (≤ {RATIO}); "
        f"faults: {len(clients.faults)} {'MET' if good else 'MISSED'}"
    )
    sys.exit(0 if good else 1)


main()

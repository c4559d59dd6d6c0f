#!/usr/bin/env python3
"""Keeps a server busy for a long while with everything that clients do, good and bad, and watches its memory.

    make soak
    python3 benches/http/soak.py target/release/catalogql target/debug/examples/cluster [MINUTES [CATALOG]]

The server is the controller of a real control plane, with images from a real registry: one catalog, and a second one
that changes. Everything is on: TLS with a certificate that is rotated, a Lease, status, and metrics that are scraped by
a client that the API server knows. Every sample operation is asked in turn over HTTP/1.1, a page and a download over
HTTP/2.
Meanwhile there are subscriptions that come and go, readers that are slow and readers that are gone, requests that are
half sent, and 2,000 connections on which nothing happens, some not even a handshake.

From the second third of the time to the last one, the memory that no file backs must stay as it is and open descriptors
must not become more. No request of a good client may fail.
"""

import asyncio
import itertools
import json
import os
import random
import re
import resource
import shutil
import ssl
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass

import machine
from machine import anonymous, answers, corpus, program, serving

HOST, PORT, METRICS_PORT, PROBES = "127.0.0.1", 18487, 18488, "127.0.0.1:18489"
# Hostile clients have an address of their own, as the bounds of connections are of one address.
HOSTILE = ("127.0.0.2", 0)
ADDRESS = f"{HOST}:{PORT}"
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "operations.graphql")
IDLE = 2000
WORKERS, SLOW, DEAD, HALF, STREAMS = 4, 4, 4, 4, 8
# Seconds between two requests of a worker, two contents, two certificates, two scrapes.
PAUSE, CHURN, ROTATION, SCRAPE = 0.02, 2, 5, 1
# Before it counts, everything was there once.
WARM = 60
SAMPLE = 5
# What memory may differ, as a share and in bytes, and how many descriptors may come.
SLACK, SLACK_BYTES, SLACK_DESCRIPTORS = 0.05, 2 * 2**20, 10
# What a server answers that cannot answer: no good client may read it.
FAILURES = (b'"INTERNAL_SERVER_ERROR"', b'"SERVER_OVERLOADED"', b'"TIMEOUT"')

# Nobody has issued the certificates; which one is used is looked at by those who scrape.
TLS = ssl.create_default_context()
TLS.check_hostname, TLS.verify_mode = False, ssl.CERT_NONE
TLS.set_alpn_protocols(["http/1.1"])


def connect(port=PORT, tls=TLS, **options):
    return asyncio.open_connection(HOST, port, ssl=tls, **options)


def page(query):
    return "/graphql?" + urllib.parse.urlencode({"query": query})


def fetch(query):
    """What a query has as data."""
    with urllib.request.urlopen(f"https://{ADDRESS}{page(query)}", timeout=60, context=TLS) as response:
        return json.loads(response.read())["data"]


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def lead(link, target):
    """A link that leads elsewhere from one moment to the next."""
    os.symlink(os.path.basename(target), link + ".next")
    os.rename(link + ".next", link)


def write_churn(work, number):
    """A catalog of 100 packages that say which content they are of; returns its folder."""
    text = ""
    for package in range(100):
        name = f"churn-{package}"
        bundle = f"{name}.v1.0.0"
        version = {"type": "olm.package", "value": {"packageName": name, "version": "1.0.0"}}
        for blob in [
            {"schema": "olm.package", "name": name, "defaultChannel": "stable", "description": f"content {number}"},
            {"schema": "olm.channel", "package": name, "name": "stable", "entries": [{"name": bundle}]},
            {"schema": "olm.bundle", "package": name, "name": bundle, "image": "x", "properties": [version]},
        ]:
            text += json.dumps(blob) + "\n"
    folder = os.path.join(work, f"churn-{number}")
    os.makedirs(folder)
    with open(os.path.join(folder, "catalog.json"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder


def write_certificate(folder, number):
    """A new pair in a folder of its own and a link that leads there, renamed as the kubelet does it."""
    path = os.path.join(folder, f"..{number}")
    os.makedirs(path)
    files = ["-keyout", os.path.join(path, "tls.key"), "-out", os.path.join(path, "tls.crt")]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    subprocess.run([*make.split(), *names, *files], check=True, capture_output=True)
    lead(os.path.join(folder, "..data"), path)
    shutil.rmtree(os.path.join(folder, f"..{number - 1}"), ignore_errors=True)


def operations():
    """The sample operations by name, in one document."""
    with open(EXAMPLES, encoding="utf-8") as file:
        text = file.read()
    return text, re.findall(r"^(query|subscription) (\w+)", text, re.MULTILINE)


class Samples:
    """Variables for the sample operations, drawn from what the catalog has."""

    def __init__(self):
        self.digest = fetch('{ catalog(name: "c") { digest } }')["catalog"]["digest"]
        found = fetch(
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
            "filter": {"search": self.random.choice(["database", "operator", "net", "", "zzz"])},
            "request": {"packageName": package["name"]},
            "from": {"name": "c"},
            "to": {"name": "c"},
            "names": ["c", "churn"],
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


class Cluster:
    """A control plane and a registry with the catalogs `c` and `churn`, for a while."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the cluster does not start")
        self.access = json.loads(line)

    def serve(self, folder):
        """Makes the catalog in a folder the content of `churn`; the folder is not needed any more."""
        self.process.stdin.write(folder + "\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            sys.exit("the cluster has ended")
        shutil.rmtree(folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Clients:
    """All that goes on at once, each kind counted."""

    def __init__(self, samples, work, cluster):
        self.samples, self.work, self.cluster = samples, work, cluster
        self.text, named = operations()
        self.queries = [name for kind, name in named if kind == "query"]
        self.subscriptions = [name for kind, name in named if kind == "subscription"]
        self.counts = dict.fromkeys(
            ["answers", "with errors", "over HTTP/2", "scrapes"]
            + ["slow", "dead", "half sent", "streams", "sockets", "idle"],
            0,
        )
        self.faults = []
        self.contents, self.certificates = set(), set()

    async def ask(self):
        """Sample operations one after the other, over connections that last a while."""
        names = itertools.cycle(self.queries)
        while True:
            reader, writer = await connect()
            for name in itertools.islice(names, 500):
                writer.write(
                    message({"query": self.text, "operationName": name, "variables": self.samples.variables()})
                )
                status, body = await answer(reader)
                if status != 200 or any(failure in body for failure in FAILURES):
                    self.faults.append(f"{name}: {status} {body[:300]}")
                self.counts["answers"] += 1
                self.counts["with errors"] += b'"errors":' in body[-400:] or b'{"errors"' in body[:10]
                await asyncio.sleep(PAUSE)
            writer.close()

    async def streams_of_http2(self):
        """A page and a download over HTTP/2, some at a time, over connections that last some seconds."""
        urls = [page("{ packages(first: 20) { nodes { name } } }"), "/catalogs/churn/api/v1/all"]
        command = ["h2load", "-t1", "-c2", "-m4", "-n200", "--rps=20", *(f"https://{ADDRESS}{url}" for url in urls)]
        while True:
            printed = (await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)).stdout
            done = sum(map(int, re.findall(r"status codes: (\d+) 2xx", printed)))
            self.counts["over HTTP/2"] += done
            self.faults += [f"h2load: {printed}"] * (200 - done)

    async def scrape(self):
        """The page of metrics every second, over a new connection, and which certificate is used."""
        head = f"GET /metrics HTTP/1.1\r\nhost: {HOST}:{METRICS_PORT}\r\nconnection: close\r\n"
        request = f"{head}authorization: Bearer {self.cluster.access['token']}\r\n\r\n".encode()
        while True:
            reader, writer = await connect(METRICS_PORT)
            self.certificates.add(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
            writer.write(request)
            text = await reader.read(-1)
            if not text.startswith(b"HTTP/1.1 200 ") or b"catalogql_" not in text:
                self.faults.append(f"metrics: {text[:300]}")
            self.counts["scrapes"] += 1
            writer.close()
            await asyncio.sleep(SCRAPE)

    async def follow(self):
        """Which content of the changing catalog is served."""
        query = message({"query": '{ catalog(name: "churn") { digest packages { totalCount } } }'})
        while True:
            reader, writer = await connect()
            for _ in range(30):
                writer.write(query)
                status, body = await answer(reader)
                found = re.search(rb'"digest":"(sha256:\w+)","packages":{"totalCount":100}', body)
                if status != 200 or not found:
                    self.faults.append(f"churn: {status} {body[:300]}")
                else:
                    self.contents.add(found[1])
                self.counts["answers"] += 1
                await asyncio.sleep(CHURN / 4)
            writer.close()

    async def churn(self):
        """Other contents for the changing catalog."""
        for number in itertools.count(1):
            await asyncio.to_thread(self.cluster.serve, write_churn(self.work, number))
            await asyncio.sleep(CHURN)

    async def rotate(self):
        for number in itertools.count(1):
            await asyncio.sleep(ROTATION)
            await asyncio.to_thread(write_certificate, os.path.join(self.work, "tls"), number)

    async def slow(self):
        """Takes a whole catalog, a little at a time."""
        while True:
            reader, writer = await connect(limit=4096, local_addr=HOSTILE)
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
            reader, writer = await connect(limit=4096, local_addr=HOSTILE)
            writer.write(message({"query": page}))
            if self.counts["dead"] % 2:
                await reader.read(1000)
            await asyncio.sleep(0.5)
            writer.transport.abort()
            self.counts["dead"] += 1

    async def half(self):
        """Sends half of a request, in TLS or without, and waits until the server has enough of it, or goes away."""
        whole = message({"query": "{ __typename }"})
        while True:
            reader, writer = await connect(tls=TLS if self.counts["half sent"] % 3 else None, local_addr=HOSTILE)
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
            self.counts["idle"] += 1
            reader, writer = await connect(tls=TLS if self.counts["idle"] % 10 else None, local_addr=HOSTILE)
            try:
                await reader.read()
            except ConnectionError:
                pass
            writer.transport.abort()

    async def stream(self):
        """Subscriptions over server-sent events that come and go."""
        names = itertools.cycle(self.subscriptions)
        while True:
            reader, writer = await connect()
            body = {"query": self.text, "operationName": next(names), "variables": self.samples.variables()}
            writer.write(message(body, accept="text/event-stream"))
            await self.expect(reader, 200)
            await asyncio.sleep(self.samples.random.random() * 3)
            writer.transport.abort()
            self.counts["streams"] += 1

    async def socket(self):
        """The same over WebSockets."""
        names = itertools.cycle(self.subscriptions)
        head = (
            f"GET /graphql HTTP/1.1\r\nhost: {ADDRESS}\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            "sec-websocket-version: 13\r\nsec-websocket-key: c29ha3NvYWtzb2Frc29haw==\r\n"
            "sec-websocket-protocol: graphql-transport-ws\r\n\r\n"
        )
        while True:
            reader, writer = await connect()
            writer.write(head.encode())
            await self.expect(reader, 101)
            writer.write(frame({"type": "connection_init"}))
            payload = {"query": self.text, "operationName": next(names), "variables": self.samples.variables()}
            writer.write(frame({"id": "1", "type": "subscribe", "payload": payload}))
            await asyncio.sleep(self.samples.random.random() * 3)
            if self.counts["sockets"] % 2:
                writer.write(frame({"id": "1", "type": "complete"}))
                await writer.drain()
            writer.transport.abort()
            self.counts["sockets"] += 1

    async def expect(self, reader, status):
        """The head of an answer that goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(f"HTTP/1.1 {status} ".encode()):
            self.faults.append(f"subscription: {head}")

    async def again(self, kind, is_good):
        """A client whose connection was refused or cut off comes again; a good one remembers that."""
        if not is_good:
            await asyncio.sleep(random.random() * WARM / 2)
        while True:
            try:
                await kind()
            except (OSError, asyncio.IncompleteReadError) as error:
                if is_good:
                    self.faults.append(f"{kind.__name__}: {error!r}")
                await asyncio.sleep(0.2)

    def all(self):
        good = [(self.ask, WORKERS), (self.follow, 1), (self.scrape, 1), (self.churn, 1), (self.rotate, 1)]
        good += [(self.streams_of_http2, 1)]
        if self.subscriptions:
            good += [(self.stream, STREAMS), (self.socket, STREAMS)]
        bad = [(self.slow, SLOW), (self.dead, DEAD), (self.half, HALF), (self.idle, IDLE)]
        return [
            asyncio.ensure_future(self.again(kind, kinds is good))
            for kinds in (good, bad)
            for kind, count in kinds
            for _ in range(count)
        ]


def frame(body):
    """A text frame of a WebSocket, masked with zeros."""
    data = json.dumps(body).encode()
    length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + length + b"\0\0\0\0" + data


@dataclass
class Sample:
    """What there was at one time; answers and faults are counted from the begin."""

    memory: int
    descriptors: int
    answers: int
    faults: int


def sample(pid, clients):
    counts = clients.counts
    done = counts["answers"] + counts["over HTTP/2"] + counts["scrapes"]
    return Sample(anonymous(pid), descriptors(pid), done, len(clients.faults))


async def soak(pid, minutes, work, cluster):
    """A sample every few seconds, and what the clients did."""
    clients = Clients(Samples(), work, cluster)
    running = clients.all()
    await asyncio.sleep(WARM)
    samples, until = [], time.monotonic() + minutes * 60
    while time.monotonic() < until:
        for one in running:
            if one.done():
                one.result()
        samples.append(sample(pid, clients))
        if len(samples) % 12 == 1:
            now = samples[-1]
            print(
                f"{(len(samples) - 1) * SAMPLE:>5} s: {now.memory / 2**20:.1f} MiB, {now.descriptors} descriptors;"
                f" {clients.counts}; contents: {len(clients.contents)}, certificates: {len(clients.certificates)},"
                f" faults: {now.faults}",
                flush=True,
            )
        await asyncio.sleep(SAMPLE)
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return samples, clients


def thirds(samples):
    """Medians of memory and descriptors for each third of the time, printed with what was done in it."""
    size = len(samples) // 3
    if not size:
        sys.exit(f"{len(samples)} samples are not enough for thirds")
    medians = []
    for number in range(3):
        part = samples[number * size : (number + 1) * size]
        before = samples[number * size - 1] if number else part[0]
        memory, count = (statistics.median(getattr(one, name) for one in part) for name in ("memory", "descriptors"))
        medians.append((memory, count))
        print(
            f"third {number + 1}: RssAnon {memory / 2**20:.2f} MiB, {count:.0f} descriptors,"
            f" {part[-1].answers - before.answers:,} answers, {part[-1].faults - before.faults} failed"
        )
    return medians


def judge(samples, clients):
    """Whether the server is at the end as it was before."""
    (before, some), (after, more) = thirds(samples)[1:]
    print(f"all: {clients.counts}; contents: {len(clients.contents)}, certificates: {len(clients.certificates)}")
    print("memory in MiB: " + " ".join(f"{one.memory / 2**20:.1f}" for one in samples[:: max(1, len(samples) // 60)]))
    for fault in clients.faults[:5]:
        print(fault)
    good = [
        abs(after - before) <= max(SLACK * before, SLACK_BYTES),
        more - some <= SLACK_DESCRIPTORS,
        not clients.faults,
        # More than one a minute: each was really used.
        min(len(clients.contents), len(clients.certificates)) > len(samples) * SAMPLE / 60,
    ]
    print(
        f"last third / second third: {after / 2**20:.2f} / {before / 2**20:.2f} MiB = {after / before:.3f}"
        f" (within {SLACK:.0%} or {SLACK_BYTES // 2**20} MiB),"
        f" descriptors {more - some:+.0f} (≤ {SLACK_DESCRIPTORS});"
        f" failed good requests: {len(clients.faults)} {'MET' if all(good) else 'MISSED'}"
    )
    return all(good)


def command(server, work, access):
    """A controller with everything on."""
    tls = os.path.join(work, "tls")
    write_certificate(tls, 0)
    for name in ("tls.crt", "tls.key"):
        os.symlink(os.path.join("..data", name), os.path.join(tls, name))
    flags = ["--kubeconfig", access["kubeconfig"], "--namespace", "catalogql", "--service-account", "catalogql"]
    flags += ["--insecure-registry", access["registry"]]
    flags += ["--compress-after", "1s", "--store", os.path.join(work, "store")]
    flags += ["--tls-cert-file", os.path.join(tls, "tls.crt"), "--tls-private-key-file", os.path.join(tls, "tls.key")]
    flags += ["--listen", ADDRESS, "--health-probe-bind-address", PROBES]
    flags += ["--metrics-listen", f"{HOST}:{METRICS_PORT}"]
    # Connections that are not closed must show, and not be kept down by the bound.
    flags += ["--max-peer-connections", str(3 * IDLE // 2)]
    return [server, "controller", *flags]


def main():
    server, fixture = map(os.path.abspath, sys.argv[1:3])
    minutes = float(sys.argv[3]) if len(sys.argv) > 3 else 15
    directory = corpus(sys.argv[4] if len(sys.argv) > 4 else "community")
    for name, package in [("taskset", "util-linux"), ("openssl", "openssl"), ("h2load", "nghttp2-client")]:
        program(name, package)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < 2 * IDLE:
        sys.exit(f"{most} open files are not enough for {IDLE} connections: raise the limit (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with (
        machine.folder() as work,
        Cluster(fixture, directory) as cluster,
        serving(work, *command(server, work, cluster.access), cores="0,1") as process,
    ):
        cluster.serve(write_churn(work, 0))
        answers(PROBES, "/readyz")
        # Contents are compressed one after the other, and while that goes on no other one is read.
        while sum(name.endswith((".gz", ".zst")) for name in os.listdir(os.path.join(work, "store", "content"))) < 4:
            time.sleep(0.5)
        alone = descriptors(process.pid)
        samples, clients = asyncio.run(soak(process.pid, minutes, work, cluster))
        lives = process.poll() is None
        # Connections on which nothing happens last no longer than this.
        time.sleep(20)
        if lives:
            print(f"descriptors before the clients came and after they went: {alone}, {descriptors(process.pid)}")
        good = judge(samples, clients) and lives
        if not good:
            with open(os.path.join(work, "servers.log"), encoding="utf-8") as log:
                print("".join(log.readlines()[-20:]))
    sys.exit(0 if good else 1)


main()

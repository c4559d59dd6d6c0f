#!/usr/bin/env python3
"""Measures what TLS and HTTP/2 cost: CPU seconds of the server for a request, against plain HTTP/1.1 with keep-alive.

    make bench-http
    python3 benches/http/tls.py target/release/catalogql [REQUESTS]

One core serves, another one asks with h2load, which speaks all of it. Two answers are asked for, both from the response
cache: a page of some hundred bytes, and half a megabyte. Everything is asked in turns, five times over; what counts is the
median of the ratios of one turn.
"""

import base64
import json
import os
import re
import subprocess
import sys
import urllib.parse

import machine
from machine import ASKS, cpu_seconds, serving, spread

ROUNDS = 5
CLIENTS = 8
PLAIN, SECURE = "127.0.0.1:18490", "127.0.0.1:18491"

# How often TLS with HTTP/2 may cost what plain HTTP/1.1 costs, with many requests on a connection.
BAR = 1.6

# Each way to ask: its name, the server, and the flags of h2load.
WAYS = [
    ("HTTP/1.1", f"http://{PLAIN}", ["--h1"]),
    ("TLS, HTTP/2, 32 streams", f"https://{SECURE}", ["-m", "32"]),
    ("TLS, HTTP/2, 1 stream", f"https://{SECURE}", ["-m", "1"]),
    ("TLS, HTTP/1.1", f"https://{SECURE}", ["--h1"]),
]


def page(query):
    return "/graphql?" + urllib.parse.urlencode({"query": query})


# What is asked for, and which part of all requests it gets.
ANSWERS = [
    ("a cached page", page("{ metas(first: 2) { nodes { name schema } } }"), 1),
    ("0.5 MB", page("{ metas(first: 125) { nodes { blob } } }"), 40),
]


def write_catalog(folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "catalog.json"), "w", encoding="utf-8") as file:
        for number in range(125):
            json.dump({"schema": "x", "name": str(number), "text": "y" * 4000}, file)
            file.write("\n")


def write_certificate(server, folder):
    """Flags of a server with a certificate that nobody has issued."""
    secret = subprocess.run([server, "certificate", "--for", "localhost.default"], check=True, capture_output=True, text=True)
    flags = []
    for flag, name in [("--tls-cert-file", "tls.crt"), ("--tls-private-key-file", "tls.key")]:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(base64.b64decode(re.search(rf"{name}: (\S+)", secret.stdout)[1]))
        flags += [flag, path]
    return flags


def drive(h2load, url, flags, count, pid):
    """CPU seconds for 1,000 requests, and bytes of an answer."""
    command = ["taskset", "-c", ASKS, h2load, "-t1", f"-c{CLIENTS}", f"-n{count}", *flags, url]
    before = cpu_seconds(pid)
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu = cpu_seconds(pid) - before
    done = int(re.search(r"status codes: (\d+) 2xx", printed)[1])
    if done != count:
        sys.exit(f"{count - done} of {count} requests failed:\n{printed}")
    length = int(re.search(r"\((\d+)\) data", printed)[1]) / count
    return cpu / count * 1000, length


def main():
    server = os.path.abspath(sys.argv[1])
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
    h2load = machine.program("h2load", "nghttp2-client")
    is_good = True
    with machine.folder() as work:
        catalog = os.path.join(work, "c")
        write_catalog(catalog)
        tls = write_certificate(server, work)
        serve = [server, "serve", f"c={catalog}", "--store"]
        plain = [*serve, os.path.join(work, "plain"), "--listen", PLAIN, "--health-probe-bind-address", "127.0.0.1:18492"]
        secure = [*serve, os.path.join(work, "secure"), "--listen", SECURE, *tls]
        secure += ["--health-probe-bind-address", "127.0.0.1:18493"]
        with serving(work, *plain) as first, serving(work, *secure) as second:
            for port in (18492, 18493):
                machine.answers(f"127.0.0.1:{port}", "/readyz")
            for what, path, part in ANSWERS:
                count = requests // part
                # An answer is cached from its second request on; before, only so many of one address may wait for it.
                for process, url in ((first, f"http://{PLAIN}"), (second, f"https://{SECURE}")):
                    drive(h2load, url + path, ["--h1"], 4 * CLIENTS, process.pid)
                rounds = []
                for _ in range(ROUNDS):
                    turn = []
                    for _, url, flags in WAYS:
                        pid = (first if url.startswith("http:") else second).pid
                        turn.append(drive(h2load, url + path, flags, count, pid))
                    rounds.append(turn)
                print(f"{what}, {rounds[0][0][1]:,.0f} bytes, {count:,} requests a turn, {CLIENTS} connections")
                for number, (name, _, _) in enumerate(WAYS):
                    cpu = spread([turn[number][0] for turn in rounds])
                    ratio = spread([turn[number][0] / turn[0][0] for turn in rounds])
                    print(
                        f"  {name:24} {cpu[0] * 1000:8.1f} µs of CPU a request, {ratio[0]:.2f} times HTTP/1.1"
                        f" ({ratio[1]:.2f} to {ratio[2]:.2f})"
                    )
                    if "32 streams" in name and ratio[0] > BAR:
                        is_good = False
                        print(f"  more than {BAR} times")
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures what --auth=delegated costs a request whose caller is known: CPU of the server, against --auth=none.

    make bench-http
    python3 benches/http/access.py target/release/catalogql [REQUESTS]

What the API server says is cached for ten seconds, so that a stand-in that knows one caller is enough. Both servers are
asked in turns for a response that is cached, over plain HTTP with keep-alive and a token of 1,000 bytes; what counts is
the least of each, because nothing else on the machine makes a request cheaper.
"""

import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import machine
from machine import ASKS, cpu_seconds

ROUNDS = 7
CLIENTS = 8
OPEN, GUARDED = "127.0.0.1:18590", "127.0.0.1:18591"

# Microseconds of CPU that authorization may take.
BAR = 3.0

TOKEN = "x" * 1000
PATHS = ["/graphql?" + urllib.parse.urlencode({"query": "{ catalogs { name } }"}), "/catalogs/one/api/v1/all"]


class ApiServer(BaseHTTPRequestHandler):
    """Knows the caller of any token, who may read each catalog by its name."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        named = "name" in review["spec"].get("resourceAttributes", {})
        user = {"username": "ann", "groups": ["team"]}
        review["status"] = {"authenticated": True, "user": user} if "token" in review["spec"] else {"allowed": named}
        self.answer(201, review)

    def do_GET(self):
        self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Nobody reads it."""


def write_catalogs(work):
    folders = []
    for name in ["one", "two", "three"]:
        folders.append(os.path.join(work, name))
        os.makedirs(folders[-1])
        with open(os.path.join(folders[-1], "catalog.json"), "w", encoding="utf-8") as file:
            json.dump({"schema": "x", "name": name}, file)
    return folders


def write_kubeconfig(work, port):
    path = os.path.join(work, "kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "x", "user": {}}],
            "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}, file)
    return path


def main():
    server = os.path.abspath(sys.argv[1])
    requests = int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
    h2load = machine.program("h2load", "nghttp2-client")
    api = ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with machine.folder() as work:
        catalogs = write_catalogs(work)
        os.environ["KUBECONFIG"] = write_kubeconfig(work, api.server_port)
        serve = [server, "serve", *catalogs, "--store"]
        without = [*serve, os.path.join(work, "open"), "--listen", OPEN]
        delegated = [*serve, os.path.join(work, "guarded"), "--listen", GUARDED, "--auth=delegated"]
        with machine.serving(work, *without) as open_to_all, machine.serving(work, *delegated) as guarded:
            for address in (OPEN, GUARDED):
                machine.answers(address, "/readyz")
            sides = [(OPEN, open_to_all), (GUARDED, guarded)]
            report([(path, *least(h2load, path, sides, requests)) for path in PATHS])


def drive(h2load, url, count, pid):
    """Microseconds of CPU of the server for a request."""
    command = ["taskset", "-c", ASKS, h2load, "--h1", "-t", "1", "-c", str(CLIENTS), "-n", str(count)]
    command += ["-H", f"authorization: Bearer {TOKEN}", url]
    before = cpu_seconds(pid)
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cpu = cpu_seconds(pid) - before
    done = int(re.search(r"status codes: (\d+) 2xx", printed)[1])
    if done != count:
        sys.exit(f"{count - done} of {count} requests failed:\n{printed}")
    return cpu / count * 1e6


def least(h2load, path, servers, requests):
    """The least CPU of a request, of each server."""
    found = [[], []]
    for _ in range(ROUNDS):
        for side, (address, process) in enumerate(servers):
            found[side].append(drive(h2load, f"http://{address}{path}", requests, process.pid))
    return [min(side) for side in found]


def report(rows):
    print("| path | --auth=none | --auth=delegated | difference | at most |\n|---|--:|--:|--:|--:|")
    for path, without, guarded in rows:
        name = path.partition("?")[0]
        print(f"| {name} | {without:.1f} µs | {guarded:.1f} µs | {guarded - without:.1f} µs | {BAR} µs |")
    missed = [path for path, without, guarded in rows if guarded - without > BAR]
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()

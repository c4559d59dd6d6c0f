#!/usr/bin/env python3
"""Measures how long it takes until many listeners are told a change of a catalog.

    python3 benches/http/fanout.py target/release/catalogql [LISTENERS [CATALOG]]

Every listener has a stream of events on a connection of its own. The time runs from the moment at which the server says
that it serves the new content, and all of them must be told within a second. It prints what was measured, and ends with
status 1 where that is more.
"""

import json
import os
import resource
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = 5
SECONDS = 1.0

QUERY = "subscription { catalogChanged { name change catalog { digest } diff { packages { name change } } } }"


class Server:
    """The program over a catalog that is watched."""

    def __init__(self, program, catalog, store):
        command = [program, "serve", f"c={catalog}", "--watch", "--listen", "127.0.0.1:0", "--store", store]
        environment = {**os.environ, "CATALOGQL_LOG": "info"}
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.served_at = None
        for line in self.process.stdout:
            if line.startswith("Listening on http://"):
                host, port = line.split("/")[2].split(":")
                self.address = (host, int(port))
                break
        else:
            sys.exit(self.process.stderr.read())
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        for line in self.process.stderr:
            if "serving new content" in line:
                self.served_at = time.monotonic()


def listen(address):
    """A stream that the server knows of: it has sent its first comment."""
    body = json.dumps({"query": QUERY}).encode()
    head = "POST /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"
    stream = socket.create_connection(address)
    stream.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    said = b""
    while b":\n\n" not in said:
        said += stream.recv(65536)
    return stream


def told(streams):
    """Waits until everybody was told something, and says when the last one was."""
    waiting = selectors.DefaultSelector()
    said = {}
    for stream in streams:
        waiting.register(stream, selectors.EVENT_READ)
        said[stream] = b""
    while said:
        for key, _ in waiting.select():
            stream = key.fileobj
            said[stream] += stream.recv(65536)
            # An event has one line of data; a comment of a quiet stream has none.
            event = said[stream].partition(b"event: next\ndata: ")[2]
            if b"\n\n" in event:
                waiting.unregister(stream)
                del said[stream]
    return time.monotonic()


def main(program, listeners="1000", catalog=None):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < int(listeners) + 100:
        sys.exit(f"{listeners} listeners need as many open files: ulimit -Hn {int(listeners) + 100}")
    example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/catalog")
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "catalog")
        shutil.copytree(catalog or example, folder)
        server = Server(program, folder, os.path.join(work, "store"))
        try:
            streams = [listen(server.address) for _ in range(int(listeners))]
            worst = max(change(server, streams, folder, number) for number in range(ROUNDS))
        finally:
            server.process.terminate()
            server.process.wait()
    verdict = "ok" if worst <= SECONDS else "MISSED"
    print(f"{listeners} listeners, {ROUNDS} changes: all told within {worst * 1000:.0f} ms, at most {SECONDS} s: {verdict}")
    sys.exit(worst > SECONDS)


def change(server, streams, folder, number):
    """Seconds from the publication of a change until everybody was told."""
    server.served_at = None
    blob = {"schema": "olm.package", "name": f"zz-{number}", "defaultChannel": "stable"}
    fresh = os.path.join(folder, "..", "fresh.json")
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(blob, file)
    os.replace(fresh, os.path.join(folder, f"zz-{number}.json"))
    last = told(streams)
    while server.served_at is None:
        time.sleep(0.01)
    return last - server.served_at


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])

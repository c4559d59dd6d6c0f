#!/usr/bin/env python3
"""Runs the program of another machine by qemu beside that of this machine, and compares what they print and serve.

usage: machines.py CATALOGQL QEMU PROGRAM [CATALOG...]

CATALOGQL  the program for this machine
QEMU       the emulator, such as qemu-s390x (Debian: qemu-user)
PROGRAM    the static program for the other machine, as release/build.sh makes it
CATALOG    folders of further catalogs; the example is always compared

Both are of one commit and have the same features. One after the other they serve one store: an index that the other
wrote is used, or refused by name and built again, and the answers are equal.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

QUERIES = [
    "{catalogs{name digest packages(first:500){totalCount nodes{name displayName summary"
    " channels{name head{name bundle{version image}}}}}}}",
    "{packages(first:50,orderBy:{field:NAME,direction:DESC}){nodes{name latest{version}}}}",
    "{bundles(first:50,orderBy:{field:VERSION,direction:DESC}){nodes{name version relatedImages{image}}}}",
    '{packages(filter:{search:"data"},first:20){totalCount nodes{name}}}',
    "{catalogs{problems(first:100){totalCount nodes{code severity message}}}}",
]

REFUSED = "cannot use the stored index"

# How long a server may take to store the indexes of what it serves, under qemu.
INDEX_SECONDS = 600

# Byte 5 of an ELF file tells its byte order.
ORDERS = {1: "little-endian", 2: "big-endian"}

failures = 0


def report(what, is_ok, detail=""):
    global failures
    failures += not is_ok
    print(f"{'ok' if is_ok else 'FAILED'}: {what}{': ' + detail if detail else ''}", flush=True)


def commands(catalog):
    """Command lines whose output depends on the catalog alone."""
    source = str(catalog)
    yield ["validate", source, "-o", "json"]
    yield ["list", "packages", source, "-o", "json"]
    yield ["list", "bundles", source]
    yield ["search", source, "data"]
    yield ["render", source]
    yield ["sbom", "images", source, "--all"]
    for query in QUERIES:
        yield ["query", source, query]


def run(program, arguments):
    ended = subprocess.run(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"}
    )
    return ended.returncode, hashlib.sha256(ended.stdout).hexdigest(), len(ended.stdout), ended.stderr


class Server:
    """A server on a free port, with the lines that it logs."""

    def __init__(self, program, store, sources):
        arguments = ["serve", "--listen", "127.0.0.1:0", "--compress-after", "0", "--store", store, *sources]
        self.process = subprocess.Popen(
            [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()
        printed = []
        for line in self.process.stdout:
            printed.append(line)
            address = re.search(r"http://[0-9.]+:[0-9]+", line)
            if address:
                self.address = address[0]
                break
        else:
            self.end()
            sys.exit("no address was printed:\n" + "".join(printed + self.log))
        threading.Thread(target=lambda: [None for _ in self.process.stdout]).start()

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=600) as response:
            return response.read()

    def answers(self, names):
        """Digests of the answers to the queries, and of the whole catalogs."""
        paths = ["/graphql?query=" + urllib.parse.quote(query) for query in QUERIES]
        paths += [f"/catalogs/{name}/api/v1/all" for name in names]
        paths += [f"/catalogs/{name}/api/v1/metas?schema=olm.channel" for name in names]
        return {path: hashlib.sha256(self.get(path)).hexdigest() for path in paths}

    def end(self):
        self.process.terminate()
        status = self.process.wait(timeout=120)
        self.reader.join()
        return status


def stores_indexes(store, order, count):
    """Whether the store comes to have this many indexes, all in a byte order."""
    begin = b"fbcindex" + (1).to_bytes(8, order.removesuffix("-endian"))
    deadline = time.monotonic() + INDEX_SECONDS
    while time.monotonic() < deadline:
        indexes = list(Path(store).glob("content/*.index"))
        if len(indexes) == count and all(index.open("rb").read(len(begin)) == begin for index in indexes):
            return True
        time.sleep(0.1)
    return False


def compare_commands(here, there, catalog):
    for arguments in commands(catalog):
        ours = run(here, arguments)
        theirs = run(there, arguments)
        shown = " ".join(arguments)
        shown = shown if len(shown) < 80 else shown[:77] + "…"
        is_equal = ours[:3] == theirs[:3]
        detail = f"status {ours[0]}, {ours[2]} bytes"
        if not is_equal:
            detail += f"; there {theirs[0]}, {theirs[2]} bytes, {theirs[3].decode(errors='replace')[-500:]}"
        report(shown, is_equal, detail)


def compare_servers(here, there, catalogs, orders):
    sources = [f"{name}={folder}" for name, folder in catalogs.items()]
    runs = [("here", here, 0), ("there", there, 1), ("there again", there, 1), ("here again", here, 0)]
    with tempfile.TemporaryDirectory() as store:
        expected = former = None
        for name, program, side in runs:
            order = orders[side]
            server = Server(program, store, sources)
            answers = server.answers(catalogs)
            is_stored = stores_indexes(store, order, len(catalogs))
            status = server.end()
            refused = sum(REFUSED in line for line in server.log)
            expected = expected or answers
            differing = [path for path in answers if answers[path] != expected[path]]
            report(f"{name}: {len(answers)} answers are equal", not differing, ", ".join(differing))
            report(f"{name}: the store has {len(catalogs)} {order} indexes", is_stored)
            wanted = len(catalogs) if former not in (None, order) else 0
            report(f"{name}: {refused} stored indexes were refused", refused == wanted, f"expected {wanted}")
            report(f"{name}: ends with status 0", status == 0, f"status {status}")
            former = order


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    here = [sys.argv[1]]
    there = sys.argv[2:4]
    catalogs = {"example": ROOT / "examples/catalog"}
    for folder in sys.argv[4:]:
        catalogs[Path(folder).name.lower().replace("_", "-")] = Path(folder).resolve()

    orders = [ORDERS[Path(program).open("rb").read(6)[5]] for program in (sys.argv[1], sys.argv[3])]
    print(f"here {orders[0]}, there {orders[1]}")
    versions = [json.loads(subprocess.check_output([*program, "version", "-o", "json"])) for program in (here, there)]
    report("the platform is another", versions[0]["platform"] != versions[1]["platform"], versions[1]["platform"])
    for catalog in catalogs.values():
        compare_commands(here, there, catalog)
    compare_servers(here, there, catalogs, orders)
    print(f"{failures} failed")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

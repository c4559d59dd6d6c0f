#!/usr/bin/env python3
"""Replaces a served catalog many times while clients read it at half of what the server can do.

    make bench-http
    python3 benches/http/swaps.py target/release/catalogql [SWAPS [CATALOG]]

Every package of a content says in its deprecation which content it is of. wrk asks for pages of tiles and looks at every
answer: all tiles must be of one content, and that of one digest. A second client goes through all bundles, pinned to a
digest. No request may fail, the slowest of 100 answers may take twice as long as without swaps, and the memory must be
back ten seconds after the last one.
"""

import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import machine
from machine import ASKS, anonymous, catalogql, corpus, drive, fetch, long_string, program, query

ADDRESS = "127.0.0.1:18488"
CONTENTS = 3
CLIENTS = 64
STEADY = 20
# What memory may be more than before, as a share and in bytes: allocators keep pages for a while.
SLACK, SLACK_BYTES = 1.1, 4 * 2**20

TILES = """{ packages(first: 50) { totalCount pageInfo { hasNextPage endCursor } nodes {
  id name catalog { name digest } icon { url } deprecation { message }
  metadata { displayName provider { name } categories capabilityLevel infrastructureFeatures } } } }"""
WALK = """query ($digest: String, $after: String) { catalog(name: "c", digest: $digest) { digest
  bundles(first: 500, after: $after) { pageInfo { hasNextPage endCursor }
    nodes { name package { name deprecation { message } } } } } }"""

# Waits so long between two requests of a connection, and counts the answers that are wrong.
LUA = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = {body}
wrong, contents, seen = 0, {{}}, 0
local threads = {{}}
function setup(thread) table.insert(threads, thread) end
function delay() return {delay} end
local function count(body, text) return select(2, body:gsub(text, "")) end
local function judge(body)
    local digest, content = body:match('"digest":"sha256:(%x+)"'), body:match("content (%d+) of the swaps")
    local whole = digest and content and not body:find('"errors"', 1, true)
        and count(body, '"digest":"sha256:' .. digest) == {tiles}
        and count(body, "content " .. content .. " of the swaps") == {tiles}
        and (contents[digest] or content) == content
    if whole and not contents[digest] then
        contents[digest] = content
        seen = seen + 1
    end
    return whole or false
end
local judged = {{}}
function response(status, headers, body)
    -- What was looked at once need not be looked at again, or else this would be slower than the server.
    if judged[body] == nil then judged[body] = judge(body) end
    if status ~= 200 or not judged[body] then wrong = wrong + 1 end
end
function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format("CATALOGQL %d %d %d %d %d %d\\n", summary.requests, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout, latency:percentile(99),
        threads[1]:get("wrong"), threads[1]:get("seen")))
end
"""


def packages_of(server, directory, work):
    """The names of the packages of a folder."""
    store = os.path.join(work, "store-names")
    with machine.serving(work, server, "serve", f"c={directory}", "--listen", ADDRESS, "--store", store):
        machine.answers(ADDRESS, "/readyz")
        body = fetch(ADDRESS, **vars(query("{ packages(first: 500) { nodes { name } } }")))[1]
    return [node["name"] for node in json.loads(body)["data"]["packages"]["nodes"]]


def make_contents(server, directory, work):
    """Folders that differ in what their packages say they are."""
    packages = packages_of(server, directory, work)
    folders = []
    for number in range(CONTENTS):
        made = os.path.join(work, f"content-{number}")
        shutil.copytree(directory, made, copy_function=link)
        # Names of folders are not the packages' names.
        path = os.path.join(made, "marks-of-swaps.json")
        with open(path, "w", encoding="utf-8") as file:
            for package in packages:
                entry = {"reference": {"schema": "olm.package"}, "message": f"content {number} of the swaps"}
                file.write(json.dumps({"schema": "olm.deprecations", "package": package, "entries": [entry]}) + "\n")
        # What was just written to is not read yet.
        os.utime(path, (1e9, 1e9))
        folders.append(made)
    return folders


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def exchange(one, other):
    """Two folders change places in one step."""
    libc = ctypes.CDLL(None, use_errno=True)
    here, swapped = -100, 2
    if libc.renameat2(here, one.encode(), here, other.encode(), swapped):
        raise OSError(ctypes.get_errno(), f"cannot exchange {one} and {other}")


class Load:
    """wrk at a steady pace, until it is stopped."""

    def __init__(self, wrk, work, delay, tiles):
        script = os.path.join(work, "swaps.lua")
        with open(script, "w", encoding="utf-8") as file:
            file.write(LUA.format(body=long_string(query(TILES).body), delay=delay, tiles=tiles))
        command = ["taskset", "-c", ASKS, wrk, "-t1", f"-c{CLIENTS}", "-d86400s", "--timeout", "60s", "-s", script]
        self.process = subprocess.Popen([*command, f"http://{ADDRESS}/graphql"], stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        printed, _ = self.process.communicate()
        names = ("requests", "micros", "failed", "tail", "wrong", "contents")
        return dict(zip(names, map(int, re.search(r"CATALOGQL (.*)", printed)[1].split())))


class Walker(threading.Thread):
    """Goes through all bundles again and again, each time pinned to the content that is served then."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.walks = self.begun_anew = 0
        self.wrong = []
        self.known = {}

    def run(self):
        connection = http.client.HTTPConnection(ADDRESS)
        while not self.ended.is_set():
            digest, after, names, marks = None, None, [], set()
            while not self.ended.wait(0.02):
                request = query(WALK, {"digest": digest, "after": after})
                connection.request("POST", request.path, request.body, request.headers)
                response = connection.getresponse()
                body = response.read()
                if response.status == 200 and b"CATALOG_CHANGED" in body:
                    self.begun_anew += 1
                    break
                answer = json.loads(body)
                if response.status != 200 or "errors" in answer:
                    self.wrong.append(body[:300])
                    break
                page = answer["data"]["catalog"]
                digest = page["digest"]
                names += [(node["package"]["name"], node["name"]) for node in page["bundles"]["nodes"]]
                marks |= {json.dumps(node["package"]["deprecation"]) for node in page["bundles"]["nodes"]}
                after = page["bundles"]["pageInfo"]["endCursor"]
                if not page["bundles"]["pageInfo"]["hasNextPage"]:
                    self.judge(digest, names, marks)
                    break

    def judge(self, digest, names, marks):
        self.walks += 1
        known = self.known.setdefault(digest, (names, marks))
        if len(marks) != 1 or len(set(names)) != len(names) or known != (names, marks):
            self.wrong.append(f"a walk has {sorted(marks)} and {len(names)} bundles")

    def stop(self):
        self.ended.set()
        self.join()


def served():
    body = fetch(
        ADDRESS,
        "/graphql",
        json.dumps({"query": '{ catalog(name: "c") { digest } }'}),
        {"content-type": "application/json"},
    )[1]
    return json.loads(body)["data"]["catalog"]["digest"]


def swap(folders, live, swaps):
    """Replaces the content so often, each time once the former one is served."""
    for number in range(swaps):
        before = served()
        # The folder that is served changes places with the one that waits longest.
        exchange(live, folders[0])
        folders.append(folders.pop(0))
        until = time.monotonic() + 120
        while served() == before:
            if time.monotonic() > until:
                sys.exit(f"swap {number + 1} was not served within two minutes")
            time.sleep(0.05)
        if (number + 1) % 20 == 0:
            print(f"{number + 1} of {swaps} swaps", file=sys.stderr)


def loaded(wrk, work, pace, meanwhile):
    """What clients saw while something was done."""
    load, walker = Load(wrk, work, *pace), Walker()
    walker.start()
    meanwhile()
    walker.stop()
    seen = load.stop()
    return seen, walker


def line(name, shown, bar, holds):
    print(f"{name:<44} {shown:<64} {bar:<14} {'MET' if holds else 'MISSED'}")
    return holds


def main():
    server, swaps = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    directory = corpus(sys.argv[3] if len(sys.argv) > 3 else "community")
    wrk = program("wrk", "wrk")
    program("taskset", "util-linux")
    with machine.folder() as work:
        live, *folders = make_contents(server, directory, work)
        with catalogql(server, work, ADDRESS, f"c={live}", "--watch") as process:
            peak = drive(wrk, ADDRESS, query(TILES), process.pid, 5, 8, work)
            tiles = len(json.loads(fetch(ADDRESS, **vars(query(TILES)))[1])["data"]["packages"]["nodes"])
            pace = (round(CLIENTS / (peak.rate / 2) * 1000), tiles)
            steady, calm = loaded(wrk, work, pace, lambda: time.sleep(STEADY))
            before = anonymous(process.pid)
            during, walker = loaded(wrk, work, pace, lambda: swap(folders, live, swaps))
            most = anonymous(process.pid)
            time.sleep(10)
            after = anonymous(process.pid)
    rate = during["requests"] / during["micros"] * 1e6
    failed = (
        during["failed"] + during["wrong"] + len(walker.wrong) + steady["failed"] + steady["wrong"] + len(calm.wrong)
    )
    for fault in walker.wrong[:3]:
        print(fault, file=sys.stderr)
    pages = (
        f"{during['requests']:,} pages at {rate:,.0f}/s of {peak.rate:,.0f}, {during['contents']} contents; "
        f"{walker.walks} walks, {walker.begun_anew} begun anew"
    )
    mib = lambda count: f"{count / 2**20:.1f} MiB"
    good = [
        line(
            f"P15  {swaps} swaps, requests that failed or mix",
            f"{failed}; {pages}",
            "0",
            failed == 0 and walker.walks > 0 and during["contents"] == min(CONTENTS, swaps + 1),
        ),
        line(
            "P15  p99 with swaps / without",
            f"{during['tail'] / 1000:.2f} ms / {steady['tail'] / 1000:.2f} ms = {during['tail'] / steady['tail']:.2f}",
            "≤ 2",
            during["tail"] <= 2 * steady["tail"],
        ),
        line(
            "     heap 10 s after the last swap / before",
            f"{mib(after)} / {mib(before)}, {mib(most)} at the end",
            f"≤ {SLACK}",
            after <= before * SLACK + SLACK_BYTES,
        ),
    ]
    sys.exit(0 if all(good) else 1)


main()

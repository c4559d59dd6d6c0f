#!/usr/bin/env python3
"""Measures gRPC beside `opm serve` on one catalog, and compares what packageserver reads from both.

    PACKAGE_SERVER=… OPM=… python3 benches/kube/registry.py target/release/catalogql

PACKAGE_SERVER and OPM are built as packageserver.py says. Both registries serve the packages that opm accepts, in plain
text, in network and mount namespaces of their own, which needs root. Calls come from h2load over one connection, one after
another and 16 at a time; the server's CPU counts. Memory is RssAnon after all calls. packageserver has a CatalogSource for
each registry, and must make the same PackageManifests of both.
"""

import contextlib
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from machine import anonymous, corpus, cpu_seconds  # noqa: E402 the folder is named a line above
import packageserver as olm  # noqa: E402
from packageserver import REGISTRY, THEIRS, Client, wait_until  # noqa: E402

OURS = 50052

# What must hold: how many times less CPU and memory.
READY, BUNDLES, BUNDLE, MEMORY = 20, 10, 3, 5

ROUNDS = 5

# Calls of a round: all bundles, and one with its manifests.
COUNTS = {"ListBundles": 5, "GetBundleForChannel": 2000}


def main():
    olm.enter_namespaces()
    server, theirs, opm = os.path.abspath(sys.argv[1]), os.environ["PACKAGE_SERVER"], os.environ["OPM"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        catalog = olm.valid_packages(opm, corpus("community"), f"{folder}/catalog")
        requests = write_requests(folder)
        upstream = olm.start_opm(stack, folder, opm, catalog)
        ours = olm.start(stack, folder, "catalogql", [
            server, "serve", "--listen=127.0.0.1:0", f"--grpc=127.0.0.1:{OURS}", "--store", f"{folder}/store",
            f"community={catalog}"])
        sides = [(REGISTRY, upstream), (OURS, ours)]
        ready = [cpu_when_ready(port, process, requests) for port, process in sides]
        rows = [("until ready: CPU", ready, "s", READY)]
        for call, at_once, bar in [("ListBundles", 1, BUNDLES), ("GetBundleForChannel", 1, BUNDLE),
                                   ("GetBundleForChannel", 16, BUNDLE)]:
            rows.append((f"{call}, {at_once} at a time: CPU", measure(sides, requests, call, at_once), "ms", bar))
        rows.append(("RssAnon after it", [anonymous(process.pid) / 2**20 for _, process in sides], "MiB", MEMORY))
        report(rows)
        compare(stack, folder, theirs)


def write_requests(folder):
    """Writes the message of each call, framed."""
    def field(number, text):
        return bytes([number << 3 | 2, len(text)]) + text

    channel = field(1, b"strimzi-kafka-operator") + field(2, b"stable")
    files = {}
    for call, message in [("ListPackages", b""), ("ListBundles", b""), ("GetBundleForChannel", channel)]:
        files[call] = os.path.join(folder, call)
        with open(files[call], "wb") as file:
            file.write(b"\0" + struct.pack(">I", len(message)) + message)
    return files


def make_calls(port, requests, call, count, at_once=1):
    """Makes calls over one connection; returns whether all were answered."""
    command = ["h2load", "-n", str(count), "-c1", "-m", str(at_once), "-d", requests[call], "-H", "te: trailers",
               "-H", "content-type: application/grpc", f"http://127.0.0.1:{port}/api.Registry/{call}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # A call that fails is answered by 200 and no data.
    data = re.search(r"\((\d+)\) data", done.stdout)
    return f"{count} succeeded" in done.stdout and data is not None and int(data[1]) > 0


def cpu_when_ready(port, process, requests):
    wait_until(f"packages on port {port}", lambda: make_calls(port, requests, "ListPackages", 1), 900)
    return cpu_seconds(process.pid)


def measure(sides, requests, call, at_once):
    """Milliseconds of CPU for a call: of opm and of catalogql, in turns."""
    count, rounds = COUNTS[call], [[], []]
    for _ in range(ROUNDS):
        for side, (port, process) in enumerate(sides):
            before = cpu_seconds(process.pid)
            if not make_calls(port, requests, call, count, at_once):
                sys.exit(f"{call} on port {port} fails")
            rounds[side].append((cpu_seconds(process.pid) - before) / count * 1000)
    return [statistics.median(side) for side in rounds]


def report(rows):
    print(f"median of {ROUNDS} rounds\n")
    print("| | opm serve | catalogql | ratio | at least |\n|---|--:|--:|--:|--:|")
    for name, (theirs, ours), unit, bar in rows:
        print(f"| {name} | {theirs:.3g} {unit} | {ours:.3g} {unit} | {theirs / ours:.1f} | {bar} |")
    missed = [name for name, (theirs, ours), _, bar in rows if theirs / ours < bar]
    print(f"missed: {', '.join(missed)}" if missed else "nothing missed", flush=True)


def compare(stack, folder, program):
    """Compares the PackageManifests that packageserver makes of both registries."""
    kubectl = olm.start_control_plane(stack, olm.control_plane_programs(), folder)
    token = olm.set_up(kubectl, folder)
    names = {"upstream": REGISTRY, "catalogql": OURS}
    for name, port in names.items():
        olm.create_source(kubectl, name, port)
    olm.start_package_server(stack, folder, program)
    manifests = wait_for_both(token, names)
    different = [package for package in manifests["upstream"]
                 if manifests["upstream"][package] != manifests["catalogql"].get(package)]
    packages = [len(of_source) for of_source in manifests.values()]
    print(f"packageserver: {packages[0]} packages of opm serve, {packages[1]} of catalogql, {len(different)} differ")
    for package in different[:20]:
        of_source = [manifests[name].get(package) for name in names]
        print("\n".join(f"{package}{line}" for line in differences("", *of_source)))
    if different or packages[0] != packages[1]:
        sys.exit("packageserver makes different PackageManifests of the two")


def differences(path, theirs, ours):
    """Says where two values differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return [line for key in sorted(theirs.keys() | ours.keys())
                for line in differences(f"{path}.{key}", theirs.get(key), ours.get(key))]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [line for at, pair in enumerate(zip(theirs, ours)) for line in differences(f"{path}[{at}]", *pair)]
    return [] if theirs == ours else [f"{path}: {theirs!s:.200} of opm serve, {ours!s:.200} of catalogql"]


def wait_for_both(token, names):
    """PackageManifests by source and name, once neither source has more than before."""
    before = None

    def grown():
        nonlocal before
        manifests = read_manifests(token, names)
        sizes = [len(of_source) for of_source in manifests.values()]
        is_same, before = all(sizes) and sizes == before, sizes
        if not is_same:
            time.sleep(5)
        return manifests if is_same else None

    return wait_until(f"packages on port {THEIRS}", grown, 300)


def read_manifests(token, names):
    manifests = {name: {} for name in names}
    try:
        status, body = Client(THEIRS, token).get(olm.PACKAGES)
    except OSError:
        return manifests
    for item in json.loads(body).get("items") or [] if status == 200 else []:
        source = item["status"]["catalogSource"]
        # Where it comes from, the second in which packageserver made it, and the order of a map of Go may differ.
        del item["metadata"]["creationTimestamp"]
        for channel in item["status"]["channels"]:
            channel["currentCSVDesc"].get("relatedImages", []).sort()
        text = json.dumps(item, sort_keys=True).replace(f'"{source}"', '"source"')
        manifests[source][item["metadata"]["name"]] = json.loads(text)
    return manifests


if __name__ == "__main__":
    main()

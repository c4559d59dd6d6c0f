#!/usr/bin/env python3
"""Measures `catalogql render` beside `opm render` on one catalog, and `catalogql diff` of two contents of its size.

    python3 benches/edit/opm.py target/release/catalogql [OPM] [CATALOG]

OPM is by default what tests/conformance/publish/build.sh builds, CATALOG the `community` of the corpus. Both programs are
run in turns, print JSON to nowhere when they are measured, and must print equal blobs. The other content of `diff` is the
same catalog with one member more in each package. Exits with status 1 if a bar is not met.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "http"))
from machine import corpus  # noqa: E402 the folder is named a line above

ROUNDS = 5

# What must hold: how many times the time and the CPU time of opm, and seconds of CPU.
FASTER, DIFF_CPU = 10, 1.0


def main():
    ours = sys.argv[1]
    opm = sys.argv[2] if len(sys.argv) > 2 else os.path.join(build(), "opm")
    catalog = sys.argv[3] if len(sys.argv) > 3 else corpus("community")
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        programs = {"catalogql render": [ours, "render", catalog], "opm render": [opm, "render", catalog]}
        taken = {name: [] for name in programs}
        for name, command in programs.items():
            measure(command, os.path.join(folder, name))
        for _ in range(ROUNDS):
            for name, command in programs.items():
                taken[name].append(measure(command, os.devnull))
        same = [blobs(os.path.join(folder, name)) for name in programs]
        if same[0] != same[1]:
            sys.exit("error: the programs print different blobs")
        print(f"{catalog}: {len(same[0])} blobs, medians of {ROUNDS} runs in turns")
        medians = {name: report(name, runs) for name, runs in taken.items()}
        factors = [theirs / own for own, theirs in zip(*medians.values())]
        print(f"opm render takes {factors[0]:.1f} times as long, and {factors[1]:.1f} times the CPU")
        other = os.path.join(folder, "other")
        change(catalog, other)
        diff = report("catalogql diff", [measure([ours, "diff", catalog, other], os.devnull) for _ in range(ROUNDS)])
    failed = [name for name, holds in [
        (f"render is not {FASTER} times as fast", min(factors) >= FASTER),
        (f"diff takes more than {DIFF_CPU} s of CPU", diff[1] <= DIFF_CPU),
    ] if not holds]
    if failed:
        sys.exit("error: " + "; ".join(failed))


def build():
    script = os.path.join(HERE, "..", "..", "tests", "conformance", "publish", "build.sh")
    return subprocess.run([script], check=True, capture_output=True, text=True).stdout.strip()


def measure(command, output):
    """Runs a command; returns its time and its CPU time in seconds."""
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(output, "wb") as out:
        subprocess.run(command, stdout=out, check=True)
    wall, after = time.monotonic() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(name, runs):
    wall, cpu = (statistics.median(values) for values in zip(*runs))
    print(f"{name:18} {wall:7.2f} s {cpu:7.2f} s of CPU")
    return wall, cpu


def blobs(path):
    """The blobs that a program printed, whatever their order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        blob, at = decoder.raw_decode(text, at)
        found.append(json.dumps(blob, sort_keys=True))
        while at < len(text) and text[at].isspace():
            at += 1
    return sorted(found)


def change(catalog, other):
    """Copies a catalog, with one member more in each package."""
    shutil.copytree(catalog, other)
    changed = 0
    for folder, _, names in os.walk(other):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            new = text.replace('"schema":"olm.package"', '"schema":"olm.package","changed":true')
            new = new.replace('"schema": "olm.package"', '"schema": "olm.package", "changed": true')
            new = new.replace("schema: olm.package\n", "schema: olm.package\nchanged: true\n")
            changed += new != text
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    if not changed:
        sys.exit(f"error: no package of {catalog} is written as expected")


main()

#!/usr/bin/env python3
"""Measures plain HTTP against nginx with the same bytes: one core serves, another one asks.

    make bench-http
    python3 benches/http/plain.py target/release/catalogql [SECONDS [CATALOG]]

What counts is the ratio of two servers in one run, each the best of some rounds that take turns. It prints what was
measured beside what is to be reached, and ends with status 1 where something is not.
"""

import os
import re
import subprocess
import sys
import threading

from machine import ASKS, anonymous, answers, catalogql, corpus, folder, program, serving

ROUNDS = 3
CLIENTS = 8
NGINX = "127.0.0.1:18480"
CATALOGQL = "127.0.0.1:18481"

CONFIGURATION = """
worker_processes 1;
daemon off;
pid {work}/nginx.pid;
error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    sendfile off;
    keepalive_requests 1000000;
    default_type application/jsonl;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    server {{ listen {address}; root {work}/files; }}
}}
"""


def drive(wrk, address, path, seconds, clients):
    """Requests a second, and the median of their times in milliseconds."""
    command = ["taskset", "-c", ASKS, wrk, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "--latency"]
    printed = subprocess.run([*command, f"http://{address}{path}"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        sys.exit(printed)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])
    median, unit = re.search(r"50%\s+([\d.]+)(us|ms|s|m)\b", printed).groups()
    return rate, float(median) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


def heap_of(process, work):
    """How much the memory of a process grows while something is done, at most."""
    before, most, done = anonymous(process.pid), [0], threading.Event()

    def look():
        while not done.wait(0.01):
            most[0] = max(most[0], anonymous(process.pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(0, most[0] - before)


def compare(wrk, name, ours, theirs, seconds, clients):
    """The best of the rounds of both servers: requests a second and medians."""
    rounds = {CATALOGQL: [], NGINX: []}
    for _ in range(ROUNDS):
        for address, path in [(CATALOGQL, ours), (NGINX, theirs)]:
            rounds[address].append(drive(wrk, address, path, seconds, clients))
    best = {
        address: (max(rate for rate, _ in all), min(median for _, median in all)) for address, all in rounds.items()
    }
    (rate, median), (other_rate, other_median) = best[CATALOGQL], best[NGINX]
    print(
        f"{name}: {rate:.1f} req/s of nginx's {other_rate:.1f}; p50 {median:.2f} ms and nginx's {other_median:.2f} ms"
    )
    return rate / other_rate, median / other_median


def judge(name, value, bar, holds):
    print(f"  {name}: {value:.2f} ({bar}){'' if holds else ' NOT REACHED'}")
    return holds


def measure(wrk, server, work, seconds):
    package = "argocd-operator"
    paths = {
        "all": "/catalogs/c/api/v1/all",
        "packages": "/catalogs/c/api/v1/metas?schema=olm.package",
        "bundles": f"/catalogs/c/api/v1/metas?schema=olm.bundle&package={package}",
    }
    for name, path in paths.items():
        body = answers(CATALOGQL, path)
        with open(os.path.join(work, "files", name), "wb") as file:
            file.write(body)
        if answers(NGINX, f"/{name}") != body:
            sys.exit(f"nginx serves something else as {name}")
        print(f"{name}: {len(body):,} bytes")
    run = lambda name, clients: compare(wrk, name, paths[name], f"/{name}", seconds, clients)
    good = []
    ratio, _ = run("all", CLIENTS)
    good.append(judge("throughput of /all", ratio, "at least 0.8 of nginx", ratio >= 0.8))
    ratio, _ = run("packages", CLIENTS)
    good.append(judge("throughput of /metas?schema=olm.package", ratio, "at least 0.6 of nginx", ratio >= 0.6))
    _, ratio = run("bundles", 1)
    good.append(judge("p50 of the bundles of a package", ratio, "at most 1.5 of nginx", ratio <= 1.5))
    grown = heap_of(server, lambda: drive(wrk, CATALOGQL, paths["all"], seconds, CLIENTS)) / 2**20
    good.append(judge("MiB of heap for eight clients on /all", grown, "at most 8", grown <= 8))
    return all(good)


def main():
    server, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    directory = corpus(sys.argv[3] if len(sys.argv) > 3 else "community")
    wrk, nginx = program("wrk", "wrk"), program("nginx", "nginx")
    program("taskset", "util-linux")
    with folder() as work:
        os.mkdir(os.path.join(work, "files"), 0o755)
        configuration = os.path.join(work, "nginx.conf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(work=work, address=NGINX))
        with (
            serving(work, nginx, "-c", configuration, "-p", work),
            catalogql(server, work, CATALOGQL, f"c={directory}") as process,
        ):
            good = measure(wrk, process, work, seconds)
    sys.exit(0 if good else 1)


main()

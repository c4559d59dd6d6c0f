#!/usr/bin/env python3
"""Measures plain HTTP against nginx with the same bytes: one core serves, another one asks.

    make bench-http
    python3 benches/http/run.py target/release/catalogql [SECONDS [CATALOG]]

What counts is the ratio of two servers in one run, each the best of some rounds that take turns. It prints what was
measured beside what is to be reached, and ends with status 1 where something is not.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROUNDS = 3
CLIENTS = 8
NGINX = "127.0.0.1:18480"
CATALOGQL = "127.0.0.1:18481"

# The core that serves and the one that asks.
SERVES, ASKS = "0", "1"

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


def program(name, package):
    # Debian keeps servers where the path of a user does not lead.
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        sys.exit(f"{name} is missing (Debian: apt-get install {package})")
    return found


def corpus(name):
    default = os.path.expanduser(os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "catalogql/corpus"))
    folder = os.path.join(os.environ.get("CATALOGQL_CORPUS", default), name)
    if not os.path.isdir(folder):
        sys.exit(f"{folder} is missing: unpack a catalog there, or name another folder with CATALOGQL_CORPUS")
    return folder


def start(work, *command):
    with open(os.path.join(work, "servers.log"), "ab") as log:
        return subprocess.Popen(["taskset", "-c", SERVES, *command], stdout=log, stderr=log)


def answers(address, path):
    """The whole answer, once there is one."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://{address}{path}") as response:
                return response.read()
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{address} does not answer")


def drive(wrk, address, path, seconds, clients):
    """Requests a second, and the median of their times in milliseconds."""
    command = ["taskset", "-c", ASKS, wrk, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "--latency"]
    printed = subprocess.run([*command, f"http://{address}{path}"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        sys.exit(printed)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])
    median, unit = re.search(r"50%\s+([\d.]+)(us|ms|s|m)\b", printed).groups()
    return rate, float(median) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60000}[unit]


def anonymous(process):
    """Bytes of memory that no file backs."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1]) * 1024


def heap_of(process, work):
    """How much the memory of a process grows while something is done, at most."""
    before, most, done = anonymous(process), [0], threading.Event()

    def look():
        while not done.wait(0.01):
            most[0] = max(most[0], anonymous(process))

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
    best = {address: (max(rate for rate, _ in all), min(median for _, median in all)) for address, all in rounds.items()}
    (rate, median), (other_rate, other_median) = best[CATALOGQL], best[NGINX]
    print(f"{name}: {rate:.1f} req/s of nginx's {other_rate:.1f}; p50 {median:.2f} ms and nginx's {other_median:.2f} ms")
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
    catalogql, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    directory = corpus(sys.argv[3] if len(sys.argv) > 3 else "community")
    wrk, nginx = program("wrk", "wrk"), program("nginx", "nginx")
    program("taskset", "util-linux")
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        os.mkdir(os.path.join(work, "files"), 0o755)
        configuration = os.path.join(work, "nginx.conf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(work=work, address=NGINX))
        store = os.path.join(work, "store")
        servers = [
            start(work, catalogql, "serve", f"c={directory}", "--listen", CATALOGQL, "--store", store),
            start(work, nginx, "-c", configuration, "-p", work),
        ]
        try:
            answers(CATALOGQL, "/readyz")
            # Compressing goes on for some seconds after that, on the core that serves.
            content = os.path.join(store, "content")
            while sum(name.endswith((".gz", ".zst")) for name in os.listdir(content)) < 2:
                time.sleep(0.5)
            good = measure(wrk, servers[0], work, seconds)
        finally:
            for server in servers:
                server.send_signal(signal.SIGTERM)
                server.wait()
    sys.exit(0 if good else 1)


main()

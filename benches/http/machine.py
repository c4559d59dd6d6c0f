"""What the measurements over HTTP share: where things are, servers on one core, and wrk on another one.

It knows nothing of what is measured.
"""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

# The core that serves and the one that asks.
SERVES, ASKS = "0", "1"

# Above this share of its core the driver measures itself.
BUSY = 0.9

TICKS = os.sysconf("SC_CLK_TCK")


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


def anonymous(pid):
    """Bytes of memory that no file backs."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"RssAnon:\s+(\d+) kB", status.read())[1]) * 1024


def cpu_seconds(pid):
    """What a process has computed until now, in user and kernel mode."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def fetch(address, path, body=None, headers=None):
    """Status and body of one answer."""
    data = None if body is None else body.encode()
    request = urllib.request.Request(f"http://{address}{path}", data, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def answers(address, path):
    """The whole answer, once there is one."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://{address}{path}") as response:
                return response.read()
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{address} does not answer")


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        yield work


@contextlib.contextmanager
def serving(work, *command, cores=SERVES):
    """A server for a while; what it prints is kept in the folder."""
    with open(os.path.join(work, "servers.log"), "ab") as log:
        process = subprocess.Popen(["taskset", "-c", cores, *command], stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def catalogql(server, work, address, *flags, cores=SERVES):
    """catalogql with a store of its own, when its catalogs are there and compressed."""
    store = os.path.join(work, "store-" + address.rpartition(":")[2])
    with serving(work, server, "serve", *flags, "--listen", address, "--store", store, cores=cores) as process:
        answers(address, "/readyz")
        content = os.path.join(store, "content")
        # Compressing goes on for some seconds after that, on the core that serves.
        while sum(name.endswith((".gz", ".zst")) for name in os.listdir(content)) < 2:
            time.sleep(0.5)
        yield process


@dataclass
class Request:
    path: str
    body: str | None = None
    headers: dict = field(default_factory=dict)


def query(text, variables=None):
    """A GraphQL request by POST."""
    body = json.dumps({"query": text, "variables": variables or {}})
    return Request("/graphql", body, {"content-type": "application/json"})


@dataclass
class Sample:
    """What one drive gave."""

    rate: float  # requests a second
    cpu: float  # CPU seconds of the server for 1,000 requests
    median: float  # milliseconds
    tail: float  # milliseconds, of 99 in 100
    busy: float  # share of its core that the driver used
    length: float  # bytes of an answer with its head


LUA = """
wrk.method = "{method}"
{headers}
{body}
done = function(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format("CATALOGQL %d %d %d %d %d %d\\n", summary.requests, summary.bytes, summary.duration,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
"""


def long_string(text):
    return f"[====[\n{text}]====]"


def drive(wrk, address, request, pid, seconds, clients, work):
    """Asks for one thing over and over. Every answer must be a success."""
    script = os.path.join(work, "drive.lua")
    headers = "\n".join(
        f"wrk.headers[ {long_string(name)} ] = {long_string(value)}" for name, value in request.headers.items()
    )
    body = "" if request.body is None else f"wrk.body = {long_string(request.body)}"
    with open(script, "w", encoding="utf-8") as file:
        file.write(LUA.format(method="GET" if request.body is None else "POST", headers=headers, body=body))
    command = ["taskset", "-c", ASKS, wrk, "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "60s", "-s", script]
    before, mine, began = cpu_seconds(pid), resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    printed = subprocess.run(
        [*command, f"http://{address}{request.path}"], capture_output=True, text=True, check=True
    ).stdout
    wall, after, cpu = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN), cpu_seconds(pid) - before
    found = re.search(r"CATALOGQL (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", printed)
    count, length, micros, errors, median, tail = map(int, found.groups())
    if errors or not count:
        sys.exit(f"{errors} of {count} requests for {request.path} failed:\n{printed}")
    used = after.ru_utime + after.ru_stime - mine.ru_utime - mine.ru_stime
    return Sample(count / (micros / 1e6), cpu / count * 1000, median / 1000, tail / 1000, used / wall, length / count)


def spread(values):
    """Median, least and most."""
    return statistics.median(values), min(values), max(values)

#!/usr/bin/env python3
"""Measures the aggregated API beside OLM v0's packageserver on one catalog: CPU for a list and one package, and memory.

    PACKAGE_SERVER=… OPM=… python3 benches/kube/packageserver.py target/release/catalogql

PACKAGE_SERVER and OPM are upstream's programs `package-server` (operator-lifecycle-manager) and `opm`
(operator-registry), built by `go build` without changes. packageserver starts only where it finds a pod's token and the
API server at a pod's variables, so that everything runs in network and mount namespaces of its own, which needs root.
The control plane is the one of the tests, and `opm serve` is packageserver's registry. Both servers answer over TLS to
the same token; its rights are cached.

Memory is RssAnon: what no file backs, once both have had time to give back what they freed. packageserver's includes its registry,
without which it has no packages.
"""

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from machine import anonymous, corpus, cpu_seconds  # noqa: E402 the folder is named a line above

HERE = os.path.dirname(os.path.abspath(__file__))
POD = "/var/run/secrets/kubernetes.io/serviceaccount"
ETCD, ETCD_PEERS, API, REGISTRY, THEIRS, OURS = 2379, 2380, 6443, 50051, 5443, 7443
PACKAGES = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests"
INSIDE = "CATALOGQL_BENCH_INSIDE"

# What must hold: how many times less.
LIST, PACKAGE, MEMORY = 20, 100, 20

# Requests of a round, for packageserver and for catalogql, by what is asked for. Clocks of processes tick in hundredths
# of a second.
ROUNDS = 5
COUNTS = {"list": (10, 100), "compressed list": (10, 100), "package": (50, 5000)}

# Seconds from the last request until memory is read.
REST = 15


def main():
    enter_namespaces()
    server, theirs, opm = os.path.abspath(sys.argv[1]), os.environ["PACKAGE_SERVER"], os.environ["OPM"]
    programs = control_plane_programs()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        catalog = valid_packages(opm, corpus("community"), f"{folder}/catalog")
        kubectl = start_control_plane(stack, programs, folder)
        token = set_up(kubectl, folder)
        create_source(kubectl, "community", REGISTRY)
        registry = start_opm(stack, folder, opm, catalog)
        wait_for(REGISTRY, 900)
        package_server = start_package_server(stack, folder, theirs)
        ours = start(stack, folder, "catalogql", [
            server, "serve", "--listen=127.0.0.1:0", f"--kube-api-listen=127.0.0.1:{OURS}", "--kube-api-auth=delegated",
            "--store", f"{folder}/store", "--tls-cert-file", f"{folder}/tls.crt",
            "--tls-private-key-file", f"{folder}/tls.key", catalog], {"KUBECONFIG": f"{folder}/kubeconfig"})
        sides = [(THEIRS, package_server), (OURS, ours)]
        names = [wait_for_packages(port, token) for port, _ in sides]
        if names[0] != names[1]:
            sys.exit(f"packageserver has {len(names[0])} packages, catalogql {len(names[1])}")
        cpu = measure(sides, names[0], token)
        time.sleep(REST)
        report(len(names[0]), cpu, [
            anonymous(package_server.pid) + anonymous(registry.pid), anonymous(ours.pid)])


def enter_namespaces():
    """Goes on in network and mount namespaces of its own, with a loopback device."""
    if INSIDE not in os.environ:
        os.execvpe("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    with socket.socket() as any_socket:
        # SIOCSIFFLAGS with IFF_UP and IFF_RUNNING.
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))


def control_plane_programs():
    script = os.path.join(HERE, "../../tests/control-plane/build.sh")
    return subprocess.run([script, "--where"], check=True, capture_output=True, text=True).stdout.strip()


def valid_packages(opm, catalog, folder):
    """Links the packages that opm serves: one that it refuses keeps it from serving any."""
    os.mkdir(folder)

    def check(name):
        package = os.path.join(catalog, name)
        if subprocess.run([opm, "validate", package], capture_output=True, check=False).returncode == 0:
            shutil.copytree(package, os.path.join(folder, name))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, sorted(os.listdir(catalog))))
    return folder


def start(stack, folder, name, command, environment=None):
    log = stack.enter_context(open(os.path.join(folder, f"{name}.log"), "wb"))
    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **(environment or {})})

    def stop():
        process.send_signal(signal.SIGKILL)
        process.wait()

    stack.callback(stop)
    return process


def start_opm(stack, folder, opm, catalog):
    return start(stack, folder, "opm", [
        opm, "serve", catalog, "-p", str(REGISTRY), "--cache-dir", f"{folder}/cache",
        "--cache-enforce-integrity=false", "-t", f"{folder}/termination"])


def start_package_server(stack, folder, program):
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(API)}
    return start(stack, folder, "package-server", [
        program, "--secure-port", str(THEIRS), "--global-namespace", "olm",
        "--tls-cert-file", f"{folder}/tls.crt", "--tls-private-key-file", f"{folder}/tls.key"], environment)


def wait_until(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"{what} is not there after {seconds} s")
        time.sleep(0.2)
    return found


def wait_for(port, seconds=60):
    def connects():
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    wait_until(f"port {port}", connects, seconds)


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)


def certify(folder, name, subject, extensions):
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as file:
        file.write(extensions)
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", subject)
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext")


def start_control_plane(stack, programs, folder):
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
            "-days", "2", "-subj", "/CN=authority")
    certify(folder, "tls", "/CN=server", "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n")
    certify(folder, "admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth\n")
    openssl(folder, "genrsa", "-out", "tokens.key", "2048")
    start(stack, folder, "etcd", [
        f"{programs}/etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{ETCD}",
        "--advertise-client-urls", f"http://127.0.0.1:{ETCD}", "--listen-peer-urls", f"http://127.0.0.1:{ETCD_PEERS}",
        "--initial-advertise-peer-urls", f"http://127.0.0.1:{ETCD_PEERS}",
        "--initial-cluster", f"default=http://127.0.0.1:{ETCD_PEERS}", "--unsafe-no-fsync"])
    wait_for(ETCD)
    start(stack, folder, "kube-apiserver", [
        f"{programs}/kube-apiserver", "--etcd-servers", f"http://127.0.0.1:{ETCD}", "--bind-address", "127.0.0.1",
        "--advertise-address", "127.0.0.1", "--secure-port", str(API), "--endpoint-reconciler-type", "none",
        "--tls-cert-file", f"{folder}/tls.crt", "--tls-private-key-file", f"{folder}/tls.key",
        "--client-ca-file", f"{folder}/ca.crt", "--service-account-issuer", "https://kubernetes.default.svc",
        "--requestheader-client-ca-file", f"{folder}/ca.crt", "--requestheader-allowed-names", "front-proxy",
        "--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group",
        "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
        "--service-account-signing-key-file", f"{folder}/tokens.key",
        "--service-account-key-file", f"{folder}/tokens.key",
        "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24"])
    admin = {"client-certificate": f"{folder}/admin.crt", "client-key": f"{folder}/admin.key"}
    write_kubeconfig(folder, admin, "admin")

    def kubectl(*arguments, stdin=None, check=True):
        command = [f"{programs}/kubectl", "--kubeconfig", f"{folder}/admin", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode:
            sys.exit(f"kubectl {arguments}: {done.stderr}")
        return done.stdout

    wait_until("the API server", lambda: kubectl("get", "--raw", "/readyz", check=False) == "ok")
    return kubectl


def write_kubeconfig(folder, user, name):
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
        json.dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "x", "user": user}],
            "clusters": [{"name": "x", "cluster": {
                "server": f"https://127.0.0.1:{API}", "certificate-authority": f"{folder}/ca.crt"}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x", "namespace": "olm"}}]}, file)


def set_up(kubectl, folder):
    """Creates what packageserver watches, and a service account that may do everything; returns its token."""
    kubectl("create", "namespace", "olm")
    kubectl("create", "serviceaccount", "server", "-n", "olm")
    kubectl("create", "clusterrolebinding", "server", "--clusterrole=cluster-admin", "--serviceaccount=olm:server")
    for kind, scope, version in [("CatalogSource", "Namespaced", "v1alpha1"), ("OLMConfig", "Cluster", "v1")]:
        define(kubectl, kind, scope, version)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    token = kubectl("create", "token", "server", "-n", "olm", "--duration=24h").strip()
    write_kubeconfig(folder, {"token": token}, "kubeconfig")
    os.makedirs(POD, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", POD], check=True)
    with open(f"{folder}/ca.crt", encoding="ascii") as file:
        authority = file.read()
    for name, text in [("token", token), ("ca.crt", authority), ("namespace", "olm")]:
        with open(f"{POD}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return token


def create_source(kubectl, name, port):
    """Creates a CatalogSource for the registry on a port."""
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
        "metadata": {"name": name, "namespace": "olm"},
        "spec": {"sourceType": "grpc", "address": f"127.0.0.1:{port}", "displayName": "Community"}}))
    # What olm-operator writes when the registry is there.
    status = json.dumps({"status": {"registryService": {"protocol": "grpc", "port": str(port)}}})
    kubectl("patch", "catalogsource", name, "-n", "olm", "--subresource=status", "--type=merge", "-p", status)


def define(kubectl, kind, scope, version):
    singular = kind.lower()
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{singular}s", "singular": singular}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.operators.coreos.com"},
        "spec": {"group": "operators.coreos.com", "scope": scope, "names": names, "versions": [
            {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}]}}))


class Client:
    """One connection with keep-alive."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context())
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def get(self, path, coding="identity"):
        self.connection.request("GET", path, headers={**self.headers, "Accept-Encoding": coding})
        response = self.connection.getresponse()
        return response.status, response.read()


def wait_for_packages(port, token):
    """Names of all packages, once their number does not grow any more."""
    last = []

    def names():
        nonlocal last
        try:
            status, body = Client(port, token).get(PACKAGES)
        except OSError:
            return None
        found = sorted(item["metadata"]["name"] for item in json.loads(body).get("items", [])) if status == 200 else []
        is_same, last = found and found == last, found
        time.sleep(2 if found else 0)
        return found if is_same else None

    return wait_until(f"packages on port {port}", names, 300)


def measure(sides, names, token):
    """Milliseconds of CPU for each request, by what is asked for: of packageserver and of catalogql, in turns."""
    found = {}
    for what, counts in COUNTS.items():
        rounds = [[], []]
        for _ in range(ROUNDS):
            for side, ((port, process), count) in enumerate(zip(sides, counts)):
                client = Client(port, token)
                client.get(PACKAGES + "?limit=1" if side else f"{PACKAGES}/{names[0]}")
                before = cpu_seconds(process.pid)
                for number in range(count):
                    path = f"{PACKAGES}/{names[number % len(names)]}" if what == "package" else PACKAGES
                    # As client-go asks for it, and so kubectl and controllers.
                    status, body = client.get(path, "gzip" if what == "compressed list" else "identity")
                    if status != 200:
                        sys.exit(f"{path}: {status} {body[:200]}")
                rounds[side].append((cpu_seconds(process.pid) - before) / count * 1000)
        found[what] = [statistics.median(side) for side in rounds]
    return found


def report(packages, cpu, memory):
    rows = [
        ("list, JSON: CPU", *(f"{value:.2f} ms" for value in cpu["list"]), cpu["list"][0] / cpu["list"][1], LIST),
        ("list, gzip: CPU", *(f"{value:.2f} ms" for value in cpu["compressed list"]),
         cpu["compressed list"][0] / cpu["compressed list"][1], LIST),
        ("one package: CPU", *(f"{value:.3f} ms" for value in cpu["package"]),
         cpu["package"][0] / cpu["package"][1], PACKAGE),
        ("RssAnon at rest", *(f"{value / 2**20:.0f} MiB" for value in memory), memory[0] / memory[1], MEMORY),
    ]
    print(f"{packages} packages; median of {ROUNDS} rounds\n")
    print("| | packageserver | catalogql | ratio | at least |\n|---|--:|--:|--:|--:|")
    for name, theirs, ours, ratio, bar in rows:
        print(f"| {name} | {theirs} | {ours} | {ratio:.1f} | {bar} |")
    missed = [name for name, *_, ratio, bar in rows if ratio < bar]
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures `kubectl catalog heads` beside kubectl-operator on one catalog and one server: bytes, and time from start to end.

    KUBECTL_OPERATOR=… python3 benches/kube/heads.py target/release/catalogql target/release/kubectl-catalog [PACKAGE]

KUBECTL_OPERATOR is upstream's program, built by `go build` without changes from a commit that has `olmv1 search catalog`
(2a64180, of December 2025; v0.6.0 has it not). Both reach the server by a port-forward of the same
real API server, through the same stand-in for a kubelet (tests/control-plane/kubelet), which counts the bytes that the
server sends. kubectl-operator asks for the channels of a package: it has no command for their heads. Everything runs in a network
namespace of its own, which needs root.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "http"))
from machine import corpus  # noqa: E402 the folder is named a line above
from packageserver import enter_namespaces, start, start_control_plane, wait_for, wait_until  # noqa: E402

SERVER, NAMESPACE, NAME, LABEL = 8080, "olmv1-system", "catalogd-service", {"app.kubernetes.io/name": "catalogql"}

# What must hold: how many times less than kubectl-operator.
BYTES, TIME = 1000, 50
ROUNDS = 5


def main():
    enter_namespaces()
    server, plugin = map(os.path.abspath, sys.argv[1:3])
    package = sys.argv[3] if len(sys.argv) > 3 else "project-quay"
    operator = os.environ["KUBECTL_OPERATOR"]
    programs, kubelet = (where(*script) for script in (["build.sh"], ["program.sh", "kubelet"]))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        kubectl = start_control_plane(stack, programs, folder)
        start(stack, folder, "catalogql", [
            server, "serve", f"--listen=127.0.0.1:{SERVER}", f"--allowed-host={NAME}.{NAMESPACE}.svc",
            "--allowed-host=localhost", "--store", f"{folder}/store", corpus("community")])
        node = start_kubelet(stack, kubelet, f"{folder}/bytes")
        deploy(kubectl, int(node.rpartition(":")[2]))
        wait_for(SERVER)
        wait_until("the catalog", lambda: b"community" in run([
            plugin, "get", "catalogs", "-o", "name", "--server", f"http://127.0.0.1:{SERVER}"], folder, check=False))
        theirs = [operator, "olmv1", "search", "catalog", "--catalog=community", f"--package={package}"]
        ours = [plugin, "heads", package, "--via=port-forward"]
        report(package, measure(folder, theirs, ours))


def where(script, *arguments):
    command = [os.path.join(HERE, "../../tests/control-plane", script), *arguments, "--where"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def start_kubelet(stack, program, count):
    process = subprocess.Popen([program, "127.0.0.1", count], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.callback(process.stdin.close)
    return process.stdout.readline().strip()


def deploy(kubectl, port):
    """The objects by which both find the server, as controllers would write them."""
    def apply(*objects):
        items = {"apiVersion": "v1", "kind": "List", "items": objects}
        kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(items))

    def status(kind, name, value):
        kubectl("patch", kind, name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p",
                json.dumps({"status": value}))

    for namespace in ("default", NAMESPACE):
        kubectl("create", "namespace", namespace, check=False)
    kubectl("create", "serviceaccount", "default", "-n", NAMESPACE)
    kubectl("apply", "--server-side", "-f", os.path.join(HERE, "../../deploy/base/crds.yaml"))
    kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": LABEL}
    pod = {"name": "catalogql-0", "namespace": NAMESPACE}
    apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {
            "selector": LABEL, "ports": [{"name": "http", "port": 80, "targetPort": SERVER}]}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
         "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": NAME}},
         "endpoints": [{"addresses": ["192.0.2.1"], "targetRef": {"kind": "Pod", **pod}, "conditions": {"ready": True}}],
         "ports": [{"name": "http", "port": SERVER}]},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {**pod, "labels": LABEL}, "spec": {
            "nodeName": "node", "containers": [{"name": "catalogql", "image": "catalogql"}]}},
        {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "community"},
         "spec": {"source": {"type": "Image", "image": {"ref": "example.com/community:latest"}}}})
    status("node", "node", {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}})
    status("pod", "catalogql-0", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    now = "2026-11-21T00:00:00Z"
    condition = {"type": "Serving", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": now}
    status("clustercatalog", "community", {
        "conditions": [condition], "lastUnpacked": now,
        "resolvedSource": {"type": "Image", "image": {"ref": "example.com/community@sha256:" + "0" * 64}},
        "urls": {"base": f"http://{NAME}.{NAMESPACE}.svc/catalogs/community"}})


def run(command, folder, check=True):
    environment = {**os.environ, "KUBECONFIG": f"{folder}/admin", "XDG_CACHE_HOME": f"{folder}/cache", "NO_PROXY": "*"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    if check and done.returncode:
        sys.exit(f"{command}: {done.stderr.decode()}")
    return done.stdout


def measure(folder, theirs, ours):
    """Seconds and bytes of each round of both, and of ours once more with its cache."""
    rounds = {"kubectl-operator": [], "kubectl catalog": [], "kubectl catalog, again": []}
    for _ in range(ROUNDS):
        shutil.rmtree(f"{folder}/cache", ignore_errors=True)
        for name, command in zip(rounds, (theirs, ours, ours)):
            before, began = transferred(folder), time.perf_counter()
            out = run(command, folder)
            elapsed = time.perf_counter() - began
            if not out.strip():
                sys.exit(f"{name} printed nothing")
            wait_until("the end of the connection", lambda: transferred(folder) > before)
            # Connections end in any order.
            time.sleep(0.5)
            rounds[name].append((elapsed, transferred(folder) - before))
    return rounds


def transferred(folder):
    """Bytes that have come from the pod so far, of connections that have ended."""
    try:
        with open(f"{folder}/bytes", encoding="ascii") as file:
            return sum(int(line) for line in file)
    except FileNotFoundError:
        return 0


def report(package, rounds):
    medians = {name: [statistics.median(column) for column in zip(*values)] for name, values in rounds.items()}
    seconds, sent = medians["kubectl-operator"]
    print(f"package {package} of community; median of {ROUNDS} rounds\n")
    print("| | time | bytes from the server | less time | fewer bytes |\n|---|--:|--:|--:|--:|")
    for name, (own_seconds, own_sent) in medians.items():
        print(f"| {name} | {own_seconds * 1000:.0f} ms | {own_sent:,.0f} | {seconds / own_seconds:.0f} × | "
              f"{sent / own_sent:,.0f} × |")
    own_seconds, own_sent = medians["kubectl catalog"]
    if seconds / own_seconds < TIME or sent / own_sent < BYTES:
        sys.exit(f"missed: {TIME} × less time, {BYTES} × fewer bytes")


if __name__ == "__main__":
    main()

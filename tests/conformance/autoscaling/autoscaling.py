#!/usr/bin/env python3
"""Scales replicas by CPU time: the Deployment and the HorizontalPodAutoscaler of `deploy/`, with the real controllers of
Kubernetes and the real metrics-server.

    tests/conformance/autoscaling/autoscaling.py CATALOGQL CLUSTER [--as-deployed]

CATALOGQL and CLUSTER are the program and the example `cluster` of the crate `testing`. The Deployment, ReplicaSet and
HorizontalPodAutoscaler controllers of kube-controller-manager run against the control plane of the tests. There are no containers:
each Pod is a process `catalogql serve`, and a stand-in for the kubelet starts it, reports it ready, ends it by SIGTERM, and tells
metrics-server its CPU time (`/metrics/resource`). Clients send queries that are in no cache, at a rate that takes a fixed amount
of CPU time of all replicas together, to those that a Service would name.

Expected: two replicas without load, three under a load of 1,000m (the target is 400m each), two again after it, and no
failed request. The windows of `behavior` are divided by ten, unless `--as-deployed` is given, which takes 17 minutes.
"""

import argparse
import http.client
import http.server
import json
import random
import select
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / 'upstream'), str(REPOSITORY / 'benches/http')]
from machine import corpus, cpu_seconds  # noqa: E402 the folder is named a line above
from stage import Cluster, Stage, end, eventually, free_port  # noqa: E402 the folder is named two lines above

NAMESPACE, CONTAINER, NODE = 'catalogql', 'catalogql', 'node'

# What is applied of the overlay. Nothing here reads the others.
APPLIED = {'Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'Service', 'ServiceAccount'}

# CPU time of all replicas together, in thousandths of a core, and the number of replicas that it leads to. The target of the
# manifest is 400m for each, and a difference of a tenth is tolerated.
LOAD, LOADED_REPLICAS, IDLE_REPLICAS = 1000, 3, 2

# Load while replicas end, so that there are requests in flight.
LIGHT_LOAD = 100

# Seconds between a Pod's removal from the endpoints and SIGTERM; the manifest has 20, for proxies of many nodes.
PRE_STOP = 2

# Seconds for which the number of replicas must stay as it is.
SETTLED = 60

CONTROLLERS = 'deployment-controller,replicaset-controller,horizontal-pod-autoscaler-controller'

CLIENTS = 4
REQUESTS_OF_A_CONNECTION = 20


class Kubelet:
    """Stands in for a kubelet: it runs the Pods of the namespace as processes, and serves their CPU time."""

    def __init__(self, stage, cluster, program):
        self.stage, self.cluster, self.program = stage, cluster, program
        self.processes, self.started = {}, {}
        # Of the Pods that are ready and do not end.
        self.ports = {}
        self.ending = set()
        self.lock = threading.Lock()
        self.port = self.serve_metrics()

    def endpoints(self):
        """Ports of the ready Pods that do not end, as a Service has them."""
        with self.lock:
            return list(self.ports.values())

    def reconcile(self):
        """Starts and ends processes as the Pods say."""
        pods = {pod['metadata']['name']: pod for pod in self.cluster.items('pods', '-n', NAMESPACE)}
        for name, pod in pods.items():
            if name in self.ending:
                continue
            if 'deletionTimestamp' in pod['metadata']:
                self.ending.add(name)
                with self.lock:
                    del self.ports[name]
                threading.Thread(target=self.stop_pod, args=[name], daemon=True).start()
            elif name not in self.processes:
                self.start_pod(name)

    def start_pod(self, name):
        binding = {
            'apiVersion': 'v1', 'kind': 'Binding', 'metadata': {'name': name},
            'target': {'apiVersion': 'v1', 'kind': 'Node', 'name': NODE},
        }
        path = f'/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding'
        self.cluster.kubectl('create', '--raw', path, '-f', '-', text=json.dumps(binding))
        port = free_port()
        self.started[name] = time.time()
        self.processes[name] = self.stage.start(name, [
            self.program, 'serve', f'--listen=127.0.0.1:{port}', '--store', self.stage.folder / f'store-{name}',
            corpus('community'),
        ])
        eventually(f'{name} is not ready', lambda: is_ready(port))
        now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
        status = {
            'phase': 'Running', 'startTime': now,
            'conditions': [{'type': kind, 'status': 'True', 'lastTransitionTime': now} for kind in ['Ready', 'ContainersReady']],
        }
        self.cluster.kubectl(
            'patch', 'pod', name, '-n', NAMESPACE, '--subresource=status', '--type=merge', '-p', json.dumps({'status': status})
        )
        with self.lock:
            self.ports[name] = port

    def stop_pod(self, name):
        time.sleep(PRE_STOP)
        end(self.processes[name])
        self.cluster.kubectl('delete', 'pod', name, '-n', NAMESPACE, '--grace-period=0', '--force')

    def spent(self):
        """CPU seconds of each Pod of the endpoints. At the end of the run, their processes end before this is asked for the last time."""
        with self.lock:
            names = list(self.ports)
        return {name: cpu_seconds(self.processes[name].pid) for name in names if self.processes[name].poll() is None}

    def metrics(self):
        """The text that metrics-server reads."""
        now = int(time.time() * 1000)
        spent = self.spent()
        lines = [
            f'node_cpu_usage_seconds_total {sum(spent.values())} {now}',
            f'node_memory_working_set_bytes 1048576 {now}',
        ]
        for name, seconds in spent.items():
            labels = f'{{container="{CONTAINER}",namespace="{NAMESPACE}",pod="{name}"}}'
            lines += [
                f'container_start_time_seconds{labels} {self.started[name]}',
                f'container_cpu_usage_seconds_total{labels} {seconds} {now}',
                f'container_memory_working_set_bytes{labels} 1048576 {now}',
            ]
        return '\n'.join(lines) + '\n'

    def serve_metrics(self):
        kubelet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = kubelet.metrics().encode()
                self.send_response(200)
                self.send_header('Content-Type', 'text/plain; version=0.0.4')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.stage.folder / 'tls.crt', self.stage.folder / 'tls.key')
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port


class Clients:
    """Clients that send queries at a rate that takes a given CPU time of the replicas."""

    def __init__(self, kubelet):
        self.kubelet = kubelet
        self.load, self.pause = 0, 0.05
        self.sent, self.failures = 0, []
        self.lock = threading.Lock()
        for target in [self.adjust, *[self.ask] * CLIENTS]:
            threading.Thread(target=target, daemon=True).start()

    def adjust(self):
        """Adjusts the pause between requests once a second to the CPU time that they take."""
        before = self.kubelet.spent()
        while True:
            time.sleep(1)
            after = self.kubelet.spent()
            millicores = sum(after[name] - before.get(name, after[name]) for name in after) * 1000
            before = after
            if self.load:
                change = min(max(millicores / self.load, 0.7), 1.4)
                self.pause = min(max(self.pause * change, 0.0005), 1)

    def ask(self):
        connection, count = None, 0
        while True:
            ports = self.kubelet.endpoints()
            if not self.load or not ports:
                time.sleep(0.1)
                continue
            # As connection pools do it: one that the server has closed is not used.
            if connection and (connection.sock is None or select.select([connection.sock], [], [], 0)[0]):
                connection = None
            if connection is None or count == REQUESTS_OF_A_CONNECTION:
                connection, count = http.client.HTTPConnection('127.0.0.1', random.choice(ports), timeout=30), 0
            count += 1
            try:
                connection.request('POST', '/graphql', self.query(), {'Content-Type': 'application/json'})
                response = connection.getresponse()
                body = response.read()
                if response.status != 200 or b'"errors"' in body:
                    raise ValueError(f'{response.status} {body[:200]}')
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failures.append(repr(error))
                connection = None
            time.sleep(self.pause * random.uniform(0.5, 1.5))

    def query(self):
        """A query of several milliseconds that no cache has: its name is new."""
        with self.lock:
            self.sent += 1
            number = self.sent
        nodes = '{ nodes { bundles(first: 20) { nodes { version metadata { displayName } } } } }'
        text = f'query Q{number} {{ packages(first: 100) {nodes} }}'
        return json.dumps({'query': text})


def is_ready(port):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=5)
    try:
        connection.request('GET', '/readyz')
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def manifests(stage, cluster, as_deployed):
    """The objects of the overlay `default` with the component `autoscaling`."""
    folder = stage.folder / 'overlay'
    folder.mkdir()
    # kustomize accepts no absolute paths.
    deploy = '../' * len(folder.resolve().parents) + str(REPOSITORY / 'deploy').lstrip('/')
    kustomization = {
        'apiVersion': 'kustomize.config.k8s.io/v1beta1', 'kind': 'Kustomization',
        'resources': [f'{deploy}/overlays/default'], 'components': [f'{deploy}/components/autoscaling'],
    }
    (folder / 'kustomization.yaml').write_text(json.dumps(kustomization))
    text = cluster.kubectl('kustomize', str(folder.resolve()))
    wanted = [part for part in text.split('\n---\n') if any(f'\nkind: {kind}\n' in part for kind in APPLIED)]
    # To JSON. Nothing is applied yet.
    listed = cluster.kubectl('apply', '--dry-run=client', '-o', 'json', '-f', '-', text='\n---\n'.join(wanted))
    objects = json.loads(listed)['items']
    for each in objects:
        if each['kind'] == 'HorizontalPodAutoscaler' and not as_deployed:
            for rules in each['spec']['behavior'].values():
                rules['stabilizationWindowSeconds'] //= 10
                for policy in rules.get('policies', []):
                    policy['periodSeconds'] //= 10
    return objects


def start_controllers(stage, cluster, programs):
    config = cluster.facts['adminKubeconfig']
    stage.start('kube-controller-manager', [
        programs / 'kube-controller-manager', f'--kubeconfig={config}', f'--authentication-kubeconfig={config}',
        f'--authorization-kubeconfig={config}', '--leader-elect=false', f'--controllers={CONTROLLERS}',
        '--bind-address=127.0.0.1', f'--secure-port={free_port()}',
    ])


def start_metrics_server(stage, cluster, programs):
    """Starts metrics-server, and registers it as cluster administrators do. Its Service has an external name: there is no proxy."""
    config, port = cluster.facts['adminKubeconfig'], free_port()
    stage.start('metrics-server', [
        programs / 'metrics-server', f'--kubeconfig={config}', f'--authentication-kubeconfig={config}',
        f'--authorization-kubeconfig={config}', '--bind-address=127.0.0.1', f'--secure-port={port}',
        f'--cert-dir={stage.folder / "metrics-server"}', '--kubelet-insecure-tls', '--kubelet-use-node-status-port',
        '--kubelet-preferred-address-types=InternalIP', '--metric-resolution=15s',
    ])
    cluster.apply(
        {
            'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'metrics-server', 'namespace': NAMESPACE},
            'spec': {'type': 'ExternalName', 'externalName': 'localhost'},
        },
        {
            'apiVersion': 'apiregistration.k8s.io/v1', 'kind': 'APIService', 'metadata': {'name': 'v1beta1.metrics.k8s.io'},
            'spec': {
                'group': 'metrics.k8s.io', 'version': 'v1beta1', 'groupPriorityMinimum': 100, 'versionPriority': 100,
                'insecureSkipTLSVerify': True, 'service': {'name': 'metrics-server', 'namespace': NAMESPACE, 'port': port},
            },
        },
    )


def create_node(cluster, kubelet_port):
    cluster.apply({'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': NODE}})
    status = {
        'addresses': [{'type': 'InternalIP', 'address': '127.0.0.1'}],
        'daemonEndpoints': {'kubeletEndpoint': {'Port': kubelet_port}},
        'conditions': [{'type': 'Ready', 'status': 'True'}],
    }
    cluster.kubectl('patch', 'node', NODE, '--subresource=status', '--type=merge', '-p', json.dumps({'status': status}))


class Timeline:
    """What the autoscaler says, printed whenever the number of replicas changes."""

    def __init__(self, cluster, kubelet, clients):
        self.cluster, self.kubelet, self.clients = cluster, kubelet, clients
        self.began, self.replicas = time.monotonic(), None
        print('| s | load | replicas | CPU time of one | requests | failed |\n|--:|--:|--:|--:|--:|--:|', flush=True)

    def look(self):
        """Reconciles the Pods, and returns the number of replicas and the average CPU time that the autoscaler has seen, if any."""
        self.kubelet.reconcile()
        scaler, = self.cluster.items('hpa', '-n', NAMESPACE)
        deployment, = self.cluster.items('deployment', '-n', NAMESPACE)
        replicas = deployment['spec']['replicas']
        metrics = scaler['status'].get('currentMetrics') or []
        average = next((each['containerResource']['current'].get('averageValue') for each in metrics if 'containerResource' in each), None)
        if replicas != self.replicas:
            self.replicas = replicas
            self.print(average)
        return replicas, average

    def print(self, average):
        clients = self.clients
        print(
            f'| {time.monotonic() - self.began:.0f} | {clients.load}m | {self.replicas} | {average or "unknown"} | {clients.sent:,} '
            f'| {len(clients.failures)} |', flush=True,
        )

    def until(self, what, replicas, seconds):
        def reached():
            found, average = self.look()
            return average is not None and found == replicas and len(self.kubelet.endpoints()) == replicas

        eventually(what, reached, seconds)
        ends = time.monotonic() + SETTLED
        while time.monotonic() < ends:
            found, average = self.look()
            if found != replicas:
                sys.exit(f'error: there are {found} replicas less than {SETTLED} seconds after there were {replicas}')
            time.sleep(1)
        self.print(average)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('catalogql', type=Path)
    parser.add_argument('cluster', type=Path)
    parser.add_argument('--as-deployed', action='store_true')
    options = parser.parse_args()
    programs = Path(subprocess.run([HERE / 'build.sh'], check=True, capture_output=True, text=True).stdout.strip())
    with Stage() as stage:
        stage.certificates('localhost')
        cluster = Cluster(stage, options.cluster.resolve(), 'scaled')
        kubelet = Kubelet(stage, cluster, options.catalogql.resolve())
        create_node(cluster, kubelet.port)
        start_metrics_server(stage, cluster, programs)
        start_controllers(stage, cluster, programs)
        cluster.apply(*manifests(stage, cluster, options.as_deployed))
        clients = Clients(kubelet)
        timeline = Timeline(cluster, kubelet, clients)
        window = 1 if options.as_deployed else 0.1
        timeline.until('there are not two replicas without load', IDLE_REPLICAS, 180)
        clients.load = LOAD
        timeline.until('the load does not lead to a third replica', LOADED_REPLICAS, 180 + 120 * window)
        clients.load = LIGHT_LOAD
        timeline.until('the third replica does not end after the load', IDLE_REPLICAS, 180 + 720 * window)
        failures = clients.failures
        print(f'{clients.sent:,} requests, {len(failures)} failed')
        if failures:
            sys.exit(f'error: requests failed, such as {failures[0]}')


if __name__ == '__main__':
    main()

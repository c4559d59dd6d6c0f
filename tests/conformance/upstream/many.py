#!/usr/bin/env python3
"""200 ClusterExtensions over ten catalogs: what catalogql and catalogd spend, and what operator-controller says beside each. Ours are
two replicas: the leader is killed while the catalogs change, and then both are replaced one after the other.

usage: many.py CATALOGQL CLUSTER

CATALOGQL and CLUSTER are as for extensions.py. The CPU time of a debug build of catalogql proves nothing.
"""

import subprocess
import sys
import time
from pathlib import Path

import stage
from extensions import (
    ACCOUNT, NAMESPACE, OUR_PORT, THEIR_PORT, Package, Side, certificate_names, cluster_catalog, extension, theirs,
)
from stage import OURS, Cluster, Stage, Table, eventually

CATALOGS, PACKAGES = 10, 20

# The Service of catalogql has two endpoints: its name has both addresses.
ENDPOINTS = {'one': '127.0.0.1', 'two': '127.0.0.2'}

# Minutes for 200 installations on a busy machine, one after the other.
DEADLINE = 900


def names(catalog):
    return [f'c{catalog}-p{number:02}' for number in range(PACKAGES)]


def blobs(registry, catalog, versions):
    """A catalog with this upgrade path in each package."""
    found = []
    for name in names(catalog):
        package = Package(registry, name)
        entries = []
        for at, version in enumerate(versions):
            package.bundle(version)
            entries.append(f'{version} replaces {versions[at - 1]}' if at else version)
        found += package.channel('stable', *entries).end()
    return found


def push(registry, *versions):
    for catalog in range(CATALOGS):
        stage.push_catalog(registry, f'catalogs/c{catalog}', blobs(registry, catalog, versions))


class Replicas:
    """Two replicas of catalogql in one cluster, with the CPU time of those that ended."""

    def __init__(self, on, cluster, program):
        self.stage, self.cluster, self.program = on, cluster, program
        self.processes, self.ended = {}, 0

    def start(self, name):
        folder = self.stage.folder
        command = [
            self.program, 'controller', f'--listen={ENDPOINTS[name]}:{OUR_PORT}', f'--tls-cert-file={folder}/tls.crt',
            f'--tls-private-key-file={folder}/tls.key', '--namespace=catalogql', '--service-account=catalogql',
            '--kubeconfig', self.cluster.facts['kubeconfig'], f'--store={folder}/store-{name}', f'--external-address={OURS}',
            # A server that listens on loopback answers for localhost alone otherwise.
            f'--allowed-host={OURS}',
            '--leader-elect-lease-duration=4s', '--leader-elect-renew-deadline=3s', '--leader-elect-retry-period=500ms',
        ]
        self.processes[name] = self.stage.start(f'catalogql-{name}', command, env={'POD_NAME': name})
        probe = [
            'curl', '--silent', '--fail', '--output', '/dev/null', '--cacert', folder / 'cas/ca.crt', '--connect-to',
            f'{OURS}:{OUR_PORT}:{ENDPOINTS[name]}:{OUR_PORT}', f'https://{OURS}/readyz',
        ]
        eventually(f'replica {name} is not ready', lambda: subprocess.run(probe, check=False).returncode == 0)

    def leader(self):
        """The replica that holds the Lease."""

        def holder():
            leases = self.cluster.items('leases', '--namespace', 'catalogql')
            held = [each['spec'].get('holderIdentity') or '' for each in leases]
            return next((name for name in ENDPOINTS if any(name in each for each in held)), None)

        return eventually('no replica holds the Lease', holder)

    def kill(self, name):
        process = self.processes.pop(name)
        self.ended += stage.spent(process)[0]
        process.kill()
        process.wait()

    def replace(self, name):
        process = self.processes.pop(name)
        self.ended += stage.spent(process)[0]
        stage.end(process)
        self.start(name)

    def spent(self):
        each = [stage.spent(process) for process in self.processes.values()]
        return self.ended + sum(seconds for seconds, _ in each), [peak for _, peak in each]


def settle(table, what, sides, bundle):
    """Waits until both sides have installed a version of every package, and compares what is said of them."""
    every = [name for catalog in range(CATALOGS) for name in names(catalog)]
    begun = time.monotonic()
    seconds = {}

    def installed():
        for side in sides:
            if side in seconds:
                continue
            found = side.status()
            versions = [((found.get(name) or {}).get('bundle') or {}).get('version') for name in every]
            if versions == [bundle] * len(every):
                seconds[side] = time.monotonic() - begun
        return len(seconds) == len(sides)

    eventually(f'{what}: not all packages are at {bundle}', installed, DEADLINE)
    first, second = (side.status() for side in sides)
    different = [name for name in every if first[name] != second[name]]
    table.row(f'{what}: {len(every)} extensions', [first[name] for name in different], [second[name] for name in different])
    return [seconds[side] for side in sides]


def go(program, cluster_program):
    tools = stage.programs('operator-controller', 'catalogd', 'operator-controller-manifests')
    commit = (tools / 'operator-controller.commit').read_text().strip()
    table = Table('operator-controller', commit)
    with Stage() as on:
        on.certificates(*certificate_names(), 'localhost')
        clusters = [Cluster(on, cluster_program, name) for name in ['ours', 'theirs']]
        registry = clusters[0].facts['registry']
        on.trust_registry(registry)
        replicas = Replicas(on, clusters[0], program)
        sides = [Side(on, clusters[0], tools, None, OUR_PORT), Side(on, clusters[1], tools, theirs(on, tools), THEIR_PORT)]
        push(registry, '1.0.0')
        for side in sides:
            side.prepare()
        clusters[0].become(ACCOUNT, NAMESPACE)
        for name in ENDPOINTS:
            replicas.start(name)
        sides[1].serve()

        def report(what, seconds):
            cpu, peaks = replicas.spent()
            print(f'{what}: catalogql {seconds[0]:.0f} s, both replicas {cpu:.1f} s of CPU time so far and {peaks} MiB at most')
            cpu, peak = stage.spent(sides[1].server)
            print(f'{what}: catalogd {seconds[1]:.0f} s, {cpu:.1f} s of CPU time so far and {peak} MiB at most', flush=True)

        for side in sides:
            side.apply(*(cluster_catalog(f'c{catalog}') for catalog in range(CATALOGS)))
            side.start_controller()
            side.ready(*(f'c{catalog}' for catalog in range(CATALOGS)))
            side.apply(*(extension(name) for catalog in range(CATALOGS) for name in names(catalog)))
        report('installed', settle(table, 'installed', sides, '1.0.0'))

        # The tags move; who would fetch them is killed.
        push(registry, '1.0.0', '1.1.0')
        killed = replicas.leader()
        replicas.kill(killed)
        report(f'upgraded, leader {killed} killed', settle(table, 'upgraded without its leader', sides, '1.1.0'))
        replicas.start(killed)

        push(registry, '1.0.0', '1.1.0', '1.2.0')
        for name in ENDPOINTS:
            replicas.replace(name)
        report('upgraded, both replicas replaced', settle(table, 'upgraded while rolled', sides, '1.2.0'))
    table.end()


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stage.alone(f'127.0.0.2 {OURS}')
    go(*(Path(path).resolve() for path in sys.argv[1:]))

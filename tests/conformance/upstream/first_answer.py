#!/usr/bin/env python3
"""From `kubectl apply` of a ClusterCatalog to the first answer with the whole catalog: the time, the CPU time and the memory of
catalogql and of catalogd, with the same image of `community`.

usage: first_answer.py CATALOGQL CLUSTER

CATALOGQL should be a release build: a debug build proves nothing. CLUSTER is the example `cluster` of the crate `testing`.
"""

import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import stage
from extensions import ACCOUNT, NAMESPACE, OUR_PORT, THEIR_PORT, Side, certificate_names, ours, theirs
from stage import OURS, REGISTRY, THEIRS, Cluster, Stage, eventually

CORPUS = Path(os.environ.get('CATALOGQL_CORPUS', Path.home() / '.cache/catalogql/corpus')) / 'community'

# Catalogs that are applied one after the other, each with an image of its own.
ROUNDS = 3

# Seconds after the first answer, in which a server does what it does later.
LATER = 20


def cluster_catalog(name):
    return {
        'apiVersion': 'olm.operatorframework.io/v1', 'kind': 'ClusterCatalog', 'metadata': {'name': name},
        'spec': {'source': {'type': 'Image', 'image': {'ref': f'{REGISTRY}/catalogs/{name}:latest'}}},
    }


def first_answer(side, context, name):
    """Seconds until the whole catalog is answered, and its length."""
    base = 'https://' + (OURS if side.port == OUR_PORT else f'{THEIRS}:{side.port}')

    def answer():
        try:
            with urllib.request.urlopen(f'{base}/catalogs/{name}/api/v1/all', context=context) as response:
                return len(response.read())
        except (urllib.error.URLError, ConnectionError):
            return 0

    begun = time.monotonic()
    side.apply(cluster_catalog(name))
    length = eventually(f'{side.cluster.name} does not answer', answer)
    return time.monotonic() - begun, length


def measure(side, context, name):
    before, _ = stage.spent(side.server)
    seconds, length = first_answer(side, context, name)
    at_first, _ = stage.spent(side.server)
    time.sleep(LATER)
    later, peak = stage.spent(side.server)
    print(
        f'{side.cluster.name} {name}: {length} bytes after {seconds:.1f} s; CPU time {at_first - before:.1f} s, '
        f'{later - before:.1f} s after {LATER} s more; memory {peak} MiB at most so far with mapped files, now '
        f'{anonymous(side.server)} MiB without'
    )
    return length


def anonymous(process):
    """MiB of memory that is not a mapped file, which the kernel can take back at any time."""
    status = Path(f'/proc/{process.pid}/status').read_text()
    line = next(line for line in status.splitlines() if line.startswith('RssAnon'))
    return int(line.split()[1]) // 1024


def go(program, cluster_program):
    tools = stage.programs('catalogd', 'operator-controller-manifests')
    if not CORPUS.is_dir():
        stage.skip('the corpus', 'corpus/unpack.sh unpacks it')
    files = {
        f'configs/{path.relative_to(CORPUS)}': path.read_text() for path in sorted(CORPUS.rglob('*')) if path.is_file()
    }
    labels = {'operators.operatorframework.io.index.configs.v1': '/configs'}
    with Stage() as on:
        cas = on.certificates(*certificate_names(), 'localhost')
        context = ssl.create_default_context(cafile=cas / 'ca.crt')
        clusters = [Cluster(on, cluster_program, name) for name in ['ours', 'theirs']]
        registry = clusters[0].facts['registry']
        on.trust_registry(registry)
        sides = [
            Side(on, clusters[0], tools, ours(on, program), OUR_PORT), Side(on, clusters[1], tools, theirs(on, tools), THEIR_PORT)
        ]
        names = [f'round{number}' for number in range(ROUNDS)]
        for name in names:
            # Contents that differ, so that none is shared.
            stage.push_image(registry, f'catalogs/{name}', 'latest', files | {'configs/round.json': f'{{"schema": "{name}"}}'}, labels)
        for side in sides:
            side.prepare()
        clusters[0].become(ACCOUNT, NAMESPACE)
        for side in sides:
            side.serve()
            eventually('the server does not listen', lambda side=side: stage.listens(side.port))
        for name in names:
            lengths = {measure(side, context, name) for side in sides}
            if len(lengths) != 1:
                sys.exit(f'error: the answers of {name} differ in length: {lengths}')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stage.alone()
    go(*(Path(path).resolve() for path in sys.argv[1:]))

#!/usr/bin/env python3
"""Replicas that share contents over a real S3 server (moto) and a real registry: five that start together from empty disks pull an
image once, a sixth copies its content, and whatever is wrong with the shared store, all is served as without it.

usage: shared_store.py CATALOGQL [CATALOG]

CATALOGQL has the feature `shared-store`. CATALOG is the directory of a catalog; without it, the real one of the corpus, or else the
example of this repository. moto is installed from PyPI into ~/.cache/catalogql where there is no `moto_server`.

The plain copy that replicas are compared with is `curl | zstd -d` of the object from the same server to a file on the same disk, with
its SHA-256 and fsync. A replica does more: it starts, asks the registry, downloads origins and problems, and makes the index.
MAX_RATIO bounds the ratio of both times for programs that are optimized; others only print it.
"""

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path.insert(0, str(HERE.parent / 'upstream'))

import stage
from stage import Stage, end, eventually, free_port, listens, run

MOTO = 'moto[server]==5.2.1'
REPLICAS = 5
ROUNDS = 5

# Ready time of a replica that copies, to a plain copy of its content.
MAX_RATIO = 1.7

# Most seconds that a shared store may add to a load: its time-out, and what differs from run to run.
LONGEST_WAIT = 5 + 3

# What moto, which is not strict, takes for the right of the owner.
AUTHORIZATION = (
    'AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'
)

KEYS = {'AWS_ACCESS_KEY_ID': 'AKIAEXAMPLE', 'AWS_SECRET_ACCESS_KEY': 'not-a-secret', 'AWS_REGION': 'us-east-1'}


def moto_program():
    found = shutil.which('moto_server')
    if found and subprocess.run([found, '--help'], capture_output=True, check=False).returncode == 0:
        return found
    folder = Path.home() / '.cache/catalogql/moto'
    program = folder / 'bin/moto_server'
    if not program.exists():
        run(sys.executable, '-m', 'venv', folder)
        done = subprocess.run([folder / 'bin/pip', 'install', '--quiet', MOTO], capture_output=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(folder)
            stage.skip('moto', f'pip install {MOTO!r}')
    return program


class S3:
    """A server of S3 with one bucket. It checks no signatures, unless it is strict."""

    def __init__(self, on, name, strict=False):
        self.on, self.name, self.port, self.strict = on, name, free_port(), strict
        self.process = None
        self.start()

    def start(self):
        # The first action, which makes the bucket, needs no signature.
        environment = {**os.environ, **({'INITIAL_NO_AUTH_ACTION_COUNT': '1'} if self.strict else {})}
        command = [moto_program(), '-H', '127.0.0.1', '-p', str(self.port)]
        log = (self.on.folder / f'{self.name}.log').open('a')
        self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.on.stack.callback(self.stop)
        eventually('moto does not listen', lambda: listens(self.port))
        self.request('PUT', '/bucket')

    def stop(self):
        if self.process.poll() is None:
            end(self.process)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        connection.request(method, path, body, {'Authorization': AUTHORIZATION})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def names(self, prefix):
        _, text = self.request('GET', f'/bucket?list-type=2&prefix=replicas/{prefix}/')
        return re.findall(r'<Key>([^<]+)</Key>', text.decode())

    def environment(self):
        return {**KEYS, 'AWS_ENDPOINT_URL': f'http://127.0.0.1:{self.port}', 'AWS_ALLOW_HTTP': 'true'}


class Registry:
    def __init__(self, on):
        self.on, self.port = on, free_port()
        configuration = on.folder / 'registry.yml'
        storage = on.folder / 'registry'
        configuration.write_text(
            f'version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {storage}}}}}\n'
            f'http: {{addr: "127.0.0.1:{self.port}"}}\n'
        )
        on.start('registry', ['docker-registry', 'serve', str(configuration)])
        eventually('the registry does not listen', lambda: listens(self.port))

    def layers(self, reference):
        """The layers of an image, or of the first one of an index."""
        kinds = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json'
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/v2/catalog/manifests/{reference}', headers={'Accept': kinds})
        with urllib.request.urlopen(request) as response:
            manifest = json.load(response)
        if 'manifests' in manifest:
            return self.layers(manifest['manifests'][0]['digest'])
        return [layer['digest'] for layer in manifest['layers']]

    def pulls(self, layers):
        """How often each of these layers was served whole."""
        lines = self.on.log('registry').splitlines()
        served = [line for line in lines if '"GET /v2/' in line and '" 200 ' in line]
        return [sum(layer in line for line in served) for layer in layers]


class Replica:
    """A server on an empty disk, unless `store` names a folder."""

    count = 0

    def __init__(self, on, program, registry, environment, url='s3://bucket/replicas', store=None):
        Replica.count += 1
        self.on, self.name = on, f'replica-{Replica.count}'
        self.store = store or on.folder / f'{self.name}-store'
        self.metrics = free_port()
        command = [
            program, 'serve', f'catalog=127.0.0.1:{registry.port}/catalog:v1', f'--insecure-registry=127.0.0.1:{registry.port}',
            '--listen=127.0.0.1:0', f'--store={self.store}', f'--metrics-listen=127.0.0.1:{self.metrics}', '--metrics-auth=none',
            *([f'--shared-store={url}'] if url else []),
        ]
        kept = {key: value for key, value in os.environ.items() if not key.startswith('AWS_')}
        log = (on.folder / f'{self.name}.log').open('w')
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [str(part) for part in command], env={**kept, **environment}, stdout=subprocess.PIPE, stderr=log, text=True
        )
        on.stack.callback(self.stop)
        self.address, self.seconds = None, None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith('Listening on '):
                self.seconds = time.monotonic() - self.began
                self.address = line.split()[-1].removesuffix('/graphql')

    def ready(self):
        eventually(f'{self.name} is not ready', lambda: self.address or self.process.poll() is not None)
        if not self.address:
            sys.exit(f'error: {self.name} ended')
        return self

    def content(self):
        with urllib.request.urlopen(f'{self.address}/catalogs/catalog/api/v1/all') as response:
            return hashlib.sha256(response.read()).hexdigest()

    def counts(self, name):
        """The counters above 0 of a metric of the shared store, by result."""
        with urllib.request.urlopen(f'http://127.0.0.1:{self.metrics}/metrics') as response:
            text = response.read().decode()
        found = re.findall(rf'catalogql_shared_store_{name}_total\{{result="(\w+)"\}} (\d+)', text)
        return {result: int(count) for result, count in found if int(count)}

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        self.reader.join()


def expect(what, found, expected):
    if found != expected:
        sys.exit(f'error: {what}: {found}, not {expected}')


def plain_copy(s3, key, target):
    """Seconds of a plain copy of a content, with the length of its lines."""
    began = time.monotonic()
    download = f"curl --silent --fail --header 'Authorization: {AUTHORIZATION}' http://127.0.0.1:{s3.port}/bucket/{key}"
    run('sh', '-c', f'{download} | zstd -d --quiet --force -o {target} && sha256sum {target} && sync {target}')
    return time.monotonic() - began, target.stat().st_size


def hanging():
    """A socket that accepts connections and never answers."""
    server = socket.socket()
    server.bind(('127.0.0.1', 0))
    server.listen(64)
    return server


def five_from_empty_disks(on, program, registry, s3, layers):
    replicas = [Replica(on, program, registry, s3.environment()) for _ in range(REPLICAS)]
    for replica in replicas:
        replica.ready()
    contents = {replica.content() for replica in replicas}
    expect('the replicas serve one content', len(contents), 1)
    expect('each layer was pulled once', registry.pulls(layers), [1] * len(layers))
    lookups = sorted(json.dumps(replica.counts('lookups')) for replica in replicas)
    expect('one replica pulled', lookups, ['{"hit": 1}'] * (REPLICAS - 1) + ['{"miss": 1}'])
    times = sorted(round(replica.seconds, 2) for replica in replicas)
    print(f'{REPLICAS} replicas from empty disks: {len(layers)} layers served once each; ready after {times} s')
    for replica in replicas:
        replica.stop()
    return contents.pop()


def ratio(on, program, registry, s3, right):
    [key] = s3.names('contents')
    copies, ready, pulled = [], [], []
    for number in range(ROUNDS):
        seconds, length = plain_copy(s3, key, on.folder / 'copy')
        copies.append(seconds)
        replica = Replica(on, program, registry, s3.environment()).ready()
        expect('the content that was copied', replica.content(), right)
        expect('it was copied', replica.counts('lookups'), {'hit': 1})
        ready.append(replica.seconds)
        replica.stop()
        shutil.rmtree(replica.store)
        alone = Replica(on, program, registry, {}, url=None).ready()
        pulled.append(alone.seconds)
        alone.stop()
        if number < ROUNDS - 1:
            shutil.rmtree(alone.store)
    again = Replica(on, program, registry, {}, url=None, store=alone.store).ready()
    again.stop()
    copy, copied, alone = (statistics.median(times) for times in (copies, ready, pulled))
    print(
        f'{length / 1e6:.0f} MB of lines: plain copy {copy:.2f} s; ready {copied:.2f} s with the shared store, {alone:.2f} s without, '
        f'{again.seconds:.2f} s with the content on the disk (medians of {ROUNDS}); ratio to the plain copy {copied / copy:.2f}'
    )
    return copied / copy, alone


def together(on, program, registry, s3, right):
    """As `ratio`, for replicas that start at one time, and as many plain copies at one time."""
    [key] = s3.names('contents')
    copies, ready = [], []
    for _ in range(ROUNDS):
        with ThreadPoolExecutor(REPLICAS) as pool:
            targets = [on.folder / f'copy-{number}' for number in range(REPLICAS)]
            copies.append(max(seconds for seconds, _ in pool.map(lambda target: plain_copy(s3, key, target), targets)))
        replicas = [Replica(on, program, registry, s3.environment()) for _ in range(REPLICAS)]
        for replica in replicas:
            replica.ready()
            expect('it was copied', replica.counts('lookups'), {'hit': 1})
            expect('the content that was copied', replica.content(), right)
        ready.append(max(replica.seconds for replica in replicas))
        for replica in replicas:
            replica.stop()
            shutil.rmtree(replica.store)
    copy, copied = statistics.median(copies), statistics.median(ready)
    print(
        f'{REPLICAS} at one time: plain copies {copy:.2f} s, all replicas ready after {copied:.2f} s (medians of {ROUNDS} of the last); '
        f'ratio {copied / copy:.2f}'
    )
    return copied / copy


def faults(on, program, registry, s3, right, alone):
    """Whatever is wrong, the image is pulled."""

    def check(what, environment, lookups, url='s3://bucket/replicas', wait=LONGEST_WAIT):
        replica = Replica(on, program, registry, environment, url).ready()
        expect(f'the content with {what}', replica.content(), right)
        expect(f'lookups with {what}', replica.counts('lookups'), lookups)
        log = on.log(replica.name)
        if KEYS['AWS_SECRET_ACCESS_KEY'] in log:
            sys.exit(f'error: the log has a secret with {what}')
        if replica.seconds > alone + wait:
            sys.exit(f'error: ready after {replica.seconds:.1f} s with {what}, {alone:.1f} without a shared store')
        print(f'{what}: {lookups}, served as without it after {replica.seconds:.2f} s')
        return replica

    [key] = s3.names('contents')
    [notes] = s3.names('notes')
    [record] = s3.names('revisions')
    objects = {name: s3.request('GET', f'/bucket/{name}')[1] for name in (key, notes, record)}
    damages = [
        ('a truncated content', key, objects[key][: len(objects[key]) // 2]),
        ('another content', key, subprocess.run(['zstd', '-c'], input=b'{}\n', capture_output=True, check=True).stdout),
        ('a bomb', key, subprocess.run(['zstd', '-c'], input=bytes(1 << 30), capture_output=True, check=True).stdout),
        ('a damaged analysis', notes, objects[notes][:-1]),
        ('a damaged record', record, b'{'),
    ]
    for what, name, data in damages:
        s3.request('PUT', f'/bucket/{name}', data)
        replica = check(what, s3.environment(), {'corrupt': 1})
        eventually(f'{what} is not replaced', lambda: s3.request('GET', f'/bucket/{name}')[1] == objects[name])
        replica.stop()

    s3.request('DELETE', f'/bucket/{key}')
    replica = check('a content that was removed', s3.environment(), {'miss': 1})
    eventually('the content is not uploaded again', lambda: s3.names('contents'))
    replica.stop()

    # The holder of a lease that died.
    s3.request('DELETE', f'/bucket/{record}')
    lease = f'replicas/pulling/{record.rpartition("/")[2]}'
    s3.request('PUT', f'/bucket/{lease}', json.dumps({'holder': 'dead', 'expires': '2026-01-01T00:00:00Z'}))
    replica = check('the lease of a dead replica', s3.environment(), {'miss': 1})
    eventually('the record is not there', lambda: s3.names('revisions'))
    replica.stop()

    strict = S3(on, 'strict', strict=True)
    check('wrong credentials', strict.environment(), {'error': 1}).stop()
    strict.stop()

    with hanging() as server:
        slow = {**s3.environment(), 'AWS_ENDPOINT_URL': f'http://127.0.0.1:{server.getsockname()[1]}'}
        check('a store that does not answer', slow, {'error': 1}).stop()

    s3.stop()
    check('a store that is gone', s3.environment(), {'error': 1}).stop()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = Path(sys.argv[1]).resolve()
    corpus = Path(os.environ.get('CATALOGQL_CORPUS', Path.home() / '.cache/catalogql/corpus')) / 'community'
    catalog = Path(sys.argv[2]) if len(sys.argv) == 3 else corpus if corpus.is_dir() else REPOSITORY / 'examples/catalog'

    with Stage() as on:
        registry = Registry(on)
        image = f'127.0.0.1:{registry.port}/catalog:v1'
        run(program, 'push', catalog, image, '--insecure-registry', f'127.0.0.1:{registry.port}', '--skip-validation')
        layers = registry.layers('v1')
        s3 = S3(on, 's3')
        right = five_from_empty_disks(on, program, registry, s3, layers)
        one, alone = ratio(on, program, registry, s3, right)
        measured = max(one, together(on, program, registry, s3, right))
        faults(on, program, registry, s3, right, alone)
        if 'debug' not in program.parts and measured > MAX_RATIO:
            sys.exit(f'error: the ratio to a plain copy is {measured:.2f}, above {MAX_RATIO}')


if __name__ == '__main__':
    main()

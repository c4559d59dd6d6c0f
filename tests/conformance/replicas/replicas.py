#!/usr/bin/env python3
"""Three replicas behind Varnish, with a real registry and a real S3 server (MinIO), each a host of its own: 20,000 readers of console
pages, a catalog that changes every few seconds, and faults, one at a time and then two.

usage: replicas.py CATALOGQL CLUSTER [MINUTES [SEED]]

CATALOGQL has the feature `shared-store`, CLUSTER is the example `cluster` of the crate `testing`. It takes 10 minutes, if MINUTES
does not say otherwise. SEED decides about the faults and their order. MinIO is built once from Go modules into ~/.cache/catalogql;
Varnish is Debian's. Steps of the clock need a program that is linked to the C library at run time, and a C compiler.

The bars:

- every answer is of one content, and is seen no longer than `--shared-cache-max-age` allows after the last replica served that content;
- no read fails, except those on connections to a Varnish that is killed;
- at least 99 % of the reads reach no replica;
- without a fault, all readers see a new content within 5 s after it was pushed;
- after a fault, all replicas and Varnish serve the newest content within RECOVERY seconds;
- callers with different rights, behind another Varnish, never get an answer of each other;
- memory that no file backs and descriptors stay as they are from the second to the last third of the time.
"""

import asyncio
import base64
import contextlib
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / 'upstream'), str(HERE.parent / 'caches'), str(REPOSITORY / 'benches/http')]

import caches
import network
import stage
from machine import anonymous
from network import Host, listens
from readers import DOCUMENTS, MAX_AGE, Connection, Contents, Readers, Watcher, blobs_of, path_of, steady_blobs
from stage import Stage, eventually, free_port, run

READERS, CONNECTIONS = 20_000, 100

# Seconds between two pages of a reader, on average; between two contents; between two faults, and of a fault.
THINK, PUSH, CALM, FAULT = 66, 6, 14, (8, 14)

# Least share of reads that reach no replica, and most seconds until all see a new content, and until all is as it was after a fault.
SHARE, SEEN, RECOVERY = 99, 5, 30

# What memory may differ, as a share and in bytes, and how many descriptors may come.
SLACK, SLACK_BYTES, SLACK_DESCRIPTORS = 0.05, 4 << 20, 10

# Passwords of the registry, each with its hash (bcrypt).
PASSWORDS = [
    ('one', '$2b$05$abcdefghijklmnopqrstuuuLZW9x3q.ZSiA0aOz2IIJndlFR9/Q16'),
    ('two', '$2b$05$abcdefghijklmnopqrstuuv0jxmN8mbbauoShdaB/49tMV86zJIF2'),
]

# Bytes of the disk of the replica whose disk becomes full.
DISK = 48 << 20


class Registry:
    def __init__(self, on):
        self.on, self.host = on, Host('registry', 22)
        self.address = f'{self.host.address}:5000'
        self.users, self.authfile = on.folder / 'htpasswd', on.folder / 'auth.json'
        self.configuration = on.folder / 'registry.yml'
        self.configuration.write_text(
            f'version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {on.folder}/registry}}}}\n'
            f'http: {{addr: "{self.address}"}}\nauth: {{htpasswd: {{realm: registry, path: {self.users}}}}}\n'
        )
        self.password = 0
        self.change_password()
        self.tell_replicas()
        self.start()

    def start(self):
        self.process = self.on.start('registry', self.host.command('docker-registry', 'serve', str(self.configuration)))
        eventually('the registry does not listen', lambda: listens(self.host.address, 5000))

    def kill(self):
        kill(self.process)

    def change_password(self):
        """Another password, which those who push know."""
        self.password = 1 - self.password
        word, digest = PASSWORDS[self.password]
        new = self.on.folder / 'htpasswd.new'
        new.write_text(f'replica:{digest}\n')
        new.rename(self.users)
        self.authorization = base64.b64encode(f'replica:{word}'.encode()).decode()
        opener = urllib.request.build_opener()
        opener.addheaders = [('Authorization', f'Basic {self.authorization}')]
        urllib.request.install_opener(opener)

    def tell_replicas(self):
        new = self.on.folder / 'auth.json.new'
        new.write_text(json.dumps({'auths': {self.address: {'auth': self.authorization}}}))
        new.rename(self.authfile)


class S3:
    def __init__(self, on, program):
        self.on, self.program, self.host, self.pair = on, program, Host('s3', 21), 0
        self.start()
        user = f'{self.keys()["AWS_ACCESS_KEY_ID"]}:{self.keys()["AWS_SECRET_ACCESS_KEY"]}'
        run('curl', '-sf', '-X', 'PUT', '--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', user, f'http://{self.host.address}:9000/bucket')

    def keys(self):
        return {'AWS_ACCESS_KEY_ID': f'replicas-{self.pair}', 'AWS_SECRET_ACCESS_KEY': f'not-a-secret-{self.pair}'}

    def start(self):
        environment = {
            'MINIO_ROOT_USER': self.keys()['AWS_ACCESS_KEY_ID'], 'MINIO_ROOT_PASSWORD': self.keys()['AWS_SECRET_ACCESS_KEY'],
            'MINIO_UPDATE': 'off', 'MINIO_BROWSER': 'off',
        }
        command = [self.program, 'server', self.on.folder / 's3', '--address', f'{self.host.address}:9000']
        self.process = self.on.start('s3', self.host.command(*command), env=environment)
        eventually('MinIO does not listen', lambda: self.process.poll() is not None or listens(self.host.address, 9000))

    def kill(self):
        kill(self.process)

    def environment(self):
        address = f'http://{self.host.address}:9000'
        return {**self.keys(), 'AWS_REGION': 'us-east-1', 'AWS_ENDPOINT_URL': address, 'AWS_ALLOW_HTTP': 'true'}


class Replica:
    """A server on a host of its own, or on that of the run."""

    def __init__(self, on, site, name, host=None, more=(), environment=None):
        self.on, self.site, self.name, self.host = on, site, name, host
        self.store = on.folder / f'{name}-store'
        self.store.mkdir()
        self.address, self.port = (host.address, 8080) if host else ('127.0.0.1', free_port())
        self.metrics = 8081 if host else free_port()
        self.more, self.own = [*more], environment or {}

    def start(self):
        registry = self.site.registry
        command = [
            self.site.program, 'serve', *(f'{name}={registry.address}/{name}:latest' for name in ('moving', 'steady')),
            f'--insecure-registry={registry.address}', f'--authfile={registry.authfile}', '--poll=1s',
            f'--listen={self.address}:{self.port}', '--plain-http', f'--store={self.store}', '--shared-store=s3://bucket/replicas',
            f'--shared-cache-max-age={MAX_AGE}s', '--max-peer-connections=4000', '--no-explorer', '--no-playground',
            f'--documents={self.site.documents}', '--trusted-only',
            f'--metrics-listen={self.address}:{self.metrics}', '--metrics-auth=none', *self.more,
        ]
        if self.host:
            command = self.host.command(*command)
        self.process = self.on.start(self.name, command, env=self.site.s3.environment() | self.own)
        self.began = time.monotonic()

    def kill(self):
        kill(self.process)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f'http://{self.address}:{self.port}/readyz', timeout=2) as response:
                return response.status == 200
        except OSError:
            return False

    def ready(self):
        def is_ready():
            if self.process.poll() is not None:
                sys.exit(f'error: {self.name} ended')
            return self.is_ready()

        eventually(f'{self.name} is not ready', is_ready, 60)

    def restart(self):
        """As a rolling update does it."""
        self.process.terminate()
        self.process.wait()
        self.start()
        self.ready()


class Varnish:
    """Varnish with the recipe, before these replicas."""

    def __init__(self, on, name, replicas, host=None):
        self.on, self.name, self.host = on, name, host
        self.address, self.port = (host.address, 8080) if host else ('127.0.0.1', free_port())
        self.recipe = on.folder / f'{name}.vcl'
        text = (REPOSITORY / 'deploy/caches/varnish.vcl').read_text().replace('  "127.0.0.1";', f'  "127.0.0.1"; "{network.OWN}";')
        for number, replica in enumerate(replicas, 1):
            text = text.replace(f'.host = "127.0.0.1"; .port = "808{number}"', f'.host = "{replica.address}"; .port = "{replica.port}"')
        self.recipe.write_text(text)
        self.start()

    def start(self):
        command = (lambda command: self.host.command(*command)) if self.host else list
        shutil.rmtree(self.on.folder / self.name, ignore_errors=True)
        self.process = caches.start_varnish(self.on, self.recipe, f'{self.address}:{self.port}', self.name, command)
        eventually('Varnish does not listen', lambda: listens(self.address, self.port))

    def kill(self):
        # Its child ends with it, a moment later.
        children = subprocess.run(['pgrep', '-P', str(self.process.pid)], capture_output=True, text=True, check=False)
        kill(self.process)
        for child in children.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        eventually('Varnish still listens', lambda: not listens(self.address, self.port))


def kill(process):
    process.kill()
    process.wait()


class Site:
    """All that runs."""

    def __init__(self, on, program, s3_program):
        self.on, self.program, self.clock = on, program, on.folder / 'clock'
        self.documents = on.folder / 'documents.json'
        self.documents.write_text(json.dumps(DOCUMENTS))
        self.registry, self.s3 = Registry(on), S3(on, s3_program)
        self.number = 0
        stage.push_catalog(self.registry.address, 'steady', steady_blobs())
        self.push()
        self.replicas = [Replica(on, self, f'replica-{number}', Host(f'replica{number}', 11 + number)) for number in range(3)]
        self.set_clock(0)
        self.replicas[0].own = {'LD_PRELOAD': str(self.shifting()), 'CLOCK_SHIFT': str(self.clock)}
        run('mount', '-t', 'tmpfs', '-o', f'size={DISK}', 'tmpfs', self.replicas[1].store)
        on.stack.callback(run, 'umount', self.replicas[1].store)
        for replica in self.replicas:
            replica.start()
        for replica in self.replicas:
            replica.ready()
        self.varnish = Varnish(on, 'varnish', self.replicas, Host('varnish', 31))

    def push(self):
        stage.push_catalog(self.registry.address, 'moving', blobs_of(self.number + 1))
        self.number += 1

    def shifting(self):
        """The library by which the clock of a replica is set."""
        library = self.on.folder / 'clock.so'
        run('cc', '-O2', '-shared', '-fPIC', '-o', library, HERE / 'clock.c')
        return library

    def set_clock(self, hours):
        with self.clock.open('r+b' if self.clock.exists() else 'wb') as file:
            file.write((hours * 3600).to_bytes(8, sys.byteorder, signed=True))

    def fill(self):
        """Writes to the disk of a replica until it is full."""
        with contextlib.suppress(OSError), (self.replicas[1].store / 'other').open('wb', buffering=0) as file:
            while file.write(bytes(64 << 10)):
                pass

    def rotate_keys(self):
        self.s3.kill()
        self.s3.pair += 1
        self.s3.start()

    def update_replicas(self):
        for replica in self.replicas:
            replica.restart()


class Fault:
    """What begins a fault and what ends it. Two faults with one word in common are not made at one time."""

    def __init__(self, name, words, begin, end):
        self.name, self.words, self.begin, self.end = name, set(words.split()), begin, end


def faults_of(site, chance):
    """The faults, with what each of them is about drawn from `chance`."""
    killed, registry, s3, varnish = chance.choice(site.replicas[:2]), site.registry, site.s3, site.varnish
    stopped, apart, poor, hidden = (chance.choice(site.replicas) for _ in range(4))
    found = [
        Fault(f'{killed.name} killed', 'process', killed.kill, lambda: (killed.start(), killed.ready())),
        Fault(
            f'{stopped.name} stopped', 'process', lambda: stopped.process.send_signal(signal.SIGSTOP),
            lambda: stopped.process.send_signal(signal.SIGCONT),
        ),
        Fault(f'{apart.name} without registry', 'registry', lambda: apart.host.cut(registry.host), lambda: apart.host.join(registry.host)),
        Fault(f'{poor.name} without S3', 's3', lambda: poor.host.cut(s3.host), lambda: poor.host.join(s3.host)),
        Fault(f'{hidden.name} without Varnish', 'cut', lambda: hidden.host.cut(varnish.host), lambda: hidden.host.join(varnish.host)),
        Fault('registry killed', 'registry', registry.kill, registry.start),
        Fault('registry slow', 'registry', lambda: registry.host.slow('128kbit'), registry.host.hasten),
        Fault('registry password', 'registry', registry.change_password, registry.tell_replicas),
        Fault('S3 killed', 's3', s3.kill, s3.start),
        Fault('S3 slow', 's3', lambda: s3.host.slow('64kbit'), s3.host.hasten),
        Fault('disk full', 'disk process', site.fill, lambda: (site.replicas[1].store / 'other').unlink()),
        Fault('Varnish killed', 'cut', varnish.kill, varnish.start),
    ]
    hours = chance.choice([-26, -1, 1, 26])
    found.append(Fault(f'clock {hours:+d} h', 'clock process', lambda: site.set_clock(hours), lambda: site.set_clock(0)))
    chance.shuffle(found)
    return found


class Callers:
    """Two callers with different rights and one without, at a server of their own behind a Varnish of its own."""

    def __init__(self, on, site, program):
        self.on, self.site = on, site
        self.cluster = stage.Cluster(on, program, 'callers')
        self.rights = {'one': ['moving'], 'two': ['steady'], 'anonymous': []}
        for name, catalogs in self.rights.items():
            if not catalogs:
                continue
            rule = {
                'apiGroups': ['olm.operatorframework.io'], 'resources': ['clustercatalogs/content'], 'resourceNames': catalogs,
                'verbs': ['get'],
            }
            role = {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'metadata': {'name': name}, 'rules': [rule]}
            self.cluster.apply(role)
            self.cluster.kubectl('create', 'serviceaccount', name)
            self.cluster.kubectl('create', 'clusterrolebinding', name, f'--clusterrole={name}', f'--serviceaccount=default:{name}')
        self.tokens = {}
        self.rotate()
        self.server = Replica(on, site, 'callers', None, ['--auth=delegated'], {'KUBECONFIG': self.cluster.facts['kubeconfig']})
        self.server.start()
        self.server.ready()
        self.varnish = Varnish(on, 'varnish-callers', [self.server] * 3)
        self.answers, self.wrong = 0, []

    def rotate(self):
        for name, catalogs in self.rights.items():
            if catalogs:
                self.tokens[name] = self.cluster.kubectl('create', 'token', name).strip()

    async def run(self):
        await asyncio.gather(*(self.ask(name, own) for name in self.rights for own in [True, False]))

    async def ask(self, name, own):
        """Asks for the same as the others, over a connection of its own or over new ones."""
        connection = Connection(self.varnish.address, self.varnish.port)
        while True:
            headers = {'Accept': 'application/json'}
            if name in self.tokens:
                headers['Authorization'] = f'Bearer {self.tokens[name]}'
            try:
                answer = await connection.get(path_of('names'), headers)
                self.judge(name, answer)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                self.wrong.append(f'{name}: {error!r}')
            if not own:
                connection.close()
            await asyncio.sleep(0.2)

    def judge(self, name, answer):
        self.answers += 1
        expected = self.rights[name]
        if not expected:
            if answer.status != 401 and (answer.status != 200 or b'moving' in answer.body or b'steady' in answer.body):
                self.wrong.append(f'{name}: {answer.status} {answer.body[:300]}')
            return
        if answer.status != 200:
            self.wrong.append(f'{name}: {answer.status} {answer.body[:300]}')
            return
        data = json.loads(answer.body)['data']
        found = {one['name'] for one in data['catalogs']}, {one['catalog']['name'] for one in data['packages']['nodes']}
        if found != (set(expected), set(expected)) or 'public' in answer.headers['cache-control']:
            self.wrong.append(f'{name}: {answer.headers} {answer.body[:300]}')


class Run:
    """What goes on at one time, and what is counted."""

    def __init__(self, site, callers, minutes, seed):
        self.site, self.callers, self.seconds, self.chance = site, callers, minutes * 60, random.Random(seed)
        self.contents, self.active = Contents(), set()
        self.watchers = [Watcher(self.contents, replica.address, replica.port) for replica in site.replicas]
        self.readers = Readers(self.contents, self.active, site.varnish.address, site.varnish.port)
        self.contents.push(site.number)
        self.reached, self.last = 0, {}
        self.is_calm, self.seen, self.slow, self.recoveries, self.refused = True, [], [], {}, 0
        self.samples, self.purges, self.misses = {}, 0, []
        self.began = time.monotonic()

    def say(self, text):
        print(f'{time.monotonic() - self.began:>6.0f} s  {text}', flush=True)

    async def push(self):
        """New contents, and after how many seconds each was seen by all."""
        while True:
            began = time.monotonic()
            number = self.site.number + 1
            self.contents.push(number)
            calm = self.is_calm
            try:
                await asyncio.to_thread(self.site.push)
            except (OSError, ValueError):
                # The registry has it, or has it not.
                self.refused += 1
                self.site.number += 1
                await asyncio.sleep(1)
                continue
            pushed = time.monotonic()
            self.contents.pushed[number] = pushed
            former = dict(self.contents.read)
            while time.monotonic() < began + PUSH:
                calm = calm and self.is_calm
                await asyncio.sleep(0.1)
            late = [at for one, at in self.contents.read.items() if one < number and at > former.get(one, 0)]
            seconds = max([*late, pushed]) - pushed
            replicas = max((watcher.first.get(number, time.monotonic()) for watcher in self.watchers)) - pushed
            if calm:
                self.seen.append((seconds, replicas))
                if seconds > SEEN:
                    self.say(f'NO    content {number} was seen by all after {seconds:.1f} s, served by all after {replicas:.1f} s')
            elif not self.is_calm:
                self.slow.append(seconds)

    async def purge(self):
        """Purges as the page about caches says: when all replicas have the new content."""
        connection, purged = None, None
        while True:
            numbers = {watcher.number for watcher in self.watchers} - {None}
            if len(numbers) == 1 and numbers != {purged}:
                [purged] = numbers
                try:
                    for key in ['catalog/moving', 'catalogs']:
                        connection = connection or Connection(self.site.varnish.address, self.site.varnish.port)
                        await connection.get('/', {'Surrogate-Key': key}, 'PURGE')
                    self.purges += 1
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    connection = None
            await asyncio.sleep(0.05)

    async def count(self):
        """Requests that reached the replicas, from counters that begin again with each start."""
        while True:
            for replica in self.site.replicas:
                connection = Connection(replica.address, replica.metrics)
                try:
                    async with asyncio.timeout(2):
                        answer = await connection.get('/metrics', {})
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    continue
                finally:
                    connection.close()
                found = re.findall(rb'^catalogql_http_requests_total\{[^}]*handler="(?:graphql|icon)"[^}]*\} (\d+)', answer.body, re.MULTILINE)
                total, before = sum(map(int, found)), self.last.get(replica.process.pid, 0)
                self.reached += total - before
                self.last[replica.process.pid] = total
            await asyncio.sleep(0.5)

    async def sample(self):
        """Memory and descriptors of each process."""
        while True:
            for replica in [*self.site.replicas, *([self.callers.server] if self.callers else [])]:
                pid = replica.process.pid
                with contextlib.suppress(OSError, TypeError):
                    found = anonymous(pid), len(os.listdir(f'/proc/{pid}/fd'))
                    self.samples.setdefault((replica.name, pid), []).append((time.monotonic() - self.began, *found))
            await asyncio.sleep(2)

    async def report(self):
        while True:
            await asyncio.sleep(20)
            counts = self.readers.counts
            self.say(
                f'{self.readers.during()}: content {self.site.number}, {len(self.readers.began)} readers, {counts["pages"]} pages, '
                f'{counts["reads"]} reads, {self.reached} reached a replica, failed {dict(self.readers.failed)}, '
                f'tries again {counts["tries again"]}, wrong {len(self.contents.wrong)}, late {self.contents.late()}'
            )

    async def all_as_before(self):
        """Seconds until all replicas are ready and serve the newest content, and Varnish does."""
        began = time.monotonic()
        connection = Connection(self.site.varnish.address, self.site.varnish.port)
        newest = max(self.contents.pushed, default=1)
        while time.monotonic() < began + 4 * RECOVERY:
            if all(watcher.number is not None and watcher.number >= newest for watcher in self.watchers):
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    answer = await connection.get(path_of('current'), {'Accept': 'application/json'})
                    version = re.search(rb'"version":"(\d+)\.0\.0"', answer.body)
                    if answer.status == 200 and version and int(version[1]) >= newest:
                        break
            await asyncio.sleep(0.1)
        connection.close()
        return time.monotonic() - began

    async def make(self, faults):
        """Makes faults at one time, and waits until all is as it was."""
        name = ' + '.join(fault.name for fault in faults)
        self.is_calm = False
        self.active.update(fault.name for fault in faults)
        self.say(f'begin {name}')
        self.readers.interrupted = any('Varnish killed' in fault.name for fault in faults)
        for fault in faults:
            await asyncio.to_thread(fault.begin)
            await asyncio.sleep(self.chance.uniform(0, 2))
        await asyncio.sleep(self.chance.uniform(*FAULT) if not self.readers.interrupted else 2)
        for fault in faults:
            await asyncio.to_thread(fault.end)
        seconds = await self.all_as_before()
        self.recoveries.setdefault(name, []).append(seconds)
        self.say(f'{"end  " if seconds <= RECOVERY else "NO   "} {name}: as before after {seconds:.1f} s')
        self.active.clear()
        self.readers.interrupted = False
        self.is_calm = True

    async def chaos(self):
        """Each fault by itself, pairs in the second half, and other keys of the S3 server once, at a third of the time."""
        rotated, waiting = False, []
        while True:
            await asyncio.sleep(CALM)
            if not rotated and time.monotonic() - self.began > self.seconds / 4:
                rotated = True
                await self.make([Fault('S3 keys', 's3', self.site.rotate_keys, self.site.update_replicas)])
                continue
            waiting = waiting or faults_of(self.site, self.chance)
            faults = [waiting.pop()]
            if time.monotonic() - self.began > self.seconds / 2:
                other = next((one for one in waiting if not one.words & faults[0].words), None)
                if other:
                    waiting.remove(other)
                    faults.append(other)
            if self.callers:
                await asyncio.to_thread(self.callers.rotate)
            await self.make(faults)

    async def run(self):
        def headers(_, chance):
            own = {'Accept': chance.choice(caches.ACCEPT)}
            coding = chance.choice(caches.CODINGS)
            return own | ({'Accept-Encoding': coding} if coding else {})

        steady = Connection(self.site.replicas[0].address, self.site.replicas[0].port)
        answer = await steady.get(path_of('tiles'), {'Accept': 'application/json'})
        self.contents.steady = {one['digest'] for one in json.loads(answer.body)['data']['catalogs'] if one['name'] == 'steady'}
        steady.close()
        going = [watcher.run() for watcher in self.watchers]
        going += [self.push(), self.purge(), self.count(), self.sample(), self.report()]
        going += [self.readers.run(READERS, CONNECTIONS, THINK, headers)]
        going += [self.callers.run()] if self.callers else []
        tasks = [asyncio.ensure_future(one) for one in going]
        chaos = asyncio.ensure_future(self.chaos())
        while time.monotonic() < self.began + self.seconds or not self.is_calm:
            for task in [*tasks, chaos]:
                if task.done():
                    task.result()
            await asyncio.sleep(0.5)
        chaos.cancel()
        # The last reads and counts.
        await asyncio.sleep(3)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, chaos, return_exceptions=True)

    def bar(self, holds, text):
        print(f'  {"ok" if holds else "NO"}  {text}', flush=True)
        return holds

    def judge(self):
        readers, counts = self.readers, self.readers.counts
        minutes = (time.monotonic() - self.began) / 60
        print(f'\n{minutes:.0f} minutes, {sum(map(len, self.recoveries.values()))} times a fault')
        held = []
        held.append(self.bar(
            len(readers.began) == READERS or minutes * 60 < 2 * THINK,
            f'{len(readers.began):,} readers, {counts["pages"]:,} pages, {counts["reads"]:,} reads ({counts["reads"] / minutes / 60:.0f} in a second)',
        ))
        share = 100 * (1 - self.reached / max(counts['reads'], 1))
        held.append(self.bar(share >= SHARE, f'{self.reached:,} requests reached a replica: {share:.2f} % of the reads did not'))
        held.append(self.bar(not self.contents.wrong, f'{len(self.contents.wrong)} answers are not of one content'))
        late = self.contents.late()
        held.append(self.bar(not late, f'{len(late)} of {self.site.number} contents were read more than {2 * MAX_AGE} s after a replica served them'))
        held.append(self.bar(not readers.failed.total(), f'{readers.failed.total()} reads failed {dict(readers.failed) or ""}'))
        print(f'      {readers.cut.total()} reads were on connections that ended with Varnish; {counts["tries again"]:,} pages were read again because their content changed')
        seconds, replicas = [sorted(one) for one in zip(*self.seen, strict=True)] if self.seen else ([], [])
        held.append(self.bar(
            bool(seconds) and max(seconds) <= SEEN,
            f'{len(seconds)} new contents without a fault: seen by all after {statistics.median(seconds or [0]):.1f} s (median), {max(seconds or [0]):.1f} s at most; '
            f'served by all replicas after {statistics.median(replicas or [0]):.1f} s, {max(replicas or [0]):.1f} s at most',
        ))
        times = [one for found in self.recoveries.values() for one in found]
        held.append(self.bar(
            max(times, default=0) <= RECOVERY, f'after a fault, all was as before after {statistics.median(times or [0]):.1f} s (median), {max(times, default=0):.1f} s at most'
        ))
        if self.callers:
            held.append(self.bar(not self.callers.wrong, f'{self.callers.answers:,} answers to callers with rights of their own: {len(self.callers.wrong)} wrong'))
        held += self.memory()
        print('\n| fault | times | slowest read | failed reads | as before after |\n|---|---|---|---|---|')
        for name in sorted(self.recoveries):
            parts = {' + '.join(sorted(name.split(' + '))), *([name])}
            slowest, failed = (max(counter[part] for part in parts) for counter in (readers.slowest, readers.failed))
            print(f'| {name} | {len(self.recoveries[name])} | {slowest:.1f} s | {failed} | {max(self.recoveries[name]):.1f} s |')
        print(f'\nslowest read without a fault: {readers.slowest["calm"]:.1f} s; {self.purges} purges, {self.refused} pushes failed; {dict(counts)}')
        for text in [*readers.examples, *self.contents.wrong[:10], *(self.callers.wrong[:10] if self.callers else [])]:
            print(f'  {text[:1000]}')
        return all(held)

    def memory(self):
        """Each process that lived from the second third of the time on."""
        ends, held = time.monotonic() - self.began, []
        for (name, _), samples in self.samples.items():
            parts = [[one for one in samples if ends * third / 3 <= one[0] < ends * (third + 1) / 3] for third in (1, 2)]
            expected = ends / 3 / 2 * 0.8
            if min(map(len, parts)) < expected:
                continue
            [(before, opened), (after, now)] = [[statistics.median(one[column] for one in part) for column in (1, 2)] for part in parts]
            held.append(self.bar(
                after <= before * (1 + SLACK) + SLACK_BYTES and now <= opened + SLACK_DESCRIPTORS,
                f'{name}: RssAnon {before / 2**20:.1f} MiB in the second third of the time, {after / 2**20:.1f} MiB in the last; '
                f'{opened:.0f} and {now:.0f} descriptors',
            ))
        return held


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    program, cluster = (Path(argument).resolve() for argument in sys.argv[1:3])
    minutes = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 20261128
    # What must be downloaded, while there is a network.
    if not os.environ.get(stage.INSIDE):
        caches.programs()
    built = subprocess.run([HERE / 'build.sh'], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        stage.skip('MinIO', 'install Go')
    stage.alone()
    network.create()
    with Stage() as on:
        site = Site(on, program, built.stdout.strip())
        callers = Callers(on, site, cluster)
        going = Run(site, callers, minutes, seed)
        print(f'seed {seed}', flush=True)
        asyncio.run(going.run())
        held = going.judge()
    if not held:
        sys.exit('error: a bar is missed')


if __name__ == '__main__':
    main()

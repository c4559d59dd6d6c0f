"""The site of a run: a registry, MinIO, three replicas and Varnish on hosts of their own, what may go wrong with them, and callers with
rights of their own.
"""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

import caches
import network
import stage
from network import Host, listens
from readers import DOCUMENTS, MAX_AGE, Connection, blobs_of, path_of, steady_blobs
from stage import eventually, free_port, run

# Passwords of the registry, each with its hash (bcrypt).
PASSWORDS = [
    ('one', '$2b$05$abcdefghijklmnopqrstuuuLZW9x3q.ZSiA0aOz2IIJndlFR9/Q16'),
    ('two', '$2b$05$abcdefghijklmnopqrstuuv0jxmN8mbbauoShdaB/49tMV86zJIF2'),
]

# Bytes of the disk of the replica whose disk becomes full.
DISK = 48 << 20


class Registry:
    def __init__(self, on):
        self.on = on
        self.host = Host('registry', 22)
        self.address = f'{self.host.address}:5000'
        self.users = on.folder / 'htpasswd'
        self.authfile = on.folder / 'auth.json'
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
        self.on = on
        self.program = program
        self.host = Host('s3', 21)
        self.pair = 0
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
        self.on = on
        self.site = site
        self.name = name
        self.host = host
        self.store = on.folder / f'{name}-store'
        self.store.mkdir()
        self.address, self.port = (host.address, 8080) if host else ('127.0.0.1', free_port())
        self.metrics = 8081 if host else free_port()
        self.more = [*more]
        self.own = environment or {}

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
        self.on = on
        self.name = name
        self.host = host
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
        self.on = on
        self.program = program
        self.clock = on.folder / 'clock'
        self.documents = on.folder / 'documents.json'
        self.documents.write_text(json.dumps(DOCUMENTS))
        self.registry = Registry(on)
        self.s3 = S3(on, s3_program)
        # Servers besides the replicas.
        self.number = 0
        self.others = []
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

    def tell_password(self):
        """The file of credentials is read at the start and on SIGHUP."""
        self.registry.tell_replicas()
        for replica in [*self.replicas, *self.others]:
            replica.process.send_signal(signal.SIGHUP)

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
        self.name = name
        self.words = set(words.split())
        self.begin = begin
        self.end = end


def faults_of(site, chance):
    """The faults, with what each of them is about drawn from `chance`."""
    killed = chance.choice(site.replicas[:2])
    registry = site.registry
    s3 = site.s3
    varnish = site.varnish
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
        Fault('registry password', 'registry', registry.change_password, site.tell_password),
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
    """Two callers with different rights and one without, at two servers of their own behind a Varnish of its own."""

    def __init__(self, on, site, program):
        self.on = on
        self.site = site
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
        access = {'KUBECONFIG': self.cluster.facts['kubeconfig']}
        self.servers = [Replica(on, site, f'callers-{number}', None, ['--auth=delegated'], access) for number in range(2)]
        for server in self.servers:
            server.start()
            server.ready()
        site.others += self.servers
        self.varnish = Varnish(on, 'varnish-callers', [*self.servers, self.servers[0]])
        self.answers = 0
        self.wrong = []
        self.failed = []

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
                self.failed.append(f'{name}: {error!r}')
            if not own:
                connection.close()
            await asyncio.sleep(0.2)

    def judge(self, name, answer):
        self.answers += 1
        expected = self.rights[name]
        if answer.status == 503:
            self.failed.append(f'{name}: {answer.status} {answer.headers} {answer.body[:300]}')
            return
        if not expected:
            if answer.status != 401 and (answer.status != 200 or b'moving' in answer.body or b'steady' in answer.body):
                self.wrong.append(f'{name}: {answer.status} {answer.body[:300]}')
            return
        if answer.status != 200:
            self.wrong.append(f'{name}: {answer.status} {answer.body[:300]}')
            return
        data = json.loads(answer.body)['data']
        found = {one['name'] for one in data['catalogs']}, {one['catalog']['name'] for one in data['packages']['nodes']}
        if found != (set(expected), set(expected)) or 'public' in answer.headers.get('cache-control', ''):
            self.wrong.append(f'{name}: {answer.headers} {answer.body[:300]}')

#!/usr/bin/env python3
"""nginx, Varnish and HAProxy in front of three replicas, with the configurations of deploy/caches: how many reads of a page reach a
replica, when a new content is seen, whether an answer mixes two contents, requests with credentials, pinned contents, POST requests,
subscriptions, and reads without any replica.

usage: caches.py CATALOGQL [READERS]

There are 20000 readers, if READERS does not say otherwise. The programs are Debian's: where they are not installed, their packages
are downloaded and unpacked into ~/.cache/catalogql.
"""

import asyncio
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'upstream'))

import stage
from stage import REPOSITORY, Stage, eventually, free_port, run

RECIPES = REPOSITORY / 'deploy/caches'

PACKAGES = [
    'nginx', 'varnish', 'haproxy', 'libvarnishapi3', 'libjemalloc2', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1',
]

# Seconds of --shared-cache-max-age, and until a new content must be seen by every reader.
MAX_AGE, DEADLINE = 2, 5

# Readers at one time.
CONCURRENT = 100

# Reads of a page of a console: what all readers ask.
PAGE = [
    '{catalogs{name digest}}',
    '{packages(first:20){nodes{name displayName catalog{name digest}} totalCount}}',
    '{packages(first:20,filter:{search:"nightjar"}){nodes{name catalog{digest}}}}',
    '{catalog(name:"example"){digest packages(first:50){nodes{name channels{name head{name}}}}}}',
    '{catalog(name:"example"){digest bundles(first:10){nodes{name version}}}}',
]

# As browsers, curl, Go and Python write them.
ACCEPT = ['*/*', 'application/json', 'application/json, text/plain, */*', 'application/graphql-response+json, application/json;q=0.9']
CODINGS = ['gzip, deflate, br, zstd', 'gzip', 'gzip, deflate', 'identity', None]


def programs():
    """The folder of the programs, and their environment."""
    folder = stage.unpacked('caches', PACKAGES, 'nginx, Varnish and HAProxy', 'apt-get install nginx varnish haproxy')
    libraries = folder / 'usr/lib/x86_64-linux-gnu'
    return folder, {'LD_LIBRARY_PATH': f'{libraries}:{folder}/usr/lib/varnish'}


def start_varnish(on, recipe, listen, name='varnish', command=list):
    """Starts Varnish with a recipe. `command` makes the command line that is run."""
    folder, environment = programs()
    modules = folder / 'usr/lib/x86_64-linux-gnu/varnish/vmods'
    program = [folder / 'usr/sbin/varnishd', '-F', '-j', 'none', '-n', on.folder / name, '-a', listen]
    options = ['-p', f'vmod_path={modules}', '-f', recipe, '-s', 'malloc,64m']
    return on.start(name, command([*program, *options]), env=environment)


def path_of(query):
    return '/graphql?' + urllib.parse.urlencode({'query': query})


class Replicas:
    """Three servers of one directory."""

    def __init__(self, on, program, name):
        self.on, self.program = on, program
        self.folder = on.folder / f'{name}-catalog'
        shutil.copytree(REPOSITORY / 'examples/catalog', self.folder)
        self.ports = [free_port() for _ in range(3)]
        self.metrics = [free_port() for _ in range(3)]
        self.name, self.processes = name, []
        for number in range(3):
            self.start(number)

    def start(self, number):
        port = self.ports[number]
        self.processes.append(
            self.on.start(
                f'{self.name}-{number}',
                [
                    self.program, 'serve', f'example={self.folder}', f'--listen=127.0.0.1:{port}', '--watch',
                    f'--store={self.on.folder}/{self.name}-store-{number}', f'--shared-cache-max-age={MAX_AGE}s',
                    '--max-peer-connections=4000', '--no-explorer', '--no-playground', f'--metrics-listen=127.0.0.1:{self.metrics[number]}', '--metrics-auth=none',
                ],
            )
        )
        eventually('a replica is not ready', lambda: stage.listens(port) and self.get(port, '/readyz')[0] == 200)

    @staticmethod
    def get(port, path, headers=()):
        return asyncio.run(read(port, path, {'Accept': '*/*', **dict(headers)}))

    def change(self):
        """Adds a package, whose file is renamed into place."""
        new = self.folder / 'new'
        new.write_text(json.dumps({'schema': 'olm.package', 'name': f'added-{time.monotonic_ns()}'}) + '\n')
        new.rename(self.folder / 'added.json')

    async def tag(self, port):
        return (await read(port, '/catalogs/example/api/v1/all', {}))[1]['etag']

    def tags(self):
        """Entity tags of the whole catalog at each replica."""
        return [self.tag(port) for port in self.ports]

    def requests(self):
        """Requests for GraphQL that reached a replica so far."""
        total = 0
        for port in self.metrics:
            _, _, body = self.get(port, '/metrics')
            for line in body.decode().splitlines():
                if line.startswith('catalogql_http_requests_total') and 'handler="graphql"' in line:
                    total += int(float(line.rpartition(' ')[2]))
        return total

    def answers(self):
        """The data that each replica answers to each read of the page, if all answer the same."""
        found = [[data_of(self.get(port, path_of(query))[2]) for query in PAGE] for port in self.ports]
        return found[0] if found[0] == found[1] == found[2] else None

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []


async def read(port, path, headers, streams=None):
    """Status, headers and decoded body of a GET over HTTP/1.1."""
    own = streams is None
    reader, writer = streams or await asyncio.open_connection('127.0.0.1', port)
    lines = [f'GET {path} HTTP/1.1', 'Host: localhost', *(f'{name}: {value}' for name, value in headers.items()), '', '']
    writer.write('\r\n'.join(lines).encode())
    head = (await reader.readuntil(b'\r\n\r\n')).decode()
    status = int(head.split(' ', 2)[1])
    found = {line.partition(':')[0].lower(): line.partition(':')[2].strip() for line in head.split('\r\n')[1:] if line}
    if found.get('transfer-encoding') == 'chunked':
        body = b''
        while length := int(await reader.readuntil(b'\r\n'), 16):
            body += await reader.readexactly(length)
            await reader.readexactly(2)
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(found.get('content-length', 0)))
    if own:
        writer.close()
    coding = found.get('content-encoding')
    if coding == 'gzip':
        body = gzip.decompress(body)
    elif coding == 'zstd':
        body = subprocess.run(['zstd', '-dc'], input=body, capture_output=True, check=True).stdout
    elif coding:
        sys.exit(f'error: the coding {coding} was not asked for')
    return status, found, body


def data_of(body):
    return json.dumps(json.loads(body)['data'], sort_keys=True)


async def reads(port, count, seen):
    """Many readers, each with a connection and headers of its own, read the page once."""
    limit = asyncio.Semaphore(CONCURRENT)
    chance = random.Random(count)

    async def reader():
        headers = {'Accept': chance.choice(ACCEPT)}
        if coding := chance.choice(CODINGS):
            headers['Accept-Encoding'] = coding
        async with limit:
            streams = await asyncio.open_connection('127.0.0.1', port)
            for number, query in enumerate(PAGE):
                began = time.monotonic()
                status, found, body = await read(port, path_of(query), headers, streams)
                seen.append((began, number, status, body))
                kind = found['content-type'].partition(';')[0]
                if kind not in headers['Accept'] and '*/*' not in headers['Accept']:
                    sys.exit(f'error: {headers} is answered with {found["content-type"]}')
            streams[1].close()

    await asyncio.gather(*(reader() for _ in range(count)))


async def subscribed(port, change):
    """Whether a subscription through a cache tells of a change."""
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    path = path_of('subscription{catalogChanged{name}}')
    writer.write(f'GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n'.encode())
    head = await reader.readuntil(b'\r\n\r\n')
    if b'text/event-stream' not in head:
        return False
    change()
    try:
        await asyncio.wait_for(reader.readuntil(b'catalogChanged'), stage.DEADLINE)
    except (asyncio.IncompleteReadError, TimeoutError):
        return False
    finally:
        writer.close()
    return True


class Cache:
    """One cache before replicas, and the bars that it meets or misses."""

    def __init__(self, on, name, program, start, readers):
        print(f'\n{name}', flush=True)
        self.name, self.readers, self.ok = name, readers, True
        self.replicas = Replicas(on, program, name.lower())
        self.port = free_port()
        start(self.port, self.replicas.ports)
        eventually(f'{name} does not listen', lambda: stage.listens(self.port))
        eventually(f'{name} does not answer', lambda: self.get(PAGE[0])[0] == 200)

    def bar(self, holds, text):
        self.ok = self.ok and holds
        print(f'  {"ok" if holds else "NO"}  {text}', flush=True)

    def get(self, query, headers=()):
        return Replicas.get(self.port, path_of(query), headers)

    def purge(self, keys):
        """Purges the responses with these surrogate keys, or all."""
        for key in keys or [None]:
            header = ['-H', f'Surrogate-Key: {key}'] if key else []
            run('curl', '-s', '-f', '-X', 'PURGE', *header, f'http://127.0.0.1:{self.port}/')

    def page(self):
        return [data_of(self.get(query)[2]) for query in PAGE]

    def reached(self, action):
        """The number of requests that reach a replica while this is done."""
        before = self.replicas.requests()
        action()
        return self.replicas.requests() - before

    def many_readers(self, share):
        """Readers of the page, whose content changes when a third of them is done. At least `share` per cent of the reads may not reach
        a replica."""
        before, seen, changed = self.replicas.answers(), [], None

        async def change():
            nonlocal changed
            while len(seen) < self.readers * len(PAGE) // 3:
                await asyncio.sleep(0.01)
            former = await asyncio.gather(*self.replicas.tags())
            self.replicas.change()
            while any(old == new for old, new in zip(former, await asyncio.gather(*self.replicas.tags()), strict=True)):
                await asyncio.sleep(0.05)
            changed = time.monotonic()

        async def all_at_once():
            await asyncio.gather(reads(self.port, self.readers, seen), change())

        began = time.monotonic()
        reached = self.reached(lambda: asyncio.run(all_at_once()))
        took = time.monotonic() - began
        after = eventually('the replicas do not serve one content', self.replicas.answers)
        if after == before:
            sys.exit('error: the content did not change')

        failed = [status for _, _, status, _ in seen if status != 200]
        mixed = [body for _, number, _, body in seen if data_of(body) not in (before[number], after[number])]
        late = [(at - changed, number, body) for at, number, _, body in seen if at > changed]
        former = [seconds for seconds, number, body in late if data_of(body) == before[number] != after[number]]
        eventually('the new content is not seen', lambda: self.page() == after, DEADLINE)
        found = 100 * (1 - reached / len(seen))
        self.bar(not failed, f'{self.readers} readers, {len(seen)} reads in {took:.0f} s: {len(failed)} failed')
        self.bar(found >= share, f'{reached} reads reached a replica: {found:.2f} % did not')
        self.bar(not mixed, f'{len(mixed)} answers are of neither of the two contents')
        self.bar(
            len(late) > len(former) and max(former, default=0) <= DEADLINE,
            f'{len(late)} reads began after all replicas had the new content: {len(former)} got the former one, for '
            f'{max(former, default=0):.1f} s',
        )
    def other_requests(self):
        def callers():
            for caller in ['one', 'two'] * 5:
                self.get(PAGE[0], {'Authorization': f'Bearer {caller}'})

        reached = self.reached(callers)
        self.bar(reached == 10, f'10 reads with credentials: {reached} reached a replica')
        digest = json.loads(data_of(self.get(PAGE[0])[2]))['catalogs'][0]['digest']
        seen = {'Catalogql-Minimum-Revision': f'example={digest}'}
        reached = self.reached(lambda: [self.get(PAGE[0], seen) for _ in range(3)])
        self.bar(reached == 3, f'3 reads with a minimum revision: {reached} reached a replica')
        pinned = f'{{catalog(name:"example",digest:"{digest}"){{packages{{totalCount}}}}}}'

        def three_times():
            for _ in range(3):
                self.get(pinned)
                time.sleep(MAX_AGE)

        reached = self.reached(three_times)
        self.bar(reached == 1, f'3 reads of a pinned content in {3 * MAX_AGE} s: {reached} reached a replica')
        if self.name == 'Varnish':
            for keys, expected in [(['catalog/other', 'catalogs'], 0), (['catalog/example'], 1), ([], 1)]:
                self.purge(keys)
                reached = self.reached(lambda: self.get(pinned))
                self.bar(reached == expected, f'the same read after a purge of {" and ".join(keys) or "all"}: {reached} reached a replica')
        posted = run('curl', '-s', '-d', json.dumps({'query': PAGE[0]}), '-H', 'Content-Type: application/json', f'http://127.0.0.1:{self.port}/graphql')
        self.bar('"data"' in posted, 'a POST request is answered')
        self.bar(asyncio.run(subscribed(self.port, self.replicas.change)), 'a subscription tells of a change')

    def without_replicas(self):
        after = eventually('the replicas do not serve one content', self.replicas.answers)
        eventually('the new content is not seen', lambda: self.page() == after, DEADLINE)
        self.replicas.stop()
        time.sleep(2 * MAX_AGE + 1)
        self.bar(self.page() == after, 'without a replica, the last content is served')


def with_ports(text, port, ports):
    text = text.replace('127.0.0.1:8080', f'127.0.0.1:{port}')
    for number, replica in enumerate(ports, 1):
        text = text.replace(f'127.0.0.1:808{number}', f'127.0.0.1:{replica}').replace(f'"808{number}"', f'"{replica}"')
    return text


def main():
    program = Path(sys.argv[1]).resolve()
    readers = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    folder, environment = programs()
    with Stage() as on:

        def varnish(port, ports):
            recipe = on.folder / 'varnish.vcl'
            recipe.write_text(with_ports((RECIPES / 'varnish.vcl').read_text(), port, ports))
            start_varnish(on, recipe, f'127.0.0.1:{port}')

        def nginx(port, ports):
            recipe = with_ports((RECIPES / 'nginx.conf').read_text(), port, ports).replace('/var/cache/nginx', str(on.folder))
            for kind in ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']:
                recipe = f'{kind}_temp_path {on.folder}/temporary-{kind};\n{recipe}'
            whole = on.folder / 'nginx.conf'
            user = 'user root;' if os.geteuid() == 0 else ''
            whole.write_text(
                f'daemon off; {user} pid {on.folder}/nginx.pid; events {{ worker_connections 4000; }}\nhttp {{ access_log off;\n{recipe}\n}}\n'
            )
            on.start('nginx', [folder / 'usr/sbin/nginx', '-c', whole, '-e', on.folder / 'nginx-error.log'], env=environment)

        def haproxy(port, ports):
            recipe = on.folder / 'haproxy.cfg'
            recipe.write_text(with_ports((RECIPES / 'haproxy.cfg').read_text(), port, ports))
            on.start('haproxy', [folder / 'usr/sbin/haproxy', '-f', recipe], env=environment)

        caches = []
        for name, start, share in [('Varnish', varnish, 99), ('nginx', nginx, 99), ('HAProxy', haproxy, 95)]:
            cache = Cache(on, name, program, start, readers)
            cache.many_readers(share)
            cache.other_requests()
            # HAProxy sends a request for each of the readers that come at the same time, and keeps nothing longer than it may be reused.
            if name != 'HAProxy':
                cache.without_replicas()
            caches.append(cache)
    if not all(cache.ok for cache in caches):
        sys.exit('error: a bar is missed')


if __name__ == '__main__':
    main()

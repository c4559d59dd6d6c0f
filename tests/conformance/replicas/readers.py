"""Readers of console pages through a cache, what is followed at each replica, and what every answer must be."""

import asyncio
import base64
import collections
import gzip
import hashlib
import heapq
import json
import random
import re
import time
import urllib.parse

# Packages of the catalog that changes. Each says in several places which content it is of.
PACKAGES = 8

# Seconds that an answer may take.
PATIENCE = 30

# Times that a reader reads a page anew whose content changed while it was read, a second apart.
TRIES = 8

# Seconds of --shared-cache-max-age, and for how long an answer is seen after the last replica served its content: the time and as
# much again. What is told of replicas comes a moment later.
MAX_AGE = 2
KEPT = 2 * MAX_AGE + 1

# What a reader does: the first page, unpinned and over all catalogs, one icon of a tile, and the page of one package.
DOCUMENTS = {
    'tiles': '{ catalogs { name digest } packages(first: 50) { totalCount nodes {'
    ' name displayName summary catalog { name digest } icon { url } latest { version } channels { name } } } }',
    'package': 'query ($digest: String!, $package: String!) { catalog(name: "moving", digest: $digest) { digest'
    ' package(name: $package) { name description latest { name version } icon { url }'
    ' channels { name head { name } } } } }',
    'changes': 'subscription { catalogChanged(names: ["moving"]) {'
    ' catalog { packages(first: 1) { nodes { latest { version } } } } } }',
    'current': '{ catalog(name: "moving") { digest packages(first: 1) { nodes { latest { version } } } } }',
    'names': '{ catalogs { name } packages(first: 50) { nodes { name catalog { name } } } }',
}

MARKS = re.compile(rb'content-(\d+)|[v"](\d+)\.0\.0"|icons/([0-9a-f]{64})|"digest":"(sha256:[0-9a-f]{64})"')


def path_of(document, **variables):
    pairs = {'documentId': document} | ({'variables': json.dumps(variables)} if variables else {})
    return '/graphql?' + urllib.parse.urlencode(pairs)


def icon_of(number):
    return f'<svg xmlns="http://www.w3.org/2000/svg"><title>content-{number}</title></svg>'.encode()


def blobs_of(number):
    """The blobs of the content of the catalog `moving`."""
    blobs = []
    for package in range(PACKAGES):
        name = f'moving-{package}'
        bundle = f'{name}.v{number}.0.0'
        icon = {'base64data': base64.b64encode(icon_of(number)).decode(), 'mediatype': 'image/svg+xml'}
        version = {'type': 'olm.package', 'value': {'packageName': name, 'version': f'{number}.0.0'}}
        channel = f'content-{number}'
        blobs += [
            {'schema': 'olm.package', 'name': name, 'defaultChannel': channel, 'description': f'content-{number}', 'icon': icon},
            {'schema': 'olm.channel', 'package': name, 'name': channel, 'entries': [{'name': bundle}]},
            {'schema': 'olm.bundle', 'package': name, 'name': bundle, 'image': 'example.com/x:1', 'properties': [version]},
        ]
    return blobs


def steady_blobs():
    """The blobs of the catalog `steady`, which never changes."""
    blobs = []
    for package in range(PACKAGES):
        name = f'steady-{package}'
        version = {'type': 'olm.package', 'value': {'packageName': name, 'version': '1.2.3'}}
        blobs += [
            {'schema': 'olm.package', 'name': name, 'defaultChannel': 'stable'},
            {'schema': 'olm.channel', 'package': name, 'name': 'stable', 'entries': [{'name': f'{name}.v1.2.3'}]},
            {
                'schema': 'olm.bundle', 'package': name, 'name': f'{name}.v1.2.3', 'image': 'example.com/x:1',
                'properties': [version],
            },
        ]
    return blobs


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body


class Connection:
    """One connection that is kept, and opened again once it was closed."""

    def __init__(self, address, port):
        self.address = address
        self.port = port
        self.streams = None

    def close(self):
        if self.streams:
            self.streams[1].transport.abort()
        self.streams = None

    async def send(self, path, headers, method='GET'):
        """Sends a request, and reads the head of the answer."""
        if not self.streams:
            self.streams = await asyncio.open_connection(self.address, self.port)
        reader, writer = self.streams
        lines = [f'{method} {path} HTTP/1.1', 'Host: localhost', *(f'{name}: {value}' for name, value in headers.items()), '', '']
        writer.write('\r\n'.join(lines).encode())
        head = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
        found = {name.lower(): value.strip() for name, _, value in (line.partition(':') for line in head[1:] if line)}
        return int(head[0].split(' ', 2)[1]), found

    async def get(self, path, headers, method='GET'):
        try:
            async with asyncio.timeout(PATIENCE):
                status, found = await self.send(path, headers, method)
                reader = self.streams[0]
                body = b''
                if found.get('transfer-encoding') == 'chunked':
                    while length := int(await reader.readuntil(b'\r\n'), 16):
                        body += await reader.readexactly(length)
                        await reader.readexactly(2)
                    await reader.readexactly(2)
                elif status not in (204, 304):
                    body = await reader.readexactly(int(found.get('content-length', 0)))
        except BaseException:
            self.close()
            raise
        if found.get('connection') == 'close':
            self.close()
        return Answer(status, found, body)


class Contents:
    """What was pushed and who serves it. `wrong` has what must not be."""

    def __init__(self):
        self.icons = {}
        self.digests = {}
        self.steady = set()
        self.pushed = {}
        self.served = {}
        self.read = {}
        self.known = {}
        self.wrong = []
        self.watchers = []

    def push(self, number):
        self.icons[hashlib.sha256(icon_of(number)).hexdigest().encode()] = number

    def number(self, kind, body, coding):
        """The content that an answer is of, and the answer. All parts of it must be of one content."""
        key = (kind, body)
        if key not in self.known:
            if len(self.known) > 500:
                self.known.clear()
            self.known[key] = self.judge(kind, gzip.decompress(body) if coding == 'gzip' else body)
        return self.known[key]

    def judge(self, kind, body):
        data = json.loads(body)
        if data.get('errors'):
            return None, data
        numbers = set()
        digests = set()
        for content, version, icon, digest in MARKS.findall(body):
            if content or version:
                numbers.add(int(content or version))
            elif icon:
                numbers.add(self.icons.get(icon, -1))
            elif digest.decode() not in self.steady:
                digests.add(digest.decode())
        data = data['data']
        if kind == 'tiles':
            whole = data['packages']['totalCount'] == len(data['packages']['nodes']) == 2 * PACKAGES
        else:
            whole = data['catalog']['package'] is not None
        if len(numbers) != 1 or len(digests) != 1 or not whole:
            self.wrong.append(f'{kind}: of {numbers}, {digests}: {body[:2000]}')
            return None, data
        [number] = numbers
        [digest] = digests
        if self.digests.setdefault(digest, number) != number:
            self.wrong.append(f'{kind}: {digest} is of {self.digests[digest]}, not {number}: {body[:2000]}')
        return number, data

    def until(self, number):
        """The last time at which a replica served a content, as far as it is known."""
        if any(watcher.number == number for watcher in self.watchers):
            return time.monotonic()
        return self.served.get(number, 0)

    def saw(self, number, at):
        self.read[number] = max(at, self.read.get(number, 0))

    def late(self):
        """Contents that were read later than they may be seen, with the seconds after the last replica served them."""
        found = {number: at - self.until(number) for number, at in self.read.items()}
        return {number: round(seconds, 1) for number, seconds in found.items() if seconds > KEPT}


class Watcher:
    """Follows which content a replica serves, by a subscription at the replica."""

    def __init__(self, contents, address, port):
        self.contents = contents
        self.address = address
        self.port = port
        self.number = None
        self.first = {}
        contents.watchers.append(self)

    def set(self, number):
        now = time.monotonic()
        if self.number is not None:
            self.contents.served[self.number] = max(now, self.contents.served.get(self.number, 0))
        self.number = number
        if number is not None:
            self.first.setdefault(number, now)

    async def run(self):
        while True:
            stream = Connection(self.address, self.port)
            other = Connection(self.address, self.port)
            try:
                status, _ = await stream.send(path_of('changes'), {'Accept': 'text/event-stream'})
                if status == 200:
                    answer = await other.get(path_of('current'), {'Accept': 'application/json'})
                    self.found(answer.body)
                    while line := await stream.streams[0].readuntil(b'\n'):
                        self.found(line)
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                pass
            finally:
                self.set(None)
                stream.close()
                other.close()
            await asyncio.sleep(0.1)

    def found(self, text):
        if version := re.search(rb'"version":"(\d+)\.0\.0"', text):
            self.set(int(version[1]))


class Reader:
    """What one browser remembers: the last first page with its entity tag, and the last icon."""

    __slots__ = ('headers', 'icon', 'page', 'tag')

    def __init__(self, headers):
        self.headers = headers
        self.tag = None
        self.page = None
        self.icon = None


class Readers:
    """Many readers over fewer connections. Each reads a page, thinks, and comes again."""

    def __init__(self, contents, faults, address, port):
        self.contents = contents
        self.faults = faults
        self.address = address
        self.port = port
        self.counts = collections.Counter()
        self.failed = collections.Counter()
        self.cut = collections.Counter()
        self.examples = []
        self.slowest = collections.Counter()
        self.began = set()
        self.chance = random.Random(1)
        # Whether connections to the cache are cut, because the cache is started again.
        self.interrupted = False

    def during(self):
        return ' + '.join(sorted(self.faults)) or 'calm'

    async def ask(self, connection, reader, path, tag=None):
        """An answer, or `None` if there is none."""
        headers = reader.headers | ({'If-None-Match': tag} if tag else {})
        began = time.monotonic()
        during = self.during()
        try:
            answer = await connection.get(path, headers)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            if self.interrupted:
                self.cut[during] += 1
                await asyncio.sleep(0.5)
            else:
                self.fail(during, path, repr(error), began)
            return None
        self.counts['reads'] += 1
        self.counts[answer.status] += 1
        took = time.monotonic() - began
        self.slowest[during] = max(took, self.slowest[during])
        if answer.status not in (200, 304, 404):
            self.fail(during, path, f'{answer.status} {answer.headers} {answer.body[:300]}', began)
            return None
        return answer

    def fail(self, during, path, what, began):
        self.failed[during] += 1
        if len(self.examples) < 30:
            self.examples.append(f'{during}, {time.monotonic() - began:.1f} s: {path[:80]}: {what}')

    async def tiles(self, connection, reader):
        began = time.monotonic()
        answer = await self.ask(connection, reader, path_of('tiles'), reader.tag)
        if not answer or answer.status == 404:
            return False
        if answer.status == 200:
            number, data = self.contents.number('tiles', answer.body, answer.headers.get('content-encoding'))
            if number is None:
                self.counts['errors in a page'] += 1
                return False
            digest = next(one['digest'] for one in data['catalogs'] if one['name'] == 'moving')
            url = next(one['icon']['url'] for one in data['packages']['nodes'] if one['icon'])
            reader.tag = answer.headers['etag']
            reader.page = (number, digest, url)
        self.contents.saw(reader.page[0], began)
        return True

    async def image(self, connection, reader, url):
        if reader.icon == url:
            return True
        answer = await self.ask(connection, reader, f'/{url}')
        if not answer or answer.status == 404:
            self.counts['icon of a former content'] += bool(answer)
            return False
        body = gzip.decompress(answer.body) if answer.headers.get('content-encoding') == 'gzip' else answer.body
        if hashlib.sha256(body).hexdigest() != url.rpartition('/')[2]:
            self.contents.wrong.append(f'{url} has other bytes: {body[:300]}')
        reader.icon = url
        return True

    async def package(self, connection, reader, number, digest):
        name = f'moving-{self.chance.randrange(PACKAGES)}'
        answer = await self.ask(connection, reader, path_of('package', digest=digest, package=name))
        if not answer:
            return False
        found, data = self.contents.number('package', answer.body, answer.headers.get('content-encoding'))
        if found is None:
            codes = [error['extensions']['code'] for error in data.get('errors', [])]
            self.counts[' '.join(codes)] += 1
            if codes != ['CATALOG_CHANGED']:
                self.contents.wrong.append(f'package: {data}')
            return False
        if found != number or data['catalog']['package']['name'] != name:
            self.contents.wrong.append(f'package {name} of {number}: got {found}: {data}')
        return True

    async def visit(self, connection, reader):
        during = self.during()
        for _ in range(TRIES):
            if await self.tiles(connection, reader):
                number, digest, url = reader.page
                if await self.image(connection, reader, url) and await self.package(connection, reader, number, digest):
                    self.counts['pages'] += 1
                    return
            self.counts['tries again'] += 1
            await asyncio.sleep(1)
        self.fail(during, 'page', f'not read whole in {TRIES} tries', time.monotonic())

    async def run(self, count, connections, think, headers):
        """`count` readers over `connections`, each of which thinks for `think` seconds on average."""
        readers = [Reader(headers(number, self.chance)) for number in range(count)]
        begin = time.monotonic()
        due = [(begin + think * number / count, number) for number in range(count)]

        async def work():
            connection = Connection(self.address, self.port)
            while True:
                at, number = heapq.heappop(due)
                await asyncio.sleep(max(0, at - time.monotonic()))
                self.began.add(number)
                await self.visit(connection, readers[number])
                heapq.heappush(due, (time.monotonic() + think * self.chance.uniform(0.5, 1.5), number))

        await asyncio.gather(*(work() for _ in range(connections)))

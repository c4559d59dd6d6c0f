#!/usr/bin/env python3
"""Changes a served directory a thousand times, kills the server again and again, and reads its feeds with feedparser, as a reader
does that polls: no change is lost or comes twice, ids and times stay, documents are well-formed, and what did not change is not
sent again. Meanwhile a webhook gets the changes, whose receiver fails, hangs, redirects and answers without an end: each event
arrives, with one id and a signature that verifies. Then a catalog with hostile names takes the place of the first one.

usage: feeds.py CATALOGQL [CHANGES]

feedparser is installed once from PyPI into the user's cache. CHANGES is 1000 without it. Kills come from a sequence that is the
same in each run.
"""

import base64
import hashlib
import hmac
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent

# A kill comes after about every thirtieth change; half of them at once after the answer, when the change may not be recorded.
CHANGES_PER_KILL = 30

# Changes between two looks of the reader. A feed has 200 entries.
CHANGES_PER_POLL = 7

# Of a hundred requests to the webhook, so many end in each of these ways; a server waits 10 s for one that hangs.
FAULTS = {'error': 2, 'close': 2, 'redirect': 2, 'endless': 2, 'hang': 1}

# Hangs in all: each costs 10 s.
HANGS = 4

SECRET = b'a secret of thirty-two bytes ...'

PACKAGES = ['quill', 'lamp', 'torch']


def install():
    """Runs this script again with feedparser, which is installed once."""
    cache = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / 'catalogql/feeds'
    wanted = (HERE / 'requirements.txt').read_text()
    done = cache / 'installed'
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, '-m', 'venv', '--clear', cache], check=True)
        subprocess.run([cache / 'bin/pip', 'install', '--quiet', '-r', HERE / 'requirements.txt'], check=True)
        done.write_text(wanted)
    if Path(sys.prefix) != cache:
        os.execv(cache / 'bin/python', [cache / 'bin/python', *sys.argv])


class Hook(ThreadingHTTPServer):
    """The receiver of a webhook, with faults. Its other paths are what no redirect may lead to."""

    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), HookRequest)
        self.chance = random.Random(2)
        self.lock = threading.Lock()
        self.accepted = {}
        self.attempts = 0
        self.invalid = []
        self.faults = dict.fromkeys(FAULTS, 0)
        self.redirected = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Says nothing of clients that do not read an answer without an end."""

    def fault(self):
        with self.lock:
            self.attempts += 1
            at = self.chance.randrange(100)
            for name, share in FAULTS.items():
                if 0 <= at < share and (name != 'hang' or self.faults[name] < HANGS):
                    self.faults[name] += 1
                    return name
                at -= share
            return None


class HookRequest(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.redirected += 1

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.path != '/hook':
            self.server.redirected += 1
            return
        sent = self.headers['webhook-id'], self.headers['webhook-timestamp']
        tag = hmac.digest(SECRET, '.'.join(sent).encode() + b'.' + body, hashlib.sha256)
        is_signed = self.headers['webhook-signature'] == 'v1,' + base64.b64encode(tag).decode()
        is_typed = self.headers['Content-Type'] == 'application/cloudevents+json; charset=utf-8'
        if not is_signed or not is_typed or abs(time.time() - int(sent[1])) > 60:
            self.server.invalid.append(str(self.headers))
        fault = self.server.fault()
        if fault == 'close':
            self.close_connection = True
            return
        if fault == 'hang':
            self.rfile.read()
            return
        if fault == 'error':
            self.send_response(503)
        elif fault == 'redirect':
            self.send_response(307)
            self.send_header('Location', f'http://127.0.0.1:{self.server.server_port}/private')
        else:
            with self.server.lock:
                self.server.accepted.setdefault(sent[0], []).append(json.loads(body))
            self.send_response(200)
        if fault != 'endless':
            self.send_header('Content-Length', '0')
        self.end_headers()
        while fault == 'endless':
            self.wfile.write(b'more ' * 1000)


class Server:
    """A server of one directory, which is started again at the same port."""

    def __init__(self, program, folder, hook):
        self.program = program
        self.hook = hook
        (folder / 'secret').write_bytes(SECRET)
        self.folder = folder
        self.process = None
        self.port = 0
        self.starts = 0

    def start(self):
        self.starts += 1
        log = open(self.folder / 'log', 'ab')
        self.process = subprocess.Popen(
            [
                self.program, 'serve', '--editable', f'main={self.folder / "catalog"}', '--listen', f'127.0.0.1:{self.port}',
                '--store', self.folder / 'store', '--no-explorer', '--no-playground',
                '--webhook', f'http://127.0.0.1:{self.hook.server_port}/hook', '--webhook-secret-file', self.folder / 'secret',
            ],
            stdout=subprocess.PIPE, stderr=log, text=True,
        )
        for line in self.process.stdout:
            if line.startswith('Listening on '):
                self.port = int(line.split(':')[-1].split('/')[0])
                return
        raise SystemExit((self.folder / 'log').read_text())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, path, body=None, headers=None):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def edit(self, operations):
        body = json.dumps(operations).encode()
        status, _, answer = self.ask('/catalogs/main/edits', body, {'Content-Type': 'application/json'})
        assert status == 200, (status, answer)

    def graphql(self, query, variables):
        body = json.dumps({'query': query, 'variables': variables}).encode()
        status, _, answer = self.ask('/graphql', body, {'Content-Type': 'application/json'})
        answer = json.loads(answer)
        assert status == 200 and 'errors' not in answer, answer
        return answer['data']


class Reader:
    """A reader of one feed, which keeps entries by their ids as feed readers do."""

    def __init__(self, path):
        self.path = path
        self.etag = None
        self.entries = {}
        self.unchanged = 0

    def poll(self, server):
        import feedparser

        headers = {'If-None-Match': self.etag} if self.etag else {}
        status, answered, body = server.ask(self.path, headers=headers)
        if status == 304:
            self.unchanged += 1
            assert body == b'', body
            return 0
        assert status == 200, (status, body)
        self.etag = answered['ETag']
        feed = feedparser.parse(body, response_headers={'content-type': answered['Content-Type']})
        assert not feed.bozo, feed.get('bozo_exception')
        assert feed.version == 'atom10', feed.version
        ids = [entry.id for entry in feed.entries]
        assert len(set(ids)) == len(ids), 'an id comes twice in one document'
        times = [entry.updated_parsed for entry in feed.entries]
        assert times == sorted(times, reverse=True), 'entries are not latest first'
        new = 0
        for entry in feed.entries:
            shown = (entry.title, entry.updated, entry.content[0].value)
            known = self.entries.setdefault(entry.id, shown)
            assert known == shown, f'an entry changed: {known} became {shown}'
            new += known is shown
        return new

    def bundles(self, what):
        """Returns the names of bundles that came or went, as often as entries say it."""
        import html
        import re

        texts = (content for _, _, content in self.entries.values())
        lines = (line for text in texts for line in re.findall(r'<li>(.*?)</li>', text))
        found = (html.unescape(line) for line in lines)
        return [line.removeprefix(f'{what}: ') for line in found if line.startswith(f'{what}: ')]


def bundle(package, version):
    name = f'{package}.v{version}.0.0'
    properties = [{'type': 'olm.package', 'value': {'packageName': package, 'version': f'{version}.0.0'}}]
    image = f'registry.example/bundle-{len(package)}:v{version}'
    return {'schema': 'olm.bundle', 'name': name, 'package': package, 'image': image, 'properties': properties}


def add(package, version):
    added = {'blob': bundle(package, version), 'channels': ['stable'], 'defaultChannel': 'stable'}
    if version > 1:
        added['replaces'] = f'{package}.v{version - 1}.0.0'
    return {'op': 'add', 'bundles': [added]}


def history(server, package):
    """Returns the bundles that GraphQL says were added, by pages."""
    query = """query ($package: String!, $after: String) { package(catalog: "main", name: $package) {
      history(first: 100, after: $after) { totalCount nodes { kind name change at toHead } pageInfo { hasNextPage endCursor } } } }"""
    after, nodes = None, []
    while True:
        page = server.graphql(query, {'package': package, 'after': after})['package']['history']
        nodes += page['nodes']
        if not page['pageInfo']['hasNextPage']:
            assert len(nodes) == page['totalCount']
            return [node['name'] for node in nodes if node['kind'] == 'BUNDLE' and node['change'] == 'ADDED']
        after = page['pageInfo']['endCursor']


def wait_for(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def follow(server, changes):
    chance = random.Random(46)
    versions = dict.fromkeys(PACKAGES, 0)
    readers = [Reader('/feeds'), Reader('/feeds/main')]
    quill = Reader('/feeds/main/quill')
    search = Reader('/feeds?search=lamp')
    readers += [quill, search]
    expected = []
    kills = {'at once': 0, 'later': 0}
    # The first content begins the log: what it has did not come while it was served.
    for package in PACKAGES:
        versions[package] = 1
        server.edit([add(package, 1)])
    wait_for(lambda: history(server, PACKAGES[-1]), 'the first bundles are not in the history')
    begun = time.monotonic()
    for number in range(changes):
        package = chance.choice(PACKAGES)
        versions[package] += 1
        server.edit([add(package, versions[package])])
        expected.append(f'{package}.v{versions[package]}.0.0')
        if chance.randrange(CHANGES_PER_KILL) == 0:
            is_killed_at_once = chance.randrange(2) == 0
            kills['at once' if is_killed_at_once else 'later'] += 1
            if not is_killed_at_once:
                for reader in readers:
                    reader.poll(server)
            server.kill()
            server.start()
        if number % CHANGES_PER_POLL == 0:
            for reader in readers:
                reader.poll(server)
    seconds = time.monotonic() - begun
    last = expected[-1]

    def is_done():
        readers[0].poll(server)
        return last in readers[0].bundles('Added')

    # A change is recorded just after it is served.
    wait_for(is_done, f'{last} is in no entry')
    for reader in readers:
        reader.poll(server)

    first = {f'{package}.v1.0.0' for package in PACKAGES}
    for reader in readers:
        wanted = expected
        if reader is quill:
            wanted = [name for name in expected if name.startswith('quill.')]
        if reader is search:
            wanted = [name for name in expected if name.startswith('lamp.')]
        added = [name for name in reader.bundles('Added') if name not in first]
        assert len(set(added)) == len(added), f'{reader.path}: a bundle came twice'
        assert set(added) == set(wanted), f'{reader.path}: {set(wanted) ^ set(added)}'
        assert reader.bundles('Removed') == []
    for package in PACKAGES:
        wanted = [name for name in expected if name.startswith(f'{package}.')]
        found = [name for name in history(server, package) if name not in first]
        assert found == wanted[::-1], f'{package}: GraphQL has another history'

    before = {reader.path: reader.unchanged for reader in readers}
    server.kill()
    server.start()
    for reader in readers:
        new = reader.poll(server)
        assert new == 0 and reader.unchanged == before[reader.path] + 1, f'{reader.path}: changed by a restart'
    merged = changes - len([1 for title, _, _ in readers[1].entries.values() if 'added' in title and not title.endswith('v1.0.0')])
    print(
        f'{changes} changes in {seconds:.0f} s, {kills["at once"]} kills at once and {kills["later"]} later: {len(readers[1].entries)}'
        f' entries ({merged} changes came with the next one), none lost, none doubled, ids and times kept; unchanged feeds gave 304'
    )
    verify_events(server.hook, expected)


def verify_events(hook, expected):
    """Holds what arrived at the webhook to what was changed."""

    def added():
        with hook.lock:
            events = [copies[0] for copies in hook.accepted.values()]
        packages = (package for event in events for package in event['data']['packages'])
        return [name for package in packages for name in package['added']]

    first = {f'{package}.v1.0.0' for package in PACKAGES}
    wait_for(lambda: set(expected) <= set(added()), 'events are missing', 180)
    found = [name for name in added() if name not in first]
    assert len(set(found)) == len(found), 'a bundle is in two events'
    assert set(found) == set(expected), set(found) ^ set(expected)
    for id, copies in hook.accepted.items():
        assert all(copy == copies[0] for copy in copies), f'two events have the id {id}'
        event = copies[0]
        assert event['id'] == id and event['specversion'] == '1.0' and event['type'] == 'io.catalogql.catalog.changed'
    assert hook.invalid == [], hook.invalid
    assert hook.redirected == 0, 'a redirect was followed'
    again = sum(len(copies) - 1 for copies in hook.accepted.values())
    print(
        f'{len(hook.accepted)} events by id, {hook.attempts} attempts with {hook.faults}: each arrived, {again} of them again after a'
        ' kill, signatures verify, no redirect was followed'
    )


HOSTILE = ['<script>alert(1)</script>', ']]></content>', 'a&b"c\'d', 'nul\x00bell\x07esc\x1b[31m', '\ufffe\uffff', '\u202eabc', 'ü' * 5000]


def hostile(server):
    import feedparser

    blobs = []
    for name in HOSTILE:
        blobs += [
            {'schema': 'olm.package', 'name': name, 'defaultChannel': name, 'description': '<b>' * 500_000},
            {'schema': 'olm.channel', 'package': name, 'name': name, 'entries': [{'name': name}]},
            {**bundle(name, 1), 'name': name},
        ]
    catalog = server.folder / 'catalog'
    for file in catalog.iterdir():
        if file.is_dir():
            subprocess.run(['rm', '-r', file], check=True)
        else:
            file.unlink()
    (catalog / 'catalog.json').write_text('\n'.join(map(json.dumps, blobs)))
    server.kill()
    server.start()

    def parse(path):
        status, headers, body = server.ask(path)
        assert status == 200, (path, status, body)
        feed = feedparser.parse(body, response_headers={'content-type': headers['Content-Type']})
        assert not feed.bozo, (path, feed.get('bozo_exception'))
        assert len(body) <= 1 << 20, len(body)
        return feed

    for name in HOSTILE:
        path = '/feeds/main/' + urllib.request.quote(name, safe='')
        wait_for(lambda: len(parse(path).entries) == 1, f'{name!r} is in no entry')
        feed = parse(path)
        assert '<script' not in feed.entries[0].content[0].value
    print(f'{len(HOSTILE)} hostile names: well-formed, one entry each')


def main():
    install()
    program = Path(sys.argv[1]).resolve()
    changes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / 'catalog').mkdir()
        server = Server(program, Path(folder), Hook())
        server.start()
        try:
            follow(server, changes)
            hostile(server)
        finally:
            server.kill()


main()

#!/usr/bin/env python3
"""Catalogs from a real nginx and from a real catalogd: the first load, polls without a change, changes, broken contents, a server that
is gone, credentials that are wrong and rotated, a download that is cut, a kill of catalogql, and twenty catalogs from one server.

usage: sources.py CATALOGQL CLUSTER

CATALOGQL and CLUSTER are as for ../upstream/extensions.py. nginx is Debian's: where it is not installed, its package is downloaded and
unpacked into ~/.cache/catalogql.
"""

import gzip
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'upstream'))

import stage
from extensions import ACCOUNT, NAMESPACE, THEIR_PORT, certificate_names, cluster_catalog, theirs
from stage import REGISTRY, THEIRS, Cluster, Stage, archive, eventually, free_port, push_catalog, run

# Seconds between two polls.
POLL = 2


CONFIGURATION = """
daemon off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{}}
http {{
  log_format one '$request_uri $status $body_bytes_sent';
  access_log {folder}/access.log one;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/www;
    location /private/ {{
      auth_basic catalogs;
      auth_basic_user_file {folder}/users;
    }}
    location /slow/ {{
      limit_rate 4m;
    }}
  }}
}}
"""


def nginx_program():
    found = shutil.which('nginx') or shutil.which('/usr/sbin/nginx')
    if found:
        return found
    folder = Path.home() / '.cache/catalogql/nginx'
    program = folder / 'usr/sbin/nginx'
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(['apt-get', 'download', 'nginx'], cwd=folder, capture_output=True, check=False)
        packages = sorted(folder.glob('nginx_*.deb'))
        if done.returncode != 0 or not packages:
            stage.skip('nginx', 'apt-get install nginx')
        run('dpkg', '-x', packages[-1], folder)
    return program


def catalog(*packages):
    """The lines of a catalog with these packages."""
    lines = []
    for name in packages:
        entries = [{'name': f'{name}.v1.0.0'}]
        properties = [{'type': 'olm.package', 'value': {'packageName': name, 'version': '1.0.0'}}]
        lines += [
            {'schema': 'olm.package', 'name': name, 'defaultChannel': 'stable'},
            {'schema': 'olm.channel', 'package': name, 'name': 'stable', 'entries': entries},
            {'schema': 'olm.bundle', 'package': name, 'name': f'{name}.v1.0.0', 'image': f'{REGISTRY}/{name}', 'properties': properties},
        ]
    return ''.join(json.dumps(line) + '\n' for line in lines)


def packed(*packages):
    return gzip.compress(archive({'configs/catalog.json': catalog(*packages)}), mtime=0)


class Nginx:
    def __init__(self, on):
        self.on, self.program, self.port = on, nginx_program(), free_port()
        self.www = on.folder / 'www'
        for folder in ['', 'private', 'slow', 'many']:
            (self.www / folder).mkdir()
        self.users('right')
        self.configuration = on.folder / 'nginx.conf'
        self.configuration.write_text(CONFIGURATION.format(folder=on.folder, port=self.port))
        self.process = None

    def url(self, path):
        return f'http://127.0.0.1:{self.port}/{path}'

    def users(self, password):
        (self.on.folder / 'users').write_text(f'catalogql:{run("openssl", "passwd", "-apr1", password).strip()}\n')

    def put(self, path, data):
        """Replaces a file, as an upload does that is renamed at its end."""
        new = self.www / 'new'
        new.write_bytes(data)
        new.rename(self.www / path)

    def start(self):
        self.process = self.on.start('nginx', [self.program, '-c', self.configuration, '-e', self.on.folder / 'nginx-error.log'])
        eventually('nginx does not listen', lambda: stage.listens(self.port))

    def stop(self, how=signal.SIGTERM):
        children = run('ps', '-o', 'pid=', '--ppid', self.process.pid).split()
        self.process.send_signal(how)
        for child in children:
            if how == signal.SIGKILL:
                os.kill(int(child), how)
        self.process.wait()

    def requests(self, path):
        """Status and length of the answers to requests for a file, so far."""
        lines = (self.on.folder / 'access.log').read_text().splitlines()
        found = [line.split() for line in lines]
        return [(int(status), int(length)) for uri, status, length in found if uri == f'/{path}']


class Server:
    """catalogql with these sources."""

    def __init__(self, on, program, name, *arguments):
        self.on, self.name, self.port = on, name, free_port()
        self.command = [
            program, 'serve', f'--listen=127.0.0.1:{self.port}', f'--store={on.folder}/store-{name}', f'--poll={POLL}s', *arguments,
        ]
        self.start()

    def start(self):
        self.process = self.on.start(f'catalogql-{self.name}', self.command)
        eventually('catalogql does not listen', lambda: stage.listens(self.port))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def query(self, query):
        connection = http.client.HTTPConnection('127.0.0.1', self.port)
        connection.request('POST', '/graphql', json.dumps({'query': query}), {'Content-Type': 'application/json'})
        return json.loads(connection.getresponse().read())['data']

    def packages(self):
        """Names of the packages of each catalog."""
        data = self.query('{ catalogs { name packages { nodes { name } } } }')
        return {each['name']: [node['name'] for node in each['packages']['nodes']] for each in data['catalogs']}

    def all(self, name):
        connection = http.client.HTTPConnection('127.0.0.1', self.port)
        connection.request('GET', f'/catalogs/{name}/api/v1/all')
        return connection.getresponse().read().decode()

    def serves(self, what, **expected):
        eventually(f'{what}: {expected} are not served', lambda: self.packages() == {n: list(p) for n, p in expected.items()})
        print(f'  ok  {what}', flush=True)

    def still_serves(self, what, message, **expected):
        """Waits until an error is told, and checks that the former content is served."""
        eventually(f'{what}: "{message}" is not said', lambda: message in self.on.log(f'catalogql-{self.name}'))
        self.serves(what, **expected)


def polled(nginx, path, statuses):
    """Waits for further requests for a file, whose answers have these statuses. Returns their lengths."""
    before = len(nginx.requests(path))
    count = before + len(statuses)
    eventually(f'{path} is not polled', lambda: len(nginx.requests(path)) >= count)
    found = nginx.requests(path)[before:count]
    if [status for status, _ in found] != statuses:
        sys.exit(f'error: the answers for {path} are {found}, not {statuses}')
    return [length for _, length in found]


def from_nginx(on, program):
    nginx = Nginx(on)
    nginx.put('catalog.tar.gz', packed('one', 'two'))
    nginx.put('private/secret.json', catalog('hidden').encode())
    nginx.start()
    version = subprocess.run([nginx.program, '-v'], capture_output=True, text=True, check=True).stderr
    print(f'\n{version.strip()}')

    credentials, password = on.folder / 'credentials.yaml', on.folder / 'password'
    password.write_text('wrong')
    credentials.write_text(f'- prefix: {nginx.url("private/")}\n  basic: {{username: catalogql, passwordFile: password}}\n')
    insecure = [f'--insecure-registry=127.0.0.1:{nginx.port}', f'--http-auth={credentials}']
    server = Server(on, program, 'nginx', *insecure, nginx.url('catalog.tar.gz'), nginx.url('private/secret.json'))
    server.serves('the first load of an archive', catalog=['one', 'two'])

    lengths = polled(nginx, 'catalog.tar.gz', [304, 304])
    print(f'  ok  two polls without a change have {lengths} bytes of body')
    nginx.put('catalog.tar.gz', packed('one', 'two', 'three'))
    server.serves('a change', catalog=['one', 'three', 'two'])
    nginx.put('catalog.tar.gz', packed('one', 'two', 'three', 'four')[:-200])
    server.still_serves('an archive that is cut', 'incomplete deflate stream', catalog=['one', 'three', 'two'])
    nginx.put('catalog.tar.gz', b'<html>log in</html>')
    server.still_serves('a login page', 'an HTML or XML page', catalog=['one', 'three', 'two'])
    nginx.put('catalog.tar.gz', packed('one', 'two', 'three', 'four'))
    server.serves('the archive is whole again', catalog=['four', 'one', 'three', 'two'])

    server.still_serves('wrong credentials', '401', catalog=['four', 'one', 'three', 'two'])
    password.write_text('right')
    server.serves('rotated credentials', catalog=['four', 'one', 'three', 'two'], secret=['hidden'])

    nginx.stop()
    server.still_serves('the server is gone', 'Connection refused', catalog=['four', 'one', 'three', 'two'], secret=['hidden'])
    server.kill()
    server.start()
    server.serves('a restart without the server', catalog=['four', 'one', 'three', 'two'], secret=['hidden'])
    nginx.put('catalog.tar.gz', packed('five'))
    nginx.put('catalog.tar.gz', packed('one', 'two', 'three', 'four', 'five'))
    nginx.start()
    server.serves('the server is there again', catalog=['five', 'four', 'one', 'three', 'two'], secret=['hidden'])
    server.kill()

    interrupted(on, program, nginx, insecure)
    many(on, program, nginx, insecure)


def interrupted(on, program, nginx, insecure):
    """A download is cut by the server, and another one by a kill of catalogql."""
    large = catalog('large') + ''.join(
        json.dumps({'schema': 'noise', 'name': f'n{number}', 'package': 'large', 'bytes': random.Random(number).randbytes(4 << 20).hex()})
        + '\n'
        for number in range(6)
    )
    path = 'slow/large.json'
    nginx.put(path, large.encode())
    server = Server(on, program, 'slow', *insecure, nginx.url(path))

    def large_files():
        files = (on.folder / 'store-slow').rglob('*')
        return {file for file in files if file.is_file() and file.stat().st_size > 1024 * 1024}

    eventually('the download has not begun', large_files)
    nginx.stop(signal.SIGKILL)
    nginx.start()
    server.serves('a download that the server has cut', large=['large'])
    found = [status for status, _ in nginx.requests(path)]
    if 206 not in found:
        sys.exit(f'error: the download was not resumed: {found}')

    nginx.put(path, (large + json.dumps({'schema': 'x', 'name': 'x', 'package': 'large'}) + '\n').encode())
    before, stored = len(nginx.requests(path)), large_files()
    eventually('the second download has not begun', lambda: large_files() - stored)
    server.kill()
    server.start()
    server.serves('the former content after a kill in a download', large=['large'])
    eventually('the change is not served', lambda: '"schema":"x"' in server.all('large'))
    print(f'  ok  the change after a kill in its download ({len(nginx.requests(path)) - before} requests)')
    server.kill()


def many(on, program, nginx, insecure):
    """Twenty catalogs from one server."""
    names = [f'c{number:02}' for number in range(20)]
    for name in names:
        nginx.put(f'many/{name}.json', catalog(name).encode())
    server = Server(on, program, 'many', *insecure, *(nginx.url(f'many/{name}.json') for name in names))
    server.serves('twenty catalogs', **{name: [name] for name in names})
    # Few downloads run at a time. One that waits gives its connection up, and asks again.
    loads = {name: len(nginx.requests(f'many/{name}.json')) for name in names}
    for name in names:
        eventually(f'{name} is not polled', lambda name=name: len(nginx.requests(f'many/{name}.json')) >= loads[name] + 2)
    answers = [answer for name in names for answer in nginx.requests(f'many/{name}.json')[loads[name]:loads[name] + 2]]
    if set(answers) != {(304, 0)}:
        sys.exit(f'error: polls without a change are {set(answers)}')
    print(f'  ok  {len(answers)} polls of twenty catalogs: each 304 without a body')
    server.kill()


def from_catalogd(on, program, cluster_program):
    tools = stage.programs('catalogd')
    commit = (tools / 'catalogd.commit').read_text().strip()
    on.certificates(*certificate_names(), 'localhost')
    cluster = Cluster(on, cluster_program, 'catalogd')
    registry = cluster.facts['registry']
    on.trust_registry(registry)
    print(f'\ncatalogd {commit[:12]}')

    def push(*packages):
        push_catalog(registry, 'catalogs/main', [json.loads(line) for line in catalog(*packages).splitlines()])

    push('one', 'two')
    serve = theirs(on, tools)
    cluster.kubectl('create', 'namespace', NAMESPACE)
    cluster.kubectl('create', 'serviceaccount', ACCOUNT, '--namespace', NAMESPACE)
    cluster.become(ACCOUNT, NAMESPACE)
    catalogd = serve(cluster)
    cluster.apply(cluster_catalog('main'))
    base = f'{THEIRS}:{THEIR_PORT}/catalogs/main'
    server = Server(on, program, 'catalogd', f'--registry-ca={on.folder}/cas/ca.crt', f'catalogd+https://{base}')
    server.serves('the first load from catalogd', main=['one', 'two'])
    stored = sorted(line for line in server.all('main').splitlines())
    expected = run('curl', '-s', '--cacert', on.folder / 'cas/ca.crt', f'https://{base}/api/v1/all')
    ours = sorted(json.dumps(json.loads(line), sort_keys=True) for line in stored)
    if ours != sorted(json.dumps(json.loads(line), sort_keys=True) for line in expected.splitlines()):
        sys.exit('error: the blobs are not those of catalogd')
    print('  ok  the blobs are those of catalogd')

    def modified():
        head = run('curl', '-s', '-I', '-X', 'GET', '--cacert', on.folder / 'cas/ca.crt', f'https://{base}/api/v1/all')
        return next(line for line in head.splitlines() if line.lower().startswith('last-modified'))

    def source(field):
        return server.query(f'{{ catalogs {{ source {{ {field} }} }} }}')['catalogs'][0]['source'][field]

    revision, changed, before = source('revision'), source('changedAt'), modified()
    eventually('catalogd does not poll the tag', lambda: modified() != before)
    checked = source('checkedAt')
    eventually('catalogd is not polled', lambda: source('checkedAt') > checked)
    if [source('revision'), source('changedAt')] != [revision, changed]:
        sys.exit('error: the revision changed without a change')
    print('  ok  the revision is the same after catalogd has polled the tag, which changes its Last-Modified')
    push('one', 'two', 'three')
    server.serves('a change', main=['one', 'three', 'two'])
    stage.end(catalogd)
    server.still_serves('catalogd is gone', 'Connection refused', main=['one', 'three', 'two'])
    server.kill()
    server.start()
    server.serves('a restart without catalogd', main=['one', 'three', 'two'])
    push('four', 'one', 'two')
    serve(cluster)
    server.serves('catalogd is there again', main=['four', 'one', 'two'])


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    # Within namespaces, apt cannot change its user.
    nginx_program()
    stage.alone()
    CATALOGQL, CLUSTER = (Path(path).resolve() for path in sys.argv[1:])
    with Stage() as on:
        from_nginx(on, CATALOGQL)
    with Stage() as on:
        from_catalogd(on, CATALOGQL, CLUSTER)

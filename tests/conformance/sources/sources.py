#!/usr/bin/env python3
"""Catalogs from a real nginx, from repositories behind git's own server, and from a real catalogd: the first load, polls without a
change, changes, broken contents, a server that is gone, credentials that are wrong and rotated, a download that is cut, a kill of
catalogql, and twenty catalogs from one server.

usage: sources.py CATALOGQL CLUSTER [nginx|git|catalogd]...

CATALOGQL and CLUSTER are as for ../upstream/extensions.py; CATALOGQL has the feature `source-git`. nginx is Debian's: where it is not
installed, its package is downloaded and unpacked into ~/.cache/catalogql.
"""

import base64
import gzip
import http.client
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
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

    def log(self):
        return self.on.log(f'catalogql-{self.name}')

    def still_serves(self, what, message, since=0, **expected):
        """Waits until an error is told, behind so much of the log, and checks that the former content is served."""
        eventually(f'{what}: "{message}" is not said', lambda: message in self.log()[since:])
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


class GitServer(http.server.ThreadingHTTPServer):
    """Repositories behind `git http-backend`, a CGI program. Those below `private` need a password."""

    daemon_threads = True

    def __init__(self, on):
        self.on, self.port, self.root = on, free_port(), on.folder / 'repositories'
        self.root.mkdir()
        self.password, self.passes_version, self.is_gone = 'right', True, False
        # Bytes of the next pack after which its connection ends, and bytes of a pack in a second.
        self.cut, self.rate = None, None
        self.requests = []
        self.start()

    def start(self):
        super().__init__(('127.0.0.1', self.port), GitRequest)
        self.is_gone = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        # Connections that are open are not closed by the others.
        self.is_gone = True
        self.shutdown()
        self.server_close()

    def url(self, rest):
        return f'git+http://127.0.0.1:{self.port}/{rest}'

    def polls(self, ref):
        """The requests for a ref, so far."""
        return [each for each in self.requests if f'ref-prefix refs/heads/{ref}\n' in each['body']]

    def fetches(self):
        return [each for each in self.requests if 'command=fetch' in each['body']]


class GitRequest(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        body = self.rfile.read(int(self.headers.get('content-length', 0)))
        if self.server.is_gone:
            self.close_connection = True
            return
        path, _, query = self.path.partition('?')
        login = base64.b64encode(f'catalogql:{self.server.password}'.encode()).decode()
        if path.startswith('/private/') and self.headers.get('authorization') != f'Basic {login}':
            self.send(401, {'WWW-Authenticate': 'Basic'}, b'', body)
            return
        environment = {
            'PATH': os.environ['PATH'], 'GIT_PROJECT_ROOT': str(self.server.root), 'GIT_HTTP_EXPORT_ALL': '1',
            'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null', 'REQUEST_METHOD': self.command, 'PATH_INFO': path,
            'QUERY_STRING': query, 'CONTENT_TYPE': self.headers.get('content-type', ''), 'CONTENT_LENGTH': str(len(body)),
        }
        if self.server.passes_version:
            environment['GIT_PROTOCOL'] = self.headers.get('git-protocol', '')
        done = subprocess.run(['git', 'http-backend'], input=body, env=environment, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b'\r\n\r\n')
        headers = dict(line.split(': ', 1) for line in head.decode().splitlines())
        status = int(headers.pop('Status', '200')[:3])
        self.send(status, headers, content, body)

    def send(self, status, headers, content, body):
        is_fetch = b'command=fetch' in body
        cut, rate = (self.server.cut, self.server.rate) if is_fetch else (None, None)
        if cut:
            self.server.cut = None
        sent = len(self.raw_requestline) + len(self.headers.as_bytes()) + len(body)
        entry = {
            'path': self.path, 'body': body.decode(errors='replace'), 'status': status, 'sent': sent, 'authorization': self.headers.get('authorization'),
        }
        self.send_response(status)
        for name, value in {**headers, 'Content-Length': str(len(content))}.items():
            self.send_header(name, value)
        entry['received'] = sum(map(len, self._headers_buffer)) + 2 + len(content)
        self.server.requests.append(entry)
        try:
            self.end_headers()
            for at in range(0, len(content[:cut]), 1 << 16):
                self.wfile.write(content[:cut][at:at + (1 << 16)])
                time.sleep((1 << 16) / rate if rate else 0)
        except OSError:
            self.close_connection = True
        if cut:
            self.wfile.flush()
            self.close_connection = True


class Repository:
    """A bare repository of a server, and a clone that pushes to it."""

    def __init__(self, server, path, *options):
        self.path, self.bare, self.work = path, server.root / path, server.on.folder / 'work' / path
        environment = {f'GIT_{who}_{what}': value for who in ['AUTHOR', 'COMMITTER'] for what, value in [('NAME', 'T'), ('EMAIL', 't@example.com')]}
        self.environment = {**os.environ, **environment, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}
        run('git', 'init', '--quiet', '--bare', '--initial-branch=main', *options, self.bare, env=self.environment)
        run('git', 'init', '--quiet', '--initial-branch=main', *options, self.work, env=self.environment)
        self.git('remote', 'add', 'origin', self.bare)

    def git(self, *arguments):
        return run('git', *arguments, cwd=self.work, env=self.environment).strip()

    def push(self, files, *options, ref='main'):
        """Commits files, pushes them, and returns the id of the commit."""
        for path, text in files.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        self.git('add', '--all')
        self.git('commit', '--quiet', '--allow-empty', '--message=x')
        self.git('push', '--quiet', *options, 'origin', f'HEAD:refs/heads/{ref}')
        return self.git('rev-parse', 'HEAD')

    def tag(self, name):
        self.git('tag', '--force', '--annotate', '--message=x', name)
        self.git('push', '--quiet', '--force', 'origin', name)


def from_git(on, program):
    print(f'\n{run("git", "--version").strip()}, git http-backend')
    git = GitServer(on)
    repository = Repository(git, 'catalogs.git')
    run('git', '-C', repository.bare, 'config', 'uploadpack.allowFilter', 'true')
    pinned = repository.push({'prod/catalog.json': catalog('one', 'two'), 'README.md': 'a'})
    repository.tag('v1')
    secret = Repository(git, 'private/secret.git')
    secret.push({'configs/catalog.json': catalog('hidden')})

    credentials, password = on.folder / 'git-credentials.yaml', on.folder / 'git-password'
    password.write_text('wrong')
    credentials.write_text(f'- prefix: http://127.0.0.1:{git.port}/private/\n  basic: {{username: catalogql, passwordFile: git-password}}\n')
    insecure = [f'--insecure-registry=127.0.0.1:{git.port}', f'--http-auth={credentials}']
    sources = {
        'branch': git.url('catalogs.git@main#path=prod'), 'tag': git.url('catalogs.git@v1#path=prod'),
        'pinned': git.url(f'catalogs.git@{pinned}#path=prod'), 'secret': git.url('private/secret.git'),
    }
    server = Server(on, program, 'git', *insecure, *(f'{name}={source}' for name, source in sources.items()))
    first = {'tag': ['one', 'two'], 'pinned': ['one', 'two']}
    server.serves('the first load of a branch, a tag and a commit', branch=['one', 'two'], **first)

    before = len(git.requests)
    for ref in ['main', 'v1']:
        loaded = len(git.polls(ref))
        eventually(f'{ref} is not polled', lambda ref=ref, loaded=loaded: len(git.polls(ref)) >= loaded + 2)
    quiet = [each for each in git.requests[before:] if not each['path'].startswith('/private/')]
    if any('ls-refs' not in each['body'] or each['sent'] > 600 or each['received'] > 600 for each in quiet):
        sys.exit(f'error: polls without a change are {quiet}')
    sizes = sorted({(each['sent'], each['received']) for each in quiet})
    print(f'  ok  a poll without a change is one request: bytes with their heads {sizes}; a commit is not polled')

    fetched = len(git.fetches())
    repository.push({'README.md': 'b'})
    head = repository.git('rev-parse', 'HEAD')

    def revision(name):
        found = server.query('{ catalogs { name source { revision } } }')['catalogs']
        return next(each['source']['revision'] for each in found if each['name'] == name)

    eventually('the commit is not recorded', lambda: head in revision('branch'))
    if len(git.fetches()) != fetched + 1:
        sys.exit(f'error: another folder was fetched {len(git.fetches()) - fetched} times')
    print('  ok  a change of another folder is one fetch without files')

    repository.push({'prod/catalog.json': catalog('one', 'two', 'three')})
    server.serves('a change of the branch', branch=['one', 'three', 'two'], **first)
    repository.tag('v1')
    server.serves('a tag that is moved', branch=['one', 'three', 'two'], tag=['one', 'three', 'two'], pinned=['one', 'two'])
    served = {'tag': ['one', 'three', 'two'], 'pinned': ['one', 'two']}
    repository.git('checkout', '--quiet', '--orphan', 'other')
    repository.push({'prod/catalog.json': catalog('forced')}, '--force')
    server.serves('a forced push of another history', branch=['forced'], **served)
    since = len(server.log())
    repository.push({'prod/catalog.json': '{'})
    server.still_serves('a content that is broken', 'catalog.json', since, branch=['forced'], **served)
    repository.push({'prod/catalog.json': catalog('mended')})
    server.serves('the content is mended', branch=['mended'], **served)
    since = len(server.log())
    run('git', '-C', repository.bare, 'update-ref', '-d', 'refs/heads/main')
    server.still_serves('a branch that is deleted', 'it has no branch or tag `main`', since, branch=['mended'], **served)
    repository.push({'prod/catalog.json': catalog('again')})
    server.serves('the branch is there again', branch=['again'], **served)

    server.still_serves('wrong credentials', '401', branch=['again'], **served)
    password.write_text('right')
    served['secret'] = ['hidden']
    server.serves('the right credentials', branch=['again'], **served)
    since = len(server.log())
    git.password = 'rotated'
    server.still_serves('credentials that the server does not take any more', '401', since, branch=['again'], **served)
    password.write_text('rotated')
    secret.push({'configs/catalog.json': catalog('hidden', 'more')})
    served['secret'] = ['hidden', 'more']
    server.serves('rotated credentials', branch=['again'], **served)
    told = {each['authorization'] is not None for each in git.requests if not each['path'].startswith('/private/')}
    if told != {False}:
        sys.exit('error: credentials were sent for another prefix')
    print('  ok  credentials are sent for their prefix alone')

    since = len(server.log())
    git.stop()
    server.still_serves('the server is gone', 'Connection refused', since, branch=['again'], **served)
    server.kill()
    server.start()
    server.serves('a restart without the server', branch=['again'], **served)
    repository.push({'prod/catalog.json': catalog('back')})
    git.start()
    server.serves('the server is there again', branch=['back'], **served)

    since = len(server.log())
    git.cut = 100
    repository.push({'prod/catalog.json': catalog('whole')})
    server.still_serves('a pack that is cut', 'the connection ended after 100 bytes', since, branch=['whole'], **served)
    server.kill()

    killed_in_a_fetch(on, program, git, insecure)
    many_folders(on, program, git, insecure)
    refused(on, program, git)
    git.stop()


def killed_in_a_fetch(on, program, git, insecure):
    """catalogql is killed while it fetches."""
    repository = Repository(git, 'large.git')

    def noise(seed):
        line = {'schema': 'noise', 'package': 'large', 'bytes': random.Random(seed).randbytes(8 << 20).hex()}
        return json.dumps(line) + '\n'

    repository.push({'configs/catalog.json': catalog('large'), 'configs/noise.json': noise(1)})
    server = Server(on, program, 'killed', *insecure, git.url('large.git'))
    server.serves('a large repository', large=['large'])

    def packs():
        files = (on.folder / 'store-killed').rglob('*.pack')
        return [file for file in files if file.stat().st_size > 1024 * 1024]

    git.rate = 2 << 20
    repository.push({'configs/catalog.json': catalog('large', 'larger'), 'configs/noise.json': noise(2)})
    eventually('the fetch has not begun', packs)
    server.kill()
    git.rate = None
    server.start()
    server.serves('a change after a kill in its fetch', large=['large', 'larger'])
    left = packs()
    if left:
        sys.exit(f'error: packs are left: {left}')
    print('  ok  nothing is left of the fetch that was killed')
    server.kill()


def many_folders(on, program, git, insecure):
    """Twenty catalogs: folders of one repository, whose server has no filters."""
    names = [f'c{number:02}' for number in range(20)]
    repository = Repository(git, 'many.git')
    repository.push({f'{name}/catalog.json': catalog(name) for name in names})
    before = len(git.requests)
    server = Server(on, program, 'folders', *insecure, *(git.url(f'many.git@main#path={name}') for name in names))
    server.serves('twenty catalogs of one repository', **{name: [name] for name in names})
    loads = len(git.requests) - before
    before = len(git.requests)
    eventually('the catalogs are not polled', lambda: len(git.requests) >= before + 40)
    found = git.requests[before:before + 40]
    if any('ls-refs' not in each['body'] for each in found):
        sys.exit(f'error: polls without a change are {found}')
    received = sum(each['received'] for each in found)
    print(f'  ok  {loads} requests for the first loads; then 40 polls, each one request, with {received} bytes of responses')
    repository.push({'c07/catalog.json': catalog('c07', 'seven')})
    server.serves('a change of one of them', **{name: [name] for name in names if name != 'c07'}, c07=['c07', 'seven'])
    server.kill()


def refused(on, program, git):
    """Servers and repositories that are refused by name."""
    nginx = Nginx(on)
    dumb = Repository(git, 'dumb.git')
    dumb.push({'catalog.json': catalog('dumb')})
    run('git', '-C', dumb.bare, 'update-server-info')
    shutil.copytree(dumb.bare, nginx.www / 'dumb.git')
    nginx.start()
    longer = Repository(git, 'longer.git', '--object-format=sha256')
    longer.push({'catalog.json': catalog('longer')})
    daemon = free_port()
    on.start('git-daemon', ['git', 'daemon', '--export-all', f'--base-path={git.root}', f'--port={daemon}', '--listen=127.0.0.1', git.root])
    eventually('git daemon does not listen', lambda: stage.listens(daemon))

    def validate(what, source, message):
        host = source.split('/')[2]
        command = [str(program), 'validate', f'--insecure-registry={host}', source]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, 'HOME': str(on.home)})
        said = [line for line in (done.stdout + done.stderr).splitlines() if message in line]
        if done.returncode != 2 or not said:
            sys.exit(f'error: {what}: {done}')
        print(f'  ok  {what}: {said[0]}')

    validate('a server of static files', f'git+{nginx.url("dumb.git")}', 'only the dumb HTTP protocol')
    validate('a repository with SHA-256', git.url('longer.git'), 'its object format is `sha256`')
    validate('git daemon', f'git://127.0.0.1:{daemon}/dumb.git', '`git` is not supported')
    validate('a ref that git does not allow', git.url('dumb.git@a..b'), 'is no name of a ref')
    validate('a ref of a log', git.url('dumb.git@main@{1}'), 'is no name of a ref')
    git.passes_version = False
    validate('a server that does not pass Git-Protocol on', git.url('dumb.git'), 'only version 0')
    git.passes_version = True
    nginx.stop()


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
    PARTS = sys.argv[3:] or ['nginx', 'git', 'catalogd']
    if len(sys.argv) < 3 or set(PARTS) - {'nginx', 'git', 'catalogd'}:
        sys.exit(__doc__)
    # Within namespaces, apt cannot change its user.
    nginx_program()
    stage.alone()
    CATALOGQL, CLUSTER = (Path(path).resolve() for path in sys.argv[1:3])
    for part in PARTS:
        with Stage() as on:
            match part:
                case 'nginx':
                    from_nginx(on, CATALOGQL)
                case 'git':
                    from_git(on, CATALOGQL)
                case 'catalogd':
                    from_catalogd(on, CATALOGQL, CLUSTER)

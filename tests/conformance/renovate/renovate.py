#!/usr/bin/env python3
"""Runs Renovate as docs/how-to/renovate.md configures it, over manifests as on that page, against a server with the example
catalog. It compares the upgrades that Renovate proposes with those that the update graph permits.

usage: renovate.py CATALOGQL

CATALOGQL is the program. Renovate is installed once from npm into the user's cache. Of the page, only the address is replaced.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PAGE = REPOSITORY / 'docs/how-to/renovate.md'
SERVER = 'https://catalogql.example.com'

# Manifests by their files, and what Renovate is to propose for each, besides those of the page.
MANIFESTS = {
    'by-range.yaml': ('version: 1.1.0 # renovate: example/quillstore channel=stable', '1.4.0'),
    'at-the-head.yaml': ('version: "1.4.0" # renovate: example/quillstore channel=stable', None),
    'every-channel.yaml': ('version: 1.0.0 # renovate: example/quillstore', '1.1.0'),
    'no-package.yaml': ('version: 1.0.0 # renovate: example/none', None),
}

# What it is to propose for the manifests of the page.
PAGE_VERSION = '1.1.0'


def install():
    """Returns the command of Renovate."""
    cache = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / 'catalogql/renovate'
    wanted = (HERE / 'package.json').read_text()
    done = cache / 'installed'
    if not done.exists() or done.read_text() != wanted:
        print('installing Renovate from npm (minutes, once)', file=sys.stderr)
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        shutil.copy(HERE / 'package.json', cache)
        npm = ['npm', '--prefix', cache, '--no-audit', '--no-fund', '--loglevel=error']
        # The scripts of other packages build what a look-up does not need; that of Node unpacks it.
        subprocess.run([*npm, 'install', '--ignore-scripts'], check=True)
        subprocess.run([*npm, 'rebuild', 'node'], check=True)
        done.write_text(wanted)
    return [cache / 'node_modules/node/bin/node', cache / 'node_modules/renovate/dist/renovate.js']


def blocks(language):
    return re.findall(rf'^```{language}\n(.*?)^```', PAGE.read_text(), re.M | re.S)


def serve(program, folder):
    """Starts a server with the example catalog. Returns it and its address."""
    command = [
        program, 'serve', f'example={REPOSITORY}/examples/catalog', '--listen', '127.0.0.1:0', '--store', folder / 'store',
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if found := re.match(r'Listening on (\S+)/graphql', line):
            return server, found[1]
    sys.exit('error: the server does not start')


def proposals(command, folder):
    """Runs Renovate in a folder. Returns the version that it proposes for each file."""
    environment = {
        'PATH': os.environ['PATH'], 'HOME': str(folder / 'home'), 'LOG_FORMAT': 'json', 'LOG_LEVEL': 'debug',
        'RENOVATE_CACHE_DIR': str(folder / 'cache'),
    }
    done = subprocess.run(
        [*command, '--platform=local', '--dry-run=lookup'], cwd=folder / 'repository', env=environment, capture_output=True,
        text=True, check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
    found = next((line for line in lines if line['msg'] == 'packageFiles with updates'), None)
    if found is None:
        sys.exit(f'error: Renovate looked up nothing: {done.stdout[-3000:]}{done.stderr[-2000:]}')
    proposed = {}
    for file in found['config'].get('regex', []):
        for dependency in file['deps']:
            updates = [update['newVersion'] for update in dependency.get('updates', [])]
            proposed[file['packageFile']] = updates[0] if updates else None
    return proposed


def main(program):
    command = install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = folder / 'repository'
        repository.mkdir()
        (folder / 'home').mkdir()
        expected = {}
        for file, (line, version) in MANIFESTS.items():
            (repository / file).write_text(f'{line}\n')
            expected[file] = version
        for at, text in enumerate(blocks('yaml')):
            (repository / f'page-{at}.yaml').write_text(text)
            expected[f'page-{at}.yaml'] = PAGE_VERSION
        [configuration] = blocks('json')
        server, address = serve(program, folder)
        try:
            (repository / 'renovate.json').write_text(configuration.replace(SERVER, address))
            subprocess.run(['git', 'init', '--quiet', repository], check=True)
            subprocess.run(['git', '-C', repository, 'add', '.'], check=True)
            begun = time.monotonic()
            proposed = proposals(command, folder)
        finally:
            server.terminate()
            server.wait()
    for file in sorted(expected):
        print(f'{"as expected" if proposed.get(file, "?") == expected[file] else "DIFFERENT":12} {file}: {proposed.get(file)}')
    if proposed != expected:
        sys.exit(f'error: Renovate proposes {proposed}, not {expected}')
    print(f'Renovate proposed {len(expected)} times what the update graph permits, in {time.monotonic() - begun:.1f} s')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())

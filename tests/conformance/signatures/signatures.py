#!/usr/bin/env python3
"""Images that cosign 2, cosign 3, the library of podman and GnuPG sign here, judged by podman's library and by `catalogql verify`,
side by side: each image by each policy, by its tag and by its digest, in three registries. A difference fails the run unless it is
in the list DIFFERENCES, with its reason.

usage: signatures.py CATALOGQL

CATALOGQL is the program, built with the feature `signatures-gpg`. The other programs are built once from Go modules, apart from
GnuPG and Debian's registry.
"""

import concurrent.futures
import contextlib
import functools
import hashlib
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

# Seconds that anything may take.
DEADLINE = 300

# Images that are judged at one time.
WORKERS = 4

# Images that a policy accepts or refuses otherwise than podman, with the reason: the names of images, those of policies, how the
# image is named, and what catalogql says.
BUNDLES = ('cosign 3', 'cosign 3, two keys', 'cosign 3 after 2 of another key')
UNREAD = 'podman does not read bundles'
DIFFERENCES = [
    (BUNDLES, ('key, matchRepository',), ('tag', 'digest'), True, UNREAD),
    (BUNDLES, ('key',), ('digest',), True, UNREAD),
    (('cosign 3', 'cosign 3, two keys', 'cosign 3, other key'), ('two keys, matchRepository',), ('tag', 'digest'), True, UNREAD),
    (('cosign 3',), ('key, exactRepository',), ('tag', 'digest'), True, UNREAD),
    (('signed index',), ('key, matchRepository', 'two keys, matchRepository'), ('tag', 'digest'), True,
     'podman does not accept a manifest because its index is signed'),
    (('gpg, sha1',), ('gpg', 'gpg, matchRepository'), ('tag', 'digest'), False, 'SHA-1 is not accepted'),
    (('gpg, key expired',), ('gpg, expired key',), ('tag', 'digest'), False, "podman's library in Go accepts keys that have expired"),
]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False, timeout=DEADLINE, **options)
    if done.returncode != 0:
        text = (done.stdout + done.stderr).decode(errors='replace')
        sys.exit(f'error: {" ".join(map(str, command))}: {text[-2000:]}')
    return done.stdout


def eventually(what, condition):
    ends = time.monotonic() + DEADLINE
    while not (found := condition()):
        if time.monotonic() > ends:
            sys.exit(f'error: {what} after {DEADLINE} seconds')
        time.sleep(0.1)
    return found


def free_port():
    with socket.socket() as own:
        own.bind(('127.0.0.1', 0))
        return own.getsockname()[1]


def answers(address):
    try:
        with urllib.request.urlopen(f'http://{address}/v2/', timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


@contextlib.contextmanager
def debian_registry(scratch):
    """A registry that lists no referrers: cosign 3 makes an index of them under a tag."""
    address = f'127.0.0.1:{free_port()}'
    storage = scratch / 'registry'
    config = scratch / 'registry.yml'
    config.write_text(
        f'version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {storage}}}}}\nhttp: {{addr: "{address}"}}\n'
    )
    process = subprocess.Popen(['docker-registry', 'serve', config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually('the registry does not answer', lambda: answers(address))
        yield address
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def referrers_registry(tools, *folder):
    """A registry that lists referrers. With a folder, it serves the signatures of GnuPG in it, too."""
    process = subprocess.Popen([tools / 'containers', 'registry', *folder], stdout=subprocess.PIPE)
    try:
        yield process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.wait()


class Keys:
    """Key pairs of cosign and of GnuPG."""

    def __init__(self, tools, scratch):
        self.tools, self.folder = tools, scratch / 'keys'
        self.folder.mkdir()
        self.environment = os.environ | {'COSIGN_PASSWORD': ''}
        for name in ['release', 'other']:
            run(tools / 'cosign2', 'generate-key-pair', '--output-key-prefix', name, cwd=self.folder, env=self.environment)
        self.home = scratch / 'gnupg'
        self.home.mkdir(mode=0o700)
        self.gpg('--quick-generate-key', 'release@example.com', 'rsa3072', 'sign', 'never')
        self.gpg('--quick-generate-key', 'other@example.com', 'rsa3072', 'sign', 'never')
        # The primary key certifies alone, and a subkey signs.
        self.gpg('--quick-generate-key', 'subkey@example.com', 'rsa3072', 'cert', 'never')
        fingerprint = self.fingerprint('subkey')
        self.gpg('--quick-add-key', fingerprint, 'rsa3072', 'sign', 'never')
        self.gpg('--faked-system-time', '20200101T000000!', '--quick-generate-key', 'expired@example.com', 'rsa3072', 'sign', '1y')
        for name in ['release', 'other', 'subkey', 'expired']:
            (self.folder / f'{name}.gpg').write_bytes(self.gpg('--export', f'{name}@example.com'))

    def end(self):
        """Ends the agent that GnuPG started."""
        run('gpgconf', '--homedir', self.home, '--kill', 'gpg-agent')

    def gpg(self, *arguments, **options):
        return run('gpg', '--homedir', self.home, '--batch', '--yes', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '',
                   '--trust-model', 'always', *arguments, **options)

    def fingerprint(self, name):
        listed = self.gpg('--with-colons', '--list-keys', f'{name}@example.com').decode()
        return next(line.split(':')[9] for line in listed.splitlines() if line.startswith('fpr:'))

    def public(self, name):
        return str(self.folder / f'{name}.pub')

    def ring(self, name):
        return str(self.folder / f'{name}.gpg')


class Images:
    """The signed images of one registry, by what they are called."""

    def __init__(self, program, keys, registry, lookaside):
        self.program, self.keys, self.registry, self.lookaside = program, keys, registry, lookaside
        self.named = {}

    def request(self, repository, name, manifest=None, kind=None):
        """Gets a manifest by its tag or digest, or writes it."""
        kinds = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json'
        asked = urllib.request.Request(
            f'http://{self.registry}/v2/{repository.partition("/")[2]}/manifests/{name}',
            data=manifest, method='PUT' if manifest else 'GET', headers={'content-type': kind} if kind else {'accept': kinds},
        )
        with urllib.request.urlopen(asked, timeout=DEADLINE) as response:
            return response.read()

    def image(self, name, is_index=False):
        """Pushes the example catalog to a repository of its own, and returns its name with the tag and with the digest. catalogql
        pushes an index, which is replaced by its manifest."""
        repository = f'{self.registry}/ns/image-{len(self.named)}'
        run(self.program, 'push', REPOSITORY / 'examples/catalog', f'{repository}:v1', '--insecure-registry', self.registry)
        manifest = self.request(repository, 'v1')
        if not is_index:
            entry = json.loads(manifest)['manifests'][0]
            manifest = self.request(repository, entry['digest'])
            self.request(repository, 'v1', manifest, entry['mediaType'])
        digest = hashlib.sha256(manifest).hexdigest()
        names = {'tag': f'{repository}:v1', 'digest': f'{repository}@sha256:{digest}'}
        self.named[name] = names
        return names

    def cosign(self, version, names, key, *more):
        flags = ['--use-signing-config=false'] if version == 3 else []
        run(self.keys.tools / f'cosign{version}', 'sign', '--yes', '--key', self.keys.folder / f'{key}.key', '--tlog-upload=false',
            '--allow-http-registry', '--allow-insecure-registry', *flags, *more, names['digest'], env=self.keys.environment)

    def simple(self, names, signer, number=1, identity=None, options=(), kind='atomic container signature'):
        """Writes a signature of GnuPG into the lookaside folder."""
        repository, _, digest = names['digest'].partition('@')
        payload = {
            'critical': {
                'type': kind,
                'image': {'docker-manifest-digest': digest},
                'identity': {'docker-reference': identity or names['tag']},
            },
            'optional': {'creator': 'conformance', 'timestamp': 1700000000},
        }
        signed = self.keys.gpg(*options, '--local-user', f'{signer}@example.com', '--sign', input=json.dumps(payload).encode())
        folder = self.lookaside / f'{repository.partition("/")[2]}@{digest.replace(":", "=")}'
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f'signature-{number}').write_bytes(signed)

    def make(self):
        self.image('unsigned')
        self.cosign(2, self.image('cosign 2'), 'release')
        self.cosign(2, self.image('cosign 2, other key'), 'other')
        names = self.image('cosign 2 with the name')
        self.cosign(2, names, 'release', '--sign-container-identity', names['tag'])
        names = self.image('cosign 2, two keys')
        self.cosign(2, names, 'other')
        self.cosign(2, names, 'release')
        self.cosign(3, self.image('cosign 3'), 'release')
        self.cosign(3, self.image('cosign 3, other key'), 'other')
        names = self.image('cosign 3, two keys')
        self.cosign(3, names, 'other')
        self.cosign(3, names, 'release')
        names = self.image('cosign 3 after 2 of another key')
        self.cosign(2, names, 'other')
        self.cosign(3, names, 'release')
        self.cosign(3, self.image('cosign 3 in the former format'), 'release', '--new-bundle-format=false')
        names = self.image('podman, sigstore')
        run(self.keys.tools / 'containers', 'sign', self.keys.folder / 'release.key', names['tag'], names['tag'])
        self.cosign(2, self.image('signed index', is_index=True), 'release')
        self.simple(self.image('gpg'), 'release')
        self.simple(self.image('gpg, other key'), 'other')
        self.simple(self.image('gpg, subkey'), 'subkey')
        names = self.image('gpg, second')
        self.simple(names, 'other', 1)
        self.simple(names, 'release', 2)
        names = self.image('gpg, other name')
        self.simple(names, 'release', identity=names['tag'].replace(':v1', ':v2'))
        self.simple(self.image('gpg, other type'), 'release', kind='cosign container image signature')
        self.simple(self.image('gpg, not compressed'), 'release', options=('--compress-algo', 'none'))
        self.simple(self.image('gpg, text'), 'release', options=('--textmode',))
        self.simple(self.image('gpg, sha1'), 'release', options=('--digest-algo', 'SHA1'))
        self.simple(self.image('gpg, two signatures in one'), 'release', options=('--local-user', 'other@example.com'))
        self.simple(self.image('gpg, signature expired'), 'release',
                    options=('--faked-system-time', '20260101T000000', '--default-sig-expire', '1d', '--ignore-time-conflict'))
        self.simple(self.image('gpg, key expired'), 'expired', options=('--faked-system-time', '20200601T000000'))
        self.simple(self.image('gpg, armored'), 'release', options=('--armor',))
        names = self.image('cosign 2 and gpg')
        self.cosign(2, names, 'release')
        self.simple(names, 'release')


def policies(keys, registry):
    """The requirements of each policy."""

    def sigstore(identity=None, **members):
        return {'type': 'sigstoreSigned', **members} | ({'signedIdentity': identity} if identity else {})

    def gpg(ring, identity=None):
        requirement = {'type': 'signedBy', 'keyType': 'GPGKeys', 'keyPath': keys.ring(ring)}
        return requirement | ({'signedIdentity': identity} if identity else {})

    release, other = keys.public('release'), keys.public('other')
    repository = {'type': 'matchRepository'}
    return {
        'anything': [{'type': 'insecureAcceptAnything'}],
        'reject': [{'type': 'reject'}],
        'key, matchRepository': [sigstore(repository, keyPath=release)],
        'key': [sigstore(keyPath=release)],
        'key, matchExact': [sigstore({'type': 'matchExact'}, keyPath=release)],
        'key, exactRepository': [
            sigstore({'type': 'exactRepository', 'dockerRepository': f'{registry}/ns/image-5'}, keyPath=release)
        ],
        'key, remapIdentity': [
            sigstore({'type': 'remapIdentity', 'prefix': registry, 'signedPrefix': 'example.com'}, keyPath=release)
        ],
        'two keys, matchRepository': [sigstore(repository, keyPaths=[other, release])],
        'gpg': [gpg('release')],
        'gpg, matchRepository': [gpg('release', repository)],
        'gpg, subkey': [gpg('subkey')],
        'gpg, expired key': [gpg('expired')],
        'key and gpg': [sigstore(repository, keyPath=release), gpg('release')],
    }


def ask_ours(program, registry, lookups, policy, image, *more):
    """What catalogql says of an image: the exit status and its report."""
    done = subprocess.run(
        [program, 'verify', image, '--signature-policy', policy, '--registries-d', lookups, '--insecure-registry', registry,
         '--output', 'json', *more],
        capture_output=True, check=False, timeout=DEADLINE,
    )
    report = json.loads(done.stdout) if done.stdout else {'reasons': [], 'error': done.stderr.decode(errors='replace')}
    return done.returncode, report


def difference(name, policy, by):
    for names, of, how, ours, reason in DIFFERENCES:
        if name in names and policy in of and by in how:
            return ours, reason
    return None


@contextlib.contextmanager
def served(folder):
    """A server with the files of a folder; its log is the paths that were asked for."""
    handler = functools.partial(QuietHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f'http://127.0.0.1:{server.server_address[1]}'
    finally:
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def look_up(folder, lookaside):
    """Writes a folder of registries.d with this lookaside."""
    folder.mkdir(parents=True)
    (folder / 'default.yaml').write_text(f'default-docker:\n  lookaside: {lookaside}\n  use-sigstore-attachments: true\n')
    return folder


def dead_address():
    """A URL at which nothing answers."""
    return f'http://127.0.0.1:{free_port()}'


def compare(program, tools, keys, registry, place, lookaside=None):
    """Asks both about every image. Signatures of GnuPG are in a folder that `lookaside` leads to, or in the registry."""
    lookups = look_up(place / 'registries.d', lookaside or dead_address())
    images = Images(program, keys, registry, place / 'lookaside')
    images.make()
    written = {}
    for name, requirements in policies(keys, registry).items():
        written[name] = place / f'policy-{len(written)}.json'
        written[name].write_text(json.dumps({'default': requirements}))

    asked = [
        (name, policy, by)
        for name in images.named for policy in written for by in ['tag', 'digest']
    ]
    questions = [
        json.dumps({'policy': str(written[policy]), 'image': images.named[name][by]}) for name, policy, by in asked
    ]
    said = run(tools / 'containers', 'judge', lookups, input='\n'.join(questions).encode()).decode().splitlines()
    theirs = [json.loads(line) for line in said]
    failures, counts = [], {True: 0, False: 0, 'named': 0}
    used = set()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        ours_all = list(pool.map(
            lambda one: ask_ours(program, registry, lookups, written[one[1]], images.named[one[0]][one[2]]), asked
        ))
    for (name, policy, by), podman, (status, report) in zip(asked, theirs, ours_all, strict=True):
        ours = status == 0
        named = difference(name, policy, by)
        if named:
            used.add(named[1])
        expected = named[0] if named else podman['accepted']
        if status not in (0, 1):
            failures.append(f'{name} by {by}, {policy}: exit status {status}: {report}')
        elif ours != expected or (named and podman['accepted'] == ours):
            failures.append(f'{name} by {by}, {policy}: catalogql {ours}, podman {podman}, expected {expected}: {report["reasons"]}')
        counts['named' if named else ours] += 1

    # A place of signatures that does not answer is not one without signatures.
    if lookaside:
        silent = look_up(place / 'silent.d', dead_address())
        status, report = ask_ours(program, registry, silent, written['gpg'], images.named['gpg']['tag'])
        codes = [reason['code'] for reason in report['reasons']]
        if (status, codes) != (2, ['SIGNATURE_UNREACHABLE']):
            failures.append(f'a lookaside that does not answer: {status} {report}')

    # What differs by the flag alone.
    bundle = images.named['cosign 3']['tag']
    status, report = ask_ours(program, registry, lookups, written['key'], bundle)
    codes = [reason['code'] for reason in report['reasons']]
    if (status, codes) != (1, ['SIGNATURE_OF_ANOTHER_NAME']):
        failures.append(f'a bundle with an exact identity: {status} {report}')
    status, _ = ask_ours(program, registry, lookups, written['key'], bundle, '--accept-bundles-without-identity')
    if status != 0:
        failures.append(f'a bundle with --accept-bundles-without-identity: {status}')
    index = images.named['signed index']['tag']
    status, report = ask_ours(program, registry, lookups, written['key, matchRepository'], index, '--verify-instances-only')
    if status != 1:
        failures.append(f'a signed index with --verify-instances-only: {status} {report}')
    for key, is_good in [('release', True), ('other', False)]:
        done = subprocess.run(
            [tools / 'cosign3', 'verify', '--key', keys.public(key), '--insecure-ignore-tlog=true', '--allow-http-registry', bundle],
            capture_output=True, check=False, timeout=DEADLINE, env=keys.environment,
        )
        if (done.returncode == 0) != is_good:
            failures.append(f'cosign 3 itself with the key {key}: {done.stderr.decode(errors="replace")[-500:]}')
    for line in failures:
        print(f'  {line}')
    if failures:
        sys.exit(f'error: {len(failures)} of {len(asked)} decisions differ in the registry {registry}')
    print(f'{len(images.named)} images, {len(written)} policies: {counts[True]} times accepted and {counts[False]} times refused by both, '
          f'{counts["named"]} named differences')
    for reason in sorted(used):
        print(f'  {reason}')


def compare_all(program, tools, keys, scratch):
    """Compares in each registry."""
    with debian_registry(scratch) as registry:
        print('a registry without lists of referrers, signatures of GnuPG in a folder:')
        place = scratch / 'debian'
        compare(program, tools, keys, registry, place, f'file://{place}/lookaside')
    with referrers_registry(tools) as registry:
        print('a registry with lists of referrers, signatures of GnuPG on a server:')
        place = scratch / 'referrers'
        (place / 'lookaside').mkdir(parents=True)
        with served(place / 'lookaside') as address:
            compare(program, tools, keys, registry, place, address)
    place = scratch / 'stored'
    (place / 'lookaside').mkdir(parents=True)
    with referrers_registry(tools, place / 'lookaside') as registry:
        print('a registry that stores signatures of GnuPG, and a lookaside that does not answer:')
        compare(program, tools, keys, registry, place)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = Path(sys.argv[1]).resolve()
    given = os.environ.get('CATALOGQL_SIGNATURE_TOOLS')
    tools = Path(given or subprocess.check_output([HERE / 'build.sh'], text=True).strip())
    with tempfile.TemporaryDirectory(prefix='catalogql-signatures-') as folder:
        scratch = Path(folder)
        keys = Keys(tools, scratch)
        try:
            compare_all(program, tools, keys, scratch)
        finally:
            keys.end()


main()

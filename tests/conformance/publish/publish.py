#!/usr/bin/env python3
"""What catalogql writes, read by the programs of upstream: `opm validate` says the same of it, `opm render` gives equal blobs, and
catalogd, on a real control plane, pulls the image that `catalogql push` made and serves the same bytes.

usage: publish.py CATALOGQL CLUSTER

CATALOGQL is the program, CLUSTER the example `cluster` of the crate `testing`. The catalogs are the example of this
repository and, where they are unpacked, the real ones of the corpus. opm and catalogd are built once from Go modules.
"""

import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

# Seconds that anything may take.
DEADLINE = 300

# Ports of catalogd, which cannot be left to the system.
CONTENT, PROBES, METRICS, WEBHOOK = 18443, 18081, 17443, 19443

# A round trip in the largest package of a catalog: a bundle is added and its package is as before when it is deleted.
BUNDLE = 'conformance-bundle'


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f'error: {command}: {done.stderr.decode(errors="replace")[-2000:]}')
    return done.stdout


def eventually(what, condition):
    ends = time.monotonic() + DEADLINE
    while not (found := condition()):
        if time.monotonic() > ends:
            sys.exit(f'error: {what} after {DEADLINE} seconds')
        time.sleep(0.2)
    return found


def blobs(text):
    """The blobs of what a program rendered, whatever their order. opm leaves out empty fields that it knows."""
    decoder, at, found = json.JSONDecoder(), 0, []
    text = text.decode()
    while at < len(text):
        blob, at = decoder.raw_decode(text, at)
        found.append(json.dumps(without_empty(blob), sort_keys=True))
        while at < len(text) and text[at].isspace():
            at += 1
    return sorted(found)


def without_empty(value):
    if isinstance(value, dict):
        kept = {key: without_empty(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member not in (None, '', [], {})}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob('*')) if path.is_file()}


def bundle_directory(folder, package, channel, head):
    """Writes a bundle that replaces the head of a channel."""
    csv = {
        'apiVersion': 'operators.coreos.com/v1alpha1',
        'kind': 'ClusterServiceVersion',
        'metadata': {'name': f'{BUNDLE}.v999.0.0'},
        'spec': {'version': '999.0.0', 'displayName': 'Conformance', 'replaces': head},
    }
    annotation = 'operators.operatorframework.io.bundle.'
    annotations = {f'{annotation}package.v1': package, f'{annotation}channels.v1': channel}
    for part, name, value in [
        ('manifests', 'csv.yaml', csv),
        ('metadata', 'annotations.yaml', {'annotations': annotations}),
    ]:
        (folder / part).mkdir(parents=True)
        (folder / part / name).write_text(json.dumps(value))


def verdict(opm, catalog):
    """What `opm validate` says of a catalog; empty for one that it accepts. It refuses some of the real ones."""
    done = subprocess.run([opm, 'validate', catalog], capture_output=True, text=True, check=False)
    return done.stderr.partition('msg=')[2].strip() if done.returncode else ''


def check_files(program, opm, catalog, scratch):
    """Rendered, migrated and edited files are what opm takes them for."""
    theirs = blobs(run(opm, 'render', catalog))
    if blobs(run(program, 'render', catalog)) != theirs:
        sys.exit(f'error: {catalog} is rendered to other blobs than by opm')
    for form in ['json', 'yaml']:
        migrated = scratch / f'migrated-{form}'
        run(program, 'migrate', catalog, migrated, '--output', form)
        if (said := verdict(opm, migrated)) != verdict(opm, catalog):
            sys.exit(f'error: opm says of the {form} that {catalog} was migrated to: {said}')
        if blobs(run(opm, 'render', migrated)) != theirs:
            sys.exit(f'error: opm reads other blobs from the {form} that {catalog} was migrated to')

    # A blob that changes is written as opm writes it, so that one that somebody wrote otherwise stays changed.
    copy, edited = scratch / 'copy', scratch / 'migrated-yaml' if catalog.is_relative_to(REPOSITORY) else catalog
    former = files(edited)
    shutil.copytree(edited, copy)
    channels = json.loads(run(program, 'list', 'channels', catalog, '--output', 'json'))['items']
    channels = [channel for channel in channels if channel['isDefault']]
    if any(channel['package']['name'] in BUNDLE for channel in channels):
        sys.exit('error: the catalog has a package of the name of the added bundle')
    count = 0
    for channel in channels[:: max(1, len(channels) // 10)]:
        package = channel['package']
        directory = scratch / f'bundle-{count}'
        bundle_directory(directory, package['name'], channel['name'], channel['head']['name'])
        run(program, 'edit', copy, 'add', f'registry.example.com/{BUNDLE}:v1={directory}')
        if (said := verdict(opm, copy)) != verdict(opm, catalog):
            sys.exit(f'error: opm says after a bundle of {package["name"]} was added: {said}')
        run(program, 'edit', copy, 'delete-bundle', package['name'], f'{BUNDLE}.v999.0.0')
        count += 1
        if files(copy) != former:
            changed = [path for path, text in files(copy).items() if former.get(path) != text]
            sys.exit(f'error: adding and deleting a bundle of {package["name"]} changed {changed}')
    print(f'{catalog.name}: {len(theirs)} blobs are equal, also in migrated files; {count} bundles came and went')


class Cluster:
    """A control plane and a registry, and catalogd as a process."""

    def __init__(self, program, catalog):
        self.process = subprocess.Popen(
            [program, str(catalog)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.facts = json.loads(self.process.stdout.readline())

    def kubectl(self, *arguments, text=None):
        command = [self.facts['kubectl'], '--kubeconfig', self.facts['adminKubeconfig'], *arguments]
        return run(*command, input=text.encode() if text else None)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def start_catalogd(program, cluster, scratch):
    registry = cluster.facts['registry']
    (scratch / '.config/containers').mkdir(parents=True)
    (scratch / '.config/containers/registries.conf').write_text(f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n')
    run(
        'openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost',
        '-addext', 'subjectAltName=DNS:localhost', '-keyout', scratch / 'tls.key', '-out', scratch / 'tls.crt',
    )
    return subprocess.Popen(
        [
            program, f'--catalogs-server-addr=127.0.0.1:{CONTENT}', f'--health-probe-bind-address=127.0.0.1:{PROBES}',
            f'--metrics-bind-address=127.0.0.1:{METRICS}', f'--webhook-server-port={WEBHOOK}',
            f'--cache-dir={scratch}/cache', f'--tls-cert={scratch}/tls.crt', f'--tls-key={scratch}/tls.key',
            '--system-namespace=catalogql', '--external-address=localhost',
        ],
        env={
            **os.environ,
            'KUBECONFIG': cluster.facts['adminKubeconfig'],
            # Where it looks for registries that need no TLS.
            'HOME': str(scratch),
        },
        stderr=(scratch / 'catalogd.log').open('w'),
    )


def get(url):
    """The body of a response; None while there is none."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, context=context if url.startswith('https') else None) as response:
            return response.read()
    except (urllib.error.URLError, ConnectionError):
        return None


def served_by_us(program, image, registry, scratch):
    """What catalogql serves of an image."""
    command = [program, 'serve', f'pushed={image}', '--insecure-registry', registry, '--listen', '127.0.0.1:0']
    server = subprocess.Popen(
        [*command, '--store', str(scratch / 'store')], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        line = next(line for line in server.stdout if line.startswith('Listening on '))
        base = line.split()[-1].removesuffix('/graphql')
        return get(f'{base}/catalogs/pushed/api/v1/all')
    finally:
        server.terminate()
        server.wait()


def check_images(program, catalogd, cluster_program, catalogs, scratch):
    cluster = Cluster(cluster_program, catalogs[0])
    server = start_catalogd(catalogd, cluster, scratch)
    try:
        registry = cluster.facts['registry']
        for catalog in catalogs:
            name, image = catalog.name, f'{registry}/pushed/{catalog.name}:latest'
            # opm refuses some of the real ones.
            push = [program, 'push', catalog, image, '--insecure-registry', registry, '--skip-validation']
            pinned = run(*push).decode().strip()
            source = {'type': 'Image', 'image': {'ref': image}}
            metadata = {'name': f'pushed-{name}'}
            document = {
                'apiVersion': 'olm.operatorframework.io/v1', 'kind': 'ClusterCatalog', 'metadata': metadata,
                'spec': {'source': source},
            }
            cluster.kubectl('apply', '-f', '-', text=json.dumps(document))
            cluster.kubectl('wait', '--for=condition=Serving', f'--timeout={DEADLINE}s', f'clustercatalog/pushed-{name}')
            resolved = json.loads(cluster.kubectl('get', f'clustercatalog/pushed-{name}', '-o', 'json'))
            resolved = resolved['status']['resolvedSource']['image']['ref']
            if resolved != pinned:
                sys.exit(f'error: catalogd resolved {image} to {resolved} instead of {pinned}')
            url = f'https://127.0.0.1:{CONTENT}/catalogs/pushed-{name}/api/v1/all'
            theirs = eventually('catalogd does not serve', lambda: get(url))
            ours = served_by_us(program, image, registry, scratch)
            if ours != theirs:
                sys.exit(f'error: catalogd serves {len(theirs)} bytes of {name}, and catalogql other {len(ours)}')
            print(f'{name}: catalogd serves {len(theirs)} bytes of the pushed image, and catalogql the same')
    except SystemExit:
        print((scratch / 'catalogd.log').read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        server.terminate()
        server.wait()
        cluster.end()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, cluster = (Path(path).resolve() for path in sys.argv[1:])
    tools = Path(run(HERE / 'build.sh').decode().strip())
    corpus = Path(os.environ.get('CATALOGQL_CORPUS') or Path.home() / '.cache/catalogql/corpus')
    catalogs = [REPOSITORY / 'examples/catalog']
    catalogs += [folder for folder in [corpus / 'community', corpus / 'community-v4.18-yaml'] if folder.is_dir()]
    with tempfile.TemporaryDirectory() as scratch:
        check_images(program, tools / 'catalogd', cluster, catalogs, Path(scratch))
        for number, catalog in enumerate(catalogs):
            folder = Path(scratch, str(number))
            folder.mkdir()
            check_files(program, tools / 'opm', catalog, folder)


main()

"""What the runs with upstream's programs share: a network namespace of their own, a control plane, a registry, images, certificates,
processes, and the table that a run prints.
"""

import base64
import contextlib
import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

# Seconds that anything may take. catalogd and catalogql poll a tag every minute.
DEADLINE = 240

# The registry's name in all references, so that contents are equal whatever its port is.
REGISTRY = 'registry.example.com'

# Names of both Services, which clients connect to. Both resolve to this machine.
OURS, THEIRS = 'catalogql.olmv1-system.svc', 'catalogd-service.olmv1-system.svc'

# Names of Services that a CatalogSource of OLM v0 names, each like its catalog.
SOURCES = ['base.catalogql.svc', 'extra.catalogql.svc']

# Where a pod has its token. Upstream's programs read it there, in whatever process they run.
TOKEN = Path('/run/secrets/kubernetes.io/serviceaccount')

MANIFEST, CONFIG, LAYER = [
    f'application/vnd.oci.image.{kind}' for kind in ['manifest.v1+json', 'config.v1+json', 'layer.v1.tar+gzip']
]

# Set in the process that has a network of its own.
INSIDE = 'CATALOGQL_CONFORMANCE_INSIDE'


def alone(*hosts):
    """Starts this program again in namespaces of its own: upstream's programs listen on every address, and on ports that other
    programs may have; operator-controller reads its token from a fixed path. `hosts` are further lines of /etc/hosts."""
    if os.environ.get(INSIDE):
        # What was started ends with this program.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return
    command = (
        'ip link set lo up && mount -t tmpfs tmpfs /run && echo "$1" >/run/hosts && mount --bind /run/hosts /etc/hosts'
        ' && shift && exec "$@"'
    )
    lines = '\n'.join([f'127.0.0.1 localhost {OURS} {THEIRS} {" ".join(SOURCES)}', *hosts])
    namespaces = ['unshare', '--user', '--map-root-user', '--net', '--mount']
    os.execvpe('unshare', [*namespaces, 'sh', '-c', command, 'sh', lines, sys.executable, *sys.argv], {**os.environ, INSIDE: '1'})


def programs(*names):
    """The folder of upstream's programs. Ends the run as skipped where one is missing: a run without it proves nothing."""
    folder = Path(subprocess.run([HERE / 'build.sh'], check=True, capture_output=True, text=True).stdout.strip())
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        skip(f'upstream\'s {", ".join(missing)}', 'tests/conformance/upstream/README.md says how to build it')
    return folder


def skip(missing, remedy):
    """Ends this run as skipped, in the form in which `tests/skipped.sh` counts it. Where CI is set, that is an error."""
    name = Path(sys.argv[0]).name
    if os.environ.get('CI'):
        sys.exit(f'error: {name} lacks {missing}: {remedy}')
    print(f'SKIPPED {name}: it lacks {missing}: {remedy}')
    if file := os.environ.get('CATALOGQL_SKIPPED_TESTS'):
        with Path(file).open('a') as skipped:
            skipped.write(f'{missing}\t{name}\n')
    sys.exit(0)


def unpacked(name, packages, missing, remedy):
    """The folder in the user's cache into which Debian's packages are unpacked once. Ends the run as skipped where there are none."""
    folder = Path.home() / '.cache/catalogql' / name
    if not (folder / 'done').exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(['apt-get', 'download', *packages], cwd=folder, capture_output=True, check=False)
        if done.returncode != 0:
            skip(missing, remedy)
        for package in folder.glob('*.deb'):
            run('dpkg', '-x', package, folder)
        (folder / 'done').touch()
    return folder


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f'error: {command}: {done.stderr.decode(errors="replace")[-2000:]}')
    return done.stdout.decode()


def eventually(what, condition, seconds=DEADLINE):
    ends = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > ends:
            sys.exit(f'error: {what} after {seconds} seconds')
        time.sleep(0.2)
    return found


def free_port():
    with socket.socket() as own:
        own.bind(('127.0.0.1', 0))
        return own.getsockname()[1]


def listens(port):
    with socket.socket() as own:
        return own.connect_ex(('127.0.0.1', port)) == 0


def spent(process):
    """CPU seconds and peak memory in MiB of a process."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    status = Path(f'/proc/{process.pid}/status').read_text()
    peak = next(line for line in status.splitlines() if line.startswith('VmHWM'))
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK'), int(peak.split()[1]) // 1024


class Stage:
    """A scratch folder, and processes that end with it, each with a log of its name."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.home = self.folder / 'home'
        (self.home / '.config/containers').mkdir(parents=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind not in (None, KeyboardInterrupt):
            for log in sorted(self.folder.glob('*.log')):
                print(f'--- {log.name}', log.read_text(errors='replace')[-1500:], sep='\n', file=sys.stderr)
        kept = os.environ.get('CATALOGQL_KEEP')
        self.stack.pop_all().close() if not kept else self.keep(kept)

    def keep(self, folder):
        for log in self.folder.glob('*.log'):
            shutil.copy(log, folder)
        self.stack.close()

    def start(self, name, command, **options):
        environment = {**os.environ, 'HOME': str(self.home)}
        for variable in ['XDG_CACHE_HOME', 'KUBERNETES_SERVICE_HOST']:
            environment.pop(variable, None)
        environment |= options.pop('env', {})
        with (self.folder / f'{name}.log').open('ab') as log:
            streams = {'stdin': subprocess.DEVNULL, 'stdout': log, 'stderr': log} | options
            process = subprocess.Popen([str(part) for part in command], env=environment, **streams)
        self.stack.callback(end, process)
        return process

    def log(self, name):
        return (self.folder / f'{name}.log').read_text(errors='replace')

    def certificates(self, *names):
        """Makes an authority and a certificate of it with these names: `cas/ca.crt`, `tls.crt` and `tls.key`."""
        cas = self.folder / 'cas'
        cas.mkdir()
        key, leaf = cas / '../ca.key', self.folder / 'tls.csr'
        new = ['openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj']
        run(*new, '/CN=olmv1-ca', '-x509', '-days', '1', '-keyout', key, '-out', cas / 'ca.crt')
        run(*new, f'/CN={names[0]}', '-keyout', self.folder / 'tls.key', '-out', leaf)
        extensions = self.folder / 'extensions'
        extensions.write_text('subjectAltName=' + ','.join(f'DNS:{name}' for name in names))
        run(
            'openssl', 'x509', '-req', '-in', leaf, '-CA', cas / 'ca.crt', '-CAkey', key, '-CAcreateserial', '-days', '1',
            '-extfile', extensions, '-out', self.folder / 'tls.crt',
        )
        return cas

    def trust_registry(self, address):
        """Lets the readers of registries.conf find the registry under its name, without TLS."""
        text = f'[[registry]]\nprefix = "{REGISTRY}"\nlocation = "{address}"\ninsecure = true\n'
        (self.home / '.config/containers/registries.conf').write_text(text)


def end(process):
    if process.stdin:
        # It ends by itself, with what it has started.
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Cluster:
    """A control plane and a registry."""

    def __init__(self, stage, program, name):
        empty = stage.folder / f'{name}-empty'
        empty.mkdir()
        (empty / 'catalog.json').write_text('{"schema": "x", "name": "x"}')
        # It finds the programs of the control plane in the user's cache.
        self.process = stage.start(
            f'{name}-cluster', [program, empty], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={'HOME': str(Path.home())}
        )
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f'error: the cluster does not start: {stage.log(f"{name}-cluster")}')
        self.name, self.facts = name, json.loads(line)
        self.kubectl('delete', 'clustercatalog', 'c')

    def kubectl(self, *arguments, text=None):
        command = [self.facts['kubectl'], '--kubeconfig', self.facts['adminKubeconfig'], *arguments]
        return run(*command, input=text.encode() if text else None)

    def apply(self, *objects):
        items = {'apiVersion': 'v1', 'kind': 'List', 'items': objects}
        self.kubectl('apply', '--server-side', '--force-conflicts', '-f', '-', text=json.dumps(items))

    def items(self, *arguments):
        """The objects of a kind. kubectl prints nothing where there is none."""
        text = self.kubectl('get', '--ignore-not-found', '-o', 'json', *arguments)
        return json.loads(text)['items'] if text else []

    def environment(self):
        return {'KUBECONFIG': self.facts['adminKubeconfig']}

    def become(self, account, namespace):
        """Gives all processes the token of a ServiceAccount as a pod has it. Returns the variables of a pod."""
        TOKEN.mkdir(parents=True, exist_ok=True)
        (TOKEN / 'token').write_text(self.kubectl('create', 'token', account, '--namespace', namespace).strip())
        (TOKEN / 'namespace').write_text(namespace)
        config = json.loads(self.kubectl('config', 'view', '--raw', '--flatten', '-o', 'json'))
        server = config['clusters'][0]['cluster']
        (TOKEN / 'ca.crt').write_bytes(base64.b64decode(server['certificate-authority-data']))
        host, _, port = server['server'].removeprefix('https://').partition(':')
        return {'KUBERNETES_SERVICE_HOST': host, 'KUBERNETES_SERVICE_PORT': port}


def archive(files):
    """A layer: a deterministic archive of these files, compressed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode='w') as tar:
        folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != '.'}
        for path in sorted([*folders, *files]):
            entry = tarfile.TarInfo(path)
            if path in folders:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
                continue
            data = files[path].encode()
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def push_image(address, name, tag, files, labels):
    """Pushes an image of one layer to the registry, and returns its digest."""

    def request(method, url, data=None, kind='application/octet-stream'):
        sent = urllib.request.Request(url, data=data, method=method, headers={'Content-Type': kind})
        with urllib.request.urlopen(sent) as response:
            return response.headers

    def digest(data):
        return f'sha256:{hashlib.sha256(data).hexdigest()}'

    def blob(kind, data):
        place = request('POST', f'http://{address}/v2/{name}/blobs/uploads/', b'')['Location']
        request('PUT', f'{place}{"&" if "?" in place else "?"}digest={digest(data)}', data)
        return {'mediaType': kind, 'digest': digest(data), 'size': len(data)}

    plain = archive(files)
    layer = gzip.compress(plain, mtime=0)
    config = {
        'architecture': 'amd64', 'os': 'linux', 'config': {'Labels': labels},
        'rootfs': {'type': 'layers', 'diff_ids': [digest(plain)]},
    }
    manifest = {
        'schemaVersion': 2, 'mediaType': MANIFEST, 'config': blob(CONFIG, json.dumps(config).encode()),
        'layers': [blob(LAYER, layer)],
    }
    data = json.dumps(manifest).encode()
    request('PUT', f'http://{address}/v2/{name}/manifests/{tag}', data, MANIFEST)
    return digest(data)


def push_catalog(address, name, blobs, tag='latest'):
    """Pushes a catalog of these blobs, and returns its digest."""
    text = ''.join(json.dumps(blob) + '\n' for blob in blobs)
    return push_image(
        address, name, tag, {'configs/catalog.json': text}, {'operators.operatorframework.io.index.configs.v1': '/configs'}
    )


def push_bundle(address, package, version, csv, objects=()):
    """Pushes a bundle in the form registry+v1."""
    annotation = 'operators.operatorframework.io.bundle.'
    annotations = {
        f'{annotation}mediatype.v1': 'registry+v1', f'{annotation}manifests.v1': 'manifests/',
        f'{annotation}metadata.v1': 'metadata/', f'{annotation}package.v1': package, f'{annotation}channels.v1': 'stable',
    }
    files = {'manifests/csv.yaml': json.dumps(csv), 'metadata/annotations.yaml': json.dumps({'annotations': annotations})}
    files |= {f'manifests/object-{number}.yaml': json.dumps(each) for number, each in enumerate(objects)}
    return push_image(address, f'bundles/{package}', f'v{version}', files, annotations)


class Table:
    """What both servers gave, row by row. A difference without a decision ends the run with an error."""

    def __init__(self, client, commit, decisions=None):
        self.client, self.commit, self.decisions, self.rows = client, commit, decisions or {}, []

    def row(self, what, ours, theirs):
        self.rows.append((what, ours, theirs))

    def end(self):
        print(f'\n{self.client} {self.commit[:12]}')
        different = []
        for what, ours, theirs in self.rows:
            if ours == theirs:
                print(f'  equal      {what}: {short(ours)}')
                continue
            decision = self.decisions.get(what)
            print(f'  DIFFERENT  {what}: {decision or "no decision"}\n    catalogql: {ours}\n    upstream:  {theirs}')
            different.extend([] if decision else [what])
        for what in set(self.decisions) - {what for what, ours, theirs in self.rows if ours != theirs}:
            different.append(f'{what}, which is said to differ and does not')
        print(f'  {len(self.rows)} rows, {sum(ours == theirs for _, ours, theirs in self.rows)} equal')
        if different:
            sys.exit(f'error: differences without a decision: {"; ".join(different)}')


def short(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 160 else f'{text[:157]}...'

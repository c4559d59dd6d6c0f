#!/usr/bin/env python3
"""OLM v1's operator-controller installs from catalogs of catalogql as from those of catalogd: two clusters with the same objects, each
with an operator-controller of its own, and one of the two servers. Bundles, conditions and messages are compared.

usage: extensions.py CATALOGQL CLUSTER

CATALOGQL is the program, with kubectl-catalog beside it, CLUSTER the example `cluster` of the crate `testing`. README.md says how
the programs of upstream are built.
"""

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import yaml

import stage
from stage import DEADLINE, OURS, REGISTRY, REPOSITORY, THEIRS, Cluster, Stage, Table, eventually, free_port, run

NAMESPACE = 'olmv1-system'
ACCOUNT = 'operator-controller-controller-manager'

# Ports of both servers: that of the Service, and another one beside it.
OUR_PORT, THEIR_PORT = 443, 8444

PACKAGE = 'olm.package'
NAME_LABEL = 'olm.operatorframework.io/metadata.name'


def csv(package, version):
    container = {'name': 'manager', 'image': f'{REGISTRY}/{package}:v{version}'}
    labels = {'app': package}
    deployment = {
        'replicas': 1, 'selector': {'matchLabels': labels},
        'template': {'metadata': {'labels': labels}, 'spec': {'serviceAccountName': package, 'containers': [container]}},
    }
    modes = ['OwnNamespace', 'SingleNamespace', 'MultiNamespace', 'AllNamespaces']
    return {
        'apiVersion': 'operators.coreos.com/v1alpha1', 'kind': 'ClusterServiceVersion',
        'metadata': {'name': f'{package}.v{version}'},
        'spec': {
            'version': version, 'displayName': package,
            'installModes': [{'type': mode, 'supported': mode == 'AllNamespaces'} for mode in modes],
            'install': {'strategy': 'deployment', 'spec': {'deployments': [{'name': package, 'spec': deployment}]}},
        },
    }


class Package:
    """A package with bundles that can be installed."""

    def __init__(self, registry, name):
        self.registry, self.name, self.blobs = registry, name, []

    def bundle(self, version, *properties, image=None):
        name = f'{self.name}.v{version}'
        if image is None:
            digest = stage.push_bundle(self.registry, self.name, version, csv(self.name, version))
            image = f'{REGISTRY}/bundles/{self.name}@{digest}'
        own = {'type': PACKAGE, 'value': {'packageName': self.name, 'version': version}}
        self.blobs.append({
            'schema': 'olm.bundle', 'package': self.name, 'name': name, 'image': image, 'properties': [own, *properties],
        })
        return self

    def channel(self, name, *entries):
        """Adds a channel of entries `VERSION` or `VERSION replaces VERSION`."""
        made = []
        for entry in entries:
            version, _, replaces = entry.partition(' replaces ')
            made.append({'name': f'{self.name}.v{version}', **({'replaces': f'{self.name}.v{replaces}'} if replaces else {})})
        self.blobs.append({'schema': 'olm.channel', 'package': self.name, 'name': name, 'entries': made})
        return self

    def end(self):
        channel = next(blob['name'] for blob in self.blobs if blob['schema'] == 'olm.channel')
        return [{'schema': PACKAGE, 'name': self.name, 'defaultChannel': channel}, *self.blobs]


def three_versions(registry, name):
    package = Package(registry, name)
    for version in ['1.0.0', '1.1.0', '2.0.0']:
        package.bundle(version)
    package.channel('stable', '1.0.0', '1.1.0 replaces 1.0.0', '2.0.0')
    return package.channel('slow', '1.0.0', '1.1.0 replaces 1.0.0').end()


def catalogs(registry):
    """The blobs of each catalog, by its name. `next` is what the tag of `main` moves to."""
    packages = {name: three_versions(registry, name) for name in ['plain', 'range', 'channel', 'pinned', 'selected', 'late', 'moved']}
    deprecated = three_versions(registry, 'deprecated')
    entries = [
        {'reference': {'schema': PACKAGE}, 'message': 'the package ends'},
        {'reference': {'schema': 'olm.channel', 'name': 'stable'}, 'message': 'the channel ends'},
        {'reference': {'schema': 'olm.bundle', 'name': 'deprecated.v2.0.0'}, 'message': 'the bundle has a fault'},
    ]
    deprecated.append({'schema': 'olm.deprecations', 'package': 'deprecated', 'entries': entries})
    needs = {'type': 'olm.package.required', 'value': {'packageName': 'plain', 'versionRange': '>=1.0.0'}}
    needing = Package(registry, 'needing').bundle('1.0.0', needs).channel('stable', '1.0.0').end()
    gone = Package(registry, 'gone').bundle('1.0.0', image=f'{REGISTRY}/bundles/gone@sha256:{"0" * 64}')
    gone = gone.channel('stable', '1.0.0').end()
    shared = Package(registry, 'shared').bundle('1.0.0').channel('stable', '1.0.0').end()
    newer = Package(registry, 'shared').bundle('9.0.0').channel('stable', '9.0.0').end()
    twice = Package(registry, 'twice').bundle('1.0.0').channel('stable', '1.0.0').end()
    main = sum(packages.values(), []) + deprecated + needing + gone + twice
    moved = Package(registry, 'plain').bundle('2.0.0').bundle('2.1.0').channel('stable', '2.0.0', '2.1.0 replaces 2.0.0').end()
    rest = [blob for blob in main if 'plain' not in (blob.get('package'), blob.get('name'))]
    return {'main': main, 'other': shared + twice, 'weak': newer, 'next': rest + moved}


def cluster_catalog(name, priority=0, labels=None):
    image = {'ref': f'{REGISTRY}/catalogs/{name}:latest', 'pollIntervalMinutes': 1}
    return {
        'apiVersion': 'olm.operatorframework.io/v1', 'kind': 'ClusterCatalog', 'metadata': {'name': name, 'labels': labels or {}},
        'spec': {'priority': priority, 'source': {'type': 'Image', 'image': image}},
    }


def extension(name, **catalog):
    source = {'sourceType': 'Catalog', 'catalog': {'packageName': name, **catalog}}
    return {
        'apiVersion': 'olm.operatorframework.io/v1', 'kind': 'ClusterExtension', 'metadata': {'name': name},
        'spec': {'namespace': 'operators', 'serviceAccount': {'name': 'installer'}, 'source': source},
    }


def named(extension_, name):
    return extension_ | {'metadata': {'name': name}}


BY_NAME = {'matchLabels': {NAME_LABEL: 'main'}}

EXTENSIONS = [
    extension('plain'),
    extension('range', version='>=1.0.0 <1.2.0'),
    extension('channel', channels=['slow']),
    extension('pinned', version='1.0.0'),
    extension('selected', selector={'matchLabels': {'tier': 'first'}}),
    extension('deprecated', version='2.0.0'),
    extension('needing'),
    extension('gone'),
    extension('shared'),
    extension('twice'),
    named(extension('late', selector=BY_NAME), 'by-name'),
    named(extension('none'), 'missing-package'),
    named(extension('range', version='7.0.0'), 'missing-version'),
    named(extension('range', channels=['beta']), 'missing-channel'),
    named(extension('plain', selector={'matchLabels': {'tier': 'none'}}), 'missing-catalog'),
]


# Paths below `/catalogs`, as consoles and scripts read them.
CONSOLE = [
    'main/api/v1/all', 'other/api/v1/all', 'weak/api/v1/all', 'none/api/v1/all', 'main/api/v1/metas?schema=olm.package',
    'main/api/v1/metas?package=plain', 'main/api/v1/metas?schema=olm.bundle&package=plain&name=plain.v1.0.0',
    'main/api/v1/metas?schema=olm.deprecations', 'main/api/v1/metas?schema=none',
]


class Side:
    """A cluster with one server of catalogs and an operator-controller."""

    def __init__(self, on, cluster, tools, server, port):
        self.stage, self.cluster, self.tools, self.start_server, self.port = on, cluster, tools, server, port
        self.server = self.controller = None
        self.probes = free_port()

    def prepare(self):
        self.cluster.kubectl('create', 'namespace', NAMESPACE)
        self.cluster.kubectl('create', 'serviceaccount', ACCOUNT, '--namespace', NAMESPACE)
        definitions = self.tools / 'operator-controller-manifests/base/operator-controller/crd/standard'
        self.cluster.kubectl('apply', '--server-side', '-f', str(definitions))
        self.cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all')
        self.cluster.kubectl('create', 'namespace', 'operators')
        self.cluster.kubectl('create', 'serviceaccount', 'installer', '--namespace', 'operators')
        self.cluster.kubectl(
            'create', 'clusterrolebinding', 'installer', '--clusterrole=cluster-admin', '--serviceaccount=operators:installer'
        )

    def start_controller(self):
        """Starts operator-controller with the flags of its deployment, on loopback."""
        name = self.cluster.name
        metrics = free_port()
        cas = self.stage.folder / 'cas'
        command = [
            self.tools / 'operator-controller', f'--health-probe-bind-address=127.0.0.1:{self.probes}',
            f'--metrics-bind-address=127.0.0.1:{metrics}', '--leader-elect', f'--tls-cert={self.stage.folder}/tls.crt',
            f'--tls-key={self.stage.folder}/tls.key', f'--catalogd-cas-dir={cas}', f'--pull-cas-dir={cas}',
            f'--cache-path={self.stage.folder}/{name}-cache', f'--system-namespace={NAMESPACE}',
        ]
        self.controller = self.stage.start(f'{name}-operator-controller', command, env=self.cluster.environment())

    def serve(self):
        self.server = self.start_server(self.cluster)

    def restart(self):
        """Kills the server and starts it again, and then operator-controller, whose cache is empty then: it asks for every
        catalog again."""
        self.server.kill()
        self.server.wait()
        self.serve()
        eventually('the server does not listen again', lambda: stage.listens(self.port))
        stage.end(self.controller)
        self.start_controller()

    def apply(self, *objects):
        self.cluster.apply(*objects)

    def ready(self, *names):
        for name in names:
            self.cluster.kubectl('wait', '--for=condition=Serving', f'--timeout={DEADLINE}s', f'clustercatalog/{name}')

    def read(self, path):
        """The status, the type and the body of a path of `status.urls.base`."""
        name, _, rest = path.partition('/')
        base = 'https://' + (OURS if self.port == OUR_PORT else f'{THEIRS}:{self.port}')
        authority = self.stage.folder / 'cas/ca.crt'
        form = '\n%{http_code} %{content_type}'
        body, _, head = run('curl', '--silent', '--cacert', authority, '-w', form, f'{base}/catalogs/{name}/{rest}').rpartition('\n')
        return f'{head} {hashlib.sha256(body.encode()).hexdigest()} {body}'

    def status(self):
        """What is said of each extension: its bundle, its conditions."""
        found = self.cluster.items('clusterextensions')
        return {each['metadata']['name']: settled(each) for each in found}

    def deployments(self):
        found = self.cluster.items('deployments', '--namespace', 'operators')
        return sorted(each['spec']['template']['spec']['containers'][0]['image'] for each in found)


def settled(extension_):
    """The status of an extension in a form that is compared; `None` while operator-controller has not seen all of it."""
    status, generation = extension_.get('status', {}), extension_['metadata']['generation']
    conditions = {each['type']: each for each in status.get('conditions', [])}
    progressing = conditions.get('Progressing')
    if progressing is None or progressing['observedGeneration'] != generation:
        return None
    said = {kind: f'{each["status"]} {each["reason"]}: {each["message"]}' for kind, each in sorted(conditions.items())}
    return {'bundle': status.get('install', {}).get('bundle'), **said}


def ours(on, program):
    """Starts catalogql as deploy/overlays/drop-in does, on loopback's port of HTTPS."""

    def start(cluster):
        command = [
            program, 'controller', f'--listen=:{OUR_PORT}', f'--tls-cert-file={on.folder}/tls.crt',
            f'--tls-private-key-file={on.folder}/tls.key', '--namespace=catalogql', '--service-account=catalogql',
            '--kubeconfig', cluster.facts['kubeconfig'], f'--store={on.folder}/store', f'--external-address={OURS}', '--access-log',
            '--leader-elect-lease-duration=4s', '--leader-elect-renew-deadline=3s', '--leader-elect-retry-period=500ms',
        ]
        return on.start('catalogql', command, env={'POD_NAME': 'one'})

    return start


def theirs(on, tools):
    """Starts catalogd and its webhook, which labels catalogs by their names."""
    ports = {'content': THEIR_PORT, 'probes': free_port(), 'metrics': free_port(), 'webhook': free_port()}

    def start(cluster):
        command = [
            tools / 'catalogd', f'--catalogs-server-addr=127.0.0.1:{ports["content"]}',
            f'--health-probe-bind-address=127.0.0.1:{ports["probes"]}', f'--metrics-bind-address=127.0.0.1:{ports["metrics"]}',
            f'--webhook-server-port={ports["webhook"]}', f'--cache-dir={on.folder}/catalogd', f'--tls-cert={on.folder}/tls.crt',
            f'--tls-key={on.folder}/tls.key', f'--system-namespace={NAMESPACE}', f'--external-address={THEIRS}:{ports["content"]}',
            f'--pull-cas-dir={on.folder}/cas', '--feature-gates=APIV1MetasHandler=true',
        ]
        process = on.start('catalogd', command, env=cluster.environment())
        eventually('catalogd has no webhook', lambda: stage.listens(ports['webhook']))
        authority = run('base64', '-w0', on.folder / 'cas/ca.crt').strip()
        url = f'https://{THEIRS}:{ports["webhook"]}/mutate-olm-operatorframework-io-v1-clustercatalog'
        rules = [{
            'apiGroups': ['olm.operatorframework.io'], 'apiVersions': ['v1'], 'operations': ['CREATE', 'UPDATE'],
            'resources': ['clustercatalogs'],
        }]
        cluster.apply({
            'apiVersion': 'admissionregistration.k8s.io/v1', 'kind': 'MutatingWebhookConfiguration',
            'metadata': {'name': 'catalogd-mutating-webhook-configuration'},
            'webhooks': [{
                'name': 'inject-metadata-name.olm.operatorframework.io', 'sideEffects': 'None', 'admissionReviewVersions': ['v1'],
                'clientConfig': {'url': url, 'caBundle': authority}, 'rules': rules,
            }],
        })
        return process

    return start


def agree(table, what, sides, expected):
    """Waits until both sides say the same of all extensions, at the longest until the deadline, and adds a row for each. `expected`
    has the words that a status must have, so that what both have not done yet is no agreement."""
    ends = time.monotonic() + DEADLINE
    while True:
        first, second = (side.status() for side in sides)
        there = all(first.get(name) and second.get(name) for name in expected)
        right = there and all(word in json.dumps(first[name]) for name, word in expected.items())
        if right and first == second or time.monotonic() > ends:
            break
        time.sleep(1)
    for name, word in expected.items():
        if word not in json.dumps(first.get(name)):
            sys.exit(f'error: {what}: {name} is not as expected ({word}): {first.get(name)}; beside catalogd: {second.get(name)}')
        table.row(f'{what}: {name}', first[name], second[name])


INSTALLED = {
    'plain': 'plain.v2.0.0', 'range': 'range.v1.1.0', 'channel': 'channel.v1.1.0', 'pinned': 'pinned.v1.0.0',
    'selected': 'selected.v2.0.0', 'deprecated': 'the bundle has a fault', 'needing': 'olm.package.required',
    'gone': 'error copying image', 'shared': 'shared.v1.0.0', 'twice': 'multiple catalogs with the same priority',
    'by-name': 'late.v2.0.0', 'missing-package': 'no bundles found for package', 'missing-version': 'matching version',
    'missing-channel': 'in channels [beta]', 'missing-catalog': 'no bundles found for package',
}


def certificate_names():
    """The names of the certificate of deploy/overlays/drop-in, and its issuer."""
    kubectl = run(REPOSITORY / 'tests/control-plane/build.sh').strip() + '/kubectl'
    objects = yaml.safe_load_all(run(kubectl, 'kustomize', REPOSITORY / 'deploy/overlays/drop-in'))
    spec = next(each['spec'] for each in objects if each['kind'] == 'Certificate')
    if spec['issuerRef']['name'] != 'olmv1-ca' or spec['issuerRef']['kind'] != 'ClusterIssuer':
        sys.exit(f'error: operator-controller trusts the ClusterIssuer olmv1-ca, not {spec["issuerRef"]}')
    return spec['dnsNames']


def subscribed(package, version, *properties):
    """The objects of OLM v0 of a package that is installed in a version, with manual approval."""
    name = f'{package}.v{version}'
    annotation = {'operatorframework.io/properties': json.dumps(properties)}
    metadata = {'namespace': 'operators', 'name': package}
    spec = {
        'name': package, 'channel': 'stable', 'source': 'main', 'sourceNamespace': 'olm', 'installPlanApproval': 'Manual',
    }
    return [
        {
            'kind': 'Subscription', 'metadata': metadata, 'spec': spec,
            'status': {'installedCSV': name, 'state': 'AtLatestKnown'},
        },
        {
            'kind': 'ClusterServiceVersion', 'metadata': metadata | {'name': name, 'annotations': annotation},
            'spec': {'version': version, 'installModes': [{'type': 'AllNamespaces', 'supported': True}]},
            'status': {'phase': 'Succeeded', 'reason': 'InstallSucceeded'},
        },
        {'kind': 'OperatorCondition', 'metadata': metadata | {'name': name}},
    ]


def moves(on, program, side):
    """The ClusterExtensions that `kubectl catalog migration` prints for one operator that can be moved and one that cannot, and
    the checks that these fail."""
    needs = {'type': 'olm.package.required', 'value': {'packageName': 'plain', 'versionRange': '>=1.0.0'}}
    image = f'{REGISTRY}/catalogs/main:latest'
    items = [
        *subscribed('moved', '1.1.0'), *subscribed('needing', '1.0.0', needs), *side.cluster.items('clustercatalogs'),
        {'kind': 'OperatorGroup', 'metadata': {'namespace': 'operators', 'name': 'all'}},
        {
            'kind': 'CatalogSource', 'metadata': {'namespace': 'olm', 'name': 'main'},
            'spec': {'sourceType': 'grpc', 'image': image},
        },
    ]
    file = on.folder / 'objects.json'
    file.write_text(json.dumps({'kind': 'List', 'items': items}))
    command = [
        program.parent / 'kubectl-catalog', 'migration', '--server', f'https://{OURS}', '--certificate-authority',
        on.folder / 'cas/ca.crt', '--file', file, '-o', 'json',
    ]
    printed = [subprocess.run([*command, *flags], capture_output=True, text=True) for flags in [[], ['--manifests']]]
    for each in printed:
        if each.returncode != 1 or each.stderr:
            sys.exit(f'error: cannot judge the move: status {each.returncode}: {each.stderr}')
    report, manifests = (json.loads(each.stdout) for each in printed)
    failed = {
        operator['name']: [check['code'] for check in operator['checks'] if check['result'] != 'PASSED']
        for operator in report['operators']
    }
    return [item for item in manifests['items'] if item['kind'] == 'ClusterExtension'], failed


def requests(on):
    """What operator-controller asked catalogql for: handler and status, with how often."""
    lines = [json.loads(line) for line in on.log('catalogql').splitlines() if line.startswith('{')]
    return dict(Counter(f'{line["handler"]} {line["status"]}' for line in lines if line.get('message') == 'request'))


def go(program, cluster_program):
    tools = stage.programs('operator-controller', 'catalogd', 'operator-controller-manifests')
    commit = (tools / 'operator-controller.commit').read_text().strip()
    table = Table('operator-controller', commit)
    with Stage() as on:
        on.certificates(*certificate_names(), 'localhost')
        clusters = [Cluster(on, cluster_program, name) for name in ['ours', 'theirs']]
        registry = clusters[0].facts['registry']
        on.trust_registry(registry)
        sides = [
            Side(on, clusters[0], tools, ours(on, program), OUR_PORT), Side(on, clusters[1], tools, theirs(on, tools), THEIR_PORT)
        ]
        contents = catalogs(registry)
        for name in ['main', 'other', 'weak']:
            stage.push_catalog(registry, f'catalogs/{name}', contents[name])
        for side in sides:
            side.prepare()
        clusters[0].become(ACCOUNT, NAMESPACE)
        for side in sides:
            side.serve()
            side.apply(
                cluster_catalog('main', labels={'tier': 'first'}), cluster_catalog('other'), cluster_catalog('weak', priority=-10)
            )
            side.start_controller()
        for side in sides:
            side.ready('main', 'other', 'weak')
        resolved = [
            {each['metadata']['name']: each['status']['resolvedSource'] for each in side.cluster.items('clustercatalogs')
             if each['metadata']['name'] != 'churn'} for side in sides
        ]
        table.row('the digests of the catalogs', *resolved)
        for query in CONSOLE:
            table.row(f'what a console reads: {query}', *(side.read(query) for side in sides))
        for side in sides:
            side.apply(*EXTENSIONS)
        agree(table, 'installed', sides, INSTALLED)
        table.row('the images of the Deployments', *(side.deployments() for side in sides))

        # What is called movable is installed, and what is not was refused above for the same reason.
        extensions, failed = moves(on, program, sides[0])
        names = [each['metadata']['name'] for each in extensions]
        if names != ['moved'] or failed != {'moved': [], 'needing': ['C2']}:
            sys.exit(f'error: the moves are not as expected: {names}, {failed}')
        for each in extensions:
            # This release still wants one; later ones ignore it.
            each['spec']['serviceAccount'] = {'name': 'installer'}
        for side in sides:
            side.apply(*extensions)
        agree(table, 'moved from OLM v0', sides, {'moved': 'moved.v1.1.0'})

        # No edge leads from 1.0.0 to 2.0.0.
        for side in sides:
            side.apply(extension('pinned', version='2.0.0'))
        agree(table, 'upgraded without an edge', sides, {'pinned': 'error upgrading from currently installed version'})
        for side in sides:
            side.apply(extension('pinned', version='2.0.0', upgradeConstraintPolicy='SelfCertified'))
        agree(table, 'upgraded without an edge, certified', sides, {'pinned': 'pinned.v2.0.0'})

        stage.push_catalog(registry, 'catalogs/main', contents['next'])
        agree(table, 'the tag moved', sides, {'plain': 'plain.v2.1.0'})

        for side in sides:
            side.restart()
            side.apply(extension('late', version='1.1.0'))
        agree(table, 'restarted', sides, INSTALLED | {'late': 'late', 'plain': 'plain.v2.1.0', 'pinned': 'pinned.v2.0.0'})

        for side in sides:
            seconds, peak = stage.spent(side.server)
            print(f'{side.cluster.name}: since its restart, the server took {seconds:.1f} s of CPU time and {peak} MiB at most')
        print(f'requests of operator-controller to catalogql: {requests(on)}')
        print('operator-controller sends no conditional requests: it asks once for each digest, and again after its own start')
    table.end()


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stage.alone()
    go(*(Path(path).resolve() for path in sys.argv[1:]))

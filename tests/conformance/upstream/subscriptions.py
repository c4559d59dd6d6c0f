#!/usr/bin/env python3
"""OLM v0's catalog-operator makes equal InstallPlans from catalogs of catalogql as from those of `opm serve`: two clusters with the same
objects, each with a catalog-operator of its own, whose CatalogSources name one of the two servers. packageserver reads both.

usage: subscriptions.py CATALOGQL CLUSTER

CATALOGQL is the program, CLUSTER the example `cluster` of the crate `testing`. README.md says how the programs of upstream are built.
Bundles have their manifests in the catalog, because nothing runs Jobs that unpack images.
"""

import base64
import json
import os
import sys
import time
from pathlib import Path

import stage
from stage import DEADLINE, Cluster, Stage, Table, eventually, free_port

GROUP = 'example.com'
SOURCES = ['base', 'extra']
NAMESPACE = 'operators'

# A bundle with an image is unpacked from it, although its manifests are in the catalog.
NO_IMAGE = {'olm.bundle': {'image': ''}}

# Port of catalogql's gRPC.
GRPC = 50051


def definition(kind):
    plural = f'{kind.lower()}s'
    schema = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}
    version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema}}
    return {
        'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': f'{plural}.{GROUP}'},
        'spec': {
            'group': GROUP, 'scope': 'Namespaced', 'versions': [version],
            'names': {'kind': kind, 'plural': plural, 'singular': kind.lower(), 'listKind': f'{kind}List'},
        },
    }


def bundle(package, version, provides=(), requires=(), needs=(), replaces=None):
    """An `olm.bundle` with its manifests."""
    name = f'{package}.v{version}'
    container = {'name': 'manager', 'image': f'registry.example.com/{package}:v{version}'}
    template = {'metadata': {'labels': {'app': package}}, 'spec': {'serviceAccountName': package, 'containers': [container]}}
    deployment = {'selector': {'matchLabels': {'app': package}}, 'template': template}
    rules = [{'apiGroups': [''], 'resources': ['configmaps'], 'verbs': ['get', 'list']}]
    described = {
        kind: [{'name': f'{each.lower()}s.{GROUP}', 'version': 'v1', 'kind': each} for each in kinds]
        for kind, kinds in [('owned', provides), ('required', requires)]
    }
    csv = {
        'apiVersion': 'operators.coreos.com/v1alpha1', 'kind': 'ClusterServiceVersion',
        'metadata': {'name': name, 'namespace': 'placeholder', 'annotations': {'alm-examples': '[{"a": 1.0}]'}},
        'spec': {
            'version': version, 'displayName': package, 'customresourcedefinitions': described,
            'installModes': [{'type': 'AllNamespaces', 'supported': True}],
            'install': {
                'strategy': 'deployment',
                'spec': {
                    'deployments': [{'name': package, 'spec': deployment}],
                    'permissions': [{'serviceAccountName': package, 'rules': rules}],
                },
            },
            **({'replaces': replaces} if replaces else {}),
        },
    }
    service = {
        'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': package},
        'spec': {'selector': {'app': package}, 'ports': [{'port': 80}]},
    }
    manifests = [csv, service, *(definition(kind) for kind in provides)]
    objects = [{'type': 'olm.bundle.object', 'value': {'data': encoded(each)}} for each in manifests]
    gvk = [{'group': GROUP, 'version': 'v1', 'kind': kind} for kind in [*provides, *requires]]
    kinds = ['olm.gvk'] * len(provides) + ['olm.gvk.required'] * len(requires)
    properties = [
        {'type': 'olm.package', 'value': {'packageName': package, 'version': version}},
        *({'type': kind, 'value': value} for kind, value in zip(kinds, gvk)),
        *({'type': 'olm.package.required', 'value': {'packageName': each, 'versionRange': '>=1.0.0'}} for each in needs),
    ]
    return {'schema': 'olm.bundle', 'package': package, 'name': name, 'image': '', 'properties': [*properties, *objects]}


def encoded(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


def package(name, *bundles):
    """A package with one channel, in which each bundle replaces the one before."""
    names = [None, *(each['name'] for each in bundles)]
    entries = [{'name': own, **({'replaces': former} if former else {})} for former, own in zip(names, names[1:])]
    channel = {'schema': 'olm.channel', 'package': name, 'name': 'stable', 'entries': entries}
    return [{'schema': 'olm.package', 'name': name, 'defaultChannel': 'stable'}, channel, *bundles]


def catalogs(is_later):
    """The blobs of each source; later, `tool` has a further bundle."""
    tool = [bundle('tool', '1.0.0', provides=['Tool']), bundle('tool', '1.1.0', provides=['Tool'], replaces='tool.v1.0.0')]
    if is_later:
        tool.append(bundle('tool', '1.2.0', provides=['Tool', 'Extra'], replaces='tool.v1.1.0'))
    base = package('tool', *tool)
    base += package('needs', bundle('needs', '1.0.0', needs=['library']))
    base += package('consumer', bundle('consumer', '2.0.0', requires=['Source']))
    base += package('lonely', bundle('lonely', '1.0.0', needs=['absent']))
    extra = package('library', bundle('library', '1.0.0'), bundle('library', '1.5.0', replaces='library.v1.0.0'))
    extra += package('provider', bundle('provider', '3.0.0', provides=['Source']))
    extra += package('held', bundle('held', '1.0.0'), bundle('held', '1.1.0', replaces='held.v1.0.0'))
    return {'base': base, 'extra': extra}


def real_packages():
    """Small packages of the corpus whose bundles have their manifests in the catalog, where it is unpacked."""
    corpus = Path(os.environ.get('CATALOGQL_CORPUS') or Path.home() / '.cache/catalogql/corpus') / 'community-objects'
    return [corpus / name for name in ['etcd', 'cert-manager'] if (corpus / name).is_dir()]


def write(folder, contents, packages):
    for name in SOURCES:
        (folder / name).mkdir(exist_ok=True, parents=True)
        part = folder / f'.{name}'
        part.write_text(''.join(json.dumps(blob) + '\n' for blob in contents[name]))
        part.rename(folder / name / 'catalog.json')
    for each in packages:
        (folder / 'extra' / each.name).mkdir(exist_ok=True)
        text = ''.join(json.dumps(blob | NO_IMAGE.get(blob['schema'], {})) + '\n' for blob in blobs(each))
        (folder / 'extra' / each.name / 'catalog.json').write_text(text)


def blobs(folder):
    """The blobs of a package of the corpus, which has one file of JSON."""
    decoder, at, text = json.JSONDecoder(), 0, (folder / 'catalog.json').read_text()
    while at < len(text):
        blob, at = decoder.raw_decode(text, at)
        yield blob
        while at < len(text) and text[at].isspace():
            at += 1


def subscription(namespace, name, source, **spec):
    return {
        'apiVersion': 'operators.coreos.com/v1alpha1', 'kind': 'Subscription', 'metadata': {'name': name, 'namespace': namespace},
        'spec': {'channel': 'stable', 'name': name, 'source': source, 'sourceNamespace': 'olm', **spec},
    }


# Each in a namespace of its own: one that cannot be resolved stops all of its namespace.
SUBSCRIPTIONS = {
    'tool': subscription('tool', 'tool', 'base'),
    'needs': subscription('needs', 'needs', 'base'),
    'consumer': subscription('consumer', 'consumer', 'base'),
    'lonely': subscription('lonely', 'lonely', 'base'),
    'unknown': subscription('unknown', 'unknown', 'base'),
    'held': subscription('held', 'held', 'extra', startingCSV='held.v1.0.0', installPlanApproval='Manual'),
}


class Side:
    """A cluster with a catalog-operator, whose sources are at these addresses."""

    def __init__(self, on, cluster, tools, addresses):
        self.stage, self.cluster, self.tools, self.addresses = on, cluster, tools, addresses

    def prepare(self, real):
        self.cluster.kubectl('apply', '--server-side', '-f', str(self.tools / 'olm-manifests/crds'))
        self.cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all')
        self.cluster.kubectl('create', 'namespace', 'olm')
        for name in [*SUBSCRIPTIONS, *real]:
            self.cluster.kubectl('create', 'namespace', name)
            self.cluster.apply({
                'apiVersion': 'operators.coreos.com/v1', 'kind': 'OperatorGroup', 'metadata': {'name': 'all', 'namespace': name},
                'spec': {},
            })
            # What olm-operator would say, which does not run: the group is of all namespaces.
            status = {'namespaces': [''], 'lastUpdated': '2026-01-01T00:00:00Z'}
            self.cluster.kubectl(
                'patch', 'operatorgroup', 'all', '--namespace', name, '--subresource=status', '--type=merge', '--patch',
                json.dumps({'status': status}),
            )
        for name, address in self.addresses.items():
            self.cluster.apply({
                'apiVersion': 'operators.coreos.com/v1alpha1', 'kind': 'CatalogSource',
                'metadata': {'name': name, 'namespace': 'olm'},
                'spec': {'sourceType': 'grpc', 'address': address, 'displayName': name},
            })

    def start(self):
        command = [self.tools / 'catalog-operator', '--namespace=olm', '--interval=20s', '--debug']
        self.stage.start(f'{self.cluster.name}-catalog-operator', command, env=self.cluster.environment())

    def states(self):
        found = self.cluster.items('catalogsources', '--namespace', 'olm')
        state = {
            each['metadata']['name']: each.get('status', {}).get('connectionState', {}).get('lastObservedState') for each in found
        }
        return [state.get(name) for name in self.addresses]

    def plans(self, namespace):
        """The InstallPlans of a namespace, each as the names of its bundles, its phase and its steps."""
        found = self.cluster.items('installplans', '--namespace', namespace)
        # Upstream has the bundles in no order.
        made = ([sorted(each['spec']['clusterServiceVersionNames']), phase(each), steps(each)] for each in found)
        return sorted(made, key=json.dumps)

    def conditions(self, namespace):
        found = self.cluster.items('subscriptions', '--namespace', namespace)
        return [
            [each['status'].get('currentCSV'), *said(condition)]
            for each in found if 'status' in each
            for condition in each['status'].get('conditions', []) if condition['type'] == 'ResolutionFailed'
        ]


def phase(plan):
    return plan.get('status', {}).get('phase')


def steps(plan):
    made = []
    for step in plan.get('status', {}).get('plan') or []:
        resource = step['resource']
        # What was created, with the catalog's namespace and source; the manifest as it was read.
        manifest = json.loads(resource['manifest'])
        made.append([step['resolving'], resource['kind'], resource['name'], resource['sourceName'], manifest])
    return sorted(made, key=json.dumps)


def said(condition):
    return [condition['type'], condition['status'], condition.get('reason'), condition.get('message')]


def agree(table, what, read, sides, is_right):
    """Waits until both sides say the same and what they say is right, at the longest until the deadline."""
    ends = time.monotonic() + DEADLINE
    while True:
        first, second = (read(side) for side in sides)
        if is_right(first) and first == second or time.monotonic() > ends:
            break
        time.sleep(1)
    if not is_right(first):
        sys.exit(f'error: {what}: {stage.short(first)}; beside opm serve: {stage.short(second)}')
    table.row(what, first, second)


def names(plans):
    return sorted(name for plan in plans if plan[1] in ('Complete', 'RequiresApproval') for name in plan[0])


def start_ours(on, program, folder):
    command = [
        program, 'serve', '--listen=127.0.0.1:0', f'--grpc=0.0.0.0:{GRPC}', '--grpc-plaintext', '--watch', f'--store={on.folder}/store',
        *(f'{name}={folder}/{name}' for name in SOURCES),
    ]
    process = on.start('catalogql', command)
    eventually('catalogql does not listen', lambda: stage.listens(GRPC))
    return process


def start_opm(on, tools, folder, ports):
    started = []
    for name in SOURCES:
        command = [
            tools / 'opm', 'serve', folder / name, '-p', str(ports[name]), '--cache-dir', on.folder / f'cache-{name}',
            '--cache-enforce-integrity=false', '-t', on.folder / f'termination-{name}', '--pprof-addr', '127.0.0.1:0',
        ]
        started.append(on.start(f'opm-{name}', command))
    return started


def manifests(on, cluster, tools, addresses, expected):
    """The PackageManifests that packageserver makes of both servers, by server, once it has the expected ones of both."""
    port = free_port()
    for server, by_name in addresses.items():
        for name, address in by_name.items():
            cluster.apply({
                'apiVersion': 'operators.coreos.com/v1alpha1', 'kind': 'CatalogSource',
                'metadata': {'name': f'{server}-{name}', 'namespace': 'manifests'},
                'spec': {'sourceType': 'grpc', 'address': address, 'displayName': name, 'publisher': 'p'},
            })
    command = [
        tools / 'packageserver', '--secure-port', str(port), '--global-namespace=manifests', '--interval=5s',
        '--tls-cert-file', on.folder / 'tls.crt', '--tls-private-key-file', on.folder / 'tls.key',
    ]
    on.start('packageserver', command, env=cluster.become('reader', 'manifests'))
    token = (stage.TOKEN / 'token').read_text()
    address = f'https://localhost:{port}/apis/packages.operators.coreos.com/v1/namespaces/manifests/packagemanifests'

    def read():
        try:
            items = json.loads(stage.run(
                'curl', '--silent', '--fail', '--cacert', on.folder / 'cas/ca.crt', '-H', f'Authorization: Bearer {token}', address
            ))['items']
        except (SystemExit, ValueError):
            return None
        made = {'ours': {}, 'theirs': {}}
        for item in items:
            server, _, name = item['status']['catalogSource'].partition('-')
            made[server][f'{name}/{item["metadata"]["name"]}'] = json.loads(
                json.dumps(item).replace(f'"{server}-{name}"', f'"{name}"'), object_hook=comparable
            )
        return made if made['ours'].keys() == made['theirs'].keys() == expected else None

    return eventually('packageserver does not have the packages of both', read)


def comparable(members):
    """The members of an object of JSON without the time of its reading, and with images sorted, which packageserver has in no order."""
    kept = {key: value for key, value in members.items() if key != 'creationTimestamp'}
    return kept | {key: sorted(kept[key]) for key in ['relatedImages'] if kept.get(key)}


def go(program, cluster_program):
    tools = stage.programs('catalog-operator', 'packageserver', 'opm', 'olm-manifests')
    commit = (tools / 'catalog-operator.commit').read_text().strip()
    table = Table('catalog-operator', commit)
    with Stage() as on:
        on.certificates('localhost')
        folder, ports = on.folder / 'catalogs', {name: free_port() for name in SOURCES}
        real = real_packages()
        write(folder, catalogs(False), real)
        server = start_ours(on, program, folder)
        opm = start_opm(on, tools, folder, ports)
        addresses = {
            'ours': {name: f'{name}.catalogql.svc:{GRPC}' for name in SOURCES},
            'theirs': {name: f'localhost:{ports[name]}' for name in SOURCES},
        }
        clusters = {name: Cluster(on, cluster_program, name) for name in addresses}
        sides = [Side(on, clusters[name], tools, addresses[name]) for name in addresses]
        for side in sides:
            side.prepare([each.name for each in real])
            side.start()
        agree(table, 'the state of both connections', Side.states, sides, lambda states: states == ['READY', 'READY'])

        for side in sides:
            side.cluster.apply(*SUBSCRIPTIONS.values())
        for each in real:
            listed = json.loads(stage.run(program, 'list', 'channels', folder / 'extra' / each.name, '--output', 'json'))
            channel = next(one['name'] for one in listed['items'] if one['isDefault'])
            for side in sides:
                side.cluster.apply(subscription(each.name, each.name, 'extra', channel=channel))
        for name, bundles in {
            'tool': ['tool.v1.1.0'], 'needs': ['library.v1.5.0', 'needs.v1.0.0'], 'consumer': ['consumer.v2.0.0', 'provider.v3.0.0'],
            'held': ['held.v1.0.0'],
        }.items():
            agree(
                table, f'InstallPlans of {name}', lambda side, name=name: side.plans(name), sides,
                lambda plans, bundles=bundles: names(plans) == bundles,
            )
        for each in real:
            agree(
                table, f'InstallPlans of {each.name}', lambda side, name=each.name: side.plans(name), sides,
                lambda plans: len(names(plans)) > 0,
            )
        for name in ['lonely', 'unknown']:
            agree(
                table, f'conditions of {name}', lambda side, name=name: side.conditions(name), sides,
                lambda conditions: len(conditions) == 1 and conditions[0][2] == 'True',
            )

        # For a new content, OLM replaces the pod of `opm serve`. catalogql ends the connection of this catalog.
        write(folder, catalogs(True), real)
        for process in opm:
            process.kill()
            process.wait()
        start_opm(on, tools, folder, ports)
        begun = time.monotonic()
        agree(
            table, 'InstallPlans of tool after a new content', lambda side: side.plans('tool'), sides,
            lambda plans: names(plans) == ['tool.v1.1.0', 'tool.v1.2.0'],
        )
        print(f'the new content was installed {time.monotonic() - begun:.1f} s after it was written')

        begun = time.monotonic()
        server.kill()
        server.wait()
        server = start_ours(on, program, folder)
        eventually('the connections are not READY again', lambda: sides[0].states() == ['READY', 'READY'])
        print(f'READY again {time.monotonic() - begun:.1f} s after catalogql was killed')
        agree(table, 'the state of both connections after a restart', Side.states, sides, lambda states: states == ['READY', 'READY'])

        clusters['ours'].kubectl('create', 'namespace', 'manifests')
        clusters['ours'].kubectl('create', 'serviceaccount', 'reader', '--namespace', 'manifests')
        clusters['ours'].kubectl(
            'create', 'clusterrolebinding', 'reader', '--clusterrole=cluster-admin', '--serviceaccount=manifests:reader'
        )
        expected = {
            f'{source}/{blob["name"]}' for source, content in catalogs(True).items() for blob in content
            if blob['schema'] == 'olm.package'
        } | {f'extra/{each.name}' for each in real}
        made = manifests(on, clusters['ours'], tools, addresses, expected)
        for name in sorted(expected):
            table.row(f'PackageManifest {name} of packageserver', made['ours'][name], made['theirs'][name])
        seconds, peak = stage.spent(server)
        print(f'catalogql took {seconds:.1f} s of CPU time and {peak} MiB at most since its restart')
    table.end()


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stage.alone()
    go(*(Path(path).resolve() for path in sys.argv[1:]))

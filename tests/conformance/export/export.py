#!/usr/bin/env python3
"""Exports catalogs as tables and asks DuckDB and DataFusion over them what a server with the same catalogs answers by GraphQL:
totals, the heads of all channels, and joins. Whole values are compared, one line for each comparison. Then it follows
docs/how-to/ask-with-duckdb.md.

usage: export.py CATALOGQL [spark]

CATALOGQL is the program, built with the feature `export-parquet`. DuckDB and DataFusion are installed once from PyPI into the
user's cache. The catalogs are the example, twice under names that are easily taken for other types, and `community` of the corpus;
without the corpus, the part of it in tests/testdata. With `spark`, Spark is asked too, which needs Java. With UPDATE_EXPECT=1, the results on the page are written anew.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
PAGE = REPOSITORY / 'docs/how-to/ask-with-duckdb.md'
EXAMPLE = REPOSITORY / 'examples/catalog'
CORPUS = Path(os.environ.get('CATALOGQL_CORPUS', Path.home() / '.cache/catalogql/corpus'))
COMMUNITY = next(path for path in [CORPUS / 'community', REPOSITORY / 'tests/testdata/community'] if path.exists())
NASTY = REPOSITORY / 'tests/testdata/catalogs/nasty'

# A folder name `catalog=418` looks like a number, and `catalog=2026-01-01` like a date.
CATALOGS = {'418': EXAMPLE, '2026-01-01': EXAMPLE, 'community': COMMUNITY, 'nasty': NASTY}

TABLES = [
    'apis', 'bundles', 'channels', 'contents', 'deprecations', 'entries', 'images', 'packages', 'problems', 'properties',
    'requirements',
]

CONTENTS = '{ catalogs { name digest packageCount bundleCount schemas { count } problemCounts { severity count } } }'

PACKAGES = """query ($after: String) { packages(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes {
  name description catalog { name } metadata { displayName provider { name } categories } latest { name version }
  deprecation { message } defaultChannel { name }
  channels { name isDefault head { name bundle { version image } } deprecation { message }
    entries { name replaces skips skipRange bundle { version } } } } } }"""

BUNDLES = """query ($after: String) { bundles(first: 500, after: $after) { pageInfo { hasNextPage endCursor } nodes {
  name version release image catalog { name } package { name } maxOpenShiftVersion deprecation { message }
  metadata { createdAt minKubeVersion } relatedImages { name image } properties { type }
  providedApis { group version kind } requiredApis { group version kind } requiredPackages { packageName versionRange }
  requirements { propertyType text label } } } }"""

PROBLEMS = """query ($catalog: String!, $after: String) { catalog(name: $catalog) { problems(first: 500, after: $after) {
  pageInfo { hasNextPage endCursor }
  nodes { code severity message packageName channelName bundleName file line } } } }"""


def install(kind):
    """Runs this script again with the libraries, which are installed once."""
    cache = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / f'catalogql/export{kind}'
    file = HERE / f'requirements{kind}.txt'
    wanted = file.read_text()
    done = cache / 'installed'
    if not done.exists() or done.read_text() != wanted:
        print('installing databases from PyPI (a minute, once)', file=sys.stderr)
        subprocess.run([sys.executable, '-m', 'venv', '--clear', cache], check=True)
        subprocess.run([cache / 'bin/pip', 'install', '--quiet', '-r', file], check=True)
        done.write_text(wanted)
    if Path(sys.prefix) != cache:
        os.execv(cache / 'bin/python', [cache / 'bin/python', *sys.argv])


class DuckDb:
    """Tables as the page defines them."""

    name = 'DuckDB'

    def __init__(self, folder):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for table in TABLES:
            self.connection.execute(
                f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}/*/*/*.parquet', hive_partitioning = true,"
                ' hive_types_autocast = false, union_by_name = true)'
            )

    def ask(self, sql):
        table = self.connection.sql(sql).to_arrow_table()
        return [tuple(row.values()) for row in table.to_pylist()]


class DataFusion:
    name = 'DataFusion'

    def __init__(self, folder):
        import datafusion
        import pyarrow

        self.context = datafusion.SessionContext()
        partitions = [('catalog', pyarrow.string()), ('content', pyarrow.string())]
        for table in TABLES:
            self.context.register_parquet(table, f'{folder}/{table}/', table_partition_cols=partitions)

    def ask(self, sql):
        return [tuple(row.values()) for row in self.context.sql(sql).to_pylist()]


class Spark:
    name = 'Spark'

    def __init__(self, folder):
        from pyspark.sql import SparkSession

        settings = {
            'spark.driver.bindAddress': '127.0.0.1',
            'spark.driver.host': '127.0.0.1',
            'spark.sql.session.timeZone': 'UTC',
            'spark.sql.sources.partitionColumnTypeInference.enabled': 'false',
            'spark.ui.enabled': 'false',
            'spark.ui.showConsoleProgress': 'false',
        }
        builder = SparkSession.builder.master('local[2]')
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()
        for table in TABLES:
            read = self.session.read.option('mergeSchema', 'true')
            read.parquet(f'{folder}/{table}').createOrReplaceTempView(table)

    def ask(self, sql):
        for standard, own in {'unnest(': 'explode(', 'AS VARCHAR': 'AS STRING'}.items():
            sql = sql.replace(standard, own)
        return [tuple(row) for row in self.session.sql(sql).collect()]


class Answers:
    """What the server says, as far as the comparisons need it."""

    def __init__(self, address):
        self.address = address
        self.contents = self.ask(CONTENTS)['catalogs']
        self.packages = self.pages(PACKAGES, lambda data: data['packages'])
        self.bundles = self.pages(BUNDLES, lambda data: data['bundles'])
        self.problems = {
            name: self.pages(PROBLEMS, lambda data: data['catalog']['problems'], catalog=name) for name in CATALOGS
        }
        self.version = {self.key(bundle): bundle['version'] for bundle in self.bundles}

    def ask(self, query, **variables):
        body = json.dumps({'query': query, 'variables': variables}).encode()
        request = urllib.request.Request(f'{self.address}/graphql', body, {'content-type': 'application/json'})
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        if 'errors' in answer:
            sys.exit(f'error: {answer["errors"][0]}')
        return answer['data']

    def pages(self, query, connection, **variables):
        nodes, after = [], None
        while True:
            page = connection(self.ask(query, after=after, **variables))
            nodes += page['nodes']
            after = page['pageInfo']['endCursor']
            if not page['pageInfo']['hasNextPage']:
                return nodes

    @staticmethod
    def key(bundle):
        return bundle['catalog']['name'], bundle['package']['name'], bundle['name']

    def channels(self):
        """Each channel after the names of its catalog and package."""
        for package in self.packages:
            for channel in package['channels']:
                yield package['catalog']['name'], package['name'], channel

    def entries(self):
        """Each entry after the names of its catalog, package and channel."""
        for catalog, package, channel in self.channels():
            for entry in channel['entries']:
                yield catalog, package, channel['name'], entry


def same(left, right, *columns):
    """The condition that two rows are of one content, and equal in these columns (`column` or `left=right`)."""
    pairs = [column.split('=') if '=' in column else (column, column) for column in ('catalog', 'content', *columns)]
    return ' AND '.join(f'{left}.{mine} = {right}.{other}' for mine, other in pairs)


def count(rows):
    return [(*row, number) for row, number in Counter(rows).items()]


def of_catalogs(answers):
    for content in answers.contents:
        problems = {problem['severity']: problem['count'] for problem in content['problemCounts']}
        blobs = sum(schema['count'] for schema in content['schemas'])
        digest = content['digest'].replace(':', '-')
        yield (
            content['name'], digest, content['packageCount'], content['bundleCount'], blobs, problems['ERROR'],
            problems['WARNING'],
        )


def heads_with_versions(answers):
    for catalog, package, channel in answers.channels():
        bundle = (channel['head'] or {}).get('bundle')
        if bundle:
            yield catalog, package, channel['name'], bundle['version'], bundle['image'] or None


def latest(answers):
    for package in answers.packages:
        if package['latest']:
            metadata = package['metadata'] or {'displayName': None, 'provider': None, 'categories': []}
            provider = (metadata['provider'] or {}).get('name')
            yield (
                package['catalog']['name'], package['name'], metadata['displayName'], provider, metadata['categories'],
                package['latest']['version'],
            )


def edges(answers):
    for catalog, package, channel, entry in answers.entries():
        replaced = (catalog, package, entry['replaces'])
        if entry['bundle'] and replaced in answers.version:
            yield catalog, package, channel, entry['bundle']['version'], answers.version[replaced], entry['skipRange']


def skips(answers):
    for catalog, package, channel, entry in answers.entries():
        for skipped in entry['skips']:
            yield catalog, package, channel, entry['name'], skipped, answers.version.get((catalog, package, skipped))


def images_of_latest(answers):
    bundles = {answers.key(bundle): bundle for bundle in answers.bundles}
    for package in answers.packages:
        if package['latest']:
            key = package['catalog']['name'], package['name'], package['latest']['name']
            for image in bundles[key]['relatedImages']:
                yield key[0], key[1], image['name'], image['image']


def shipped(answers):
    """How many versions of packages of a catalog have an image."""
    found = {
        (bundle['catalog']['name'], image['image'], bundle['package']['name'], bundle['version'])
        for bundle in answers.bundles for image in bundle['relatedImages'] if bundle['version']
    }
    return count((catalog, image) for catalog, image, _, _ in found)


def apis_of_heads(answers):
    heads = {
        (catalog, package, channel['head']['name'])
        for catalog, package, channel in answers.channels() if channel['head'] and channel['isDefault']
    }
    for bundle in answers.bundles:
        if answers.key(bundle) in heads:
            for api in bundle['providedApis']:
                yield *answers.key(bundle), api['group'], api['version'], api['kind']


def missing_apis(answers):
    """Required APIs that no bundle of the catalog provides."""
    def apis(field):
        return {
            (bundle['catalog']['name'], api['group'], api['version'], api['kind']): None
            for bundle in answers.bundles for api in bundle[field]
        }
    return set(apis('requiredApis')) - set(apis('providedApis'))


def required_packages(answers):
    known = {(package['catalog']['name'], package['name']): package for package in answers.packages}
    for bundle in answers.bundles:
        for required in bundle['requiredPackages']:
            package = known.get((bundle['catalog']['name'], required['packageName']), {})
            channel = (package.get('defaultChannel') or {}).get('name')
            yield *answers.key(bundle), required['packageName'], required['versionRange'], channel


def deprecated(answers):
    messages = {answers.key(bundle): bundle['deprecation'] for bundle in answers.bundles}
    for catalog, package, channel, entry in answers.entries():
        deprecation = messages.get((catalog, package, entry['name']))
        if deprecation:
            yield catalog, package, channel, entry['name'], deprecation['message'] or None


def problems(answers):
    for catalog, listed in answers.problems.items():
        for problem in listed:
            fields = ['code', 'severity', 'message', 'packageName', 'channelName', 'bundleName', 'file', 'line']
            yield catalog, *(problem[field] for field in fields)


def times(answers):
    for bundle in answers.bundles:
        metadata = bundle['metadata'] or {'createdAt': None, 'minKubeVersion': None}
        # Databases print other forms of the same time.
        created = metadata['createdAt'] and metadata['createdAt'][:19]
        yield *answers.key(bundle), created, metadata['minKubeVersion'], bundle['maxOpenShiftVersion']


# What is compared: its name, the question in SQL, and the rows that the server's answers give.
COMPARISONS = [
    (
        'totals of each catalog',
        'SELECT catalog, content, packages, bundles, blobs, errors, warnings FROM contents',
        of_catalogs,
    ),
    (
        'totals of channels and entries',
        'SELECT catalog, package, channel, count(*) FROM entries GROUP BY catalog, package, channel',
        lambda answers: count((catalog, package, channel) for catalog, package, channel, _ in answers.entries()),
    ),
    (
        'channel heads',
        'SELECT catalog, package, channel, is_default, head FROM channels',
        lambda answers: (
            (catalog, package, channel['name'], channel['isDefault'], (channel['head'] or {}).get('name'))
            for catalog, package, channel in answers.channels()
        ),
    ),
    (
        'join 1: heads with versions and images',
        'SELECT c.catalog, c.package, c.channel, b.version, b.image FROM channels c'
        f' JOIN bundles b ON {same("c", "b", "package", "head=bundle")}',
        heads_with_versions,
    ),
    (
        'join 2: packages with their latest version',
        'SELECT p.catalog, p.package, p.display_name, p.provider, p.categories, b.version FROM packages p'
        f' JOIN channels c ON {same("p", "c", "package", "default_channel=channel")}'
        f' JOIN bundles b ON {same("c", "b", "package", "head=bundle")}',
        latest,
    ),
    (
        'join 3: edges of the update graph by version',
        'SELECT e.catalog, e.package, e.channel, b.version, r.version AS replaced, e.skip_range FROM entries e'
        f' JOIN bundles b ON {same("e", "b", "package", "bundle")}'
        f' JOIN bundles r ON {same("e", "r", "package", "replaces=bundle")}',
        edges,
    ),
    (
        'join 4: skipped bundles with their versions',
        'SELECT e.catalog, e.package, e.channel, e.bundle, e.skipped, b.version FROM'
        ' (SELECT catalog, content, package, channel, bundle, unnest(skips) AS skipped FROM entries) e'
        f' LEFT JOIN bundles b ON {same("e", "b", "package", "skipped=bundle")}',
        skips,
    ),
    (
        'join 5: images of the latest versions',
        'SELECT p.catalog, p.package, i.name, i.image FROM packages p'
        f' JOIN channels c ON {same("p", "c", "package", "default_channel=channel")}'
        f' JOIN images i ON {same("c", "i", "package", "head=bundle")}',
        images_of_latest,
    ),
    (
        'join 6: number of versions that ever shipped an image',
        "SELECT i.catalog, i.image, count(DISTINCT i.package || ' ' || b.version) FROM images i"
        f' JOIN bundles b ON {same("i", "b", "package", "bundle")} WHERE b.version IS NOT NULL GROUP BY i.catalog, i.image',
        shipped,
    ),
    (
        'join 7: APIs at the heads of default channels',
        'SELECT a.catalog, a.package, a.bundle, a.api_group, a.api_version, a.api_kind FROM channels c'
        f' JOIN apis a ON {same("c", "a", "package", "head=bundle")} WHERE c.is_default',
        apis_of_heads,
    ),
    (
        'join 8: required APIs that no bundle provides',
        'SELECT DISTINCT r.catalog, r.api_group, r.api_version, r.api_kind FROM requirements r'
        f' LEFT JOIN apis a ON {same("r", "a", "api_group", "api_version", "api_kind")}'
        ' WHERE r.api_kind IS NOT NULL AND a.api_kind IS NULL',
        missing_apis,
    ),
    (
        'join 9: required packages with their default channels',
        'SELECT r.catalog, r.package, r.bundle, r.required_package, r.version_range, c.channel FROM requirements r'
        f' LEFT JOIN channels c ON {same("r", "c", "required_package=package")} AND c.is_default'
        ' WHERE r.required_package IS NOT NULL',
        required_packages,
    ),
    (
        'join 10: deprecated bundles with their channels',
        'SELECT e.catalog, e.package, e.channel, e.bundle, d.message FROM deprecations d'
        f' JOIN entries e ON {same("d", "e", "package", "bundle")}',
        deprecated,
    ),
    (
        'problems',
        'SELECT catalog, code, severity, message, package, channel, bundle, file, line FROM problems'
        ' WHERE message IS NOT NULL',
        problems,
    ),
    (
        'requirements in words',
        'SELECT catalog, package, bundle, property_type, description, label FROM requirements',
        lambda answers: (
            (*answers.key(bundle), required['propertyType'], required['text'], required['label'])
            for bundle in answers.bundles for required in bundle['requirements']
        ),
    ),
    (
        'types of the properties of bundles',
        'SELECT catalog, package, bundle, property_type, count(*) FROM properties WHERE bundle IS NOT NULL'
        ' GROUP BY catalog, package, bundle, property_type',
        lambda answers: count(
            (*answers.key(bundle), stated['type']) for bundle in answers.bundles for stated in bundle['properties']
        ),
    ),
    (
        'times and platforms of bundles',
        'SELECT catalog, package, bundle, substr(replace(CAST(created_at AS VARCHAR), \' \', \'T\'), 1, 19), min_kube_version,'
        ' max_openshift_version FROM bundles',
        times,
    ),
]


def serve(program, folder):
    """Starts a server with the catalogs. Returns it and its address."""
    sources = [f'{name}={path}' for name, path in CATALOGS.items()]
    command = [
        program, 'serve', *sources, '--listen', '127.0.0.1:0', '--store', folder / 'store', '--max-cost=100000000',
        '--max-work=100000000', '--max-answer=256Mi', '--max-seconds=60',
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in server.stdout:
        if found := re.match(r'Listening on (\S+)/graphql', line):
            return server, found[1]
    sys.exit('error: the server does not start')


def wait_until_ready(address):
    """Waits until every catalog is loaded."""
    for _ in range(1200):
        try:
            with urllib.request.urlopen(f'{address}/readyz'):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit('error: the server does not become ready')


def export(program, folder):
    """Exports the catalogs. Prints what the command says, and its time and memory."""
    for name, path in CATALOGS.items():
        begun = time.monotonic()
        process = subprocess.Popen(
            [program, 'export', f'{name}={path}', '--to', folder], stdout=subprocess.PIPE, text=True
        )
        [line] = process.stdout.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f'error: the export of {name} ends with {status}')
        print(f'exported {line} ({time.monotonic() - begun:.1f} s, {usage.ru_maxrss // 1024} MiB)')
    again = subprocess.run(
        [program, 'export', *(f'{name}={path}' for name, path in CATALOGS.items()), '--to', folder], check=True,
        capture_output=True, text=True,
    )
    changed = [line for line in again.stdout.splitlines() if not line.endswith(': unchanged')]
    if changed:
        sys.exit(f'error: exported again, although nothing changed: {changed}')


def text(value):
    """A value that is ordered and hashed: rows have lists and nulls."""
    return json.dumps(value, default=str, ensure_ascii=False)


def compare(databases, answers):
    """Compares every answer of each database. Returns how many differ."""
    different = 0
    for database in databases:
        for name, sql, rows in COMPARISONS:
            begun = time.monotonic()
            found = Counter(text(row) for row in database.ask(sql))
            seconds = time.monotonic() - begun
            expected = Counter(text(row) for row in rows(answers))
            verdict = 'equal' if found == expected else 'DIFFERENT'
            print(f'{verdict:9} {database.name}, {name}: {found.total()} rows, {seconds:.2f} s')
            if found != expected:
                different += 1
                print(f'  only the database: {list(found - expected)[:3]}\n  only GraphQL: {list(expected - found)[:3]}')
    return different


def follow_page(program, folder):
    """Runs the commands and queries of the page in a folder. Returns how many results differ from those that it shows."""
    import duckdb

    (folder / 'examples').symlink_to(REPOSITORY / 'examples')
    environment = {**os.environ, 'PATH': f'{program.parent}:{os.environ["PATH"]}'}
    connection = duckdb.connect()
    different = 0

    def result(language, block):
        if language == 'sh':
            done = subprocess.run(['sh', '-ec', block], cwd=folder, env=environment, capture_output=True, text=True, check=False)
            return done.stdout + done.stderr
        os.chdir(folder)
        connection.execute("SET TimeZone = 'UTC'")
        shown = connection.sql(block)
        return '' if shown is None else re.sub(r'[ \t]+$', '', str(shown), flags=re.M).strip() + '\n'

    def replace(found):
        nonlocal different
        given = result(found['language'], found['block'])
        if found['shown'] is None:
            return found[0]
        verdict = 'equal' if given == found['shown'] else 'DIFFERENT'
        different += given != found['shown']
        print(f'{verdict:9} the page, {found["block"].splitlines()[0]}')
        if given != found['shown']:
            print(given)
        return found[0].replace(found['shown'], given) if found['shown'] else found[0].replace('```text\n', f'```text\n{given}')

    page = PAGE.read_text()
    pattern = r'^```(?P<language>sh|sql)\n(?P<block>.*?)^```\n(\n```text\n(?P<shown>.*?)^```\n)?'
    written = re.sub(pattern, replace, page, flags=re.M | re.S)
    if written != page and 'UPDATE_EXPECT' in os.environ:
        PAGE.write_text(written)
        return 0
    return different


def main(program, databases):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(program, folder / 'tables')
        server, address = serve(program, folder)
        try:
            wait_until_ready(address)
            answers = Answers(address)
        finally:
            server.terminate()
            server.wait()
        different = compare((database(folder / 'tables') for database in databases), answers)
        (folder / 'page').mkdir()
        different += follow_page(program, folder / 'page')
    if different:
        sys.exit(f'error: {different} comparisons differ')


if __name__ == '__main__':
    WITH_SPARK = sys.argv[2:] == ['spark']
    if len(sys.argv) != 2 and not WITH_SPARK:
        sys.exit(__doc__)
    install('-spark' if WITH_SPARK else '')
    main(Path(sys.argv[1]).resolve(), [DuckDb, DataFusion, Spark] if WITH_SPARK else [DuckDb, DataFusion])

#!/usr/bin/env python3
"""Calls the tools for assistants with the Python SDK of the Model Context Protocol: over the standard streams of `catalogql mcp` and
over `/mcp` of a server, with and without `initialize`. One line for each comparison.

usage: mcp.py CATALOGQL

CATALOGQL is the program, built with the feature `mcp`. The SDK is installed once from PyPI into the user's cache. The catalogs are the
example, and `community` of the corpus; without the corpus, the part of it in tests/testdata. With CATALOGQL_INSPECTOR=1, the command
line of the MCP Inspector is asked too, which needs npx and Node 22.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
CORPUS = Path(os.environ.get('CATALOGQL_CORPUS', Path.home() / '.cache/catalogql/corpus'))
COMMUNITY = next(path for path in [CORPUS / 'community', REPOSITORY / 'tests/testdata/community'] if path.exists())
SOURCES = [f'example={REPOSITORY / "examples/catalog"}', f'community={COMMUNITY}']

INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'

# Of an answer, as docs/reference/limits.md has them.
MAX_ANSWER_BYTES = 24 << 10
MAX_LIST_ITEMS = 25

TOOLS = [
    'list_catalogs', 'search_packages', 'describe_package', 'describe_bundle', 'available_upgrades', 'resolve_package',
    'solve_dependencies', 'plan_mirror', 'plan_platform_upgrade',
]

EXAMPLE = {'catalogs': ['example']}
INSTALLED = {'package': 'quillstore', 'bundle': 'quillstore.v1.0.0', 'version': '1.0.0'}
STEPS = [{'platform': {'openshift': version}, 'catalogs': ['example']} for version in ['4.18', '4.19']]

# Calls with the beginning of their first text; None for a call that the tool refuses.
CALLS = [
    ('list_catalogs', {}, 'Served catalogs: 2.'),
    ('search_packages', {'text': 'backup', **EXAMPLE}, 'Packages that match: 1; 1 are shown.'),
    ('search_packages', {'text': 'operator', 'first': 20}, 'Packages that match: '),
    ('describe_package', {'package': 'quillstore'}, 'Catalogs with the package `quillstore`: example.'),
    ('describe_bundle', {'package': 'quillstore', 'bundle': 'quillstore.v1.4.0'}, 'Catalogs with the bundle `quillstore.v1.4.0`: '),
    ('available_upgrades', INSTALLED, 'Upgrades in catalog `example`: 1, the highest to `quillstore.v1.1.0`.'),
    ('resolve_package', {'package': 'sealwright'}, 'OLM v1 selects the bundle `sealwright.'),
    ('resolve_package', {'package': 'quillstore', 'version': '>9.0.0'}, 'OLM v1 selects no bundle: '),
    ('solve_dependencies', {'wanted': [{'packageName': 'nightjar'}], **EXAMPLE}, 'There is a solution; steps: '),
    ('plan_mirror', {'catalog': 'example', 'packages': [{'name': 'quillstore'}]}, 'Selected: 1 packages, '),
    (
        'plan_platform_upgrade',
        {'steps': STEPS, 'installed': [{'packageName': 'quillstore', 'version': '1.0.0'}]},
        'Verdict: ',
    ),
]
REFUSED = [
    ('describe_package', {'package': 'quilstore'}, 'no catalog has a package `quilstore`; similar names are quillstore; '),
    ('describe_package', {'package': 'quillstore', 'catalogs': ['exmaple']}, 'no catalog `exmaple` is served; '),
    ('describe_bundle', {'package': 'quillstore', 'bundle': 'x'}, 'package `quillstore` has no bundle `x`; its newest bundles are '),
    ('search_packages', {'text': 7}, 'the arguments are invalid: '),
    ('search_packages', {'text': 'a', 'first': 21}, 'the arguments are invalid: `first` is 21: write 1 to 20'),
    ('search_packages', {'text': 'a', 'query': '{ catalogs { name } }'}, 'the arguments are invalid: unknown field `query`'),
]


def install():
    """Runs this script again with the SDK, which is installed once."""
    cache = Path(os.environ.get('XDG_CACHE_HOME', Path.home() / '.cache')) / 'catalogql/mcp'
    file = HERE / 'requirements.txt'
    wanted = file.read_text()
    done = cache / 'installed'
    if not done.exists() or done.read_text() != wanted:
        print('installing the SDK from PyPI (once)', file=sys.stderr)
        subprocess.run([sys.executable, '-m', 'venv', '--clear', cache], check=True)
        subprocess.run([cache / 'bin/pip', 'install', '--quiet', '-r', file], check=True)
        done.write_text(wanted)
    if Path(sys.prefix) != cache:
        os.execv(cache / 'bin/python', [cache / 'bin/python', *sys.argv])
    # The SDK has the name of this script.
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]


def compare(what, found, expected):
    if found != expected:
        sys.exit(f'{what}: {json.dumps(found)[:2000]}\nexpected: {json.dumps(expected)[:2000]}')
    print(f'{what}: equal')


def longest_list(value):
    """Returns the number of items of the longest list below a value."""
    if isinstance(value, list):
        return max([len(value), *map(longest_list, value)])
    if isinstance(value, dict):
        return max([0, *map(longest_list, value.values())])
    return 0


async def session(kind, server, mode):
    """Lists and calls tools in one session; returns what they answer."""
    from mcp import Client, MCPError

    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        listed = (await client.list_tools()).tools
        compare(f'{kind}: names of the tools', [tool.name for tool in listed], TOOLS)
        hints = [(tool.annotations.read_only_hint, tool.annotations.open_world_hint) for tool in listed]
        compare(f'{kind}: tools only read', hints, [(True, False)] * len(TOOLS))

        answers = []
        for name, arguments, text in CALLS:
            result = await client.call_tool(name, arguments)
            first, second = [content.text for content in result.content]
            if result.is_error or not first.startswith(text):
                sys.exit(f'{kind}: {name} {arguments}: {first}')
            data = result.structured_content
            if json.loads(second) != data:
                sys.exit(f'{kind}: {name}: the text differs from the data')
            if len(second.encode()) > MAX_ANSWER_BYTES or longest_list(data) > MAX_LIST_ITEMS:
                sys.exit(f'{kind}: {name}: {len(second)} bytes, {longest_list(data)} items')
            answers.append((name, first, data))
        print(f'{kind}: {len(CALLS)} calls have the expected answers')

        for name, arguments, text in REFUSED:
            result = await client.call_tool(name, arguments)
            if not result.is_error or not result.content[0].text.startswith(text):
                sys.exit(f'{kind}: {name} {arguments}: {result.content[0].text}')
        print(f'{kind}: {len(REFUSED)} calls are refused with what to do')

        try:
            await client.call_tool('query', {'query': '{ catalogs { name } }'})
            sys.exit(f'{kind}: a tool that does not exist answered')
        except MCPError as error:
            compare(f'{kind}: code of an unknown tool', error.error.code, -32602)
        return answers


async def pages(kind, server):
    """Follows the cursors of a search, and describes every package that it finds."""
    from mcp import Client

    async with Client(server) as client:
        names, after, largest = [], None, 0
        while True:
            arguments = {'text': 'operator', 'first': 20, **({'after': after} if after else {})}
            result = await client.call_tool('search_packages', arguments)
            packages = result.structured_content['data']['packages']
            if 'omitted' in result.structured_content and 'packages.nodes' in result.structured_content['omitted']:
                sys.exit(f'{kind}: a page was cut: {result.content[0].text}')
            names += [(node['catalog']['name'], node['name']) for node in packages['nodes']]
            after = packages['pageInfo']['endCursor']
            if not packages['pageInfo']['hasNextPage']:
                break
        compare(f'{kind}: packages on all pages of a search', len(set(names)), packages['totalCount'])

        for catalog, name in names:
            arguments = {'package': name, 'catalogs': [catalog]}
            result = await client.call_tool('describe_package', arguments)
            if result.is_error:
                sys.exit(f'{kind}: {name}: {result.content[0].text}')
            largest = max(largest, len(result.content[1].text.encode()))
            mirror = {'catalog': catalog, 'packages': [{'name': name}]}
            result = await client.call_tool('plan_mirror', mirror)
            if result.is_error:
                sys.exit(f'{kind}: {name}: {result.content[0].text}')
            largest = max(largest, len(result.content[1].text.encode()))
        if largest > MAX_ANSWER_BYTES:
            sys.exit(f'{kind}: an answer of {largest} bytes')
        print(f'{kind}: {len(names)} packages described and mirrored, the largest answer has {largest} bytes')


def status(url, headers):
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}).encode()
    headers = {'content-type': 'application/json', 'accept': 'application/json, text/event-stream', **headers}
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers)).status
    except urllib.error.HTTPError as error:
        return error.code


def inspect(program, url):
    """Asks the command line of the MCP Inspector over both transports."""
    for kind, target in [('stdio', [program, 'mcp', *SOURCES]), ('HTTP', [url, '--transport', 'http'])]:
        command = ['npx', '--yes', INSPECTOR, '--cli', *target, '--method', 'tools/list', '--strict']
        listed = subprocess.run(command, check=True, capture_output=True, text=True)
        names = [tool['name'] for tool in json.loads(listed.stdout)['tools']]
        compare(f'Inspector, {kind}: names of the tools', names, TOOLS)
        found = [line for line in listed.stderr.splitlines() if line.startswith(('Warning: tool', 'Error: tool'))]
        compare(f'Inspector, {kind}: problems of the schemas', found, [])


def serve(program, folder):
    """Starts a server with the tools; returns it with their URL."""
    server = subprocess.Popen(
        [program, 'serve', *SOURCES, '--mcp', '--listen', '127.0.0.1:0', '--store', f'{folder}/store'],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for line in server.stdout:
        if line.startswith('Listening on '):
            return server, line.split()[2].replace('/graphql', '/mcp')
    sys.exit('the server does not listen')


def main(program):
    from mcp.client.stdio import StdioServerParameters

    command = StdioServerParameters(command=program, args=['mcp', *SOURCES])
    with tempfile.TemporaryDirectory() as folder:
        server, url = serve(program, folder)
        try:
            answers = {}
            for kind, target in [('stdio', command), ('HTTP', url)]:
                for mode in ['legacy', 'auto', '2026-07-28']:
                    name = f'{kind}, {mode}'
                    answers[name] = asyncio.run(session(name, target, mode))
            first, *others = answers.values()
            compare('answers of all transports and versions', others, [first] * len(others))
            asyncio.run(pages('HTTP', url))
            origins = [{}, {'origin': 'https://evil.example'}, {'host': 'rebound.example'}, {'mcp-protocol-version': '1999-01-01'}]
            compare('statuses of foreign pages, hosts and versions', [status(url, headers) for headers in origins], [200, 403, 421, 400])
            if os.environ.get('CATALOGQL_INSPECTOR'):
                inspect(program, url)
        finally:
            server.kill()
            server.wait()


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    install()
    started = time.monotonic()
    main(str(Path(sys.argv[1]).resolve()))
    print(f'done in {time.monotonic() - started:.0f} s')

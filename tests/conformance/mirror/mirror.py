#!/usr/bin/env python3
"""Mirror sets, judged by the code of upstream: `opm validate` accepts every catalog that `catalogql mirror catalog` writes, and
the library of oc-mirror keeps the same of the configuration that `catalogql mirror plan -o imageset` prints.

usage: mirror.py CATALOGQL
       mirror.py CATALOGQL measure

The cases are those of crates/mirror/tests/testdata/golden; those over real catalogs need the corpus. With `measure`, it prints
the CPU time and the memory that a few configurations over `community` take: of the library, of a command, and of a server.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parents[2] / 'crates/mirror/tests/testdata/golden'
CORPUS = Path(os.environ.get('CATALOGQL_CORPUS', Path.home() / '.cache/catalogql/corpus'))
CATALOG = 'registry.example.com/catalog:v1'

# Configurations that are measured.
MEASURED = {
    'a channel with a range': {'packages': [{'name': 'argocd-operator', 'minVersion': '0.8.0'}]},
    'heads of a package': {'packages': [{'name': 'prometheus'}]},
    'heads of everything': {},
}

# How often a server answers, because one answer is shorter than a tick of the clock of CPU time.
ANSWERS = 200


def configuration(operator):
    item = {'catalog': CATALOG, **operator}
    return json.dumps(
        {'apiVersion': 'mirror.openshift.io/v2alpha1', 'kind': 'ImageSetConfiguration', 'mirror': {'operators': [item]}}
    )


def cases():
    for name in ['made', 'real']:
        with gzip.open(GOLDEN / f'{name}.jsonl.gz', 'rt') as lines:
            for number, line in enumerate(lines):
                yield f'{name} {number + 1}', json.loads(line)


def run(command, text=None):
    return subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False)


def names(packages):
    """What of a package must be equal."""
    return [
        {
            'name': package['name'],
            'defaultChannel': package['defaultChannel'],
            'channels': package['channels'],
            'bundles': package['bundles'],
        }
        for package in sorted(packages, key=lambda package: package['name'])
    ]


class Case:
    """What catalogql makes of one case."""

    def __init__(self, program, folder, name, case):
        self.name = name
        self.folder = folder / name.replace(' ', '-')
        self.folder.mkdir()
        if 'blobs' in case:
            self.source = self.folder / 'source'
            self.source.mkdir()
            (self.source / 'catalog.json').write_text('\n'.join(json.dumps(blob) for blob in case['blobs']))
        else:
            self.source = CORPUS / case['catalog']
        self.is_there = self.source.is_dir()
        self.written = self.imageset = self.error = None
        if self.is_there:
            self.make(program, case)

    def make(self, program, case):
        config = self.folder / 'config.json'
        config.write_text(configuration(case['operator']))
        given = [f'main={self.source}', '-c', config, f'--catalog=main={CATALOG}']
        plan = run([program, 'mirror', 'plan', *given, '-o', 'json'])
        self.is_refused = plan.returncode != 0
        if self.is_refused:
            return
        self.packages = names(json.loads(plan.stdout)['packages'])
        target = self.folder / 'written'
        written = run([program, 'mirror', 'catalog', *given, '-o', target])
        if written.returncode == 0:
            self.written = target
        else:
            self.error = written.stderr
        imageset = run([program, 'mirror', 'plan', *given, '-o', 'imageset'])
        if imageset.returncode == 0:
            self.imageset = yaml.safe_load(imageset.stdout)['mirror']['operators'][0]


def compare(program, recorder):
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda case: Case(program, Path(folder), *case), cases()))
        there = [case for case in made if case.is_there]
        kept = [case for case in there if not case.is_refused]
        faults = [f'{case.name}: not written: {case.error}' for case in kept if case.error]

        written = [case for case in kept if case.written]
        answers = run([recorder, 'validate'], '\n'.join(str(case.written) for case in written)).stdout.splitlines()
        assert len(answers) == len(written), 'a line for each catalog'
        valid = sum(answer == 'valid' for answer in answers)
        faults += [f'{case.name}: opm: {answer}' for case, answer in zip(written, answers) if answer != 'valid']

        emitted = [case for case in kept if case.imageset]
        asked = [json.dumps({'catalog': str(case.source), 'operator': case.imageset}) for case in emitted]
        answers = [json.loads(line) for line in run([recorder, 'filter'], '\n'.join(asked)).stdout.splitlines()]
        assert len(answers) == len(emitted), 'a line for each configuration'
        equal = 0
        for case, answer in zip(emitted, answers):
            if names(answer.get('packages', [])) == case.packages:
                equal += 1
            else:
                faults.append(f'{case.name}: imageset {case.imageset}: {answer} instead of {case.packages}')
        print(
            f'{len(made)} cases: {len(made) - len(there)} without their catalog, {len(there) - len(kept)} refused; '
            f'{valid} of {len(written)} catalogs are valid for opm; {equal} of {len(emitted)} configurations select the same '
            f'with oc-mirror, {len(kept) - len(emitted)} have none'
        )
        if not there or faults:
            sys.exit('\n'.join(faults[:20]) or 'error: there are no cases')


def usage(command, text=None):
    """CPU seconds and mebibytes of a command."""
    with tempfile.TemporaryFile('w+') as given:
        given.write(text or '')
        given.seek(0)
        child = subprocess.Popen([str(part) for part in command], stdin=given, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
    # A refusal is an answer too: some bundles of `community` have images that cannot be mirrored.
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f'error: {command} ended with {status}')
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


class Server:
    """A server of `community`."""

    def __init__(self, program, folder):
        environment = {**os.environ, 'XDG_CACHE_HOME': str(folder)}
        self.child = subprocess.Popen(
            [program, 'serve', f'community={CORPUS / "community"}', '--listen', '127.0.0.1:0'],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        for line in self.child.stdout:
            if found := re.search(r'http://[0-9.]+:[0-9]+', line):
                self.url = found[0]
                break

    def cpu(self):
        fields = Path(f'/proc/{self.child.pid}/stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def ask(self, operator, number):
        # Another text each time, so that no answer comes from a cache.
        text = configuration(operator) + ' ' * number
        query = '''query($input: MirrorSetInput!) { catalog(name: "community") { mirrorSet(input: $input) {
            counts { packages bundles images } problems { code } } } }'''
        body = json.dumps({'query': query, 'variables': {'input': {'configuration': text, 'rules': 'OC_MIRROR'}}}).encode()
        request = urllib.request.Request(self.url + '/graphql', body, {'content-type': 'application/json'})
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        if 'errors' in answer:
            sys.exit(f'error: {answer["errors"]}')
        return answer


def measure(program, recorder):
    catalog = CORPUS / 'community'
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / 'config.json'
        server = Server(program, folder)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                try:
                    server.ask({}, 0)
                    break
                except OSError:
                    time.sleep(0.2)
            time.sleep(2)
            for name, operator in MEASURED.items():
                library = usage([recorder, 'keep', catalog], json.dumps(operator))
                config.write_text(configuration(operator))
                given = [f'main={catalog}', '-c', config, f'--catalog=main={CATALOG}']
                # By its rules, because other ones refuse a catalog that OLM refuses.
                cold = usage([program, 'mirror', 'plan', *given, '--like', 'oc-mirror', '-o', 'lines'])
                begin = server.cpu()
                for number in range(ANSWERS):
                    server.ask(operator, number + 1)
                each = (server.cpu() - begin) / ANSWERS
                print(
                    f'{name}: library {library[0]:.2f} s, {library[1]:.0f} MiB; '
                    f'cold {cold[0]:.2f} s, {cold[1]:.0f} MiB ({library[0] / cold[0]:.1f} ×, memory {library[1] / cold[1]:.1f} ×); '
                    f'server {each * 1000:.2f} ms ({library[0] / max(each, 1e-6):.0f} ×)'
                )
        finally:
            server.child.terminate()
            server.child.wait()


def main():
    program = Path(sys.argv[1]).resolve()
    recorder = run([HERE / 'build.sh']).stdout.strip()
    if not recorder:
        sys.exit('error: the recorder cannot be built')
    if sys.argv[2:] == ['measure']:
        measure(program, recorder)
    else:
        compare(program, recorder)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Three replicas behind Varnish, with a real registry and a real S3 server (MinIO), each a host of its own: 20,000 readers of console
pages, a catalog that changes every few seconds, and faults, one at a time and then two.

usage: replicas.py CATALOGQL CLUSTER [MINUTES [SEED]]

CATALOGQL has the feature `shared-store`, CLUSTER is the example `cluster` of the crate `testing`. It takes 10 minutes, if MINUTES
does not say otherwise. SEED decides about the faults and their order. MinIO is built once from Go modules into ~/.cache/catalogql;
Varnish is Debian's. Steps of the clock need a program that is linked to the C library at run time, and a C compiler.

The bars:

- every answer is of one content, and is seen no longer than `--shared-cache-max-age` allows after the last replica served that content;
- no read fails, except those on connections to a Varnish that is killed;
- at least 99 % of the reads reach no replica;
- without a fault, all readers see a new content within 5 s after it was pushed;
- after a fault, all replicas and Varnish serve the newest content within RECOVERY seconds;
- callers with different rights, behind another Varnish, never get an answer of each other;
- memory that no file backs and descriptors stay as they are from the second to the last third of the time.
"""

import asyncio
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(HERE.parent / 'upstream'), str(HERE.parent / 'caches'), str(REPOSITORY / 'benches/http')]

import caches
import network
import stage
from machine import anonymous
from parts import Callers, Fault, Site, faults_of
from readers import MAX_AGE, Connection, Contents, Readers, Watcher, path_of
from stage import Stage

READERS = 20_000
CONNECTIONS = 100

# Seconds between two pages of a reader, on average.
THINK = 66

# Seconds between two contents.
PUSH = 6

# Seconds between two faults, and the least and most seconds of a fault.
CALM = 14
FAULT = (8, 14)

# Least percentage of reads that reach no replica.
SHARE = 99

# Most seconds until all see a new content.
SEEN = 5

# Most seconds after a fault until all is as it was.
RECOVERY = 30

# Most growth of memory, as a share and in bytes, and of descriptors.
SLACK = 0.05
SLACK_BYTES = 4 << 20
SLACK_DESCRIPTORS = 10

# Counters of requests that readers send.
REQUESTS = re.compile(rb'^catalogql_http_requests_total\{[^}]*handler="(?:graphql|icon)"[^}]*\} (\d+)', re.MULTILINE)


class Run:
    """What goes on at one time, and what is counted."""

    def __init__(self, site, callers, minutes, seed):
        self.site = site
        self.callers = callers
        self.seconds = minutes * 60
        self.chance = random.Random(seed)
        self.contents = Contents()
        self.active = set()
        self.watchers = [Watcher(self.contents, replica.address, replica.port) for replica in site.replicas]
        self.readers = Readers(self.contents, self.active, site.varnish.address, site.varnish.port)
        self.contents.push(site.number)
        self.reached = 0
        self.last = {}
        self.is_calm = True
        self.seen = []
        self.recoveries = {}
        self.refused = 0
        self.samples = {}
        self.purges = 0
        # Whether the next content is pushed at once.
        self.hurries = False
        self.began = time.monotonic()

    def say(self, text):
        print(f'{time.monotonic() - self.began:>6.0f} s  {text}', flush=True)

    async def push(self):
        """New contents, and after how many seconds each was seen by all."""
        while True:
            began = time.monotonic()
            number = self.site.number + 1
            self.contents.push(number)
            calm = self.is_calm
            try:
                await asyncio.to_thread(self.site.push)
            except (OSError, ValueError):
                # The registry has it, or has it not.
                self.refused += 1
                self.site.number += 1
                await asyncio.sleep(1)
                continue
            pushed = time.monotonic()
            self.contents.pushed[number] = pushed
            former = dict(self.contents.read)
            self.hurries = False
            while time.monotonic() < began + PUSH and not self.hurries:
                calm = calm and self.is_calm
                await asyncio.sleep(0.1)
            late = [at for one, at in self.contents.read.items() if one < number and at > former.get(one, 0)]
            seconds = max([*late, pushed]) - pushed
            replicas = max((watcher.first.get(number, time.monotonic()) for watcher in self.watchers)) - pushed
            if calm:
                self.seen.append((seconds, replicas))
                if seconds > SEEN:
                    self.say(f'NO    content {number} was seen by all after {seconds:.1f} s, served by all after {replicas:.1f} s')

    async def purge(self):
        """Purges as the page about caches says: when all replicas have the new content."""
        connection = None
        purged = None
        while True:
            numbers = {watcher.number for watcher in self.watchers} - {None}
            if len(numbers) == 1 and numbers != {purged}:
                [purged] = numbers
                try:
                    for key in ['catalog/moving', 'catalogs']:
                        connection = connection or Connection(self.site.varnish.address, self.site.varnish.port)
                        await connection.get('/', {'Surrogate-Key': key}, 'PURGE')
                    self.purges += 1
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    connection = None
            await asyncio.sleep(0.05)

    async def count(self):
        """Requests that reached the replicas, from counters that begin again with each start."""
        while True:
            for replica in self.site.replicas:
                connection = Connection(replica.address, replica.metrics)
                try:
                    async with asyncio.timeout(2):
                        answer = await connection.get('/metrics', {})
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    continue
                finally:
                    connection.close()
                found = REQUESTS.findall(answer.body)
                total = sum(map(int, found))
                before = self.last.get(replica.process.pid, 0)
                self.reached += total - before
                self.last[replica.process.pid] = total
            await asyncio.sleep(0.5)

    async def sample(self):
        """Memory and descriptors of each process."""
        while True:
            for replica in [*self.site.replicas, *(self.callers.servers if self.callers else [])]:
                pid = replica.process.pid
                with contextlib.suppress(OSError, TypeError):
                    found = anonymous(pid), len(os.listdir(f'/proc/{pid}/fd'))
                    self.samples.setdefault((replica.name, pid), []).append((time.monotonic() - self.began, *found))
            await asyncio.sleep(2)

    async def report(self):
        while True:
            await asyncio.sleep(20)
            counts = self.readers.counts
            self.say(
                f'{self.readers.during()}: content {self.site.number}, {len(self.readers.began)} readers, {counts["pages"]} pages, '
                f'{counts["reads"]} reads, {self.reached} reached a replica, failed {dict(self.readers.failed)}, '
                f'tries again {counts["tries again"]}, wrong {len(self.contents.wrong)}, late {self.contents.late()}'
            )

    async def all_as_before(self):
        """Seconds until all replicas serve a content that is pushed now, and Varnish does."""
        began = time.monotonic()
        self.hurries = True
        connection = Connection(self.site.varnish.address, self.site.varnish.port)

        async def is_as_before():
            newest = max((number for number, at in self.contents.pushed.items() if at > began), default=None)
            if not newest or any(watcher.number is None or watcher.number < newest for watcher in self.watchers):
                return False
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                answer = await connection.get(path_of('current'), {'Accept': 'application/json'})
                version = re.search(rb'"version":"(\d+)\.0\.0"', answer.body)
                return answer.status == 200 and version and int(version[1]) >= newest
            return False

        while time.monotonic() < began + 4 * RECOVERY and not await is_as_before():
            await asyncio.sleep(0.1)
        connection.close()
        return time.monotonic() - began

    async def make(self, faults):
        """Makes faults at one time, and waits until all is as it was."""
        name = ' + '.join(fault.name for fault in faults)
        self.is_calm = False
        self.active.update(fault.name for fault in faults)
        self.say(f'begin {name}')
        self.readers.interrupted = any('Varnish killed' in fault.name for fault in faults)
        for fault in faults:
            await asyncio.to_thread(fault.begin)
            await asyncio.sleep(self.chance.uniform(0, 2))
        await asyncio.sleep(self.chance.uniform(*FAULT) if not self.readers.interrupted else 2)
        for fault in faults:
            await asyncio.to_thread(fault.end)
        seconds = await self.all_as_before()
        self.recoveries.setdefault(name, []).append(seconds)
        self.say(f'{"end  " if seconds <= RECOVERY else "NO   "} {name}: as before after {seconds:.1f} s')
        self.active.clear()
        self.readers.interrupted = False
        self.is_calm = True

    async def chaos(self):
        """Each fault by itself, pairs in the second half, and other keys of the S3 server once, at a third of the time."""
        rotated = False
        waiting = []
        while True:
            await asyncio.sleep(CALM)
            if not rotated and time.monotonic() - self.began > self.seconds / 4:
                rotated = True
                await self.make([Fault('S3 keys', 's3', self.site.rotate_keys, self.site.update_replicas)])
                continue
            waiting = waiting or faults_of(self.site, self.chance)
            faults = [waiting.pop()]
            if time.monotonic() - self.began > self.seconds / 2:
                other = next((one for one in waiting if not one.words & faults[0].words), None)
                if other:
                    waiting.remove(other)
                    faults.append(other)
            if self.callers:
                await asyncio.to_thread(self.callers.rotate)
            await self.make(faults)

    async def run(self):
        def headers(_, chance):
            own = {'Accept': chance.choice(caches.ACCEPT)}
            coding = chance.choice(caches.CODINGS)
            return own | ({'Accept-Encoding': coding} if coding else {})

        steady = Connection(self.site.replicas[0].address, self.site.replicas[0].port)
        answer = await steady.get(path_of('tiles'), {'Accept': 'application/json'})
        self.contents.steady = {one['digest'] for one in json.loads(answer.body)['data']['catalogs'] if one['name'] == 'steady'}
        steady.close()
        going = [watcher.run() for watcher in self.watchers]
        going += [self.push(), self.purge(), self.count(), self.sample(), self.report()]
        going += [self.readers.run(READERS, CONNECTIONS, THINK, headers)]
        going += [self.callers.run()] if self.callers else []
        tasks = [asyncio.ensure_future(one) for one in going]
        chaos = asyncio.ensure_future(self.chaos())
        while time.monotonic() < self.began + self.seconds or not self.is_calm:
            for task in [*tasks, chaos]:
                if task.done():
                    task.result()
            await asyncio.sleep(0.5)
        chaos.cancel()
        # The last reads and counts.
        await asyncio.sleep(3)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, chaos, return_exceptions=True)

    def bar(self, holds, text):
        print(f'  {"ok" if holds else "NO"}  {text}', flush=True)
        return holds

    def judge(self):
        """Prints all bars and the table of faults. Returns whether all bars are met."""
        readers = self.readers
        counts = self.readers.counts
        held = []
        took = time.monotonic() - self.began
        print(f'\n{took / 60:.0f} minutes, {sum(map(len, self.recoveries.values()))} times a fault')

        def bar(holds, text):
            held.append(self.bar(holds, text))

        bar(
            len(readers.began) == READERS or took < 2 * THINK,
            f'{len(readers.began):,} readers, {counts["pages"]:,} pages, {counts["reads"]:,} reads, {counts["reads"] / took:.0f} in a second',
        )
        share = 100 * (1 - self.reached / max(counts['reads'], 1))
        bar(share >= SHARE, f'{self.reached:,} requests reached a replica: {share:.2f} % of the reads did not')
        bar(not self.contents.wrong, f'{len(self.contents.wrong)} answers are not of one content')
        late = self.contents.late()
        bar(not late, f'{len(late)} of {self.site.number} contents were read more than {2 * MAX_AGE} s after a replica served them')
        bar(not readers.failed.total(), f'{readers.failed.total()} reads failed {dict(readers.failed) or ""}')
        print(f'      {readers.cut.total()} reads were on connections that ended with Varnish')
        print(f'      {counts["tries again"]:,} pages were read again because their content changed')
        seconds, replicas = [sorted(one) for one in zip(*self.seen, strict=True)] if self.seen else ([], [])
        bar(seconds and seconds[-1] <= SEEN, f'{len(seconds)} new contents without a fault were seen by all after {spread(seconds)}')
        print(f'      they were served by all replicas after {spread(replicas)}')
        times = sorted(one for found in self.recoveries.values() for one in found)
        bar(times and times[-1] <= RECOVERY, f'after a fault, a new content was served and seen after {spread(times)}')
        if self.callers:
            bar(
                not self.callers.wrong and not self.callers.failed,
                f'{self.callers.answers:,} answers to callers with rights of their own: {len(self.callers.wrong)} wrong, '
                f'{len(self.callers.failed)} failed',
            )
        held += self.memory()
        print('\n| fault | times | slowest read | failed reads | new content after |\n|---|---|---|---|---|')
        for name in sorted(self.recoveries):
            during = ' + '.join(sorted(name.split(' + ')))
            slowest = readers.slowest[during]
            failed = readers.failed[during]
            print(f'| {name} | {len(self.recoveries[name])} | {slowest:.1f} s | {failed} | {max(self.recoveries[name]):.1f} s |')
        print(f'\nslowest read without a fault: {readers.slowest["calm"]:.1f} s')
        print(f'{self.purges} purges; {self.refused} pushes failed; {dict(counts)}')
        for text in [*readers.examples, *self.contents.wrong[:10], *(self.callers.wrong[:10] + self.callers.failed[:10] if self.callers else [])]:
            print(f'  {text[:1000]}')
        return all(held)

    def memory(self):
        """Each process that lived from the second third of the time on."""
        ends = time.monotonic() - self.began
        held = []
        for (name, _), samples in self.samples.items():
            parts = [[one for one in samples if ends * third / 3 <= one[0] < ends * (third + 1) / 3] for third in (1, 2)]
            expected = ends / 3 / 2 * 0.8
            if min(map(len, parts)) < expected:
                continue
            [(before, opened), (after, now)] = [[statistics.median(one[column] for one in part) for column in (1, 2)] for part in parts]
            held.append(self.bar(
                after <= before * (1 + SLACK) + SLACK_BYTES and now <= opened + SLACK_DESCRIPTORS,
                f'{name}: RssAnon {before / 2**20:.1f} MiB in the second third of the time, {after / 2**20:.1f} MiB in the last; '
                f'{opened:.0f} and {now:.0f} descriptors',
            ))
        return held


def spread(numbers):
    """Seconds, sorted, in words."""
    return f'{statistics.median(numbers):.1f} s (median), {numbers[-1]:.1f} s at most' if numbers else 'no time'


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    program, cluster = (Path(argument).resolve() for argument in sys.argv[1:3])
    minutes = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 20261128
    # What must be downloaded, while there is a network.
    if not os.environ.get(stage.INSIDE):
        caches.programs()
    built = subprocess.run([HERE / 'build.sh'], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        stage.skip('MinIO', 'install Go 1.21 or newer')
    stage.alone()
    network.create()
    with Stage() as on:
        site = Site(on, program, built.stdout.strip())
        callers = Callers(on, site, cluster)
        going = Run(site, callers, minutes, seed)
        print(f'seed {seed}', flush=True)
        asyncio.run(going.run())
        held = going.judge()
    if not held:
        sys.exit('error: a bar is missed')


if __name__ == '__main__':
    main()

// The Python of docs/how-to: gql subscribed to the changes of a catalog over a WebSocket, with the defaults of its
// transport (watch-changes.md), and the programs that ask for heads (use-a-client.md).

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { withServer } from '../server.mjs';
import { changing } from './changing.mjs';

const repository = join(import.meta.dirname, '..', '..', '..');

/** The program of the page, which asks this server. */
function program(url) {
  const page = readFileSync(join(repository, 'docs', 'how-to', 'watch-changes.md'), 'utf8');
  const [, text] = /^```python\n([\s\S]*?)^```$/m.exec(page);
  assert.ok(text.includes('ws://127.0.0.1:8080/graphql'));
  return text.replace('ws://127.0.0.1:8080/graphql', url.replace('http', 'ws'));
}

test('gql for Python hears of a change over a WebSocket', () =>
  changing(async (url, change) => {
    const python = execFileSync(join(repository, 'tests', 'python', 'install.sh'), { encoding: 'utf8' }).trim();
    const client = spawn(python, ['-u', '-c', program(url)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => client.once('exit', resolve));
    let line = null;
    const heard = (async () => {
      for await (line of createInterface(client.stdout)) return;
    })();
    // A change before it has subscribed is none to it.
    for (let packages = 2; line === null && client.exitCode === null; packages++) {
      change(packages);
      await Promise.race([heard, served(url, packages)]);
    }
    client.kill();
    await ended;
    assert.match(line ?? 'nothing was printed', /^\{'name': 'watched', 'change': 'CHANGED', 'catalog': \{'digest': 'sha256:[0-9a-f]{64}'\}\}$/);
  }));

/** The programs of docs/how-to/use-a-client.md, by their files, and what each prints. */
function programs() {
  const page = readFileSync(join(repository, 'docs', 'how-to', 'use-a-client.md'), 'utf8');
  const [, output] = /^```text\n([\s\S]*?)^```$/m.exec(page);
  const found = [...page.matchAll(/^```python\n# (\S+)\n([\s\S]*?)^```$/gm)];
  return { output, programs: new Map(found.map(([, file, text]) => [file, text])) };
}

for (const file of ['with_requests.py', 'with_gql.py']) {
  test(`${file} of the page prints the heads of a package`, () =>
    withServer(async (url) => {
      const { output, programs: all } = programs();
      const text = all.get(file);
      assert.ok(text.includes('http://127.0.0.1:8080/graphql'));
      const python = execFileSync(join(repository, 'tests', 'python', 'install.sh'), { encoding: 'utf8' }).trim();
      const client = spawn(python, ['-c', text.replace('http://127.0.0.1:8080/graphql', new URL('/graphql', url).href)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let printed = '';
      for await (const chunk of client.stdout.setEncoding('utf8')) printed += chunk;
      assert.equal(printed, output);
    }));
}

/** Waits until a catalog with so many packages is served. */
async function served(url, packages) {
  const body = JSON.stringify({ query: '{ packages { totalCount } }' });
  const headers = { 'content-type': 'application/json' };
  for (;;) {
    const { data } = await (await fetch(url, { method: 'POST', headers, body })).json();
    if (data.packages.totalCount === packages) return;
  }
}

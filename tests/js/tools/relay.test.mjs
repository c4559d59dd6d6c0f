// relay-compiler over the schema: lists, pages and refetches compile, and the server takes what comes out.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { withServer } from '../server.mjs';

const here = import.meta.dirname;
const work = mkdtempSync(join(tmpdir(), 'catalogql-relay-'));
/** What was compiled: texts by their names. */
let compiled;

before(() => {
  mkdirSync(join(work, 'artifacts'));
  cpSync(join(here, 'relay'), join(work, 'src'), { recursive: true });
  cpSync(join(here, '..', '..', '..', 'schema.graphql'), join(work, 'schema.graphql'));
  writeFileSync(join(work, 'package.json'), '{}');
  writeFileSync(join(work, 'persisted.json'), '{}');
  writeFileSync(
    join(work, 'relay.config.json'),
    JSON.stringify({
      src: './src',
      schema: './schema.graphql',
      language: 'javascript',
      artifactDirectory: './artifacts',
      persistConfig: { file: './persisted.json', algorithm: 'SHA256' },
    }),
  );
  execFileSync(process.execPath, [join(here, 'node_modules', 'relay-compiler', 'cli.js'), 'relay.config.json'], {
    cwd: work,
    stdio: 'pipe',
  });
  const texts = Object.values(JSON.parse(readFileSync(join(work, 'persisted.json'), 'utf8')));
  compiled = new Map(texts.map((text) => [/^query (\w+)/.exec(text)[1], text]));
});
after(() => rmSync(work, { recursive: true }));

test('lists, pages and refetches compile', () => {
  assert.deepEqual([...compiled.keys()].sort(), [
    'operationsBundlesPaginationQuery',
    'operationsListQuery',
    'operationsPackageRefetchQuery',
    'operationsPackagesPaginationQuery',
    'operationsResolveQuery',
  ]);
});

test('what was compiled lists, goes on to the next page and fetches an object again', () =>
  withServer(async (url) => {
    const ask = async (name, variables) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: compiled.get(name), variables }),
      });
      const { data, errors } = await response.json();
      assert.deepEqual(errors, undefined);
      return data;
    };
    const names = (connection) => connection.edges.map(({ node }) => node.name);

    const list = await ask('operationsListQuery', { search: null });
    const [catalog] = list.catalogs;
    assert.deepEqual(names(catalog.packages), ['lampglow', 'nightjar']);
    const next = await ask('operationsPackagesPaginationQuery', {
      id: catalog.id,
      count: 2,
      cursor: catalog.packages.pageInfo.endCursor,
    });
    assert.deepEqual(names(next.node.packages), ['quillstore', 'relaybox']);
    const [{ node }] = next.node.packages.edges;
    const again = await ask('operationsPackageRefetchQuery', { id: node.id, withChannels: true });
    assert.equal(again.node.name, 'quillstore');
    assert.ok(again.node.channels.length > 0);
    const all = await ask('operationsBundlesPaginationQuery', { first: 500 });
    const end = await ask('operationsBundlesPaginationQuery', { last: 2 });
    assert.deepEqual(names(end.bundles), names(all.bundles).slice(-2));
    const { resolve } = await ask('operationsResolveQuery', { request: { packageName: 'lampglow' } });
    assert.equal(resolve.__typename, 'Resolution');
  }));

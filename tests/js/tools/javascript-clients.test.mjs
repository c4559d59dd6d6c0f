// docs/how-to/javascript-clients.md: its code compiles, runs against the real server, and its settings fit the schema.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildSchema, getNamedType, isListType, isNonNullType, isObjectType } from 'graphql';
import relay from 'relay-runtime';
import { serving, withServer } from '../server.mjs';
import { compilePage, pageText, schemaText, workFolder } from './page.mjs';

const work = workFolder('page');
const load = (name) => import(join(work, `${name}.js`));
const schema = buildSchema(schemaText);
const all = ['lampglow', 'nightjar', 'quillstore', 'relaybox', 'sealwright'];
const names = (connection) => connection.edges.map(({ node }) => node.name);
const quillstore = { catalog: 'example', name: 'quillstore' };

before(() => compilePage(work));
after(() => rmSync(work, { recursive: true }));

test('Apollo Client collects pages in its cache', () =>
  withServer(async (url) => {
    const { createApollo } = await load('apollo');
    const { Details, Packages } = await load('documents');
    const client = createApollo(url);
    const list = { query: Packages, variables: { first: 2 } };
    await client.query(list);
    const observed = client.watchQuery(list);
    const read = () => client.readQuery(list);
    assert.deepEqual(names(read().packages), all.slice(0, 2));
    while (read().packages.pageInfo.hasNextPage) {
      await observed.fetchMore({ variables: { after: read().packages.pageInfo.endCursor } });
    }
    const listed = read();
    assert.deepEqual(names(listed.packages), all);
    const { data } = await client.query({ query: Details, variables: quillstore });
    assert.ok(data.package.metadata.createdAt);
    assert.deepEqual(read(), listed);
    client.stop();
  }));

test('urql collects pages in its cache and warns of nothing', (context) =>
  withServer(async (url) => {
    const warned = ['warn', 'error'].map((level) => context.mock.method(console, level, () => {}));
    const { createUrql } = await load('urql');
    const { Details, Packages } = await load('documents');
    const client = createUrql(url);
    const ask = async (query, variables) => {
      const { data, error } = await client.query(query, variables).toPromise();
      assert.equal(error, undefined);
      return data;
    };
    let page = {};
    let asked = 0;
    do {
      page = await ask(Packages, { first: 2, after: page.packages?.pageInfo.endCursor });
      asked += 1;
    } while (page.packages.pageInfo.hasNextPage);
    assert.equal(asked, 3);
    assert.deepEqual(names(page.packages), all);
    assert.ok((await ask(Details, quillstore)).package.metadata.createdAt);
    assert.deepEqual(names((await ask(Packages, { first: 2 })).packages), all);
    assert.deepEqual(warned.flatMap(({ mock }) => mock.calls.map((call) => call.arguments)), []);
  }));

test('Relay collects pages in its store, which is stale once a catalog changed', () =>
  withServer(async (url) => {
    const require = createRequire(join(work, 'relay', 'relay.js'));
    const { createRelay, invalidate, query } = require('./relay.js');
    const more = require('./__generated__/relayPackagesQuery.graphql').default;
    const environment = createRelay(url);
    const ask = (request, variables) => relay.fetchQuery(environment, request, variables).toPromise();
    const { catalog } = await ask(query, { catalog: 'example', first: 2 });
    const fragment = require('./__generated__/relayPackages_catalog.graphql').default;
    const selector = relay.getSingularSelector(fragment, catalog);
    const read = () => environment.lookup(selector).data.packages;
    assert.deepEqual(names(read()), all.slice(0, 2));
    const { id } = environment.lookup(selector).data;
    while (read().pageInfo.hasNextPage) await ask(more, { id, first: 2, after: read().pageInfo.endCursor });
    assert.deepEqual(names(read()), all);
    const operation = relay.createOperationDescriptor(query, { catalog: 'example', first: 2 });
    environment.retain(operation);
    assert.equal(environment.check(operation).status, 'available');
    invalidate(environment);
    assert.equal(environment.check(operation).status, 'stale');
  }));

test('the subscription of the page reports a change', async () => {
  const { onChange } = await load('changes');
  const folder = mkdtempSync(join(tmpdir(), 'catalogql-page-watched-'));
  const write = (name) => {
    // A reader sees the file before or after, never in between.
    writeFileSync(`${folder}.new`, JSON.stringify({ schema: 'olm.package', name, defaultChannel: '' }));
    renameSync(`${folder}.new`, join(folder, 'catalog.json'));
  };
  write('first');
  const subscribe = async (url) => {
    let end;
    const changed = new Promise((resolve) => (end = onChange(url, resolve, () => write('second'))));
    assert.equal(await changed, 'watched');
    end();
  };
  await serving([`watched=${folder}`, '--watch'], subscribe).finally(() => rmSync(folder, { recursive: true }));
});

const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !type.name.startsWith('__'));
const withId = types.filter((type) => type.getFields().id);
const paging = ['first', 'after', 'last', 'before'];
const keyArgs = ({ args }) => args.map(({ name }) => name).filter((name) => !paging.includes(name));
/** The connections of the root and of objects with an id: `Type.field` with the arguments that are not for paging. */
const connections = [schema.getQueryType(), ...withId].flatMap((type) =>
  Object.values(type.getFields())
    .filter((field) => getNamedType(field.type).name.endsWith('Connection'))
    .map((field) => [`${type.name}.${field.name}`, keyArgs(field)]),
);

test('the page names every type with an id', () => {
  const expected = withId.map(({ name }) => name).sort();
  const text = readFileSync(join(work, 'urql.ts'), 'utf8');
  const [, listed] = /new Set\(\[(.*)\]\)/.exec(text);
  assert.deepEqual(listed.split(', '), expected.map((name) => `'${name}'`));
  const [, sentence] = /\*\*Select `id` on every object that has one:\*\*([^.]*)\./.exec(pageText);
  const named = [...sentence.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), expected);
});

test('the settings of Apollo Client cover every connection with its arguments', async () => {
  const { typePolicies } = await load('apollo');
  const found = Object.entries(typePolicies).flatMap(([type, { fields = {} }]) =>
    Object.entries(fields).map(([field, { keyArgs }]) => [`${type}.${field}`, keyArgs || []]),
  );
  assert.deepEqual(Object.fromEntries(found), Object.fromEntries(connections));
});

test('the settings of urql cover every connection', () => {
  const text = readFileSync(join(work, 'urql.ts'), 'utf8');
  const [, resolvers] = /resolvers: (\{[\s\S]*?\n        \}),/.exec(text);
  const found = new Function('relayPagination', `return (${resolvers})`)(() => true);
  const listed = ([type, fields]) => Object.keys(fields).map((field) => `${type}.${field}`);
  assert.deepEqual(Object.entries(found).flatMap(listed).sort(), connections.map(([name]) => name).sort());
});

test('the settings of Apollo Client merge every single value without an id', async () => {
  const { typePolicies } = await load('apollo');
  const connected = types.filter(({ name }) => name.endsWith('Connection'));
  const single = (type) => isObjectType(type) && !type.getFields().id;
  const parts = [...withId, ...connected]
    .flatMap((type) => Object.values(type.getFields()))
    .map(({ type }) => (isNonNullType(type) ? type.ofType : type))
    .filter((type) => !isListType(type) && single(type))
    // Pages are merged as a whole.
    .filter(({ name }) => !name.endsWith('Connection') && name !== 'PageInfo');
  const merged = Object.keys(typePolicies).filter((name) => typePolicies[name].merge === true);
  assert.deepEqual(merged.sort(), [...new Set(parts.map(({ name }) => name))].sort());
});

// Normalized caches: two documents select different fields of the same `metadata` and `icon`; then the first is read
// from the cache alone. With ids it is complete, without ids data is lost.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { Kind, parse, print, visit } from 'graphql';
import relay from 'relay-runtime';
import { serving } from '../server.mjs';
import { compilePage, compileRelay, schemaText, workFolder } from './page.mjs';

const variables = { catalog: 'cached', name: 'kestrel' };

const tile = `
  query documentsTileQuery($catalog: String!, $name: String!) {
    package(catalog: $catalog, name: $name) {
      id
      icon { id url }
      metadata { id displayName provider { name } ...documentsText_metadata ...documentsTeam_metadata }
    }
  }
  fragment documentsText_metadata on CsvMetadata { text: annotation(key: "description") owner: label(key: "team") }
  fragment documentsTeam_metadata on CsvMetadata { support: annotation(key: "support") tier: label(key: "tier") }
`;
const details = `
  query documentsDetailsQuery($catalog: String!, $name: String!) {
    package(catalog: $catalog, name: $name) {
      id
      icon { id mediaType }
      metadata { id keywords provider { url } text: annotation(key: "repository") owner: label(key: "region") }
    }
  }
`;
/** The same metadata by another path. */
const head = (name, field) => `
  query documents${name}Query($catalog: String!, $name: String!) {
    package(catalog: $catalog, name: $name) {
      id
      latest { id metadata { id ${field} } }
    }
  }
`;

/** A document without the ids of these fields. */
function withoutIds(text, ...fields) {
  const forget = (node) => {
    if (!fields.includes(node.name.value)) return undefined;
    const selections = node.selectionSet.selections.filter((selected) => selected.name.value !== 'id');
    return { ...node, selectionSet: { ...node.selectionSet, selections } };
  };
  return print(visit(parse(text), { Field: forget }));
}

/** The schema as it was before metadata and icons had ids. */
function schemaWithoutIds() {
  const forget = (node) =>
    ['CsvMetadata', 'Icon'].includes(node.name.value)
      ? { ...node, interfaces: [], fields: node.fields.filter((field) => field.name.value !== 'id') }
      : undefined;
  return print(visit(parse(schemaText), { [Kind.OBJECT_TYPE_DEFINITION]: forget }));
}

const metadata = {
  displayName: 'Kestrel',
  keywords: ['bird'],
  provider: { name: 'Falconry', url: 'https://falconry.example.com' },
  annotations: { description: 'Hovers.', support: 'Falconers', repository: 'https://git.example.com/kestrel' },
  labels: { team: 'wings', tier: 'gold', region: 'north' },
};
const properties = [
  { type: 'olm.package', value: { packageName: 'kestrel', version: '1.0.0' } },
  { type: 'olm.csv.metadata', value: metadata },
];
const pixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const icon = { base64data: pixel, mediatype: 'image/gif' };
const bundle = { package: 'kestrel', name: 'kestrel.v1.0.0', image: 'registry.example.com/kestrel:1', properties };
const reference = { schema: 'olm.package' };
const blobs = [
  { schema: 'olm.package', name: 'kestrel', defaultChannel: 'stable', icon },
  { schema: 'olm.channel', package: 'kestrel', name: 'stable', entries: [{ name: bundle.name }] },
  { schema: 'olm.bundle', ...bundle },
  { schema: 'olm.deprecations', package: 'kestrel', entries: [{ reference, message: 'It landed.' }] },
];

const work = workFolder('cache');
const catalog = mkdtempSync(join(tmpdir(), 'catalogql-cached-'));
before(async () => {
  writeFileSync(join(catalog, 'catalog.json'), blobs.map((blob) => JSON.stringify(blob)).join('\n'));
  await compilePage(work, ['apollo.ts', 'urql.ts', 'relay.ts']);
});
after(() => {
  rmSync(work, { recursive: true });
  rmSync(catalog, { recursive: true });
});
const load = (name) => import(join(work, `${name}.js`));
const serve = (use) => serving([`cached=${catalog}`], use);

/** Compares a tile with the catalog, so that two empty results do not pass as equal. */
function assertTile({ package: { icon, metadata } }) {
  assert.match(icon.url, /^icons\//);
  const { displayName, provider, text, owner, support, tier } = metadata;
  const found = [displayName, provider.name, text, owner, support, tier];
  assert.deepEqual(found, ['Kestrel', 'Falconry', 'Hovers.', 'wings', 'Falconers', 'gold']);
}

/** The tile in Apollo Client's cache after the details were fetched, and as it was fetched. */
async function tileOfApollo(client, change = (text) => text) {
  const query = parse(change(tile));
  const { data } = await client.query({ query, variables });
  assertTile(data);
  await client.query({ query: parse(change(details)), variables });
  client.stop();
  return { tile: client.readQuery({ query, variables }), data };
}

test('Apollo Client has the whole tile with ids and the policies of the page', () =>
  serve(async (url) => {
    const { createApollo } = await load('apollo');
    const found = await tileOfApollo(createApollo(url));
    assert.deepEqual(found.tile, found.data);
  }));

for (const field of ['metadata', 'icon']) {
  test(`Apollo Client loses the tile when documents do not select the id of ${field}`, () =>
    serve(async (url) => {
      const { createApollo } = await load('apollo');
      const found = await tileOfApollo(createApollo(url), (text) => withoutIds(text, field));
      assert.equal(found.tile, null);
    }));
}

test('Apollo Client loses the tile without the policies of the page, by its provider', () =>
  serve(async (url) => {
    const client = () => new ApolloClient({ link: new HttpLink({ uri: url }), cache: new InMemoryCache() });
    const found = await tileOfApollo(client());
    assert.equal(found.tile, null);
    const alike = (text) => text.replace('provider { url }', 'provider { name }');
    const same = await tileOfApollo(client(), alike);
    assert.deepEqual(same.tile, same.data);
  }));

/** Documents that select different fields of the same values without an id. */
const values = (facet, deprecation, graph) => `
  query Values($catalog: String!, $name: String!) {
    packages { facets { ${facet} { value count } } }
    package(catalog: $catalog, name: $name) {
      id
      deprecation { ${deprecation} }
      updateGraph { ${graph} }
    }
  }
`;

/** The first of two such documents in the cache after the second was fetched, and as it was fetched. */
async function valuesOfApollo(client) {
  const query = parse(values('categories', 'message', 'nodes { id }'));
  const { data } = await client.query({ query, variables });
  assert.deepEqual([data.package.deprecation.message, data.package.updateGraph.nodes.length], ['It landed.', 1]);
  await client.query({ query: parse(values('providers', 'schema', 'skipRanges { range }')), variables });
  client.stop();
  return [client.readQuery({ query, variables }), data];
}

test('Apollo Client merges values without an id by the policies of the page, and loses them without', () =>
  serve(async (url) => {
    const { createApollo } = await load('apollo');
    const [kept, data] = await valuesOfApollo(createApollo(url));
    assert.deepEqual(kept, data);
    const plain = new ApolloClient({ link: new HttpLink({ uri: url }), cache: new InMemoryCache() });
    assert.equal((await valuesOfApollo(plain))[0], null);
  }));

/** The tile in urql's cache after the details were fetched, and as it was fetched. */
async function tileOfUrql(url, detailsText) {
  const { createUrql } = await load('urql');
  const client = createUrql(url);
  const { data } = await client.query(tile, variables).toPromise();
  assertTile(data);
  const { error } = await client.query(detailsText, variables).toPromise();
  assert.equal(error, undefined);
  const cached = await client.query(tile, variables, { requestPolicy: 'cache-only' }).toPromise();
  return { tile: cached.data, data };
}

test('urql has the whole tile with ids and the settings of the page', () =>
  serve(async (url) => {
    const found = await tileOfUrql(url, details);
    assert.deepEqual(found.tile, found.data);
  }));

for (const [field, type] of [['metadata', 'CsvMetadata'], ['icon', 'Icon']]) {
  test(`urql loses the tile when another document does not select the id of ${field}, and warns`, (context) =>
    serve(async (url) => {
      const warned = context.mock.method(console, 'warn', () => {});
      const found = await tileOfUrql(url, withoutIds(details, field));
      assert.equal(found.tile, null);
      assert.match(warned.mock.calls[0].arguments[0], new RegExp(`\\b${type}\\b`));
    }));
}

/** Compiles documents for Relay and fetches some in turn; returns the state and data of `read` in the store. */
async function inRelay(url, schema, texts, fetched, read) {
  const folder = mkdtempSync(join(work, 'relay-'));
  // Fragments are read with their documents here, instead of one by one.
  const unmasked = texts.map((text) => print(parse(text)).replaceAll(/\.\.\.\w+/g, '$& @relay(mask: false)'));
  const tagged = unmasked.flatMap((text) => text.split(/\n\n(?=fragment|query)/)).map((text) => `graphql\`${text}\`;`);
  writeFileSync(join(folder, 'documents.js'), tagged.join('\n'));
  compileRelay(folder, 'javascript', schema);
  const require = createRequire(join(work, 'relay', 'relay.js'));
  const artifact = (name) => require(join(folder, '__generated__', `documents${name}Query.graphql.js`)).default;
  const environment = require('./relay.js').createRelay(url);
  for (const name of fetched) {
    environment.retain(relay.createOperationDescriptor(artifact(name), variables));
    await relay.fetchQuery(environment, artifact(name), variables).toPromise();
  }
  const operation = relay.createOperationDescriptor(artifact(read), variables);
  return { status: environment.check(operation).status, data: environment.lookup(operation.fragment).data };
}

test('Relay has the whole tile after the details', () =>
  serve(async (url) => {
    const { status, data } = await inRelay(url, schemaText, [tile, details], ['Tile', 'Details'], 'Tile');
    assert.equal(status, 'available');
    assertTile(data);
  }));

test('Relay finds what another document fetched of the same metadata, and without ids it does not', () =>
  serve(async (url) => {
    // Nobody fetched `Name`: the display name of the head is that of the tile.
    const texts = [tile, head('Keywords', 'keywords'), head('Name', 'displayName')];
    const withIds = await inRelay(url, schemaText, texts, ['Keywords', 'Tile'], 'Name');
    assert.equal(withIds.status, 'available');
    assert.equal(withIds.data.package.latest.metadata.displayName, 'Kestrel');
    const forget = (text) => withoutIds(text, 'metadata', 'icon');
    const forgotten = await inRelay(url, schemaWithoutIds(), texts.map(forget), ['Keywords', 'Tile'], 'Name');
    assert.equal(forgotten.status, 'missing');
  }));

#!/usr/bin/env node
// Apollo's gateway in front of catalogql: its schema is composed with another subgraph, and the gateway answers as catalogql
// does itself. catalogql has no directives of federation: its types belong to its subgraph alone.
//
// usage: federation.mjs CATALOGQL

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { composeServices } from '@apollo/composition';
import { ApolloGateway, LocalGraphQLDataSource, RemoteGraphQLDataSource } from '@apollo/gateway';
import { buildSchema, parse } from 'graphql';

const repository = join(import.meta.dirname, '..', '..', '..');
const [program] = process.argv.slice(2);
if (!program) {
  console.error('usage: federation.mjs CATALOGQL');
  process.exit(2);
}

/** What a client asks the gateway for: fragments, arguments with variables, paging, unions, an error of a field. */
const QUERIES = [
  ['packages of a catalog', '{ catalogs { name packages { totalCount nodes { name displayName } } } }'],
  [
    'a page',
    'query($first: Int!) { packages(first: $first) { totalCount pageInfo { hasNextPage endCursor } nodes { id name } } }',
    { first: 2 },
  ],
  ['a bundle with its properties', '{ packages(first: 3) { nodes { latest { __typename name version properties { __typename type } } } } }'],
  ['a directive', 'query($yes: Boolean!) { packages(first: 1) { nodes { name @skip(if: $yes) id } } }', { yes: true }],
  ['an error', '{ packages(first: -1) { nodes { name } } }'],
];

/** A subgraph beside catalogql. */
const OTHER = 'type Query { teams: [Team!]! } type Team { name: String! }';

const other = buildSchema(OTHER);
other.getQueryType().getFields().teams.resolve = () => [{ name: 'platform' }];

const store = mkdtempSync(join(tmpdir(), 'catalogql-'));
const command = ['serve', 'example=examples/catalog', '--listen', '127.0.0.1:0', '--store', store];
const server = spawn(program, command, { cwd: repository, stdio: ['ignore', 'pipe', 'ignore'] });
try {
  const url = await address();
  // Composition does not know the directive, which catalogql checks all the same.
  const schema = readFileSync(join(repository, 'schema.graphql'), 'utf8').replaceAll(' @oneOf', '');
  const composed = composeServices([
    { name: 'catalogs', url, typeDefs: parse(schema) },
    { name: 'teams', url: 'local:', typeDefs: parse(OTHER) },
  ]);
  assert.deepEqual(composed.errors ?? [], [], 'the schemas compose');
  const gateway = new ApolloGateway({
    supergraphSdl: composed.supergraphSdl,
    buildService: ({ name }) =>
      name === 'catalogs'
        ? new RemoteGraphQLDataSource({ url })
        : new LocalGraphQLDataSource(other),
  });
  const { executor } = await gateway.load();
  for (const [what, query, variables = {}] of QUERIES) {
    const ours = await ask(url, query, variables);
    const answer = await executor(request(query, variables));
    const theirs = JSON.parse(JSON.stringify({ data: answer.data ?? null, errors: messages(answer) }));
    assert.deepEqual(theirs, { data: ours.data ?? null, errors: messages(ours) }, what);
    console.log(`equal  ${what}: ${JSON.stringify(theirs).slice(0, 120)}`);
  }
  const mixed = await executor(request('{ teams { name } catalogs { name } }', {}));
  const both = { teams: [{ name: 'platform' }], catalogs: [{ name: 'example' }] };
  assert.deepEqual(JSON.parse(JSON.stringify(mixed.data)), both, 'both subgraphs in one query');
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, 'node_modules/@apollo/gateway/package.json')));
  console.log(`@apollo/gateway ${version}: ${QUERIES.length + 1} queries, all equal`);
  await gateway.stop();
} finally {
  server.kill();
  await new Promise((resolve) => server.once('exit', resolve));
  rmSync(store, { recursive: true });
}

async function address() {
  for await (const line of createInterface(server.stdout)) {
    const found = /^Listening on (\S+)$/.exec(line);
    if (found) return found[1];
  }
  throw new Error('the server ended before it said where it listens');
}

async function ask(url, query, variables) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
  return response.json();
}

function messages(answer) {
  return (answer.errors ?? []).map((error) => error.message);
}

/** What the gateway's host hands to it. */
function request(query, variables) {
  return {
    document: parse(query),
    request: { query, variables },
    operationName: null,
    queryHash: query,
    context: {},
    metrics: {},
    cache: new Map(),
    schema: undefined,
  };
}

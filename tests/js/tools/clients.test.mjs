// codegen's client preset, urql and Apollo Client against the real server: each lists, goes through pages, and names
// documents by their digest in a URL.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { relayStylePagination } from '@apollo/client/utilities';
import { generate } from '@graphql-codegen/cli';
import { preset } from '@graphql-codegen/client-preset';
import { Client, cacheExchange, fetchExchange } from 'urql';
import { persistedExchange } from '@urql/exchange-persisted';
import { withServer } from '../server.mjs';
import { typeErrors } from './page.mjs';

const here = import.meta.dirname;
const schema = join(here, '..', '..', '..', 'schema.graphql');
const work = mkdtempSync(join(tmpdir(), 'catalogql-clients-'));
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const all = ['lampglow', 'nightjar', 'quillstore', 'relaybox', 'sealwright'];

/** `clients/operations.ts`, compiled with what codegen makes for it. */
let app;
/** What was wrong in it. */
let faults;

before(async () => {
  symlinkSync(join(here, 'node_modules'), join(work, 'node_modules'));
  writeFileSync(join(work, 'package.json'), '{"type": "module"}');
  cpSync(join(here, 'clients', 'operations.ts'), join(work, 'operations.ts'));
  await generate(
    {
      schema,
      documents: join(work, 'operations.ts'),
      silent: true,
      generates: {
        [`${join(work, 'gql')}/`]: {
          preset,
          presetConfig: { persistedDocuments: { hashAlgorithm: 'sha256' } },
          config: {
            strictScalars: true,
            useTypeImports: true,
            scalars: { Base64: 'string', Date: 'string', DateTime: 'string', JSON: 'unknown', URL: 'string' },
          },
        },
      },
      emitLegacyCommonJSImports: false,
    },
    true,
  );
  faults = typeErrors([join(work, 'operations.ts')]);
  app = await import(join(work, 'operations.js'));
});
after(() => rmSync(work, { recursive: true }));

test('codegen reads the schema from the server, by introspection', () =>
  withServer(async (url) => {
    const config = { schema: url, documents: join(work, 'operations.ts'), silent: true };
    const made = await generate({ ...config, generates: { [`${join(work, 'introspected')}/`]: { preset } } }, false);
    const files = made.map(({ filename }) => basename(filename)).sort();
    assert.deepEqual(files, ['fragment-masking.ts', 'gql.ts', 'graphql.ts', 'index.ts']);
  }));

const persisted = (text) => ({ persistedQuery: { version: 1, sha256Hash: sha256(text) } });

/** A `fetch` that notes what was sent and answered. */
function noting() {
  const sent = [];
  const noted = async (input, options = {}) => {
    const response = await fetch(input, options);
    const url = new URL(input instanceof Request ? input.url : input);
    sent.push({
      method: options.method ?? 'GET',
      named: url.searchParams.has('extensions'),
      texts: url.searchParams.has('query'),
      status: response.status,
    });
    return response;
  };
  return { noted, sent };
}

const named = { method: 'GET', named: true, texts: false };
/** How three pages are asked for: by the digest, in this way with the text once the digest is not known, then by it. */
const byDigest = (registering) => [
  { ...named, status: 400 },
  { ...registering, status: 200 },
  { ...named, status: 200 },
  { ...named, status: 200 },
];

/** All names of all pages, by whatever answers a page of them. */
async function walk(ask) {
  const found = [];
  let cursor;
  do {
    const page = await ask({ first: 2, after: cursor });
    found.push(...app.names(page));
    cursor = app.next(page);
  } while (cursor);
  return found;
}

test('codegen makes types of the schema that an application compiles with', () => {
  assert.deepEqual(faults, []);
});

test('documents that codegen persists are known to the server by their digest once it had them', () =>
  withServer(async (url) => {
    const documents = JSON.parse(readFileSync(join(work, 'gql', 'persisted-documents.json'), 'utf8'));
    assert.equal(Object.keys(documents).length, 2);
    for (const [digest, text] of Object.entries(documents)) {
      assert.equal(digest, `sha256:${sha256(text)}`);
      const named = new URL(url);
      named.searchParams.set('documentId', digest);
      named.searchParams.set('variables', JSON.stringify({ first: 1, request: { packageName: 'lampglow' } }));
      const unknown = await (await fetch(named)).json();
      assert.equal(unknown.errors[0].extensions.code, 'PERSISTED_QUERY_NOT_FOUND');
      await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: text, extensions: persisted(text) }),
      });
      const { data, errors } = await (await fetch(named)).json();
      assert.equal(errors, undefined);
      assert.ok(data);
    }
  }));

test('Apollo Client lists, goes through pages, and asks by digests in URLs', () =>
  withServer(async (url) => {
    const { noted, sent } = noting();
    const naming = new PersistedQueryLink({ sha256, useGETForHashedQueries: true });
    const client = new ApolloClient({
      link: naming.concat(new HttpLink({ uri: url, fetch: noted })),
      cache: new InMemoryCache({
        typePolicies: { Query: { fields: { packages: relayStylePagination(['catalogs', 'filter']) } } },
      }),
    });
    const ask = async (variables) => (await client.query({ query: app.Page, variables, fetchPolicy: 'no-cache' })).data;
    assert.deepEqual(await walk(ask), all);
    assert.deepEqual(sent, byDigest({ method: 'POST', named: false, texts: false }));
    const { data } = await client.query({ query: app.Resolve, variables: { request: { packageName: 'lampglow' } } });
    assert.equal(app.version(data), '0.5.2');
    client.stop();
  }));

test('urql lists, goes through pages, and asks by digests in URLs', () =>
  withServer(async (url) => {
    const { noted, sent } = noting();
    const client = new Client({
      url,
      fetch: noted,
      exchanges: [
        cacheExchange,
        persistedExchange({ preferGetForPersistedQueries: true, generateHash: async (text) => sha256(text) }),
        fetchExchange,
      ],
    });
    const ask = async (variables) => {
      const { data, error } = await client.query(app.Page, variables, { requestPolicy: 'network-only' }).toPromise();
      assert.equal(error, undefined);
      return data;
    };
    assert.deepEqual(await walk(ask), all);
    assert.deepEqual(sent, byDigest({ ...named, texts: true }));
    const { data } = await client.query(app.Resolve, { request: { packageName: 'lampglow' } }).toPromise();
    assert.equal(app.version(data), '0.5.2');
  }));

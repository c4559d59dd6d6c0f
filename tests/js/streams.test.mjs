// Subscriptions as the clients of both protocols have them, against the real server: graphql-sse over streams of events,
// graphql-ws over WebSockets. A directory changes, and every change arrives.

import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient, GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';
import WebSocket from 'ws';
import { withServer } from './server.mjs';

const changes = `subscription ($names: [String!]) {
  catalogChanged(names: $names) { name change fromDigest catalog { digest } diff { packages { name change bundles { name change } } } }
}`;

let folder;
let url;
let stop;
let ended;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'catalogql-streams-'));
  write(0);
  await new Promise((started) => {
    const use = (address) =>
      new Promise((done) => {
        [url, stop] = [address, done];
        started();
      });
    ended = withServer(use, `watched=${folder}`, '--watch');
  });
});

after(async () => {
  stop?.();
  await ended;
  rmSync(folder, { recursive: true });
});

/** Makes the catalog have so many bundles. */
function write(bundles) {
  const names = Array.from({ length: bundles }, (_, at) => `p.v1.0.${at}`);
  const blobs = [
    { schema: 'olm.package', name: 'p', defaultChannel: 'stable' },
    { schema: 'olm.channel', name: 'stable', package: 'p', entries: names.map((name) => ({ name })) },
    ...names.map((name) => ({ schema: 'olm.bundle', name, package: 'p', image: 'i', properties: [] })),
  ];
  // A reader sees the file before or after, never in between.
  const text = blobs.map((blob) => JSON.stringify(blob)).join('\n');
  const fresh = `${folder}.new`;
  writeFileSync(fresh, text);
  renameSync(fresh, join(folder, 'catalog.json'));
}

/** Changes the catalog three times and holds what a stream tells to it. */
async function everyChangeArrives(results, first) {
  let digest;
  for (const bundles of [first, first + 1, first + 2]) {
    write(bundles);
    const { value, done } = await results.next();
    assert.equal(done, false);
    assert.equal(value.errors, undefined);
    const { fromDigest, catalog, diff, ...rest } = value.data.catalogChanged;
    assert.deepEqual(rest, { name: 'watched', change: 'CHANGED' });
    assert.match(fromDigest, /^sha256:/);
    if (digest) {
      assert.equal(fromDigest, digest);
      const added = { name: `p.v1.0.${bundles - 1}`, change: 'ADDED' };
      assert.deepEqual(diff.packages, [{ name: 'p', change: 'CHANGED', bundles: [added] }]);
    }
    digest = catalog.digest;
  }
  return digest;
}

/** A client over streams of events; `answered` is done when the server has begun to answer. */
function sse() {
  let begun;
  const answered = new Promise((resolve) => (begun = resolve));
  const fetchFn = async (...request) => {
    const answer = await fetch(...request);
    begun();
    return answer;
  };
  return { ...createSseClient({ url, retryAttempts: 0, fetchFn }), answered: () => answered };
}

/** A client over one WebSocket; `answered` is done when the server has read what was sent before. */
function ws() {
  const options = { url: url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0, lazy: false };
  const client = createWsClient(options);
  return { ...client, answered: () => once(client, '{ __typename }') };
}

/** The results of a stream whose server knows of it: what changes from now on is told. */
async function listening(client, names) {
  // Without the wait a WebSocket that is still being opened would be asked twice in no order.
  if ('on' in client) await client.answered();
  const results = client.iterate({ query: changes, variables: { names } });
  const first = results.next();
  await client.answered();
  let isFirst = true;
  return {
    next: () => (isFirst ? ((isFirst = false), first) : results.next()),
    return: () => results.return(),
  };
}

test('every change arrives over a stream of events', async () => {
  const client = sse();
  const results = await listening(client, ['watched']);
  await everyChangeArrives(results, 2);
  await results.return();
  client.dispose();
});

test('every change arrives over a websocket, and is remembered', async () => {
  const client = ws();
  const before = await digestOf('watched');
  const results = await listening(client, null);
  await everyChangeArrives(results, 6);
  await results.return();
  const query = `{ diff(from: {digest: "${before}"}, to: {name: "watched"}) { packages { name change } } }`;
  const found = await once(client, query);
  assert.deepEqual(found, { data: { diff: { packages: [{ name: 'p', change: 'CHANGED' }] } } });
  const { data } = await once(client, '{ catalog(name: "watched") { digest contents { digest isServed } } }');
  const [now, ...former] = data.catalog.contents;
  assert.deepEqual(now, { digest: data.catalog.digest, isServed: true });
  assert.ok(former.some((content) => content.digest === before && !content.isServed));
  await client.dispose();
});

async function digestOf(name) {
  const { data } = await once(sse(), `{ catalog(name: "${name}") { digest } }`);
  return data.catalog.digest;
}

/** The only result of an operation, which is complete then. */
async function once(client, query) {
  const found = [];
  for await (const result of client.iterate({ query })) found.push(result);
  assert.equal(found.length, 1);
  return found[0];
}

test('queries are answered over both transports', async () => {
  for (const client of [sse(), ws()]) {
    assert.deepEqual(await once(client, '{ __typename }'), { data: { __typename: 'Query' } });
    await client.dispose();
  }
});

test('what is wrong with a document is told', async () => {
  const { errors } = await once(sse(), 'subscription { none }');
  assert.equal(errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
  await assert.rejects(once(ws(), 'subscription { none }'), ([error]) => error.extensions.code === 'GRAPHQL_VALIDATION_FAILED');
});

/** Sends messages on a socket of its own. Gives the code and the reason that it is closed with. */
function closed(messages, protocol = GRAPHQL_TRANSPORT_WS_PROTOCOL) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace('http', 'ws'), protocol);
    socket.on('open', () => messages.forEach((message) => socket.send(message)));
    socket.on('close', (code, reason) => resolve([code, String(reason)]));
    socket.on('error', reject);
  });
}

const init = '{"type":"connection_init"}';
const subscribe = JSON.stringify({ id: 'a', type: 'subscribe', payload: { query: changes } });

test('what the protocol forbids closes the socket with its code', async () => {
  const found = await Promise.all([
    closed(['hello']),
    closed([init, '{"type":"nothing"}']),
    closed([Buffer.from([1, 2, 3])]),
    closed([subscribe]),
    closed([]),
    closed([init, subscribe, subscribe]),
    closed([init, init]),
    closed([], []),
    closed(['x'.repeat(200_000)]),
  ]);
  assert.deepEqual(found, [
    [4400, 'Invalid message received'],
    [4400, 'Invalid message received'],
    [4400, 'Invalid message received'],
    [4401, 'Unauthorized'],
    [4408, 'Connection initialisation timeout'],
    [4409, 'Subscriber for a already exists'],
    [4429, 'Too many initialisation requests'],
    [4406, 'Subprotocol not acceptable'],
    [1009, 'Message too big'],
  ]);
});

test('a page of another origin may not connect', async () => {
  const status = (origin) =>
    new Promise((resolve, reject) => {
      const headers = {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        'sec-websocket-protocol': GRAPHQL_TRANSPORT_WS_PROTOCOL,
        ...(origin && { origin }),
      };
      const pending = request(url, { headers });
      pending.on('response', (answer) => resolve(answer.resume().statusCode));
      pending.on('upgrade', (answer, socket) => resolve((socket.destroy(), answer.statusCode)));
      pending.on('error', reject);
      pending.end();
    });
  const { host } = new URL(url);
  assert.deepEqual(await Promise.all([undefined, `http://${host}`, 'https://evil.example.com'].map(status)), [101, 101, 403]);
});

test('streams are complete when the server ends', async () => {
  const clients = [sse(), ws()];
  const results = await Promise.all(clients.map((client) => listening(client, null)));
  stop();
  for (const stream of results) assert.deepEqual(await stream.next(), { done: true, value: undefined });
  await ended;
});

// Apollo Client and urql subscribed to the changes of a catalog: over a WebSocket and over a stream of events.

import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import { Client, subscriptionExchange } from 'urql';
import WebSocket from 'ws';
import { serving } from '../server.mjs';

const text = 'subscription { catalogChanged { name change diff { packages { name change } } } }';

/** Serves a folder that is watched, and changes it once clients are there. */
async function changing(use) {
  const folder = mkdtempSync(join(tmpdir(), 'catalogql-changes-'));
  const write = (...names) => {
    const blobs = names.map((name) => JSON.stringify({ schema: 'olm.package', name, defaultChannel: '' }));
    // A reader sees the file before or after, never in between.
    writeFileSync(`${folder}.new`, blobs.join('\n'));
    renameSync(`${folder}.new`, join(folder, 'catalog.json'));
  };
  write('first');
  try {
    await serving([`watched=${folder}`, '--watch'], (url) => use(url, () => write('first', 'second')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const expected = { name: 'watched', change: 'CHANGED', packages: [{ name: 'second', change: 'ADDED' }] };
const changeOf = ({ data }) => {
  const { name, change, diff } = data.catalogChanged;
  return { name, change, packages: diff.packages.map(({ name, change }) => ({ name, change })) };
};
const overWebSocket = (url, connected) =>
  createWsClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0, on: { connected } });

test('Apollo Client hears of a change over a WebSocket', () =>
  changing(async (url, change) => {
    const socket = overWebSocket(url, change);
    const client = new ApolloClient({ link: new GraphQLWsLink(socket), cache: new InMemoryCache() });
    const result = await new Promise((next, error) => client.subscribe({ query: gql(text) }).subscribe({ next, error }));
    assert.deepEqual(changeOf(result), expected);
    client.stop();
    await socket.dispose();
  }));

for (const [name, connect] of [
  ['a WebSocket', overWebSocket],
  ['a stream of events', (url, connected) => createSseClient({ url, retryAttempts: 0, onMessage: undefined, on: { connected } })],
]) {
  test(`urql hears of a change over ${name}`, () =>
    changing(async (url, change) => {
      const connection = connect(url, change);
      const forward = ({ query, variables }) => ({
        subscribe: (sink) => ({ unsubscribe: connection.subscribe({ query, variables }, sink) }),
      });
      const client = new Client({ url, exchanges: [subscriptionExchange({ forwardSubscription: forward })] });
      const result = await new Promise((next) => client.subscription(text, {}).subscribe(next));
      assert.equal(result.error, undefined);
      assert.deepEqual(changeOf(result), expected);
      connection.dispose();
    }));
}

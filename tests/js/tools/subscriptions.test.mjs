// Apollo Client and urql subscribed to the changes of a catalog: over a WebSocket and over a stream of events.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import { Client, subscriptionExchange } from 'urql';
import WebSocket from 'ws';
import { changing } from './changing.mjs';

const text = 'subscription { catalogChanged { name change diff { packages { name change } } } }';

const expected = { name: 'watched', change: 'CHANGED', packages: [{ name: 'package-2', change: 'ADDED' }] };
const changeOf = ({ data }) => {
  const { name, change, diff } = data.catalogChanged;
  return { name, change, packages: diff.packages.map(({ name, change }) => ({ name, change })) };
};
const overWebSocket = (url, connected) =>
  createWsClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0, on: { connected } });

test('Apollo Client hears of a change over a WebSocket', () =>
  changing(async (url, change) => {
    const socket = overWebSocket(url, () => change(2));
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
      const connection = connect(url, () => change(2));
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

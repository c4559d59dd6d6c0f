// The schema, as the two releases of graphql-js that clients use read it: the text is valid, it is what the server hands
// out, and what the server says of itself is the same schema.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as graphql17 from 'graphql';
import * as graphql16 from 'graphql-16';
import { withServer } from './server.mjs';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'schema.graphql'), 'utf8');

for (const graphql of [graphql16, graphql17]) {
  test(`graphql-js ${graphql.version} finds nothing wrong in the schema`, () => {
    assert.deepEqual(graphql.validateSchema(graphql.buildSchema(text)), []);
  });

  test(`a client of graphql-js ${graphql.version} makes the same schema of introspection`, async () => {
    const query = graphql.getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const { data, errors } = await withServer((url) => ask(url, query));
    assert.equal(errors, undefined);
    const print = (schema) => graphql.printSchema(graphql.lexicographicSortSchema(schema));
    assert.equal(print(graphql.buildClientSchema(data)), print(graphql.buildSchema(text)));
  });
}

test('the server hands out the text of the schema', async () => {
  const handed = await withServer(async (url) => (await fetch(new URL('/schema.graphql', url))).text());
  assert.equal(handed, text);
});

async function ask(url, query) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

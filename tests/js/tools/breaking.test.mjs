// graphql-inspector between the schema of the last release and this one: whoever was understood still is.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema } from 'graphql';

const repository = join(import.meta.dirname, '..', '..', '..');
const now = readFileSync(join(repository, 'schema.graphql'), 'utf8');

/** The changes from one schema to another that break clients. */
async function breaking(from, to) {
  const changes = await diff(buildSchema(from), buildSchema(to));
  return changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking).map(({ message }) => message);
}

/** The schema of the last release, by its tag; undefined as long as nothing was released. */
function released() {
  const git = (...args) => execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' });
  const [tag] = git('tag', '--list', 'v*', '--sort=-version:refname', '--merged').split('\n');
  return tag ? git('show', `${tag}:schema.graphql`) : undefined;
}

test('nothing that the last release understood is gone', async () => {
  // Before the first release there is nothing to break.
  assert.deepEqual(await breaking(released() ?? now, now), []);
});

test('a field that is gone is told', async () => {
  assert.deepEqual(await breaking('type Query { a: Int b: Int }', 'type Query { a: Int }'), [
    "Field 'b' was removed from object type 'Query'",
  ]);
});

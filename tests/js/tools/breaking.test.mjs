// graphql-inspector between the schema of the last release and this one: whoever was understood still is.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
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

/**
 * The schema of the last release, which `release/snapshot.sh` keeps; undefined before version 1. Until then a release may
 * break clients, and tests/it/interface.rs asks for a line in the changelog.
 */
function released() {
  const versions = readdirSync(join(repository, 'api')).filter((name) => /^[1-9]\d*\.\d+\.\d+$/.test(name));
  const last = versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  return last && readFileSync(join(repository, 'api', last, 'schema.graphql'), 'utf8');
}

test('nothing that the last release understood is gone', async () => {
  assert.deepEqual(await breaking(released() ?? now, now), []);
});

test('a field that is gone is told', async () => {
  assert.deepEqual(await breaking('type Query { a: Int b: Int }', 'type Query { a: Int }'), [
    "Field 'b' was removed from object type 'Query'",
  ]);
});

// Relay's paging over HTTP: whatever the sizes of the pages, forwards, backwards and in one page give one order, and the
// pages say truly whether there is more.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draws } from './random.mjs';
import { withServer } from './server.mjs';

const WALKS = Number(process.env.WALKS ?? 40);
const SEED = Number(process.env.SEED ?? 20260821);

/** Fields that are connections, in documents that take the size and the cursor of a page. */
const lists = [
  'packages(%)',
  'packages(orderBy: {field: NAME, direction: DESC}, %)',
  'packages(filter: {search: "the"}, %)',
  'bundles(%)',
  'bundles(orderBy: {field: VERSION, direction: DESC}, %)',
  'bundles(packages: ["quillstore", "nightjar"], %)',
  'metas(%)',
  'metas(filter: {schema: "olm.bundle"}, %)',
  'catalog(name: "nasty") { bundles(%) }',
  'catalog(name: "nasty") { problems(%) }',
  'package(catalog: "example", name: "quillstore") { bundles(%) }',
];
const size = 'first: $first, after: $after, last: $last, before: $before';
const page = `{
  totalCount
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  edges { cursor node { __typename } }
}`;
const document = (list) =>
  `query ($first: Int, $after: String, $last: Int, $before: String) { ${list.replace(/%\)/, `${size}) ${page}`)} }`;

test(`${WALKS} walks through pages of seeded sizes give one order`, () =>
  withServer(async (url) => {
    const random = draws(SEED);
    for (let at = 0; at < WALKS; at += 1) {
      const list = lists[at % lists.length];
      const page = pages(url, document(list));
      const whole = await page({ first: 500 });
      const cursors = whole.edges.map(({ cursor }) => cursor);
      assert.equal(cursors.length, whole.totalCount, list);
      assert.equal(new Set(cursors).size, cursors.length, list);
      assert.deepEqual(
        (await page({ last: 500 })).edges.map(({ cursor }) => cursor),
        cursors,
        list,
      );
      assert.deepEqual(await forwards(page, cursors, random), cursors, list);
      assert.deepEqual(await backwards(page, cursors, random), cursors, list);
      await between(page, cursors, random);
    }
  }, 'nasty=tests/testdata/catalogs/nasty'));

const drawn = ({ pick, below }) => pick(1, 2, 3, 1 + below(20), 500);

async function forwards(page, cursors, random) {
  const found = [];
  for (let after = null, more = true; more;) {
    const first = drawn(random);
    const { edges, pageInfo } = await page({ first, after });
    found.push(...edges.map(({ cursor }) => cursor));
    assert.deepEqual(pageInfo, {
      hasNextPage: found.length < cursors.length,
      hasPreviousPage: found.length > edges.length,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    });
    after = pageInfo.endCursor;
    more = pageInfo.hasNextPage;
  }
  return found;
}

async function backwards(page, cursors, random) {
  const found = [];
  for (let before = null, more = true; more;) {
    const { edges, pageInfo } = await page({ last: drawn(random), before });
    found.unshift(...edges.map(({ cursor }) => cursor));
    assert.equal(pageInfo.hasPreviousPage, found.length < cursors.length);
    before = pageInfo.startCursor;
    more = pageInfo.hasPreviousPage;
  }
  return found;
}

/** The algorithm of the specification, on a list of cursors. */
async function between(page, cursors, random) {
  if (cursors.length === 0) return;
  const [after, before] = [random.pick(null, ...cursors), random.pick(null, ...cursors)];
  const [from, to] = [
    after === null ? 0 : cursors.indexOf(after) + 1,
    before === null ? cursors.length : cursors.indexOf(before),
  ];
  const within = cursors.slice(from, Math.max(from, to));
  const count = drawn(random);
  const first = await page({ first: count, after, before });
  assert.deepEqual(
    first.edges.map(({ cursor }) => cursor),
    within.slice(0, count),
  );
  const last = await page({ last: count, after, before });
  assert.deepEqual(
    last.edges.map(({ cursor }) => cursor),
    within.slice(-count),
  );
}

/** Asks for a page. */
const pages = (url, query) => async (variables) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  let found = data;
  while (!found.edges) [found] = Object.values(found);
  return found;
};

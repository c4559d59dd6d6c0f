// The real server over the test catalogs and graphql-js over the same: what is needed to compare them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import cases from './cases.mjs';
import { adoptServerOrder, introspectionQuery } from './unordered.mjs';
import { print } from './json.mjs';
import { Judge } from './judge.mjs';
import { asServed, oracle, readCatalogs, repository, schema, settings, withDigests } from './oracle.mjs';
import { serving } from './server.mjs';

/** Limits that graphql-js does not have, out of the way. */
const generous = ['depth', 'aliases', 'root-fields', 'directives', 'tokens', 'cost', 'work'].flatMap((limit) => [
  `--max-${limit}`,
  '1000000',
]);

/** Serves the test catalogs until what is given a judge and all cases is done. */
export async function judging(use) {
  const work = mkdtempSync(join(tmpdir(), 'catalogql-'));
  const config = join(work, 'catalogs.json');
  const sources = settings.map(({ name, directory, priority, displayName, publisher, labels }) => ({
    ...{ name, source: join(repository, directory), priority, labels },
    ...(displayName === null ? {} : { displayName }),
    ...(publisher === null ? {} : { publisher }),
  }));
  writeFileSync(config, JSON.stringify({ sources }));
  try {
    return await serving(['--config', config, ...generous], (url) => withJudge(url, use));
  } finally {
    rmSync(work, { recursive: true });
  }
}

async function withJudge(url, use) {
  const ask = (request) => post(url, request);
  const dataOf = async (query) => JSON.parse(await ask({ query })).data;
  adoptServerOrder(schema, await dataOf(introspectionQuery));
  const { catalogs } = await dataOf('{ catalogs { name image lastUnpacked } }');
  const read = () => readCatalogs((name) => catalogs.find((catalog) => catalog.name === name));
  const own = read();
  const judge = new Judge(ask, oracle(own), oracle(asServed(read())));
  return use(judge, cases.map((one) => withDigests(one, own)));
}

async function post(url, { query, variables, operationName }) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: print({ query, variables, operationName }),
  });
  if (response.status !== 200) throw new Error(`status ${response.status} for ${query}`);
  return response.text();
}

// Executes every case with graphql-js and writes what it answered to tests/testdata/golden/graphql-js.jsonl, or with
// --check compares it with what stands there. tests/it/graphql_js.rs holds the Rust engine to the same answers.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from 'graphql';
import cases from './cases.mjs';
import { print } from './json.mjs';
import { golden, oracle, placeholders, readCatalogs, withDigests } from './oracle.mjs';

const path = join(golden, 'graphql-js.jsonl');
const catalogs = readCatalogs();
const answer = oracle(catalogs);

/** What is recorded of an answer: no texts, which are each library's own. */
function recorded({ data, errors, refused, unknown = [] }) {
  if (unknown.length > 0) throw new Error(`the model says nothing of ${unknown}`);
  const places = ({ locations }) => locations?.map(({ line, column }) => [line, column]);
  if (refused) return { refused, places: errors.flatMap(places) };
  const kept = errors?.map((error) => {
    if (!error.code) throw new Error(error.message);
    return { path: error.path, code: error.code, places: places(error) };
  });
  return { data, errors: kept };
}

function record() {
  const names = new Set();
  const given = new Set();
  const lines = cases.map((one) => {
    if (names.has(one.name)) throw new Error(`two cases are called: ${one.name}`);
    names.add(one.name);
    for (const used of placeholders(one.variables)) {
      if (!given.has(used)) throw new Error(`${one.name}: no answer gave ${used} before`);
    }
    const { name, query, variables, operationName } = withDigests(one, catalogs);
    const answered = recorded(answer({ query, variables, operationName }));
    for (const found of placeholders(answered.data)) given.add(found);
    return print({ name, query, variables, operationName, ...answered });
  });
  return `${lines.join('\n')}\n`;
}

const text = record();
if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== text) {
    console.error(
      `${path} is not what graphql-js ${version} answers now: run make regenerate-graphql-js and read the difference`,
    );
    process.exit(1);
  }
} else {
  writeFileSync(path, text);
}
console.log(`${cases.length} cases, graphql-js ${version}`);

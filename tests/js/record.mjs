// Executes every case with graphql-js and writes what it answered to tests/testdata/golden/graphql-js.jsonl, or with
// --check compares it with what stands there. tests/it/graphql_js.rs holds the Rust engine to the same answers.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, execute, getOperationAST, getVariableValues, parse, specifiedRules, validate, version } from 'graphql';
import cases from './cases.mjs';
import { Num, print } from './json.mjs';
import { Model } from './model.mjs';
import { digest, readCatalog } from './read.mjs';
import { root } from './resolvers.mjs';

const repository = join(import.meta.dirname, '..', '..');
const golden = join(repository, 'tests', 'testdata', 'golden', 'graphql-js.jsonl');
const schema = buildSchema(readFileSync(join(repository, 'schema.graphql'), 'utf8'));

const settings = JSON.parse(readFileSync(join(repository, 'tests', 'testdata', 'golden', 'graphql-js-catalogs.json'), 'utf8'));
const catalogs = settings.map((catalog) => {
  const blobs = readCatalog(join(repository, catalog.directory));
  return { ...catalog, digest: digest(blobs), model: new Model(blobs) };
});
const rootValue = root(catalogs);

/** The text with `{digest NAME}` replaced by the digest of that catalog. */
function withDigests(text) {
  return text?.replace(/\{digest (\w+)\}/g, (_, name) => catalogs.find((catalog) => catalog.name === name).digest);
}

/** Why a document is refused before it is executed, as a phase, or undefined. */
function refusal({ query, variables, operationName }) {
  let document;
  try {
    // Without the option graphql-js takes `{ }`, which the specification's grammar does not.
    document = parse(query, { allowEmptySelectionSets: false });
  } catch {
    return { phase: 'parse' };
  }
  if (validate(schema, document, specifiedRules).length > 0) return { phase: 'validation' };
  const operation = getOperationAST(document, operationName);
  if (!operation) return { phase: 'operation' };
  const coerced = getVariableValues(schema, operation.variableDefinitions ?? [], variables ?? {});
  return coerced.errors ? { phase: 'variables' } : { document };
}

function answer(request) {
  const { document, phase } = refusal(request);
  if (!document) return { refused: phase };
  const result = execute({
    schema,
    document,
    rootValue,
    variableValues: request.variables,
    operationName: request.operationName,
  });
  const errors = result.errors?.map((error) => {
    // The only error of graphql-js's own: an argument, of a field or of a directive, that cannot be coerced.
    const isArgument = /^Argument ".*" has invalid value/.test(error.message);
    if (!error.extensions.code && !isArgument) throw error;
    return { path: error.path, code: error.extensions.code ?? 'BAD_USER_INPUT' };
  });
  return { data: result.data, errors };
}

/** The value with the numbers that were written in a special way as JavaScript's own. */
function plain(value) {
  if (value instanceof Num) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

/** Every id and cursor in a value. */
function placeholders(value) {
  if (typeof value === 'string') return value.startsWith('«') ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(placeholders) : [];
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
    const query = withDigests(one.query);
    const { name, variables, operationName } = one;
    const answered = answer({ query, variables: plain(variables), operationName });
    for (const found of placeholders(answered.data)) given.add(found);
    return print({ name, query, variables, operationName, ...answered });
  });
  return `${lines.join('\n')}\n`;
}

const recorded = record();
if (process.argv.includes('--check')) {
  if (readFileSync(golden, 'utf8') !== recorded) {
    console.error(`${golden} is not what graphql-js ${version} answers now: run make regenerate-graphql-js and read the difference`);
    process.exit(1);
  }
} else {
  writeFileSync(golden, recorded);
}
console.log(`${cases.length} cases, graphql-js ${version}`);

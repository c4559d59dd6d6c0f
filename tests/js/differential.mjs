// The same requests to the real server and to graphql-js: every case, and seeded changes of them.
//
//     node differential.mjs [CHANGED [SEED]]
//
// What counts: whether and in which phase a request is refused, data down to the order of keys and the digits of
// numbers, and the path, code and place of each error. Texts are each library's own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import cases from './cases.mjs';
import { gapOf } from './gaps.mjs';
import { comparable } from './introspection.mjs';
import { parseAt, print } from './json.mjs';
import { mutated } from './mutate.mjs';
import { oracle, placeholders, readCatalogs, repository, settings, withDigests } from './oracle.mjs';
import { Placeholders } from './placeholders.mjs';
import { draws } from './random.mjs';
import { serving } from './server.mjs';

const [changes, seed] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 1)];

/** Limits that graphql-js does not have, out of the way. */
const generous = ['depth', 'aliases', 'root-fields', 'directives', 'tokens', 'cost', 'objects'].flatMap((limit) => [
  `--max-${limit}`,
  '1000000',
]);

const phases = {
  GRAPHQL_PARSE_FAILED: 'parse',
  GRAPHQL_VALIDATION_FAILED: 'validation',
  OPERATION_RESOLUTION_FAILURE: 'operation',
  BAD_USER_INPUT: 'variables',
};

/** What stands for a limit that is fixed; graphql-js has no such answer. */
const limited = (answer) =>
  /^(MAX_|COST_|RESPONSE_|TIMEOUT)/.test(answer.errors?.[0]?.extensions?.code ?? '') ||
  /nested more than/.test(answer.errors?.[0]?.message ?? '');

async function ask(url, { query, variables, operationName }) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: print({ query, variables, operationName }),
  });
  if (response.status !== 200) throw new Error(`status ${response.status} for ${query}`);
  return response.text();
}

const at = ({ line, column }) => `${line}:${column}`;

/** What of an answer of the server is not as graphql-js says: a text, and whether it is only a place; or undefined. */
function difference({ query }, theirs, text, given) {
  const ours = JSON.parse(text);
  const places = (ours.errors ?? []).map((error) => error.locations?.map(at));
  if (!('data' in ours)) {
    const [first] = ours.errors;
    const phase = phases[first.extensions.code];
    if (phase !== theirs.refused)
      return {
        text: `${phase ?? first.extensions.code} (${first.message}), not ${theirs.refused ?? 'answered'} (${theirs.errors?.[0]?.message})`,
      };
    // A library may stop at another fault than the other one, but at one that is there.
    const known = theirs.errors.flatMap(({ locations }) => locations?.map(at) ?? []);
    const found = places.flat().filter((place) => place !== undefined);
    const wrong = found.find((place) => !known.includes(place));
    if (!wrong && (known.length === 0 || found.length > 0)) return undefined;
    return { text: `error at ${wrong} (${first.message}), not ${known} (${theirs.errors[0].message})`, isPlace: true };
  }
  if (theirs.refused) return { text: `answered, not refused in ${theirs.refused}: ${theirs.errors[0]?.message}` };
  if (theirs.unknown.length > 0) return undefined;
  const summary = (errors, code) =>
    (errors ?? [])
      .map((error) => `${JSON.stringify(error.path)} ${code(error)} ${error.locations?.slice(0, 1).map(at)}`)
      .sort();
  const [expected, actual] = [
    summary(theirs.errors, (error) => error.code),
    summary(ours.errors, (error) => error.extensions.code),
  ];
  const wrong = given.compare(
    comparable(query, parseAt(print(theirs.data), 0)[0]),
    comparable(query, parseAt(text, 0)[0].get('data')),
  );
  if (wrong) return { text: wrong };
  return JSON.stringify(expected) === JSON.stringify(actual) ? undefined : { text: `errors ${actual}, not ${expected}` };
}

async function compare(url, answer, request, given, counts) {
  const variables = given.fill(request.variables);
  // A changed request may ask for an id or a cursor that no answer had.
  if (variables === undefined && request.variables !== undefined) return undefined;
  const text = await ask(url, { ...request, variables });
  if (limited(JSON.parse(text))) {
    counts.limited += 1;
    return undefined;
  }
  const theirs = answer(request);
  counts[theirs.refused ? 'refused' : theirs.unknown.length > 0 ? 'unmodelled' : 'answered'] += 1;
  const found = difference(request, theirs, text, given);
  const gap = found && gapOf(request, theirs, JSON.parse(text), found);
  if (gap) counts.gaps[gap] = (counts.gaps[gap] ?? 0) + 1;
  return gap ? undefined : found;
}

async function run(url) {
  const { data } = JSON.parse(await ask(url, { query: '{ catalogs { name image lastUnpacked } }' }));
  const catalogs = readCatalogs((name) => data.catalogs.find((catalog) => catalog.name === name));
  const answer = oracle(catalogs);
  const given = new Placeholders();
  const counts = { answered: 0, unmodelled: 0, refused: 0, limited: 0, gaps: {} };
  const found = [];
  const corpus = cases.map((one) => withDigests(one, catalogs));
  const check = async (request) => {
    const wrong = await compare(url, answer, request, given, counts);
    if (wrong)
      found.push(
        `${request.name}\n  ${wrong.text}\n  ${print({ query: request.query, variables: request.variables, operationName: request.operationName })}`,
      );
  };
  for (const request of corpus) await check(request);
  const random = draws(seed);
  for (let made = 0; made < changes; made += 1) {
    const request = random.pick(...corpus);
    await check({ ...mutated(request, corpus, random), name: `${request.name}, change ${made} of seed ${seed}` });
  }
  return { counts, found };
}

const work = mkdtempSync(join(tmpdir(), 'catalogql-'));
const config = join(work, 'catalogs.json');
const sources = settings.map(({ name, directory, priority, displayName, publisher, labels }) => ({
  ...{ name, source: join(repository, directory), priority, labels },
  ...(displayName === null ? {} : { displayName }),
  ...(publisher === null ? {} : { publisher }),
}));
writeFileSync(config, JSON.stringify({ sources }));
try {
  const { counts, found } = await serving(['--config', config, ...generous], run);
  found.slice(0, 500).forEach((text) => console.error(text));
  const { gaps, ...numbers } = counts;
  console.log(
    `${cases.length} cases and ${changes} changed ones of seed ${seed}: ${print(numbers)}; known differences: ${print(gaps)}; others: ${found.length}`,
  );
  process.exitCode = found.length === 0 ? 0 : 1;
} finally {
  rmSync(work, { recursive: true });
}

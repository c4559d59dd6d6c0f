// The same requests to the real server and to graphql-js: every case, and seeded changes of them.
//
//     node differential.mjs [CHANGED [SEED]]
//
// `judge.mjs` says what counts, and `gaps.mjs` which differences are known.

import { gaps, others, places } from './gaps.mjs';
import { print } from './json.mjs';
import { mutated } from './mutate.mjs';
import { draws } from './random.mjs';
import { judging } from './served.mjs';

const [changes, seed] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 1)];
/** Differences that are shown. */
const shown = 500;

const found = [];
await judging(async (judge, corpus) => {
  const check = async (request) => {
    const wrong = await judge.check(request);
    const { name, query, variables, operationName } = request;
    if (wrong) found.push(`${name}\n  ${wrong}\n  ${print({ query, variables, operationName })}`);
  };
  for (const request of corpus) await check(request);
  const random = draws(seed);
  for (let made = 0; made < changes; made += 1) {
    const request = random.pick(...corpus);
    await check({ ...mutated(request, corpus, random), name: `${request.name}, change ${made} of seed ${seed}` });
  }
  for (const text of found.slice(0, shown)) console.error(text);
  console.log(`${corpus.length} cases and ${changes} changed ones of seed ${seed}: ${print(judge.counts)}`);
  for (const { name } of [...gaps, ...places, others]) console.log(`${String(judge.gaps[name] ?? 0).padStart(6)}  known: ${name}`);
  console.log(`${String(found.length).padStart(6)}  others`);
});
process.exitCode = found.length === 0 ? 0 : 1;

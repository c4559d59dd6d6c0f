// The comparison with graphql-js must be able to fail: faults are planted in answers of the real server, and each must be
// found, also where a difference is known.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAt, print } from './json.mjs';
import { draws } from './random.mjs';
import { judging } from './served.mjs';

/** One of so many pairs of a case and a kind of fault is tried. */
const rarity = Number(process.env.RARITY ?? 4);

test('a fault in an answer is found, whatever else is known to differ', async () => {
  const missed = [];
  let planted = 0;
  await judging(async (judge, cases) => {
    for (const request of cases) assert.equal(await judge.check(request), undefined, request.name);
    const random = draws(1);
    for (const request of cases) {
      for (const [kind, plant] of Object.entries(faults)) {
        if (random.below(rarity) > 0) continue;
        let changed;
        const change = (text) => {
          changed = plant(read(text), random, text);
          return changed ?? text;
        };
        const found = await judge.check(request, change);
        if (changed === undefined) continue;
        planted += 1;
        if (!found) missed.push(`${kind} in ${request.name}: ${changed.slice(0, 200)}`);
      }
    }
  });
  assert.deepEqual(missed, []);
  assert.ok(planted > 5000 / rarity, `${planted} faults`);
});

const read = (text) => parseAt(text, 0)[0];

/** Changes of an answer: its text with a fault, or undefined where it cannot have this one. */
const faults = {
  'another value': (answer, random) =>
    inData(answer, random, (value) => !(value instanceof Map) && !Array.isArray(value), other),
  'a value that is null': (answer, random) => inData(answer, random, (value) => value !== null, () => null),
  'an item less': (answer, random) => inData(answer, random, isList(1), (list) => list.slice(1)),
  'an item twice': (answer, random) => inData(answer, random, isList(1), (list) => [...list, list.at(-1)]),
  'items in another order': (answer, random) =>
    inData(answer, random, (list) => isList(2)(list) && print(list[0]) !== print(list.at(-1)), (list) => [
      list.at(-1),
      ...list.slice(1, -1),
      list[0],
    ]),
  'a member less': (answer, random) => inData(answer, random, isObject(1), (object) => new Map([...object].slice(1))),
  'a member under another name': (answer, random) =>
    inData(answer, random, isObject(1), (object) => {
      const [[key, value], ...others] = object;
      return new Map([[`${key}_`, value], ...others]);
    }),
  'members in another order': (answer, random) =>
    inData(answer, random, isObject(2), (object) => new Map([...object].reverse())),
  'a member twice': (answer, random, text) => (answer.has('data') ? text.replace('{"data":', '{"data":null,"data":') : undefined),
  'another member of the answer': (answer) => print(new Map([...answer, ['more', 1]])),
  'an error less': (answer) => (answer.has('data') ? inErrors(answer, (errors) => errors.slice(1)) : undefined),
  'an error more': (answer) =>
    answer.has('data')
      ? print(new Map([...answer, ['errors', [...(answer.get('errors') ?? []), error('BAD_USER_INPUT')]]]))
      : undefined,
  'no error in the list': (answer) => print(new Map([...answer, ['errors', []]])),
  'an error at another path': (answer) => (answer.has('data') ? inFirst(answer, 'path', (path) => [...path, 'x']) : undefined),
  'an error with another code': (answer) => inFirst(answer, 'extensions', () => new Map([['code', 'INTERNAL_SERVER_ERROR']])),
  'an error with another text': (answer) =>
    /^(Variable|Argument) /.test(answer.get('errors')?.[0].get('message'))
      ? inFirst(answer, 'message', (text) => text.replace(/: .*/, ''))
      : undefined,
  'an error at another place': (answer) =>
    inFirst(answer, 'locations', () => [new Map([['line', 1], ['column', 9999]])]),
  'a refusal instead of data': (answer) =>
    answer.has('data') ? print(new Map([['errors', [error('GRAPHQL_VALIDATION_FAILED')]]])) : undefined,
  'data instead of a refusal': (answer) => (answer.has('data') ? undefined : print(new Map([['data', new Map()]]))),
};

const error = (code) =>
  new Map([
    ['message', 'planted'],
    ['locations', [new Map([['line', 1], ['column', 1]])]],
    ['path', ['planted']],
    ['extensions', new Map([['code', code]])],
  ]);

const isList = (length) => (value) => Array.isArray(value) && value.length >= length;
const isObject = (size) => (value) => value instanceof Map && value.size >= size;

/** Another value of the same kind. */
function other(value) {
  if (value === null) return 'planted';
  if (typeof value === 'boolean') return !value;
  return typeof value === 'string' ? `${value}x` : Number(value.text) + 1;
}

/** The answer with one value of its data changed, of those that fit. */
function inData(answer, { below }, fits, change) {
  const ways = [];
  const walk = (value, way) => {
    if (fits(value)) ways.push(way);
    const members = value instanceof Map || Array.isArray(value) ? value.entries() : [];
    for (const [key, member] of members) walk(member, [...way, key]);
  };
  if (answer.has('data')) walk(answer.get('data'), []);
  if (ways.length === 0) return undefined;
  const changed = (value, [key, ...way]) => {
    if (key === undefined) return change(value);
    if (Array.isArray(value)) return value.with(key, changed(value[key], way));
    return new Map([...value].map(([name, member]) => [name, name === key ? changed(member, way) : member]));
  };
  const data = changed(answer.get('data'), ways[below(ways.length)]);
  return print(new Map([...answer].map(([key, member]) => [key, key === 'data' ? data : member])));
}

/** The answer with other errors. */
function inErrors(answer, change) {
  if (!answer.has('errors')) return undefined;
  const errors = change(answer.get('errors'));
  return print(new Map([...answer].flatMap(([key, member]) => (key === 'errors' ? (errors.length > 0 ? [[key, errors]] : []) : [[key, member]]))));
}

/** The answer with a member of its first error changed. */
function inFirst(answer, name, change) {
  if (!answer.get('errors')?.[0].has(name)) return undefined;
  return inErrors(answer, ([one, ...others]) => [
    new Map([...one].map(([key, member]) => [key, key === name ? change(member) : member])),
    ...others,
  ]);
}

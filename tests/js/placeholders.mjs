// Ids and cursors are opaque: the model writes placeholders, and each must always stand for the same text.

import { print } from './json.mjs';

/** What the server gave in the places of placeholders. */
export class Placeholders {
  #given = new Map();
  #meaning = new Map();

  /** A value with what was given in the places of its placeholders; undefined when one was never given. */
  fill(value) {
    if (typeof value === 'string') return value.startsWith('«') ? this.#given.get(value) : value;
    if (Array.isArray(value)) return whole(value.map((item) => this.fill(item)));
    if (typeof value !== 'object' || value === null || value.constructor !== Object) return value;
    const entries = whole(Object.entries(value).map(([key, member]) => this.fill(member)));
    return entries && Object.fromEntries(Object.keys(value).map((key, at) => [key, entries[at]]));
  }

  /** The first difference of two values, or undefined. */
  compare(expected, actual, path = '') {
    if (typeof expected === 'string' && expected.startsWith('«') && typeof actual === 'string') {
      const before = this.#given.get(expected) ?? actual;
      const meaning = this.#meaning.get(actual) ?? expected;
      this.#given.set(expected, before);
      this.#meaning.set(actual, meaning);
      return before === actual && meaning === expected
        ? undefined
        : `at ${path}: ${expected} was ${before}, and ${actual} was ${meaning}`;
    }
    const pair = [expected, actual];
    if (pair.every(Array.isArray) && expected.length === actual.length)
      return first(expected, (item, at) => this.compare(item, actual[at], `${path}/${at}`));
    if (pair.every((value) => value instanceof Map) && [...expected.keys()].join('\0') === [...actual.keys()].join('\0')) {
      return first([...expected], ([key, member]) => this.compare(member, actual.get(key), `${path}/${key}`));
    }
    return same(expected, actual) ? undefined : `at ${path}: expected ${show(expected)}, got ${show(actual)}`;
  }
}

const whole = (items) => (items.includes(undefined) ? undefined : items);
const show = (value) => (print(value) ?? 'nothing').slice(0, 300);
const same = (a, b) => a === b || (a?.text !== undefined && a.text === b?.text);

function first(items, difference) {
  for (const [at, item] of items.entries()) {
    const found = difference(item, at);
    if (found) return found;
  }
  return undefined;
}

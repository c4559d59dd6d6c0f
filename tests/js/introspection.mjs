// What introspection leaves to the server, taken away: the order of types and directives, and the descriptions and the
// order of what is built in.

import { specifiedDirectives, specifiedScalarTypes } from 'graphql';
import { compareBytes, print } from './json.mjs';

const builtIn = new Set([...specifiedScalarTypes, ...specifiedDirectives].map(({ name }) => name));
const unordered = ['types', 'directives', 'possibleTypes'];
/** A place for directives that graphql-js alone knows. */
const experiment = 'FRAGMENT_VARIABLE_DEFINITION';

/** The data of an answer to a document; as it is, unless the document asks for introspection. */
export function comparable(query, data) {
  return /__schema|__type\b/.test(query) ? normalised(data, false) : data;
}

function normalised(value, within) {
  if (Array.isArray(value)) {
    return value
      .filter((item) => item !== experiment && !(item instanceof Map && item.get('name') === experiment))
      .map((item) => normalised(item, within));
  }
  if (!(value instanceof Map)) return value;
  const name = value.get('name');
  const known = within || (typeof name === 'string' && (name.startsWith('__') || builtIn.has(name)));
  const entries = [...value].map(([key, member]) => {
    const made = normalised(member, known);
    if (known && key === 'description') return [key, null];
    return [key, Array.isArray(made) && (known || unordered.includes(key)) ? made.sort(byName) : made];
  });
  return new Map(entries);
}

const sortKey = (item) => print(item instanceof Map ? (item.get('name') ?? item) : item);
const byName = (a, b) => compareBytes(sortKey(a), sortKey(b));

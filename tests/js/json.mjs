// JSON that keeps what JavaScript's own would lose: the text of numbers, the order of keys, where a value ends.
// Objects are Maps, numbers are Numbers of the class below; all else is JavaScript's own.

/** A number as it was written. */
export class Num {
  constructor(text) {
    this.text = text;
  }
}

const space = /[ \t\r\n]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** Reads one value; answers it and the offset of its end. Of two equal keys the last counts; a strict reader takes none. */
export function parseAt(text, start, { strict = false } = {}) {
  let at = start;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found?.[0];
  };
  const fail = () => {
    throw new SyntaxError(`unexpected ${JSON.stringify(text.slice(at, at + 10))} at ${at}`);
  };
  const expect = (char) => {
    take(space);
    if (text[at] !== char) fail();
    at += 1;
  };
  const items = (close, item) => {
    at += 1;
    take(space);
    if (text[at] === close) {
      at += 1;
      return;
    }
    for (;;) {
      item();
      take(space);
      if (text[at] === close) {
        at += 1;
        return;
      }
      expect(',');
    }
  };
  const value = () => {
    take(space);
    if (text[at] === '{') {
      const object = new Map();
      items('}', () => {
        take(space);
        const key = take(string) ?? fail();
        expect(':');
        if (object.delete(JSON.parse(key)) && strict) throw new SyntaxError(`two members ${key}`);
        object.set(JSON.parse(key), value());
      });
      return object;
    }
    if (text[at] === '[') {
      const list = [];
      items(']', () => list.push(value()));
      return list;
    }
    for (const [word, meaning] of [['true', true], ['false', false], ['null', null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    const quoted = take(string);
    if (quoted !== undefined) return JSON.parse(quoted).toWellFormed();
    return new Num(take(number) || fail());
  };
  const read = value();
  return [read, at];
}

/** Reads a stream of values. */
export function parseStream(text) {
  const values = [];
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    let value;
    [value, at] = parseAt(text, at);
    values.push(value);
  }
  return values;
}

function skipSpace(text, at) {
  space.lastIndex = at;
  space.exec(text);
  return space.lastIndex;
}

/** Compares as UTF-8 bytes do. */
export function compareBytes(a, b) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Writes a value on one line, in the order of its keys; undefined members are left out. */
export function print(value) {
  if (value === undefined || value === null) return 'null';
  if (value instanceof Num) return value.text;
  if (Array.isArray(value)) return `[${value.map(print).join(',')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const members = entries.filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${print(member)}`).join(',')}}`;
}

/** The same value with the keys of every object sorted. */
export function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (!(value instanceof Map)) return value;
  const entries = [...value].sort(([a], [b]) => compareBytes(a, b));
  return new Map(entries.map(([key, member]) => [key, sorted(member)]));
}

// The files of a catalog → its blobs, in catalog order. A small reader of its own, for the test catalogs: it knows the
// parts of the format that they use, and fails on anything else.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { compareBytes, Num, parseStream, print, sorted } from './json.mjs';

/** Every blob below a directory, each with its file and its place in it. */
export function readCatalog(root) {
  const blobs = [];
  for (const file of listFiles(root)) {
    readFile(readFileSync(join(root, file), 'utf8')).forEach((blob, index) => {
      blobs.push({ file, index, blob: sorted(blob) });
    });
  }
  return blobs;
}

/** sha256 of the canonical lines. */
export function digest(blobs) {
  const hash = createHash('sha256');
  for (const { blob } of blobs) hash.update(`${escapeSeparators(print(blob))}\n`);
  return `sha256:${hash.digest('hex')}`;
}

// Go escapes these two in strings, besides what JSON demands.
function escapeSeparators(line) {
  return line.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function listFiles(root) {
  const files = [];
  const patterns = [];
  const walk = (folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    entries.sort((a, b) => compareBytes(a.name, b.name));
    for (const entry of entries) {
      const path = folder ? `${folder}/${entry.name}` : entry.name;
      if (entry.isDirectory()) walk(path);
      else if (entry.name === '.indexignore') patterns.push(...readPatterns(join(root, path), folder));
      else files.push(path);
    }
  };
  walk('');
  return files.filter((path) => !patterns.some((pattern) => pattern.test(path)));
}

/** Two forms of a pattern at the root: `*.md` and `README.md` for files, `drafts/` for a folder. */
function readPatterns(path, folder) {
  const lines = readFileSync(path, 'utf8').split('\n').map((line) => line.trim());
  return lines.filter((line) => line && !line.startsWith('#')).map((line) => {
    if (folder || !/^\*?[\w.]+\/?$/.test(line)) throw new Error(`${path}: this reader does not know ${line}`);
    const name = line.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '[^/]*');
    return line.endsWith('/') ? new RegExp(`(^|/)${name}/`) : new RegExp(`(^|/)${name}(/|$)`);
  });
}

function readFile(text) {
  const values = /^\s*\{/.test(text) ? parseStream(text) : readYaml(text);
  for (const value of values) {
    if (!(value instanceof Map)) throw new Error(`not an object: ${print(value)}`);
  }
  return values;
}

/** Documents end before lines that begin with `---`; those that hold nothing are skipped. */
function readYaml(text) {
  const documents = [''];
  for (const line of text.split(/^/m)) {
    const isSeparator = line.startsWith('---');
    if (isSeparator && documents.at(-1) !== '') documents.push('');
    else documents[documents.length - 1] += line;
  }
  const values = [];
  for (const document of documents) {
    const value = readYamlDocument(document);
    if (value !== null) values.push(value);
  }
  return values;
}

/** The value of one document. */
export function readYamlDocument(text) {
  const document = parseDocument(text, { version: '1.1', schema: 'failsafe', uniqueKeys: false });
  if (document.errors.length > 0) throw document.errors[0];
  return toValue(document.contents, document);
}

function toValue(node, document) {
  if (node === null) return null;
  if (isAlias(node)) return toValue(node.resolve(document), document);
  if (isSeq(node)) return node.items.map((item) => toValue(item, document));
  if (isScalar(node)) return node.type === 'PLAIN' || node.type === undefined ? resolvePlain(node.source ?? '') : node.value;
  if (!isMap(node)) throw new Error(`unknown node ${node}`);
  const merged = new Map();
  const own = new Map();
  for (const { key, value } of node.items) {
    if (isScalar(key) && key.type === 'PLAIN' && key.source === '<<') {
      for (const [name, member] of toValue(value, document)) merged.set(name, member);
    } else {
      own.set(keyText(toValue(key, document)), toValue(value, document));
    }
  }
  return new Map([...merged, ...own]);
}

function keyText(key) {
  if (key instanceof Num) return key.text;
  if (typeof key === 'string' || typeof key === 'boolean') return String(key);
  throw new Error(`this reader does not know the key ${print(key)}`);
}

const words = new Map([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null]),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE'].map((word) => [word, true]),
  ...['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE'].map((word) => [word, false]),
]);

/** What a plain scalar means to Go's yaml.v2; dates stay strings. */
function resolvePlain(text) {
  if (words.has(text)) return words.get(text);
  const plain = text.replaceAll('_', '');
  const integer = /^([-+]?)(0b[01]+|0o?[0-7]+|0x[0-9a-fA-F]+|0|[1-9]\d*)$/.exec(plain);
  if (integer) {
    const digits = integer[2].replace(/^0o?(?=[0-7])/, '0o');
    return new Num(String(BigInt(digits) * (integer[1] === '-' ? -1n : 1n)));
  }
  if (/^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(plain)) return new Num(String(Number(plain)));
  return text;
}

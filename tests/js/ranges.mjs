// Asks npm's semver for 10,000 seeded pairs of a range and a version and writes what it answered to
// crates/fbc/tests/testdata/npm-semver.txt, or with --check compares it with what stands there. Only ranges whose
// grammar means the same for github.com/Masterminds/semver are generated; crates/fbc/tests/it/ranges.rs reads them.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { draws } from './random.mjs';

const path = join(import.meta.dirname, '..', '..', 'crates', 'fbc', 'tests', 'testdata', 'npm-semver.txt');
const RANGES = 1000;
const VERSIONS = 10;

const { below, pick } = draws(20260821);

/** A number: small ones are near each other, so that bounds are hit. */
const number = () => pick(0, 0, 1, 1, 2, 3, 9, 10, 11);

/** A version with all numbers, perhaps a prerelease and build metadata. */
function whole(prerelease) {
  const pre = prerelease ? pick('-alpha', '-alpha.1', '-beta.2', '-beta.11', '-rc', '-0', '-1') : '';
  return `${number()}.${number()}.${number()}${pre}${below(12) ? '' : '+build.5'}`;
}

/** A version whose last numbers are missing or wildcards. */
function partial() {
  return pick(`${number()}`, `${number()}.x`, `${number()}.*`, `${number()}.${number()}`, `${number()}.${number()}.x`,
    `${number()}.X.X`, `v${number()}.${number()}`);
}

/**
 * A comparator without prereleases. Left out: a major wildcard behind an operator, and `~0.0.0`, which Masterminds has
 * as any version.
 */
function comparator() {
  const operator = pick('', '=', '>', '>=', '<', '<=', '~', '~>', '^', '> ', '>= ', '^ ');
  for (;;) {
    const version = pick(whole(false), whole(false), partial());
    if (!(operator.startsWith('~') && version.startsWith('0.0.0'))) return operator + version;
  }
}

/** Comparators that must all hold, or a hyphen range; npm knows no hyphen range beside others. */
function group() {
  if (below(6) === 0) return `${pick(whole(false), partial())} - ${pick(whole(false), partial())}`;
  return Array.from({ length: pick(1, 1, 2, 2, 3) }, comparator).join(' ');
}

/**
 * A range of one comparator with a prerelease, and versions of which those with a prerelease have the same numbers: for
 * others npm asks for a comparator of theirs, and Masterminds for any.
 */
function withPrerelease() {
  const bound = whole(true);
  const numbers = bound.split(/[-+]/)[0];
  const range = pick('', '=', '>', '>=', '<', '<=', '~', '^') + bound;
  const version = () => pick(`${numbers}${pick('-alpha', '-alpha.2', '-beta.2', '-beta.3', '-rc', '-0', '-1')}`, whole(false));
  return { range, versions: Array.from({ length: VERSIONS }, version) };
}

function plain() {
  const groups = Array.from({ length: pick(1, 1, 1, 2, 3) }, group);
  // Masterminds takes `1||2` in front of a hyphen for one version.
  const or = groups.some((group) => group.includes(' - ')) ? ' || ' : pick('||', ' || ');
  const range = pick('*', 'x', ...Array(20).fill(undefined)) ?? groups.join(or);
  // No comparator has a prerelease, so neither of the two takes a version with one.
  return { range, versions: Array.from({ length: VERSIONS }, () => whole(below(8) === 0)) };
}

const lines = [];
while (lines.length < RANGES) {
  const { range, versions } = below(6) === 0 ? withPrerelease() : plain();
  if (semver.validRange(range) === null) throw new Error(`npm refuses ${range}`);
  lines.push([range, versions.join(' '), versions.map((version) => (semver.satisfies(version, range) ? 1 : 0)).join('')].join('\t'));
}
const text = `${lines.join('\n')}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== text) {
    console.error(`${path} is not what npm's semver answers: run npm --prefix tests/js run record`);
    process.exit(1);
  }
} else {
  writeFileSync(path, text);
}

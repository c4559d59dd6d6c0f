// What `catalogql validate --output sarif` prints, against the JSON Schema of SARIF 2.1.0.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Ajv from 'ajv';
import { program } from '../server.mjs';

const require = createRequire(import.meta.url);
const schema = require('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json');

/** Creates what tells whether a document follows the schema, which is of draft 4 of JSON Schema. */
function validator() {
  const ajv = new Ajv({ schemaId: 'id', meta: false, unknownFormats: 'ignore' });
  ajv.addMetaSchema(require('ajv/lib/refs/json-schema-draft-04.json'));
  return ajv.compile(schema);
}

test('logs of catalogs with and without problems follow the schema of SARIF', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'catalogql-sarif-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const follows = validator();
  const texts = {
    'good.yaml': 'schema: olm.package\nname: etcd\ndefaultChannel: a\n---\nschema: olm.unknown\n',
    'many.yaml': `schema: olm.package\nname: etcd\n${'---\n---\n'.repeat(1234)}`,
    'broken.yaml': 'schema: [a\n',
  };
  const counts = Object.entries(texts).map(([name, text]) => {
    const catalog = mkdtempSync(join(folder, 'catalog '));
    writeFileSync(join(catalog, name), text);
    const printed = spawnSync(program, ['validate', catalog, '--output', 'sarif'], { encoding: 'utf8' });
    const log = JSON.parse(printed.stdout);
    assert.ok(follows(log), JSON.stringify(follows.errors));
    return log.runs[0].results.length;
  });
  assert.ok(counts[0] > 0 && counts[1] > 1000 && counts[2] === 1, `${counts}`);
  assert.equal(follows({ version: '2.1.0', runs: [{ results: [] }] }), false, 'a log without a tool is refused');
});

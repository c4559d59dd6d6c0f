// A catalog that changes while clients are subscribed to it.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serving } from '../server.mjs';

/** Serves a folder with one package that is watched. `use` gets the URL, and what changes the number of packages. */
export async function changing(use) {
  const folder = mkdtempSync(join(tmpdir(), 'catalogql-changes-'));
  const write = (packages) => {
    const names = Array.from({ length: packages }, (_, at) => `package-${at + 1}`);
    const blobs = names.map((name) => JSON.stringify({ schema: 'olm.package', name, defaultChannel: '' }));
    // A reader sees the file before or after, never in between.
    writeFileSync(`${folder}.new`, blobs.join('\n'));
    renameSync(`${folder}.new`, join(folder, 'catalog.json'));
  };
  write(1);
  try {
    await serving([`watched=${folder}`, '--watch'], (url) => use(url, write));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

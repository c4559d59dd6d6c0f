// The real server over the example catalog, for as long as a test needs it.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const repository = join(import.meta.dirname, '..', '..');
/** What `cargo test` builds. */
export const program = join(process.env.CARGO_TARGET_DIR ?? join(repository, 'target'), 'debug', 'catalogql');

/** Serves the example catalog on a free port until what is given the address is done. */
export const withServer = (use, ...flags) => serving(['example=examples/catalog', ...flags], use);

/** Serves what is named until what is given the address is done. */
export async function serving(flags, use) {
  if (!existsSync(program)) throw new Error(`${program} is not there: build it with cargo build`);
  const store = mkdtempSync(join(tmpdir(), 'catalogql-'));
  const command = ['serve', ...flags, '--listen', '127.0.0.1:0', '--store', store];
  const server = spawn(program, command, { cwd: repository, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    return await use(await address(server));
  } finally {
    server.kill();
    await ended;
    rmSync(store, { recursive: true });
  }
}

async function address(server) {
  for await (const line of createInterface(server.stdout)) {
    const found = /^Listening on (\S+)$/.exec(line);
    if (found) return found[1];
  }
  throw new Error('the server ended before it said where it listens');
}

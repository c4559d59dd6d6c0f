// The code of a page of the documentation, compiled as a reader would compile it: each block of TypeScript whose first
// line names a file.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '@graphql-codegen/cli';
import ts from 'typescript';

const here = import.meta.dirname;
const repository = join(here, '..', '..', '..');
const page = join(repository, 'docs', 'how-to', 'javascript-clients.md');
/** The schema as it is released. */
export const schemaText = readFileSync(join(repository, 'schema.graphql'), 'utf8');

/** The blocks of the page by their files. */
function blocks() {
  const found = readFileSync(page, 'utf8').matchAll(/^```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)^```$/gm);
  return new Map([...found].map(([, file, text]) => [file, text]));
}

/** A folder whose programs find the clients. */
export function workFolder(name) {
  const work = mkdtempSync(join(tmpdir(), `catalogql-${name}-`));
  symlinkSync(join(here, 'node_modules'), join(work, 'node_modules'));
  return work;
}

/** Runs relay-compiler over the sources in a folder. */
export function compileRelay(folder, language, schema) {
  writeFileSync(join(folder, 'schema.graphql'), schema);
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, 'relay.config.json'), JSON.stringify({ src: '.', schema: './schema.graphql', language }));
  const compiler = join(here, 'node_modules', 'relay-compiler', 'cli.js');
  execFileSync(process.execPath, [compiler, 'relay.config.json'], { cwd: folder, stdio: 'pipe' });
}

/** Every program of the page, in its order. */
const programs = ['documents.ts', 'apollo.ts', 'urql.ts', 'relay.ts', 'codegen.ts', 'changes.ts'];

/** Compiles programs of the page in a folder; they are there as JavaScript afterwards. */
export async function compilePage(work, wanted = programs) {
  const files = blocks();
  assert.deepEqual([...files.keys()], programs);
  writeFileSync(join(work, 'package.json'), '{"type": "module"}');
  // Relay's modules and what its compiler writes are CommonJS, as bundlers take them.
  const relay = join(work, 'relay');
  mkdirSync(relay);
  const pathOf = (file) => join(file === 'relay.ts' ? relay : work, file);
  for (const file of wanted) writeFileSync(pathOf(file), files.get(file));
  compileRelay(relay, 'typescript', schemaText);
  if (wanted.includes('codegen.ts')) await generateTypes(work);
  const artifacts = readdirSync(join(relay, '__generated__')).map((file) => join(relay, '__generated__', file));
  assert.deepEqual(faults([...wanted.map(pathOf), ...artifacts]), []);
  linkRelay(join(relay, 'relay.js'));
}

/** What codegen makes by the page's settings, with the schema from a file instead of a server. */
async function generateTypes(work) {
  assert.deepEqual(faults([join(work, 'codegen.ts')]), []);
  const { default: config } = await import(join(work, 'codegen.js'));
  assert.equal(config.schema, 'http://127.0.0.1:8080/schema.graphql');
  const targets = Object.entries(config.generates).map(([folder, target]) => [`${join(work, folder)}/`, target]);
  const generates = Object.fromEntries(targets);
  const documents = join(work, config.documents);
  await generate({ ...config, schema: schemaText, documents, generates, silent: true }, true);
}

/** What TypeScript says of files, which it compiles next to them. */
export function faults(files) {
  const program = ts.createProgram(files, {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: [],
    skipLibCheck: true,
  });
  const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  const text = ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ');
  return found.map((one) => `${one.file?.fileName}: ${text(one)}`);
}

/** Puts what relay-compiler wrote in the place of the documents, as Relay's plugin for bundlers does. */
function linkRelay(file) {
  const text = readFileSync(file, 'utf8');
  const linked = text.replace(
    /\(0, \w+\.graphql\) ?`\s*(?:query|fragment) (\w+)[^`]*`/g,
    (_, name) => `require('./__generated__/${name}.graphql').default`,
  );
  assert.equal(linked.includes('`'), false);
  writeFileSync(file, linked);
}

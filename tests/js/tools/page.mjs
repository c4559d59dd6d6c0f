// The code of docs/how-to/javascript-clients.md, compiled as a reader would compile it. The first line of each code
// block names its file.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from '@graphql-codegen/cli';
import ts from 'typescript';

const here = import.meta.dirname;
const repository = join(here, '..', '..', '..');
/** Source of the page. */
export const pageText = readFileSync(join(repository, 'docs', 'how-to', 'javascript-clients.md'), 'utf8');
/** The schema as the server has it. */
export const schemaText = readFileSync(join(repository, 'schema.graphql'), 'utf8');

/** The code blocks of the page by file name. */
function blocks() {
  const found = [...pageText.matchAll(/^```ts\n\/\/ (\S+\.ts)\n([\s\S]*?)^```$/gm)];
  assert.equal(pageText.match(/^```/gm).length, 2 * found.length, 'every code block names its file');
  return new Map(found.map(([, file, text]) => [file, text]));
}

/** Creates a temporary folder whose modules can import the clients. */
export function workFolder(name) {
  const work = mkdtempSync(join(tmpdir(), `catalogql-${name}-`));
  symlinkSync(join(here, 'node_modules'), join(work, 'node_modules'));
  return work;
}

/** Runs relay-compiler on the sources in `folder`; it writes to `__generated__` there. */
export function compileRelay(folder, language, schema) {
  writeFileSync(join(folder, 'schema.graphql'), schema);
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, 'relay.config.json'), JSON.stringify({ src: '.', schema: './schema.graphql', language }));
  const compiler = join(here, 'node_modules', 'relay-compiler', 'cli.js');
  execFileSync(process.execPath, [compiler, 'relay.config.json'], { cwd: folder, stdio: 'pipe' });
}

/** Files of the page, in its order. */
const programs = ['documents.ts', 'apollo.ts', 'urql.ts', 'relay.ts', 'codegen.ts', 'changes.ts'];

/** Compiles the `wanted` files of the page to JavaScript in the folder `work`, and throws on type errors. */
export async function compilePage(work, wanted = programs) {
  const files = blocks();
  assert.deepEqual([...files.keys()], programs);
  writeFileSync(join(work, 'package.json'), '{"type": "module"}');
  // relay-compiler writes imports without extensions, which Node accepts in CommonJS only.
  const relay = join(work, 'relay');
  mkdirSync(relay);
  const pathOf = (file) => join(file === 'relay.ts' ? relay : work, file);
  for (const file of wanted) writeFileSync(pathOf(file), files.get(file));
  compileRelay(relay, 'typescript', schemaText);
  if (wanted.includes('codegen.ts')) await generateTypes(work);
  const artifacts = readdirSync(join(relay, '__generated__')).map((file) => join(relay, '__generated__', file));
  assert.deepEqual(typeErrors([...wanted.map(pathOf), ...artifacts]), []);
  linkRelay(join(relay, 'relay.js'));
}

/** Runs codegen with the page's settings, but with the schema from the repository instead of a server. */
async function generateTypes(work) {
  assert.deepEqual(typeErrors([join(work, 'codegen.ts')]), []);
  const { default: config } = await import(join(work, 'codegen.js'));
  assert.equal(config.schema, 'http://127.0.0.1:8080/schema.graphql');
  const targets = Object.entries(config.generates).map(([folder, target]) => [`${join(work, folder)}/`, target]);
  const generates = Object.fromEntries(targets);
  const documents = join(work, config.documents);
  await generate({ ...config, schema: schemaText, documents, generates, silent: true }, true);
}

/** Type errors of TypeScript files; also compiles each to JavaScript next to it. */
export function typeErrors(files) {
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

/** Replaces `graphql` tags by imports of what relay-compiler wrote, as Relay's plugins for bundlers do. */
function linkRelay(file) {
  const text = readFileSync(file, 'utf8');
  const linked = text.replace(
    /\(0, \w+\.graphql\) ?`\s*(?:query|fragment) (\w+)[^`]*`/g,
    (_, name) => `require('./__generated__/${name}.graphql').default`,
  );
  assert.equal(linked.includes('`'), false);
  writeFileSync(file, linked);
}

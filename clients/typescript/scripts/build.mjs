// Makes `dist`: the types and texts of the documents of the other clients and of the explorer, and the client, compiled. It
// uses the tools of the explorer (`npm --prefix explorer ci`).

import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const PACKAGE = resolve(import.meta.dirname, "..");
const ROOT = join(PACKAGE, "../..");
const EXPLORER = join(ROOT, "explorer");

/** Folders of documents, and where their types go. */
const DOCUMENTS = [
  ["crates/client/documents", "documents"],
  ["explorer/src/documents", "explorer"],
];

for (const [documents, name] of DOCUMENTS) {
  const output = join(PACKAGE, "src", name);
  run(join(EXPLORER, "scripts/types.mjs"), [join(ROOT, documents), output]);
  for (const file of readdirSync(output)) {
    const path = join(output, file);
    // Modules of Node are named with their suffixes.
    const text = readFileSync(path, "utf8").replace(/(from "\.{1,2}\/[^".]+)"/g, '$1.js"');
    writeFileSync(path, text);
  }
}
copyFileSync(join(EXPLORER, "src/minified.mjs"), join(PACKAGE, "src/minified.mjs"));
rmSync(join(PACKAGE, "dist"), { recursive: true, force: true });
run(join(EXPLORER, "node_modules/typescript/bin/tsc"), ["--project", PACKAGE]);

/**
 * @param {string} script
 * @param {string[]} words
 */
function run(script, words) {
  execFileSync(process.execPath, [script, ...words], { stdio: ["ignore", 2, 2] });
}

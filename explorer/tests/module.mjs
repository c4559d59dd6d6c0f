// Builds a module of the explorer for a test: Node 20 reads no types.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "vite";

const ROOT = resolve(import.meta.dirname, "..");

/**
 * The exports of a module, such as `src/graph/lanes.ts`.
 *
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function load(path) {
  const built = await build({
    configFile: false,
    root: ROOT,
    logLevel: "silent",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    ssr: { noExternal: true },
    build: {
      ssr: resolve(ROOT, path),
      write: false,
      target: "node20",
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const [first] = [built].flat();
  if (!first || !("output" in first)) throw new Error(`${path} was not built`);
  const { code } = first.output[0];
  return import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);
}

/** The program, built for tests, or the one that CATALOGQL names. */
export function program() {
  const path =
    process.env.CATALOGQL ?? resolve(ROOT, "..", process.env.CARGO_TARGET_DIR ?? "target", "debug/catalogql");
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`cargo build\``);
  return path;
}

// Builds the explorer into `dist/site`, each file compressed, as the server embeds it.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** The packages that are in the page, with the texts of their licences: release/third_party.py reads them. */
const LICENSES = "licenses.json";

export default defineConfig({
  // Relative, so that the explorer works under any path that a proxy puts before it.
  base: "./",
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: LICENSES },
    target: "es2022",
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [blocking(), compressed()],
  // `npm run dev` asks the server that `make run` starts.
  server: {
    // The icon is the playground's.
    fs: { allow: [".."] },
    proxy: { "/graphql": "http://127.0.0.1:8080", "/icons": "http://127.0.0.1:8080" },
  },
});

/**
 * Lets nothing be painted before the script ran: there is nothing to paint without it, and it knows which theme was chosen.
 */
function blocking(): Plugin {
  return {
    name: "blocking",
    transformIndexHtml: { order: "post", handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"') },
  };
}

/** Leaves of each file that was written its compressed form only. The licences are no part of the page. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle)) {
        const path = join(dir, name);
        if (name === LICENSES) {
          renameSync(path, join(dir, "..", name));
          continue;
        }
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
        rmSync(path);
      }
    },
  };
}

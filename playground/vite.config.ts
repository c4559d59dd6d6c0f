// Builds the playground into `dist/site`, each file compressed, as the server embeds it.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** The packages that are in the page, with the texts of their licences: release/third_party.py reads them. */
const LICENSES = "licenses.json";

export default defineConfig({
  // Relative, so that the playground works under any path that a proxy puts before it.
  base: "./",
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    license: { fileName: LICENSES },
    target: "es2022",
    // The editor alone is larger than what Vite warns of.
    chunkSizeWarningLimit: 8000,
    rolldownOptions: {
      // Libraries say `use client` to servers that render them; here is none.
      onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning),
    },
  },
  worker: { format: "es" },
  plugins: [withoutFonts(), compressed()],
  // `npm run dev` asks the server that `make run` starts, and reads the examples of the repository.
  server: {
    fs: { allow: [".."] },
    proxy: { "/graphql": "http://127.0.0.1:8080", "/icons": "http://127.0.0.1:8080" },
  },
});

/** Removes the fonts that GraphiQL brings for letters, 300 kB: those of the system are there at once. Its icons stay. */
function withoutFonts(): Plugin {
  return {
    name: "without-fonts",
    enforce: "pre",
    transform: {
      filter: { id: /graphiql.*\.css$/ },
      handler: (code) => code.replace(/@font-face\s*\{[^}]*font-family:\s*["']?(Roboto|Fira Code)[^}]*\}/g, ""),
    },
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

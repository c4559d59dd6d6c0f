// What the builds of both pages do alike.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** The packages that are in the page, with the texts of their licences: release/third_party.py reads them. */
export const LICENSES = "licenses.json";

/** The first browsers with `light-dark()`: what is written instead for others ignores the theme that a page sets. */
export const CSS_TARGET = ["chrome123", "edge123", "firefox120", "safari17.5"];

/** The server that `make run` starts, for `npm run dev`; files of the other page and examples may be read. */
export const server = {
  fs: { allow: [".."] },
  proxy: { "/graphql": "http://127.0.0.1:8080", "/icons": "http://127.0.0.1:8080" },
};

/** Leaves of each file that was written its compressed form only. The licences are no part of the page. */
export function compressed(): Plugin {
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

// Builds the explorer into `dist/site`, each file compressed, as the server embeds it.

import { defineConfig, type Plugin } from "vite";

import { compressed, CSS_TARGET, LICENSES, server } from "../playground/build";

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
    cssTarget: CSS_TARGET,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [blocking(), compressed()],
  server,
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

// Builds the playground into `dist/site`, each file compressed, as the server embeds it.

import { defineConfig, type Plugin } from "vite";

import { MAIN_PLACES, PLAYGROUND, SITE } from "../explorer/src/shared/places";
import { compressed, CSS_TARGET, LICENSES, server } from "./build";

export default defineConfig({
  // Relative, so that the playground works under any path that a proxy puts before it.
  base: "./",
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    license: { fileName: LICENSES },
    target: "es2022",
    cssTarget: CSS_TARGET,
    modulePreload: { polyfill: false },
  },
  // What both pages share is beside the other one, whose packages are the same.
  resolve: { dedupe: ["preact"] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [withHead(), compressed()],
  server,
});

/** Writes the head of the explorer into the page, so that it is there before any script. */
function withHead(): Plugin {
  const places = MAIN_PLACES.map(({ label, search }) => `<a href="../${search}">${label}</a>`);
  places.push(`<a href="./" aria-current="page">${PLAYGROUND}</a>`);
  return {
    name: "with-head",
    transformIndexHtml: {
      order: "pre",
      handler: (html) => html.replace("%SITE%", SITE).replace("%PLACES%", places.join("\n        ")),
    },
  };
}

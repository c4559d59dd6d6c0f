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
    // The editor alone is larger than what Vite warns of.
    chunkSizeWarningLimit: 8000,
    rolldownOptions: {
      // Libraries say `use client` to servers that render them; here is none.
      onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning),
    },
  },
  worker: { format: "es" },
  plugins: [withHead(), withoutFonts(), withListedTabs(), compressed()],
  server,
});

/**
 * Removes the fonts that GraphiQL brings: those for letters, 300 kB, since those of the system are there at once, and the one
 * for icons within its style sheet, 110 kB, which the editor brings as a file, too.
 */
function withoutFonts(): Plugin {
  return {
    name: "without-fonts",
    enforce: "pre",
    transform: {
      filter: { id: /graphiql.*\.css$/ },
      handler: (code) => code.replace(/@font-face\s*\{[^}]*font-family:\s*["']?(Roboto|Fira Code|codicon)[^}]*\}/g, ""),
    },
  };
}

/**
 * Makes the tabs of GraphiQL a list of buttons: each has a button to close it, which no tab may contain, and which those
 * with a screen reader could not reach.
 */
function withListedTabs(): Plugin {
  return {
    name: "with-listed-tabs",
    enforce: "pre",
    transform: {
      filter: { id: /@graphiql\/react\/dist\/components\/tabs\/index\.js/ },
      handler(code) {
        const listed = code
          .replace('role: "tablist",', "")
          .replace('"aria-selected": isActive,', '"aria-current": isActive ? "true" : undefined,')
          .replace('role: "tab",', "");
        if (/role: "tab|aria-selected/.test(listed)) this.error("the tabs of GraphiQL have changed");
        return listed;
      },
    },
  };
}

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

// What is built: how large it is, that documents are valid and sent as they are trusted, and that colours can be told apart.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { buildSchema, parse, validate } from "graphql";

const EXPLORER = join(import.meta.dirname, "..");
const SITE = join(EXPLORER, "dist/site");

/** Most bytes of the first page, compressed: what a list needs, and what it needs of each kind. */
const FIRST_BYTES = { all: 40_000, js: 26_000, css: 10_000, html: 1000 };

test("the first page is no larger than its budget", () => {
  const html = gunzipSync(readFileSync(join(SITE, "index.html.gz"))).toString();
  const names = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(js|css))"/g)];
  const bytes = { js: 0, css: 0, html: size("index.html") };
  for (const [, name = "", kind] of names) bytes[/** @type {"js" | "css"} */ (kind)] += size(name);
  assert.equal(names.length, 2);
  assert.ok(bytes.js <= FIRST_BYTES.js && bytes.css <= FIRST_BYTES.css && bytes.html <= FIRST_BYTES.html, JSON.stringify(bytes));
  assert.ok(bytes.js + bytes.css + bytes.html <= FIRST_BYTES.all, JSON.stringify(bytes));
});

test("every document is valid, short enough for a URL, and trusted by its digest", () => {
  const schema = buildSchema(readFileSync(join(EXPLORER, "../schema.graphql"), "utf8"));
  const documents = Object.entries(JSON.parse(readFileSync(join(EXPLORER, "dist/documents.json"), "utf8")));
  assert.ok(documents.length >= 10);
  for (const [digest, text] of documents) {
    assert.deepEqual(validate(schema, parse(text)), []);
    assert.equal(digest, createHash("sha256").update(text).digest("hex"));
    assert.ok(encodeURIComponent(text).length < 12_000, text);
  }
});

test("text and shapes can be told from what is behind them in both themes", () => {
  const css = readFileSync(join(EXPLORER, "src/style/tokens.css"), "utf8");
  const tokens = new Map([...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = "", ...themes]) => [name, themes]));
  const surfaces = ["page", "surface", "raised", "sunken", "hover"];
  const pairs = [
    ...surfaces.flatMap((behind) => ["text", "subtle", "link"].map((name) => ({ name, behind, least: 4.5 }))),
    ...["danger", "warning", "success", "info"].map((name) => ({ name, behind: `${name}-surface`, least: 4.5 })),
    ...["danger", "warning", "success", "info"].map((name) => ({ name: "text", behind: `${name}-surface`, least: 4.5 })),
    { name: "text", behind: "selected", least: 4.5 },
    { name: "subtle", behind: "selected", least: 4.5 },
    { name: "subtle", behind: "line", least: 4.5 },
    { name: "accent-text", behind: "accent", least: 4.5 },
    ...["page", "surface"].flatMap((behind) => ["edge", "focus", "accent", "lane-1", "lane-2", "lane-3", "lane-4", "lane-5", "lane-6"].map((name) => ({ name, behind, least: 3 }))),
  ];
  const low = pairs.flatMap(({ name, behind, least }) =>
    [0, 1].flatMap((theme) => {
      const ratio = contrast(tokens.get(name)?.[theme] ?? "", tokens.get(behind)?.[theme] ?? "");
      return ratio >= least ? [] : [`${name} on ${behind} (${theme ? "dark" : "light"}): ${ratio.toFixed(2)}`];
    }),
  );
  assert.deepEqual(low, []);
});

/** Bytes of a file of the site, compressed. @param {string} name */
function size(name) {
  return statSync(join(SITE, `${name}.gz`)).size;
}

/** The contrast of two colours (WCAG 2.2). @param {string} one @param {string} other */
function contrast(one, other) {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

/** @param {string} colour */
function luminance(colour) {
  assert.match(colour, /^#\w{6}$/);
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// What the tests of the explorer need beside those of the playground: two catalogs, axe, and to wait for what is shown.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { serve } from "../../playground/tests/setup.mjs";
import { hostileCatalog } from "./fixture.mjs";

export { launch, openPage, serve } from "../../playground/tests/setup.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** @param {string[]} [flags] */
export async function serveBoth(flags = []) {
  const hostile = hostileCatalog();
  const server = await serve({ flags: [`hostile=${hostile}`, ...flags] });
  const end = () => {
    server.end();
    rmSync(hostile, { recursive: true, force: true });
  };
  return { ...server, hostile, end };
}

/**
 * Waits until a page shows what it has: its heading, and nothing that is being loaded.
 *
 * @param {import("playwright-core").Page} page
 */
export async function settled(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main .loading, main [aria-busy=true]"));
}

/**
 * What axe finds, in a line each.
 *
 * @param {import("playwright-core").Page} page
 * @returns {Promise<string[]>}
 */
async function barriers(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const { violations } = await page.evaluate((values) => /** @type {any} */ (window).axe.run({ runOnly: { type: "tag", values }, resultTypes: ["violations"] }), RULES);
  return violations.flatMap((/** @type {any} */ { id, nodes }) =>
    nodes.map((/** @type {any} */ { target, any, all, none }) => {
      const [check] = [...any, ...all, ...none];
      return `${id}: ${target.join(" ")}: ${check?.message ?? ""}`;
    }),
  );
}

/**
 * How far a page reaches to the right of the window, in pixels.
 *
 * @param {import("playwright-core").Page} page
 */
function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** Links that lead to what is no page and no mailbox. They are there for whoever opens them in another tab, too. */
function strangeLinks() {
  return [...document.querySelectorAll("a")].map(({ href }) => href).filter((href) => !/^(https?|mailto):/.test(href)).map((href) => `a link to ${href}`);
}

/**
 * Texts with marks that turn direction and that words of the page stand beside in their line: those would be turned with
 * them. What is isolated turns nothing but itself, and all of a Markdown text is by one author.
 */
function turningTexts() {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent ?? "";
    let holder = texts.currentNode.parentElement;
    if (!holder || !/[\u202a-\u202e\u2066-\u2069]/.test(text) || holder.closest("option, .markdown")) continue;
    const style = () => getComputedStyle(/** @type {Element} */ (holder));
    const isIsolated = () => holder?.tagName === "BDI" || (style().display.startsWith("inline") && style().unicodeBidi.includes("isolate"));
    while (style().display === "inline" && !isIsolated()) holder = /** @type {Element} */ (holder).parentElement;
    const isAlone = holder?.textContent?.trim() === text.trim();
    if (!isAlone && !isIsolated()) found.push(`${holder?.tagName}.${holder?.className} is turned by ${text.slice(0, 60)}`);
  }
  return found;
}

const SCREENSHOTS = join(import.meta.dirname, "../dist/screenshots");
const WIDTHS = [1400, 390, 320];
const THEMES = /** @type {const} */ (["light", "dark"]);

/**
 * Looks at a page in both themes and on every width, and keeps what it saw. Gives its barriers, what is beyond the edge, and
 * what a catalog did to it: scripts that ran, links that are none, texts that turn others.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} name Of the screenshots.
 * @param {readonly number[]} [widths]
 * @returns {Promise<string[]>}
 */
export async function lookAt(page, name, widths = WIDTHS) {
  mkdirSync(SCREENSHOTS, { recursive: true });
  /** @type {string[]} */
  const found = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      // Editors take the other colours when they are painted next.
      await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
      const where = `${colorScheme}-${width}`;
      found.push(...(await barriers(page)).map((barrier) => `${where}: ${barrier}`));
      const beyond = await overflow(page);
      if (beyond > 0) found.push(`${where}: ${beyond} pixels beyond the edge`);
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${where}.png`) });
    }
  }
  found.push(...(await page.evaluate(strangeLinks)), ...(await page.evaluate(turningTexts)));
  if (await page.evaluate(() => "hacked" in window)) found.push("a script of a catalog ran");
  return found;
}

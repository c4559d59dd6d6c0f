// Markdown of strangers: what it looks like, and what it cannot do.

import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./module.mjs";

const { toNodes, MAX_MARKDOWN, MAX_DEPTH } = await load("src/markdown/markdown.tsx");

const VOID = new Set(["br", "hr"]);

/**
 * Markup of nodes. Components are called: those of Markdown have no state.
 *
 * @param {any} node
 * @returns {string}
 */
function markup(node) {
  if (node === null || node === undefined || node === false) return "";
  if (Array.isArray(node)) return node.map(markup).join("");
  if (typeof node !== "object") return String(node).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const { children, ...props } = node.props;
  if (typeof node.type === "function") return markup(node.type(node.props));
  const attributes = Object.entries(props)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join("");
  return VOID.has(node.type) ? `<${node.type}>` : `<${node.type}${attributes}>${markup(children)}</${node.type}>`;
}

/** @param {string} text */
const html = (text) => markup(toNodes(text, 3));

test("common Markdown has its elements", () => {
  const text =
    "A **b** _c_ ~~d~~ `e<f` [g](https://example.com/h?a=1&b=2)\\\ni\n\n- j\n- [x] k\n\n3. l\n\n> m\n\n```\nn <o>\n```\n\n---";
  const expected = [
    '<p>A <strong>b</strong> <em>c</em> <del>d</del> <code>e&lt;f</code> <a href="https://example.com/h?a=1&b=2"',
    ' rel="noopener noreferrer">g</a><br>i</p><ul><li>j</li><li>☑ k</li></ul><ol start="3"><li>l</li></ol>',
    "<blockquote><p>m</p></blockquote><pre><code>n &lt;o></code></pre><hr>",
  ];
  assert.equal(html(text), expected.join(""));
});

test("a table has a head and a body, and scrolls by itself", () => {
  const expected =
    '<table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td><code>b</code></td></tr></tbody></table>';
  const place = '<div class="scrolling" tabIndex="0" role="group" aria-label="Table">';
  assert.equal(html("|a|\n|-|\n|`b`|"), `${place}${expected}</div>`);
});

test("headings begin below the heading above them and leave no level out", () => {
  assert.equal(html("## a\n\n#### b\n\n# c\n\n###### d"), "<h3>a</h3><h4>b</h4><h3>c</h3><h4>d</h4>");
  assert.equal(html("### \n\n### a\n\n## b"), "<h3>a</h3><h3>b</h3>");
});

test("references to characters are the characters", () => {
  assert.equal(
    html("a &amp; b &#60; c &#x3e; d &copy; &unknown; &#0;"),
    "<p>a &amp; b &lt; c > d © &amp;unknown; \ufffd</p>",
  );
});

test("HTML is text, but for line breaks and comments", () => {
  assert.equal(html("a <b onclick=x>c</b><br/>d <!-- e -->"), "<p>a &lt;b onclick=x>c&lt;/b><br>d </p>");
  assert.equal(html("<script>alert(1)</script>"), '<p class="markdown-plain">&lt;script>alert(1)&lt;/script></p>');
  assert.equal(html("<!-- a -->"), "");
});

test("links lead to the web or to a mailbox and nowhere else", () => {
  const hostile = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "&#106;avascript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,a",
    "vbscript:a",
    "file:///etc/passwd",
    "blob:https://example.com/a",
    "//example.com",
    "/graphql",
    "?catalogs=1",
    "#a",
    "a.md",
  ];
  for (const href of hostile) {
    for (const text of [`[a](${href})`, `[a](<${href}>)`, `<${href}>`, `![a](${href})`, `[a]\n\n[a]: ${href}`]) {
      assert.doesNotMatch(html(text), /<a /, text);
    }
  }
  assert.match(html("[a](mailto:a@example.com)"), /href="mailto:a@example.com"/);
  assert.match(html("https://example.com/a"), /^<p><a href="https:\/\/example.com\/a" rel="noopener noreferrer">/);
});

test("an image is a link to it", () => {
  assert.equal(
    html("![a](https://example.com/a.png)"),
    '<p><a href="https://example.com/a.png" rel="noopener noreferrer">a</a></p>',
  );
});

test("depth is bounded, and nothing is lost beyond the bound", () => {
  const deep = `${"> ".repeat(60)}end`;
  const shown = html(deep);
  assert.equal(shown.match(/<blockquote>/g)?.length, MAX_DEPTH + 1);
  assert.match(shown, /end/);
});

test("a text that is too long is shown as it is", () => {
  const text = `**a** ${"b".repeat(MAX_MARKDOWN)}`;
  assert.equal(html(text), `<p class="markdown-plain">${text}</p>`);
});

test("no text takes long", () => {
  const pieces = [
    "> ",
    "*",
    "_",
    "[",
    "![",
    "(",
    "<",
    "`",
    "~",
    "- ",
    "1. ",
    "|",
    "[a](",
    "**a ",
    "<a ",
    "\\",
    "&",
    "#",
    "a@",
    "http://",
    "*a_",
    "[[]",
    "\t",
    "- \n",
    "|-",
    "``` ",
  ];
  for (const piece of pieces) {
    for (const text of [
      piece.repeat(MAX_MARKDOWN / piece.length),
      `${piece}\n`.repeat(MAX_MARKDOWN / (piece.length + 1)),
      `a${piece}b `.repeat(20_000),
    ]) {
      const began = process.cpuUsage();
      html(text);
      const { user, system } = process.cpuUsage(began);
      assert.ok(user + system < 2_000_000, `${JSON.stringify(piece)} took ${user + system} µs`);
    }
  }
});

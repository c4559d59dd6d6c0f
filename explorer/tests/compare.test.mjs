// Comparisons of texts, lists and images, and ranges in words.

import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./module.mjs";

const { changesOf, diffLines, imageChanges, MAX_DIFFERENCES, rangeInWords } = await load("src/compare/index.ts");

/** @param {any[]} parts */
const written = (parts) =>
  parts.flatMap(({ kind, lines }) =>
    lines.map(
      (/** @type {string} */ line) => `${{ same: " ", added: "+", removed: "-" }[/** @type {"same"} */ (kind)]}${line}`,
    ),
  );

test("lines that differ stand where they differ", () => {
  assert.deepEqual(written(diffLines("a\nb\nc\nd\ne", "a\nc\nx\nd\ne\nf")), [" a", "-b", " c", "+x", " d", " e", "+f"]);
  assert.deepEqual(written(diffLines("", "a\nb")), ["+a", "+b"]);
  assert.deepEqual(written(diffLines("a\r\nb", "a\nb")), [" a", " b"]);
  assert.deepEqual(diffLines("", ""), []);
});

test("both texts can be made from the parts, and no shorter script is known", () => {
  let seed = 7;
  const random = (/** @type {number} */ below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 300; round++) {
    const text = () => Array.from({ length: random(14) }, () => "abc"[random(3)]);
    const [from, to] = [text(), text()];
    const parts = diffLines(from.join("\n"), to.join("\n"));
    const side = (/** @type {string} */ kind) =>
      parts
        .filter((/** @type {any} */ part) => part.kind === "same" || part.kind === kind)
        .flatMap((/** @type {any} */ part) => part.lines);
    assert.deepEqual([side("removed"), side("added")], [from, to]);
    const same = parts
      .filter((/** @type {any} */ part) => part.kind === "same")
      .flatMap((/** @type {any} */ part) => part.lines).length;
    assert.equal(same, longestCommon(from, to), `${from} ${to}`);
  }
});

/** Length of the longest common subsequence, by the table. @param {any[]} from @param {any[]} to */
function longestCommon(from, to) {
  const table = from.reduce(
    (/** @type {number[]} */ above, item) =>
      to.reduce(
        (/** @type {number[]} */ row, other, at) => [
          ...row,
          item === other ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0),
        ],
        [0],
      ),
    Array(to.length + 1).fill(0),
  );
  return table[to.length];
}

test("beyond a number of differences all between the equal ends is replaced", () => {
  const lines = (/** @type {string} */ letter) =>
    ["start", ...Array.from({ length: MAX_DIFFERENCES }, (_, at) => `${letter}${at}`), "end"].join("\n");
  const began = process.cpuUsage();
  const parts = diffLines(lines("a"), lines("b"));
  assert.deepEqual(
    parts.map((/** @type {any} */ part) => [part.kind, part.lines.length]),
    [
      ["same", 1],
      ["removed", MAX_DIFFERENCES],
      ["added", MAX_DIFFERENCES],
      ["same", 1],
    ],
  );
  assert.ok(process.cpuUsage(began).user < 2_000_000);
});

test("lists differ as sets", () => {
  assert.deepEqual(changesOf(["a", "b", "b"], ["b", "c"]), { added: ["c"], removed: ["a"], same: ["b"] });
});

test("images are told apart by their repositories", () => {
  const [one, two] = [`sha256:${"1".repeat(64)}`, `sha256:${"2".repeat(64)}`];
  const from = ["h:5000/a:v1", `h/b@${one}`, "h/c", "h/d:v1"];
  const to = ["h:5000/a:v2", `h/b@${two}`, "h/c", "h/e:v1"];
  assert.deepEqual(imageChanges(from, to), [
    { repository: "h/b", before: ["sha256:111111111111"], after: ["sha256:222222222222"] },
    { repository: "h/c", before: ["latest"], after: ["latest"] },
    { repository: "h/d", before: ["v1"], after: [] },
    { repository: "h/e", before: [], after: ["v1"] },
    { repository: "h:5000/a", before: ["v1"], after: ["v2"] },
  ]);
});

test("a range is said in words where each of its versions is whole", () => {
  assert.equal(rangeInWords(">=1.0.0 <2.0.0"), "1.0.0 or newer, before 2.0.0");
  assert.equal(rangeInWords(">= 1.0.0, !=1.2.0-rc.1 || 3.0.0"), "1.0.0 or newer, not 1.2.0-rc.1; or exactly 3.0.0");
  for (const range of ["1.x", "~1.2.3", "^1.2.3", ">=1.2", "", "*", "1.0.0 - 2.0.0"])
    assert.equal(rangeInWords(range), range);
});

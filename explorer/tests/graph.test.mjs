// The update graph: its rows, lanes, searches and texts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { load, program } from "./module.mjs";

const { foldedRows, layOut, restingName, textOf, Upgrades } = await load("src/graph/index.ts");

/** What no well-formed catalog has: odd letters, a cycle, several heads, absent and stranded bundles, odd ranges. */
const ODD_CATALOG = [
  { schema: "olm.package", name: "odd", defaultChannel: "b" },
  ...["1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0", "2.0.0+build"].map((version, at) => ({
    schema: "olm.bundle",
    package: "odd",
    name: `odd.v${at}"<&>#\u202e`,
    image: `example.com/odd:${at}`,
    properties: [{ type: "olm.package", value: { packageName: "odd", version } }],
  })),
  ...[
    {
      name: "b",
      entries: [
        { name: 1, replaces: 0 },
        { name: 3, replaces: 7, skips: [1, 2, 9], skipRange: ">=1.0.0 <2.0.0" },
      ],
    },
    {
      name: "a`\\",
      entries: [
        { name: 0, replaces: 1 },
        { name: 1, replaces: 0 },
        { name: 4, skipRange: "no range" },
      ],
    },
    { name: "c", entries: [{ name: 2, replaces: 1 }, { name: 3 }, { name: 8, replaces: 2 }, { name: 1 }, { name: 0 }] },
  ].map(({ name, entries }) => ({
    schema: "olm.channel",
    package: "odd",
    name,
    entries: entries.map((/** @type {any} */ entry) => ({
      ...entry,
      name: `odd.v${entry.name}"<&>#\u202e`,
      ...("replaces" in entry && { replaces: `odd.v${entry.replaces}"<&>#\u202e` }),
      ...("skips" in entry && { skips: entry.skips.map((/** @type {number} */ at) => `odd.v${at}"<&>#\u202e`) }),
    })),
  })),
  {
    schema: "olm.deprecations",
    package: "odd",
    entries: [
      { reference: { schema: "olm.channel", name: "c" }, message: "gone" },
      { reference: { schema: "olm.bundle", name: 'odd.v2"<&>#\u202e' }, message: "gone" },
    ],
  },
];

/** What the program says of the update graph of a package: what the page asks for, and its own texts. */
function printed(/** @type {string} */ catalog, /** @type {string} */ packageName) {
  const run = (/** @type {string[]} */ ...args) =>
    execFileSync(program(), args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const document = `query ($name: String!) {
    catalogs { package(name: $name) {
      channels { name isDefault deprecation { message } entries { name replaces skips skipRange } }
      bundles(first: 500) { nodes { name version release deprecation { message } } }
      updateGraph { skipRanges { range isValid toName channelNames spans { highest { name } lowest { name } } } }
    } }
  }`;
  const variables = JSON.stringify({ name: packageName });
  const { data } = JSON.parse(run("query", `catalog=${catalog}`, document, "--variables", variables));
  const { channels, bundles, updateGraph } = data.catalogs[0].package;
  return {
    upgrades: new Upgrades({ channels, versions: bundles.nodes, skipRanges: updateGraph.skipRanges }),
    texts: Object.fromEntries(
      ["mermaid", "dot", "svg"].map((form) => [form, run("graph", catalog, packageName, "-o", form)]),
    ),
  };
}

/**
 * A graph from one line for each channel: `stable: c>b b>a`, where `b>a` replaces, `b~a` skips; the first channel is the
 * default, versions are the letters, `z` the highest, and capital letters have no bundle.
 *
 * @param {...string} lines
 */
function graph(...lines) {
  const channels = lines.map((line, at) => {
    const [name, entries] = /** @type {[string, string]} */ (line.split(": "));
    return {
      name,
      isDefault: at === 0,
      deprecation: null,
      entries: entries.split(" ").map((entry) => ({
        name: entry[0],
        replaces: entry.match(/>(.)/)?.[1] ?? null,
        skips: [...entry.matchAll(/~(.)/g)].map((match) => match[1]),
        skipRange: null,
      })),
    };
  });
  const names = new Set(channels.flatMap(({ entries }) => entries.map(({ name }) => name)));
  const versions = [...names]
    .filter((name) => name && /[a-z]/.test(name))
    .sort()
    .reverse();
  return {
    channels,
    versions: versions.map((name) => ({
      name,
      version: `${name?.charCodeAt(0)}.0.0`,
      release: null,
      deprecation: null,
    })),
    /** @type {any[]} */
    skipRanges: [],
  };
}

/** @param {any[]} steps @param {any} upgrades */
const names = (steps, upgrades) => steps.map(({ row }) => upgrades.rows[row].name).join("");

test("rows are the versions, highest first, and absent names stand beside what they belong to", () => {
  const upgrades = new Upgrades(graph("stable: d>c c>b b>A", "old: X>b d"));
  assert.equal(upgrades.rows.map((/** @type {any} */ row) => row.name).join(""), "dcXbA");
});

test("names that nothing connects come last", () => {
  const upgrades = new Upgrades(graph("stable: b>a a Q>P P"));
  assert.equal(upgrades.rows.map((/** @type {any} */ row) => row.name).join(""), "baQP");
});

test("a step has every reason and channel that allows it", () => {
  const data = graph("stable: c>b b~a a", "fast: c~b b");
  data.skipRanges = [
    {
      range: "<99",
      isValid: true,
      toName: "c",
      channelNames: ["fast"],
      spans: [{ highest: { name: "b" }, lowest: { name: "a" } }],
    },
  ];
  const upgrades = new Upgrades(data);
  assert.deepEqual(upgrades.predecessors(0), [
    { row: 1, reasons: ["REPLACES", "SKIPS", "SKIP_RANGE"], channels: [0, 1] },
    { row: 2, reasons: ["SKIP_RANGE"], channels: [1] },
  ]);
  assert.equal(names(upgrades.successors(2), upgrades), "cb");
});

test("bundles of the same version can be upgraded to one another", () => {
  const data = graph("stable: c>b b a");
  const [, middle, lowest] = data.versions;
  if (middle && lowest) lowest.version = `${middle.version}+build`;
  const upgrades = new Upgrades(data);
  assert.deepEqual(upgrades.successors(2), [{ row: 1, reasons: [], channels: [] }]);
  assert.deepEqual(upgrades.path(2, 0), [2, 1, 0]);
});

test("a path is shortest, and there is none against the direction of upgrades", () => {
  const upgrades = new Upgrades(graph("stable: d>c c>b b>a a", "fast: d~b d~a"));
  assert.deepEqual(upgrades.path(3, 0), [3, 0]);
  assert.deepEqual(upgrades.path(3, 1), [3, 2, 1]);
  assert.deepEqual(upgrades.path(1, 1), [1]);
  assert.equal(upgrades.path(0, 3), undefined);
});

test("stranded is what does not lead to the head of its channel", () => {
  const upgrades = new Upgrades(graph("stable: d>c c a", "other: d>a a"));
  assert.deepEqual([...upgrades.stranded(0)], []);
  assert.deepEqual([...upgrades.heads(0)], [0, 2]);
  const broken = new Upgrades(graph("stable: d>c c>d b a"));
  assert.deepEqual([...broken.heads(0)], [2, 3]);
  assert.deepEqual([...broken.stranded(0)], [0, 1]);
});

test("lanes begin with the default channel and go on by heads", () => {
  const upgrades = new Upgrades(graph("stable: b>a a", "old: a", "fast: d>b b", "next: e"));
  const lanes = layOut(upgrades, [0, 1, 2, 3]);
  assert.deepEqual(
    lanes.map((/** @type {any} */ lane) => upgrades.channels[lane.channel].name),
    ["stable", "next", "fast", "old"],
  );
  assert.deepEqual(
    lanes.map((/** @type {any} */ lane) => lane.column),
    [0, 1, 2, 3],
  );
});

test("a line goes around the dots between its ends", () => {
  const [lane] = layOut(new Upgrades(graph("stable: d>b c>b b>a a~a")), [0]);
  assert.deepEqual(lane.lines, [
    { from: 2, to: 0, kind: "replaces", isArc: true },
    { from: 2, to: 1, kind: "replaces", isArc: false },
    { from: 3, to: 2, kind: "replaces", isArc: false },
  ]);
});

test("lines go past what is folded, also where a channel goes in circles", () => {
  const upgrades = new Upgrades(graph("stable: e>d d>c c>b b>a a", "old: c>b b>c a"));
  const lines = (/** @type {number} */ channel, /** @type {number[]} */ ...folded) =>
    layOut(upgrades, [channel], new Set(folded))[0].lines;
  assert.deepEqual(lines(0, 1, 2), [
    { from: 3, to: 0, kind: "replaces", isArc: false },
    { from: 4, to: 3, kind: "replaces", isArc: false },
  ]);
  assert.deepEqual(lines(1, 2, 3), []);
});

test("pre-releases that are no head are folded, but not where the usual head looks like one", () => {
  const folded = (/** @type {string[]} */ versions, /** @type {string[]} */ ...lines) => {
    const data = graph(...lines);
    data.versions.forEach((each, at) => (each.version = versions[at] ?? ""));
    const upgrades = new Upgrades(data);
    return [...foldedRows(upgrades)].map((row) => upgrades.rows[row].bundle.version);
  };
  const versions = ["2.0.0-rc.2", "2.0.0-rc.1", "1.0.0", "1.0.0-beta", "0.9.0+build-1"];
  assert.deepEqual(folded(versions, "stable: c>b b>a a", "next: e>d d>c c"), ["2.0.0-rc.1", "1.0.0-beta"]);
  assert.deepEqual(folded(versions, "next: e>d d>c c>b b>a a"), []);
});

test("what is described at rest is the head of the default channel, or of the only one that is shown", () => {
  const upgrades = new Upgrades(graph("stable: C>b b>a a", "next: d>b b", "gone: Z"));
  assert.equal(restingName(upgrades, [0, 1, 2]), undefined);
  assert.equal(restingName(upgrades, [1]), "d");
  assert.equal(restingName(upgrades, [2]), undefined);
  assert.equal(restingName(new Upgrades(graph("stable: b>a a", "next: d>b b")), [0, 1]), "b");
});

test("many lanes share columns where they do not overlap", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const lines = [...letters.slice(1)].map((letter, at) => `v${at}: ${letter}>${letters[at]}`);
  const lanes = layOut(
    new Upgrades(graph(...lines)),
    lines.map((_, at) => at),
  );
  assert.equal(lanes.length, 25);
  assert.equal(Math.max(...lanes.map((/** @type {any} */ lane) => lane.column)), 1);
  const cells = lanes.flatMap((/** @type {any} */ lane) =>
    lane.dots.map((/** @type {any} */ dot) => `${lane.column} ${dot.row}`),
  );
  assert.equal(new Set(cells).size, cells.length);
});

test("a long chain of absent names is below what replaces it", () => {
  const count = 50_000;
  const entries = Array.from({ length: count }, (_, at) => ({
    name: `p.v${count - at}`,
    replaces: `p.v${count - at - 1}`,
    skips: [],
    skipRange: null,
  }));
  const versions = [{ name: `p.v${count}`, version: "1.0.0", release: null, deprecation: null }];
  const began = process.cpuUsage();
  const { rows } = new Upgrades({
    channels: [{ name: "stable", isDefault: true, deprecation: null, entries }],
    versions,
    skipRanges: [],
  });
  assert.deepEqual(
    [rows.length, rows[0].name, rows[1].name, rows[count].name],
    [count + 1, `p.v${count}`, `p.v${count - 1}`, "p.v0"],
  );
  assert.ok(process.cpuUsage(began).user < 2_000_000);
});

test("drawing is linear where ranges allow every upgrade", () => {
  const count = 1_000;
  const versions = Array.from({ length: count }, (_, at) => {
    return { name: `p.v${count - at}`, version: `${count - at}.0.0`, release: null, deprecation: null };
  });
  const entries = versions.map(({ name }, at) => {
    return { name, replaces: versions[at + 1]?.name ?? null, skips: [], skipRange: "<9999.0.0" };
  });
  const lowest = versions[count - 1];
  const skipRanges = versions.slice(0, -1).map(({ name }, at) => {
    return {
      range: "<9999.0.0",
      isValid: true,
      toName: name,
      channelNames: ["stable"],
      spans: [{ highest: versions[at + 1], lowest }],
    };
  });
  const data = { channels: [{ name: "stable", isDefault: true, deprecation: null, entries }], versions, skipRanges };
  const began = performance.now();
  const upgrades = new Upgrades(data);
  assert.equal(layOut(upgrades, [0])[0].lines.length, count - 1);
  assert.equal(upgrades.predecessors(0).length, count - 1);
  assert.deepEqual(upgrades.path(count - 1, 0), [count - 1, 0]);
  // Quadratic code takes seconds here; this takes tens of milliseconds.
  assert.ok(performance.now() - began < 1_000, `${performance.now() - began} ms`);
});

test("texts are those of the command graph", () => {
  const folder = mkdtempSync(join(tmpdir(), "catalogql-graph-"));
  try {
    writeFileSync(join(folder, "catalog.json"), ODD_CATALOG.map((blob) => JSON.stringify(blob)).join("\n"));
    const example = join(import.meta.dirname, "../../examples/catalog");
    const packages = ["lampglow", "nightjar", "quillstore", "relaybox", "sealwright"].map((name) => [example, name]);
    for (const [catalog = "", name = ""] of [...packages, [folder, "odd"]]) {
      const { upgrades, texts } = printed(catalog, name);
      const channels = upgrades.channels.map((/** @type {any} */ _, /** @type {number} */ at) => at);
      for (const form of ["mermaid", "dot", "svg"]) {
        assert.equal(textOf(form, name, upgrades, channels), texts[form], `${form} of ${name}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

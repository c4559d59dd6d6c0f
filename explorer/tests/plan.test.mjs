// What plans and mirror sets ask for: versions on the way, catalogs by their tags, what is installed, what is wanted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./module.mjs";

const { catalogRelease, MAX_STEPS, planSteps, sideBySide, wayBetween, withCatalogs } = await load("src/plan/steps.ts");
const { installedText, namedInput, operatorInput, parseInstalled } = await load("src/plan/installed.ts");
const { parsePick, pickInput, pickText } = await load("src/mirror/picks.ts");
const { planPicks } = await load("src/plan/mirror-picks.ts");
const { markOf } = await load("src/matrix/marks.ts");
const { matrixCsv } = await load("src/matrix/csv.ts");
const { parseObjects } = await load("src/cluster/objects.ts");

/** The versions of a way, or why there is none. @param {string} from @param {string} to */
function way(from, to) {
  const found = wayBetween(from, to);
  return "fault" in found ? found.fault : found.versions.join(" ");
}

test("a way takes one minor version at a time, and knows both names of 5.0", () => {
  for (const [from, to, expected] of [
    ["4.16.23", "4.18", "4.16.23 4.17 4.18"],
    ["v4.16", "4.18.3", "4.16 4.17 4.18.3"],
    ["4.16.1", "4.16.2", "4.16.1 4.16.2"],
    ["1.31.4+k3s1", "1.33", "1.31.4 1.32 1.33"],
    ["4.21", "4.23", "4.21 4.22 4.23"],
    ["4.21", "5.0", "4.21 4.22 5.0"],
    ["4.22", "5.1", "4.22 5.0 5.1"],
    ["4.23", "5.1", "4.23 5.1"],
    ["4.18", "4.18", "The cluster has 4.18 already."],
    ["4.18", "4.17", "It goes backwards from 4.18 to 4.17."],
    ["4.18.2", "4.18.1", "It goes backwards from 4.18.2 to 4.18.1."],
    ["4.18", "1.31", "One version is of OpenShift, the other of Kubernetes."],
    ["4.18", "new", "“new” is not a version such as 4.18."],
    ["4.1", "4.10", "4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 4.10"],
    ["4.1", "4.11", "More than 10 versions are on the way from 4.1 to 4.11: plan it in parts."],
  ]) {
    assert.equal(way(/** @type {string} */ (from), /** @type {string} */ (to)), expected);
  }
  assert.equal(wayBetween("4.1", "4.10").versions.length, MAX_STEPS);
});

/** Catalogs with the references of their images. @param {Record<string, string | null>} references */
function served(references) {
  return Object.entries(references).map(([name, imageReference]) => ({ name, displayName: name, imageReference }));
}

const INDEX = "registry.example.com/redhat/redhat-operator-index";
const SERVED = served({ [`redhat-old`]: `${INDEX}:v4.16`, [`redhat-new`]: `${INDEX}:v4.17`, community: "registry.example.com/community:v4.17", own: "registry.example.com/own:latest" });

test("catalogs whose references differ in the tag of the version alone follow one another", () => {
  assert.deepEqual(planSteps(["4.16.3", "4.17"], [], SERVED), [
    { version: "4.16.3", catalogs: ["redhat-old"] },
    { version: "4.17", catalogs: ["redhat-new"] },
  ]);
  assert.deepEqual(planSteps(["4.17", "4.18"], [], SERVED), [
    { version: "4.17", catalogs: ["redhat-new", "community"] },
    { version: "4.18", catalogs: [] },
  ]);
});

test("without a tag of a version, the name of a catalog says of which version it is", () => {
  const named = served({ "certified-v4.16": null, "certified-v4.17": null, "certified-4.18-mirror": null, "v4.18": `${INDEX}@sha256:00` });
  assert.deepEqual(planSteps(["4.16", "4.17", "4.18"], [], named).map((/** @type {any} */ { catalogs }) => catalogs), [["certified-v4.16"], ["certified-v4.17"], []]);
  assert.equal(catalogRelease({ name: "release-1.2.3", displayName: "", imageReference: null }), undefined);
  assert.deepEqual(sideBySide([...named].reverse()), ["certified-v4.16", "certified-v4.17"]);
  assert.deepEqual(sideBySide(served({ one: null, other: null })), ["one", "other"]);
});

test("catalogs that the address names are not guessed, and on Kubernetes every version reads all", () => {
  const named = withCatalogs(withCatalogs([], "4.16", ["own", "redhat-old"]), "4.17", ["own"]);
  assert.deepEqual(named, ["4.16=own,redhat-old", "4.17=own"]);
  assert.deepEqual(planSteps(["4.16", "4.17"], named, SERVED).map((/** @type {any} */ { catalogs }) => catalogs), [["own", "redhat-old"], ["own"]]);
  const all = SERVED.map(({ name }) => name);
  assert.deepEqual(planSteps(["1.31", "1.32"], [], SERVED).map((/** @type {any} */ { catalogs }) => catalogs), [all, all]);
});

test("a package by hand is read as the command line reads it, and written alike", () => {
  for (const text of ["quillstore@1.0.0:stable", "quillstore@1.0.0-rc.1+build", "papermill@4.16.1:4.16"]) {
    assert.equal(installedText(parseInstalled(text)), text);
  }
  assert.deepEqual(["quillstore", "@1.0.0", "quillstore@"].map((text) => parseInstalled(text)), [undefined, undefined, undefined]);
  assert.deepEqual(namedInput(parseInstalled("quillstore@1.0.0:stable"), "v1"), { packageName: "quillstore", version: "1.0.0", channels: ["stable"], olm: "V1" });
});

test("a plan takes channel, approval, limit and catalog from the objects of the cluster", () => {
  const properties = [{ type: "olm.maxOpenShiftVersion", value: "4.17" }, { type: "olm.gvk", value: {} }];
  const metadata = { name: "quillstore.v1.0.0", namespace: "stores", annotations: { "operatorframework.io/properties": JSON.stringify({ properties }) }, labels: { "operators.coreos.com/quillstore.stores": "" } };
  const items = [
    { kind: "ClusterServiceVersion", metadata, spec: { version: "1.0.0" } },
    {
      kind: "Subscription",
      metadata: { name: "any", namespace: "stores", annotations: { "olm.generated-by": "install-x" } },
      spec: { name: "quillstore", channel: "stable", source: "redhat-old", installPlanApproval: "Manual" },
      status: { installedCSV: "quillstore.v1.0.0" },
    },
    {
      kind: "ClusterExtension",
      metadata: { name: "argo" },
      spec: { source: { catalog: { packageName: "argocd", channels: ["alpha"], version: ">=1.0.0" } } },
      status: { install: { bundle: { name: "argocd.v1.0.0", version: "1.0.0" } } },
    },
  ];
  const { operators, left } = parseObjects(JSON.stringify({ items }));
  assert.equal(left, 0);
  const quillstore = {
    packageName: "quillstore",
    name: "quillstore.v1.0.0",
    version: "1.0.0",
    namespace: "stores",
    channels: ["stable"],
    catalog: "redhat-old",
    approval: "MANUAL",
    dependency: true,
    properties: [properties[0]],
  };
  const argocd = { packageName: "argocd", name: "argocd.v1.0.0", version: "1.0.0", channels: ["alpha"], olm: "V1", versionRange: ">=1.0.0" };
  assert.deepEqual(operators.map((/** @type {any} */ each) => operatorInput(each, ["redhat-old"])), [quillstore, argocd]);
  // The catalog of the cluster has another name on the server.
  const { catalog, ...other } = quillstore;
  assert.deepEqual(operatorInput(operators[0], ["other"]), other);
});

test("what is wanted of a package is read from the address and written alike", () => {
  for (const [text, input] of /** @type {const} */ ([
    ["quillstore", { name: "quillstore" }],
    ["quillstore:stable,4.16@1.0.0..1.4.0", { name: "quillstore", channels: [{ name: "stable" }, { name: "4.16" }], minVersion: "1.0.0", maxVersion: "1.4.0" }],
    ["quillstore@..1.4.0!", { name: "quillstore", maxVersion: "1.4.0", dependencies: true }],
    ["quillstore@1.0.0>", { name: "quillstore", from: ["1.0.0"] }],
    ["quillstore@1.0.0,1.1.0>1.4.0", { name: "quillstore", from: ["1.0.0", "1.1.0"], to: "1.4.0" }],
    ["a%3Ab%40c:x%2Cy%21", { name: "a:b@c", channels: [{ name: "x,y!" }] }],
  ])) {
    assert.equal(pickText(parsePick(text)), text);
    assert.deepEqual(pickInput(parsePick(text), undefined), input);
  }
  assert.deepEqual(parsePick("%zz"), { name: "%zz", channels: [] });
  assert.deepEqual(pickInput(parsePick("a"), { openshift: "4.18" }), { name: "a", platform: { openshift: "4.18" } });
});

test("the mirror set of a plan has the lowest and the highest version that it goes to in each catalog", () => {
  const move = (/** @type {number} */ step, /** @type {string} */ version, /** @type {string} */ channel) => ({ step, channel, to: { version, package: { catalog: { name: `c${step}` } } } });
  const packages = [
    { packageName: "a", moves: [move(0, "1.1.0", "stable"), move(0, "1.2.0", "stable"), { step: 1, channel: "new", to: null }, move(1, "1.3.0", "new")] },
    { packageName: "b", moves: [move(1, "2.0.0", "stable")] },
    { packageName: "c", moves: [] },
  ];
  assert.deepEqual(planPicks({ packages }), [
    { catalog: "c0", step: 0, picks: ["a:stable@1.1.0..1.2.0"] },
    { catalog: "c1", step: 1, picks: ["a:new@1.3.0..1.3.0", "b:stable@2.0.0..2.0.0"] },
  ]);
});

/** A row of the matrix: the channels of each catalog, the default one first, as `NAME` or `NAME<LIMIT`. @param {string[][]} catalogs */
function row(catalogs) {
  const parsed = catalogs.map((channels) => channels.map((text) => text.split("<")));
  const having = parsed.filter((channels) => channels.length > 0).map((channels) => channels.map(([name]) => name));
  return {
    commonChannels: (having[0] ?? []).filter((name) => having.every((names) => names.includes(name))),
    catalogs: parsed.map((channels, at) => ({
      defaultChannel: channels[0]?.[0] ?? null,
      isDefaultChannelChanged: at > 0 && channels[0] !== undefined && parsed[at - 1]?.[0]?.[0] !== channels[0][0],
      channels: channels.map(([name, limit = null]) => ({ name, maxOpenShiftVersion: limit })),
    })),
  };
}

test("a mark says what happens to a package from catalog to catalog", () => {
  const versions = [4.16, 4.17].map((version) => ({ major: 4, minor: Math.round((version - 4) * 100) }));
  for (const [catalogs, mark] of /** @type {[string[][], string][]} */ ([
    [[["a"], ["a"]], "same"],
    [[["a"], ["a", "b"]], "channels"],
    [[["a", "b"], ["b", "a"]], "default"],
    [[["a"], ["b"]], "apart"],
    [[[], ["a"]], "new"],
    [[["a"], []], "gone"],
    [[["a<4.16"], ["a"]], "barred"],
    [[["a<4.17"], ["a<4.17"]], "same"],
    [[["a", "b<4.16"], ["a", "b"]], "same"],
  ])) {
    assert.equal(markOf(row(catalogs), versions), mark, JSON.stringify(catalogs));
  }
});

test("packages side by side are saved with a line for each channel, and no cell is a formula", () => {
  const channels = [{ name: "stable", headVersion: "1.0.0", headName: "a.v1.0.0", maxOpenShiftVersion: "4.17" }, { name: '=1,"x"', headVersion: null, headName: null, maxOpenShiftVersion: null }];
  const catalogs = [{ catalog: "c", defaultChannel: "stable", channels }, { catalog: "d", defaultChannel: null, channels: [] }];
  assert.equal(
    matrixCsv([{ row: { name: "a", catalogs }, mark: "gone" }]),
    'package,mark,catalog,channel,default,head,maxOpenShiftVersion\r\na,gone,c,stable,true,1.0.0,4.17\r\na,gone,c,"\'=1,""x""",false,,\r\n',
  );
});

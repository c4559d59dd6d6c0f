// What an address asks for: the names of installed bundles, and what is known of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./module.mjs";

const { completed, installedText, lookupVariables, namedBundles, solveRequest, resolveRequest } = await load("src/resolve/request.ts");

const property = { type: "olm.package", value: { packageName: "etcd", version: "0.9.4" } };
const found = [{ name: "etcd.v0.9.4", version: "0.9.4", package: { name: "etcd" }, properties: [property] }];

test("an address names bundles with their package and version, or without", () => {
  const texts = "etcd.v0.9.4 etcd/etcd.v0.9.4 etcd.v0.9.4@0.9.4, etcd/etcd.v0.9.4@0.9.4+5";
  const named = namedBundles({ installed: texts });
  const name = "etcd.v0.9.4";
  assert.deepEqual(named, [
    { name },
    { packageName: "etcd", name },
    { name, version: "0.9.4" },
    { packageName: "etcd", name, version: "0.9.4+5" },
  ]);
  assert.equal(installedText(named), texts.replace(",", ""));
  assert.deepEqual(namedBundles({}), []);
});

test("what the address does not say of an installed bundle is what a catalog says, and no name is taken apart", () => {
  const [name, other] = ["etcd.v0.9.4", "etcd.v0.9.3"];
  assert.deepEqual(completed([{ name }], found), {
    installed: [{ name, version: "0.9.4", packageName: "etcd", properties: [property] }],
    withoutVersion: [],
  });
  assert.deepEqual(completed([{ name: other }, { name: other, version: "0.9.3" }, { packageName: "etcd", name: other, version: "0.9.3" }], found), {
    installed: [
      { name: other, version: "0.9.3" },
      { name: other, version: "0.9.3", packageName: "etcd" },
    ],
    withoutVersion: [other],
  });
});

test("the version of a bundle stands for its name, in the wanted package or in the one before it", () => {
  const named = namedBundles({ installed: "0.9.4 other/v1.0.0-rc.1 etcd.v0.9.4 2.0.0@2.0.0" });
  assert.deepEqual(lookupVariables(named, "etcd"), {
    names: ["0.9.4", "v1.0.0-rc.1", "etcd.v0.9.4", "2.0.0"],
    packages: ["etcd", "other"],
    versions: "=0.9.4 || =1.0.0-rc.1",
    hasVersions: true,
  });
  assert.deepEqual(lookupVariables(namedBundles({ installed: "etcd.v0.9.4" }), "etcd"), {
    names: ["etcd.v0.9.4"],
    packages: ["etcd"],
    versions: null,
    hasVersions: false,
  });
  const installed = [{ name: "etcd.v0.9.4", version: "0.9.4", packageName: "etcd", properties: [property] }];
  assert.deepEqual(completed([{ name: "0.9.4" }], found, "etcd"), { installed, withoutVersion: [] });
  assert.deepEqual(completed([{ name: "v0.9.4", packageName: "etcd" }], found, "other"), { installed, withoutVersion: [] });
  assert.deepEqual(completed([{ name: "0.9.4" }, { name: "0.9.5", packageName: "etcd" }], found, "other"), {
    installed: [],
    withoutVersion: ["0.9.4", "0.9.5"],
  });
});

test("a bundle that is called like a version goes before the one that has it", () => {
  const called = { name: "0.9.4", version: "7.0.0", package: { name: "etcd" }, properties: [] };
  const { installed } = completed([{ name: "0.9.4" }], [...found, called], "etcd");
  assert.deepEqual(installed, [{ name: "0.9.4", version: "7.0.0", packageName: "etcd", properties: [] }]);
});

test("of bundles of one name, the one of the named package is installed, or else that of the wanted one", () => {
  const [first, second] = ["first", "second"].map((name) => ({ name: "same", version: "1.0.0", package: { name }, properties: [] }));
  const packageOf = (/** @type {object} */ named, /** @type {string} */ wanted) => completed([named], [first, second], wanted).installed[0].packageName;
  assert.deepEqual([packageOf({ name: "same" }, "second"), packageOf({ name: "same" }, "third")], ["second", "first"]);
  assert.equal(packageOf({ packageName: "first", name: "same" }, "second"), "first");
});

test("a subscription keeps the installed bundle of its package up to date, and no other", () => {
  const address = { name: "etcd", channel: ["stable", "beta"], in: ["example"] };
  const { installed } = completed(namedBundles({ installed: "etcd.v0.9.4 other.v1@1.0.0" }), found, "etcd");
  assert.deepEqual(solveRequest(address, installed), {
    wanted: [{ packageName: "etcd", channels: ["stable"], installed: "etcd.v0.9.4" }],
    installed: [
      { name: "etcd.v0.9.4", version: "0.9.4", packageName: "etcd", properties: [property] },
      { name: "other.v1", version: "1.0.0" },
    ],
    catalogs: ["example"],
  });
  assert.deepEqual(solveRequest({ ...address, name: "other" }, installed).wanted, [{ packageName: "other", channels: ["stable"] }]);
  assert.deepEqual(resolveRequest(address, installed).installed, { name: "etcd.v0.9.4", version: "0.9.4" });
});

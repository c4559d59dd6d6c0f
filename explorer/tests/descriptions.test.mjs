// Which description belongs to which API.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./module.mjs";

const { apiKey, describedApis } = await load("src/package/descriptions.ts");

test("kinds of one name in two groups have each their own description", () => {
  const crds = ["", "internal."].map((prefix) => ({
    name: `failovers.${prefix}dbadmin.example.org`,
    version: "v1",
    kind: "Failover",
    description: `of ${prefix}dbadmin.example.org`,
    isInternal: prefix !== "",
  }));
  const described = describedApis(crds);
  const groups = ["dbadmin.example.org", "internal.dbadmin.example.org", "other.example.org"];
  assert.deepEqual(
    groups.map((group) => described.get(apiKey({ group, version: "v1", kind: "Failover" }))),
    [...crds, undefined],
  );
});

// What is read of the objects that a reader pastes, and what is asked for the cluster.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./module.mjs";

const { MAX_INSTALLED, MAX_OBJECTS_LENGTH, parseObjects } = await load("src/cluster/objects.ts");
const { checkedVersion, clusterOf, platformInput } = await load("src/cluster/cluster.ts");

/** A ClusterServiceVersion. @param {object} metadata @param {string} [version] */
function csv(metadata, version = "1.0.0") {
  return { kind: "ClusterServiceVersion", metadata: { name: "etcd.v1.0.0", namespace: "operators", ...metadata }, spec: { version } };
}

/** A ClusterExtension. @param {object} [status] */
function extension(status = { install: { bundle: { name: "argocd-operator.v0.12.0", version: "0.12.0" } } }) {
  return { kind: "ClusterExtension", metadata: { name: "argo" }, spec: { source: { catalog: { packageName: "argocd-operator" } } }, status };
}

const LABELS = { "operators.coreos.com/etcd.operators": "" };
const ETCD = { kind: "CSV", name: "etcd.v1.0.0", version: "1.0.0", packageName: "etcd", namespace: "operators" };
const ARGO = { kind: "ClusterExtension", name: "argocd-operator.v0.12.0", version: "0.12.0", packageName: "argocd-operator", namespace: "" };

test("installed operators are read from a list, of either kind or both", () => {
  const read = (/** @type {unknown} */ value) => parseObjects(JSON.stringify(value));
  assert.deepEqual(read({ kind: "List", items: [csv({ labels: LABELS }), extension()] }), { operators: [ETCD, ARGO], left: 0 });
  assert.deepEqual(read({ kind: "ClusterExtensionList", items: [extension()] }), { operators: [ARGO], left: 0 });
  assert.deepEqual(read(csv({ labels: LABELS })), { operators: [ETCD], left: 0 });
  assert.deepEqual(read([extension(), extension()]), { operators: [ARGO], left: 0 });
});

test("copies, failed installations and other objects are left out", () => {
  const items = [csv({ labels: LABELS }), csv({ labels: { ...LABELS, "olm.copiedFrom": "operators" }, namespace: "default" }), extension({}), { kind: "Pod" }, null, 1, csv({})];
  assert.deepEqual(parseObjects(JSON.stringify({ items })), { operators: [ETCD], left: 6 });
});

test("the package of a ClusterServiceVersion is also in its properties", () => {
  const properties = JSON.stringify({ properties: [{ type: "olm.gvk" }, { type: "olm.package", value: { packageName: "etcd", version: "1.0.0" } }] });
  const annotations = { "operatorframework.io/properties": properties };
  assert.deepEqual(parseObjects(JSON.stringify(csv({ annotations }))), { operators: [{ ...ETCD, limits: [] }], left: 0 });
  assert.match(parseObjects(JSON.stringify(csv({ annotations: { "operatorframework.io/properties": "{" } }))).fault, /no installed operator/);
});

test("what is no such object is refused in words", () => {
  for (const [text, fault] of [
    ["kind: List\nitems: []", /^This is not JSON: .* It looks like YAML: use -o json\.$/],
    ['{"items": [', /^This is not JSON: /],
    ["[]", /^There is no installed operator in it/],
    ["null", /^There is no installed operator in it/],
    ['"text"', /^There is no installed operator in it/],
    ['{"items": {}}', /^There is no installed operator in it/],
    [" ".repeat(MAX_OBJECTS_LENGTH + 1), /longer than 10 MB/],
  ]) {
    assert.match(parseObjects(text).fault, /** @type {RegExp} */ (fault));
  }
  assert.match(parseObjects(" ".repeat(MAX_OBJECTS_LENGTH)).fault, /not JSON/);
});

test("as many operators are kept as the server looks up at once, and no name that Kubernetes does not allow", () => {
  const items = Array.from({ length: MAX_INSTALLED + 1 }, (_, at) => csv({ name: `etcd.v${at}`, labels: LABELS }));
  const { operators, left } = parseObjects(JSON.stringify({ items }));
  assert.deepEqual([operators.length, left], [MAX_INSTALLED, 1]);
  assert.equal(parseObjects(JSON.stringify(csv({ name: "a".repeat(253), labels: LABELS }))).operators.length, 1);
  assert.match(parseObjects(JSON.stringify(csv({ name: "a".repeat(254), labels: LABELS }))).fault, /no installed operator/);
});

test("an address says what the cluster is, and nonsense in it is ignored", () => {
  const of = (/** @type {string} */ search) => JSON.parse(JSON.stringify(clusterOf(new URLSearchParams(search))));
  assert.deepEqual(of("openshift=4.18&kubernetes=v1.31.4%2Bk3s1&architecture=arm64&olm=v1"), {
    openshift: "4.18",
    kubernetes: "v1.31.4+k3s1",
    architecture: "arm64",
    olm: "v1",
  });
  assert.deepEqual(of("openshift=new&kubernetes=1&architecture=<b>&olm=v2"), {});
  assert.equal(checkedVersion(" 4.18 "), "4.18");
});

test("OpenShift 4 implies its version of Kubernetes, unless another is said", () => {
  assert.equal(platformInput({ olm: "v1" }), undefined);
  assert.deepEqual(platformInput({ openshift: "4.16" }), { openshift: "4.16", kubernetes: "1.29" });
  assert.deepEqual(platformInput({ openshift: "4.16.3", kubernetes: "1.30" }), { openshift: "4.16.3", kubernetes: "1.30" });
  assert.deepEqual(platformInput({ openshift: "5.0", architecture: "arm64" }), { openshift: "5.0", architecture: "arm64" });
});

// Texts to copy: they say what was meant to a strict reader, and Kubernetes would accept them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { load } from "./module.mjs";

const snippets = await load("src/snippets/index.ts");

const ROOT = join(import.meta.dirname, "../..");

/** The module that has the definitions of OLM v0, and where they are in it. */
const OLM_V0 = {
  module: "github.com/operator-framework/api@v0.45.0",
  files: ["subscriptions", "operatorgroups"].map((name) => `crds/operators.coreos.com_${name}.yaml`),
};

/** That of OLM v1. Its definition still wants a service account, which newer ones ignore. */
const OLM_V1 = {
  module: "github.com/operator-framework/operator-controller@v1.2.0",
  files: ["config/base/operator-controller/crd/bases/olm.operatorframework.io_clusterextensions.yaml"],
};

/** Texts that readers of YAML 1.1 or 1.2 take for something else, or that break the syntax when they stand alone. */
const HOSTILE = [
  "",
  " ",
  "a b",
  "yes",
  "No",
  "ON",
  "off",
  "y",
  "n",
  "true",
  "null",
  "~",
  "Null",
  "1",
  "1.0",
  "1.10",
  "1e3",
  "0x1f",
  "0o17",
  "017",
  "1_000",
  ".5",
  ".inf",
  "-.INF",
  ".nan",
  "12:30:45",
  "2001-12-14",
  "2001-12-14T21:59:43.10-05:00",
  "- a",
  "-",
  "?",
  ":",
  "a: b",
  "a:",
  ":a",
  "#a",
  "a #b",
  "a#b",
  "&a",
  "*a",
  "!a",
  "!!str a",
  "|",
  ">",
  "%a",
  "@a",
  "`a",
  "'a",
  '"a',
  "a'b",
  'a"b',
  "\\",
  "a\\nb",
  "[a]",
  "{a}",
  "a,b",
  "a]",
  "=",
  "<<",
  "---",
  "...",
  "a\nb",
  "a\r\nb",
  "\ta",
  "a\t",
  "a\u0000b",
  "a\u0007b",
  "a\u001bb",
  "a\u007fb",
  "a\u0085b",
  "a\u00a0b",
  "a\u2028b",
  "a\u202eb",
  "a\u2066b",
  "\ufeffa",
  "a\ufffeb",
  "é",
  "ß",
  "日本",
  "😀",
  "𝒳",
  ">=1.2.0 <2.0.0",
  "x".repeat(5000),
  "registry.example.com:5000/a/b@sha256:0123",
  "$(touch /tmp/x)",
  "'; touch /tmp/x; '",
  "--help",
  "*",
  "a*b",
];

/** What a strict reader of YAML 1.1 reads. @param {string} text */
function read(text) {
  const script = join(import.meta.dirname, "strict_yaml.py");
  return JSON.parse(execFileSync("python3", [script], { input: text, encoding: "utf8" }));
}

test("a strict reader reads what was written, whatever texts say", () => {
  const value = {
    ...Object.fromEntries(HOSTILE.map((text, at) => [`key${at}`, text])),
    ...Object.fromEntries(HOSTILE.filter((text) => text.length < 1000).map((text) => [text, "value"])),
    list: HOSTILE,
    nested: [{ a: HOSTILE, b: { c: "d", left: undefined } }, ["e", ["f", []]], {}, [], 1, true],
    empty: {},
    nothing: null,
    nulls: [null, { none: null }],
  };
  assert.deepEqual(read(snippets.toYaml(value)), [JSON.parse(JSON.stringify(value))]);
});

test("what needs no quotes has none", () => {
  const value = { image: "quay.io/a/b:v1", list: ["a", "b-c_d"], flag: true, version: "1.2.3", map: { "a.io/b": "c" } };
  const expected = 'image: quay.io/a/b:v1\nlist:\n- a\n- b-c_d\nflag: true\nversion: "1.2.3"\nmap:\n  a.io/b: c\n';
  assert.equal(snippets.toYaml(value), expected);
});

const INSTALL = { packageName: "etcd", catalog: "community", namespace: "etcd", channels: [], version: "" };

test("a ClusterExtension says no more than was chosen", () => {
  const expected = (/** @type {object} */ catalog, spec = {}) => ({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterExtension",
    metadata: { name: "etcd" },
    spec: {
      namespace: "etcd",
      ...spec,
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName: "etcd",
          ...catalog,
          selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "community" } },
        },
      },
    },
  });
  assert.deepEqual(read(snippets.clusterExtension(INSTALL)), [expected({})]);
  const chosen = { ...INSTALL, channels: ["1.0", "yes"], version: "1.0", serviceAccount: "installer" };
  const catalog = { channels: ["1.0", "yes"], version: "1.0" };
  assert.deepEqual(read(snippets.clusterExtension(chosen)), [
    expected(catalog, { serviceAccount: { name: "installer" } }),
  ]);
});

test("Kubernetes accepts a ClusterExtension", () => {
  const definitions = definitionsOf(OLM_V1);
  const faultsOf = (/** @type {object} */ change) => {
    const [extension] = read(snippets.clusterExtension({ ...INSTALL, serviceAccount: "installer", ...change }));
    return faults(extension, definitions);
  };
  for (const version of ["", "1.2.3", "1.0", ">=1.2.0 <2.0.0", "~1.2", "1.x || >=3.0.0"]) {
    assert.deepEqual(faultsOf({ version, channels: ["stable", "1.0", "yes"] }), [], version);
  }
  assert.deepEqual(faultsOf({ serviceAccount: undefined }), ["ClusterExtension.spec.serviceAccount is missing"]);
  // The judge sees faults.
  for (const change of [{ version: "newest" }, { namespace: "Upper" }, { channels: ["a b"] }, { packageName: "x/y" }]) {
    assert.notDeepEqual(faultsOf(change), [], JSON.stringify(change));
  }
});

const SUBSCRIBE = {
  packageName: "etcd",
  source: "community",
  sourceNamespace: "olm",
  namespace: "operators",
  channel: "1.10",
  startingCsv: "etcd.v1.10.0",
  installModes: ["ALL_NAMESPACES"],
};

test("Kubernetes accepts the manifests of OLM v0", () => {
  const definitions = definitionsOf(OLM_V0);
  for (const installModes of [["ALL_NAMESPACES"], ["OWN_NAMESPACE"], ["SINGLE_NAMESPACE"], []]) {
    const documents = read(snippets.subscription({ ...SUBSCRIBE, installModes }));
    const needsGroup = installModes.length > 0 && installModes[0] !== "ALL_NAMESPACES";
    assert.deepEqual(
      documents.map((/** @type {any} */ each) => each.kind),
      needsGroup ? ["OperatorGroup", "Subscription"] : ["Subscription"],
    );
    for (const document of documents) assert.deepEqual(faults(document, definitions), []);
    assert.equal(documents.at(-1).spec.channel, "1.10");
    if (needsGroup)
      assert.deepEqual(documents[0].spec.targetNamespaces, [
        installModes[0] === "OWN_NAMESPACE" ? "operators" : "namespace-to-watch",
      ]);
  }
});

test("a namespace and its OperatorGroup come before what needs them, on request", () => {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "operators" } };
  const global = { apiVersion: "operators.coreos.com/v1", kind: "OperatorGroup", metadata: { name: "etcd", namespace: "operators" }, spec: {} };
  const own = { ...global, spec: { targetNamespaces: ["operators"] } };
  const before = (/** @type {string[]} */ installModes) => read(snippets.subscription({ ...SUBSCRIBE, installModes, withNamespace: true })).slice(0, -1);
  assert.deepEqual(before(["ALL_NAMESPACES"]), [namespace, global]);
  assert.deepEqual(before(["OWN_NAMESPACE"]), [namespace, own]);
  const extension = { packageName: "etcd", catalog: "community", namespace: "operators", channels: [], version: "", withNamespace: true };
  const [first, second] = read(snippets.clusterExtension(extension));
  assert.deepEqual([first, second.kind], [namespace, "ClusterExtension"]);
});

test("OpenShift has names of its own for the catalogs that it brings", () => {
  const names = (/** @type {string} */ catalog) => Object.values(snippets.platformNames("openshift", catalog)).slice(0, 2);
  assert.deepEqual(names("community-v4.18"), ["openshift-community-operators", "community-operators"]);
  assert.deepEqual(names("operatorhubio"), ["openshift-community-operators", "community-operators"]);
  assert.deepEqual(names("certified"), ["openshift-certified-operators", "certified-operators"]);
  assert.deepEqual(names("redhat-marketplace"), ["openshift-redhat-marketplace", "redhat-marketplace"]);
  assert.deepEqual(names("redhat"), ["openshift-redhat-operators", "redhat-operators"]);
  assert.deepEqual(names("mine"), ["mine", "mine"]);
  assert.deepEqual(snippets.platformNames("kubernetes", "community"), {
    clusterCatalog: "community",
    source: "community",
    sourceNamespace: "olm",
    globalNamespace: "operators",
  });
});

test("Kubernetes accepts the manifest of a catalog", () => {
  const definitions = read(readFileSync(join(ROOT, "deploy/base/crds.yaml"), "utf8"));
  const [catalog] = read(snippets.clusterCatalog("community", "quay.io/a/b@sha256:" + "0".repeat(64)));
  assert.deepEqual(faults(catalog, definitions), []);
  // The judge sees faults.
  assert.notDeepEqual(faults({ ...catalog, spec: { source: { type: "Image", images: {} } } }, definitions), []);
});

test("a shell passes the words of a command on", () => {
  const words = HOSTILE.filter((text) => !text.includes("\u0000"));
  const program = `import sys, json; json.dump(sys.argv[1:], sys.stdout)`;
  const line = snippets.command("python3", "-c", program, ...words);
  assert.deepEqual(JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" })), words);
});

test("curl sends the document and its variables", () => {
  const text = snippets.curl("http://127.0.0.1:1/graphql", "query Q($a: String) { a(b: $a) }", {
    a: "it's",
    b: undefined,
  });
  const expected = [
    "curl --silent --get http://127.0.0.1:1/graphql \\",
    "  --data-urlencode 'query=query Q($a: String) { a(b: $a) }' \\",
    "  --data-urlencode 'variables={\"a\":\"it'\\''s\"}'",
  ];
  assert.equal(text, expected.join("\n"));
});

test("images are listed once, in order", () => {
  assert.equal(snippets.imageList(["b", "", "a", "b"]), "a\nb\n");
});

/** Definitions from a Go module. @param {{ module: string, files: string[] }} where */
function definitionsOf({ module, files }) {
  const output = execFileSync("go", ["mod", "download", "-json", module], { cwd: "/", encoding: "utf8" });
  const { Dir } = JSON.parse(output);
  return files.flatMap((file) => read(readFileSync(join(Dir, file), "utf8")));
}

/**
 * Where an object differs from the definition of its kind: unknown members, missing ones, values of other types or beyond
 * what the schema allows.
 *
 * @param {any} object
 * @param {any[]} definitions
 */
function faults(object, definitions) {
  const { apiVersion, kind, metadata, ...rest } = object;
  const [group, version] = apiVersion.split("/");
  const definition = definitions.find(({ spec }) => spec.group === group && spec.names.kind === kind);
  const { schema } = definition.spec.versions.find((/** @type {any} */ each) => each.name === version && each.served);
  /** @type {string[]} */
  const found = [];
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(metadata.name)) found.push(`${metadata.name} is no name`);
  check(rest, schema.openAPIV3Schema, kind, found);
  return found;
}

/** @param {any} value @param {any} schema @param {string} path @param {string[]} found */
function check(value, schema, path, found) {
  const types = { object: "object", string: "string", integer: "number", boolean: "boolean", array: "object" };
  const type = /** @type {keyof typeof types} */ (schema.type);
  if (typeof value !== types[type] || Array.isArray(value) !== (type === "array"))
    return void found.push(`${path} is no ${type}`);
  if (schema.enum && !schema.enum.includes(value)) found.push(`${path} is ${value}`);
  if (schema.pattern && !new RegExp(schema.pattern).test(value)) found.push(`${path} does not match ${schema.pattern}`);
  if (value.length > (schema.maxLength ?? schema.maxItems ?? Infinity)) found.push(`${path} is too long`);
  for (const { rule } of schema["x-kubernetes-validations"] ?? []) {
    const [, pattern] = /^self\.matches\(("(?:[^"\\]|\\.)*")\)$/.exec(rule) ?? [];
    if (pattern && !new RegExp(JSON.parse(pattern)).test(value)) found.push(`${path} does not match ${pattern}`);
  }
  if (type === "array")
    value.forEach((/** @type {any} */ item, /** @type {number} */ at) =>
      check(item, schema.items, `${path}[${at}]`, found),
    );
  if (type !== "object") return;
  for (const name of schema.required ?? [])
    if (!(name in value) && !["metadata"].includes(name)) found.push(`${path}.${name} is missing`);
  for (const [name, member] of Object.entries(value)) {
    const of = schema.properties?.[name] ?? schema.additionalProperties;
    if (of) check(member, of, `${path}.${name}`, found);
    else found.push(`${path}.${name} is unknown`);
  }
}

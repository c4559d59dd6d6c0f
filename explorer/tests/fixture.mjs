// A catalog of strangers: names, texts, links and icons with scripts and marks that turn the direction of text, and faults
// in the graph of updates.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SCRIPT = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>';
/** Turns the direction of what follows it. */
const TURNED = "\u202e";

/** Links that are what they seem. */
const LINKS = ["one", "two", "three"].map((name) => ({ name, url: `https://${name}.example/` }));

/** Wider than a narrow page in Markdown. */
const TABLE = `|${" Parameter |".repeat(9)}\n|${" - |".repeat(9)}\n|${" `spec.endless.path` |".repeat(9)}`;

/** An icon with a script in it, as bytes in base64. */
const ICON = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" onload="top.hacked = 1"><script>top.hacked = 1</script><circle r="5"/></svg>',
).toString("base64");

/** Writes the catalog into a folder of its own, and returns where it is. */
export function hostileCatalog() {
  const folder = mkdtempSync(join(tmpdir(), "catalogql-hostile-"));
  const blobs = [...hostile("hostile-operator"), ...hostile(`long-${"name-".repeat(45)}operator`.slice(0, 240)), ...broken(), ...splitChannels(), ...many(130)];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "catalog.json"), blobs.map((blob) => JSON.stringify(blob)).join("\n"));
  return folder;
}

/** A package whose author means harm. @param {string} name */
function hostile(name) {
  const bundle = `${name}.v1.0.0`;
  const text = `${SCRIPT} ${TURNED}drawkcab ${"W".repeat(400)}`;
  const metadata = {
    displayName: `${SCRIPT}${TURNED}${"Endless".repeat(20)}`,
    description: `# ${SCRIPT}\n\n<div>${SCRIPT}</div>\n\n[link](javascript:window.hacked=1) ![picture](https://elsewhere.example/x.png)\n\n${text}\n\n### \n\n${TABLE}\n\nMore:\n\n${TABLE}\n\n${LINKS.map(({ name, url }) => `- [${name}](${url})`).join("\n")}`,
    provider: { name: text, url: "javascript:window.hacked=1" },
    links: [{ name: "click", url: "javascript:window.hacked=1" }, { name: text, url: "data:text/html,<script>1</script>" }, ...LINKS],
    maintainers: [{ name: text, email: "a@b.example?subject=<script>" }],
    keywords: [SCRIPT, "", "x".repeat(200)],
    annotations: { description: text, categories: `${SCRIPT},Security`, repository: "javascript:window.hacked=1" },
  };
  return [
    { schema: "olm.package", name, defaultChannel: "stable", icon: { base64data: ICON, mediatype: "image/svg+xml" } },
    { schema: "olm.channel", package: name, name: "stable", entries: [{ name: bundle }] },
    {
      schema: "olm.bundle",
      package: name,
      name: bundle,
      image: `registry.example.org/${name}@sha256:${"0".repeat(64)}`,
      properties: [
        { type: "olm.package", value: { packageName: name, version: "1.0.0" } },
        { type: "olm.gvk", value: { group: "hostile.example", kind: "Hostile", version: "v1" } },
        { type: "olm.csv.metadata", value: metadata },
      ],
      relatedImages: [{ name: text, image: `registry.example.org/${"long/".repeat(60)}image@sha256:${"1".repeat(64)}` }],
    },
    {
      schema: "olm.deprecations",
      package: name,
      entries: [{ reference: { schema: "olm.package" }, message: `${text}\n\nUse another.` }],
    },
  ];
}

/** A package with faults: a malformed range, bundles that no update leads to, and an entry that replaces what is not there. */
function broken() {
  const entries = [
    { name: "broken.v1.1.0", replaces: "broken.v1.0.0", skipRange: "<=v1" },
    { name: "broken.v1.0.0" },
    { name: "broken.v0.9.0", replaces: "broken-by-a-name-that-no-bundle-of-it-has.v0.8.0" },
  ];
  const bundle = (/** @type {string} */ version) => ({
    schema: "olm.bundle",
    package: "broken",
    name: `broken.v${version}`,
    image: `registry.example.org/broken:${version}`,
    properties: [{ type: "olm.package", value: { packageName: "broken", version } }],
  });
  return [
    { schema: "olm.package", name: "broken", defaultChannel: "stable" },
    { schema: "olm.channel", package: "broken", name: "stable", entries },
    ...["1.1.0", "1.0.0", "0.9.0"].map(bundle),
  ];
}

/** A package whose highest version is not in its default channel. */
function splitChannels() {
  const bundle = (/** @type {string} */ version) => ({
    schema: "olm.bundle",
    package: "split-channels",
    name: `split-channels.v${version}`,
    image: `registry.example.org/split-channels:${version}`,
    properties: [{ type: "olm.package", value: { packageName: "split-channels", version } }],
  });
  return [
    { schema: "olm.package", name: "split-channels", defaultChannel: "stable" },
    { schema: "olm.channel", package: "split-channels", name: "stable", entries: [{ name: "split-channels.v1.0.0" }] },
    { schema: "olm.channel", package: "split-channels", name: "next", entries: [{ name: "split-channels.v2.0.0" }] },
    ...["1.0.0", "2.0.0"].map(bundle),
  ];
}

/** Packages enough for several pages of the list, and of what requires a bundle. @param {number} count */
function many(count) {
  return Array.from({ length: count }, (_, at) => `plain-${String(at).padStart(3, "0")}`).flatMap((name) => [
    { schema: "olm.package", name, defaultChannel: "stable", description: `The package ${name}.` },
    { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
    {
      schema: "olm.bundle",
      package: name,
      name: `${name}.v1.0.0`,
      image: `registry.example.org/${name}:1`,
      properties: [
        { type: "olm.package", value: { packageName: name, version: "1.0.0" } },
        { type: "olm.package.required", value: { packageName: "broken", versionRange: ">=1.1.0" } },
      ],
    },
  ]);
}

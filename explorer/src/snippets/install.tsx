// How a package is installed: manifests for OLM v1 and v0, and commands.

import { useState } from "preact/hooks";

import { Link } from "../address";
import { endpoint } from "../client";
import { Package } from "../generated/documents";
import { minified } from "../minified.mjs";
import type { TabProps } from "../package/package-page";
import { packageVariables } from "../package/variables";
import { command } from "../shared/command";
import {
  clusterCatalog,
  clusterExtension,
  curl,
  needsOperatorGroup,
  subscription,
  WATCHED_NAMESPACE,
} from "./snippets";
import { Snippet } from "./snippet";

export function InstallSnippets(props: TabProps) {
  return (
    <div class="stack">
      <Extension key={props.bundle?.name ?? ""} {...props} />
      <Subscribe key={`v0 ${props.bundle?.name}`} {...props} />
      <Commands {...props} />
      <Catalog {...props} />
    </div>
  );
}

/** Ranges of versions that an extension may be kept in, by their names in the form. */
function ranges(version: string | null | undefined): [label: string, range: string][] {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+(?:\+|$)/.exec(version ?? "") ?? [];
  const all: [string, string][] = [["Any version", ""]];
  if (major !== undefined) all.push([`${major}.x`, `${major}.x`], [`${major}.${minor}.x`, `${major}.${minor}.x`]);
  if (version) all.push([`Only ${version}`, version]);
  return all;
}

function Extension({ address, found, bundle }: TabProps) {
  const { catalog, channel } = address;
  const [namespace, setNamespace] = useState(bundle?.metadata?.suggestedNamespace ?? found.name);
  const [range, setRange] = useState(address.version ? (bundle?.version ?? "") : "");
  const [hasAccount, setAccount] = useState(false);
  const text = clusterExtension({
    packageName: found.name,
    catalog,
    namespace,
    channels: channel ? [channel] : [],
    version: range,
    ...(hasAccount && { serviceAccount: `${found.name}-installer` }),
  });
  return (
    <section class="card stack">
      <h2>OLM v1: ClusterExtension</h2>
      <div class="snippet-options">
        <Field label="Namespace" value={namespace} onInput={setNamespace} />
        <label class="field">
          Versions
          <select value={range} onChange={({ currentTarget }) => setRange(currentTarget.value)}>
            {ranges(bundle?.version).map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={hasAccount} onChange={() => setAccount(!hasAccount)} /> Service account, for
          older clusters
        </label>
      </div>
      <Snippet label="ClusterExtension" text={text}>
        The namespace {namespace} must exist, and a ClusterCatalog {catalog} must be served in the cluster.{" "}
        {!channel && "Without a channel, versions of every channel are considered. "}
        {hasAccount && "The service account must exist and be allowed to install the package. "}
        <Link
          to={{
            page: "resolve",
            name: found.name,
            in: [catalog],
            channel: channel ? [channel] : [],
            version: range || undefined,
          }}
        >
          What would be installed?
        </Link>
      </Snippet>
    </section>
  );
}

function Subscribe({ address, found, bundle }: TabProps) {
  const installModes = bundle?.metadata?.installModes ?? [];
  const isGlobal = installModes.includes("ALL_NAMESPACES");
  const suggested = bundle?.metadata?.suggestedNamespace;
  const [namespace, setNamespace] = useState(suggested ?? (isGlobal ? "operators" : found.name));
  const [source, setSource] = useState(address.catalog);
  const [sourceNamespace, setSourceNamespace] = useState("olm");
  const channel = address.channel ?? found.defaultChannel?.name ?? bundle?.channelNames[0] ?? "";
  const isInChannel = bundle?.channelNames.includes(channel) ?? false;
  const startingCsv = isInChannel ? (bundle?.name ?? "") : "";
  const values = { packageName: found.name, source, sourceNamespace, namespace, channel, startingCsv, installModes };
  return (
    <section class="card stack">
      <h2>OLM v0: Subscription</h2>
      <div class="snippet-options">
        <Field label="Namespace" value={namespace} onInput={setNamespace} />
        <Field label="CatalogSource" value={source} onInput={setSource} />
        <Field label="Namespace of the CatalogSource" value={sourceNamespace} onInput={setSourceNamespace} />
      </div>
      <Snippet label="Subscription" text={subscription(values)}>
        {needsOperatorGroup(values)
          ? "The operator cannot watch all namespaces, so its namespace needs the OperatorGroup. "
          : `The namespace ${namespace} must have an OperatorGroup. `}
        {needsOperatorGroup(values) && !installModes.includes("OWN_NAMESPACE") && `Replace ${WATCHED_NAMESPACE}. `}
        The install plan waits for your approval.
      </Snippet>
    </section>
  );
}

function Field({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }) {
  return (
    <label class="field">
      {label}
      <input
        value={value}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}

function Commands({ address, found, bundle }: TabProps) {
  const name = `${address.catalog}/${found.name}`;
  const channel = address.channel ? ["--channel", address.channel] : [];
  const lines = [
    command("kubectl", "catalog", "describe", "package", name),
    command("kubectl", "catalog", "versions", name, ...channel),
    command(
      "kubectl",
      "catalog",
      "images",
      name,
      ...channel,
      ...(bundle?.version && address.version ? ["--version", bundle.version] : []),
    ),
    command("kubectl", "catalog", "manifest", name),
  ];
  return (
    <section class="card stack">
      <h2>Command line</h2>
      <Snippet label="Commands of kubectl catalog" text={`${lines.join("\n")}\n`}>
        With the plugin kubectl-catalog: the package, its versions, its images for a mirror, and its manifest.
      </Snippet>
      <details>
        <summary>The data of this page with curl</summary>
        <Snippet label="curl" text={curl(endpoint().href, minified(Package.text), packageVariables(address))} />
      </details>
    </section>
  );
}

function Catalog({ found }: TabProps) {
  const { name, image } = found.catalog;
  if (!image) return null;
  return (
    <section class="card stack">
      <h2>The catalog itself</h2>
      <Snippet label="ClusterCatalog" text={clusterCatalog(name, image)}>
        For a cluster that does not have it yet. The digest pins this content.
      </Snippet>
    </section>
  );
}

// How a package is installed: manifests for OLM v1 and v0, and commands.

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { Link } from "../address";
import { cluster } from "../cluster/cluster";
import { endpoint } from "../client";
import { Package } from "../generated/documents";
import { minified } from "../minified.mjs";
import { pickText } from "../mirror/picks";
import { compatibleNames } from "../package/compatible";
import type { TabProps } from "../package/package-page";
import { packageVariables } from "../package/variables";
import { Glyph } from "../parts/glyph";
import { command } from "../shared/command";
import { useStore } from "../store";
import { InstallsNow } from "./installs-now";
import { type Platform, type PlatformNames, PLATFORMS, platform, platformNames, setPlatform } from "./platform";
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
  const { olm } = useStore(cluster);
  const extension = <Extension key={props.bundle?.name ?? ""} {...props} />;
  const subscribe = <Subscribe key={`v0 ${props.bundle?.name}`} {...props} />;
  return (
    <div class="stack">
      <PlatformChoice />
      {olm !== "v0" && extension}
      {olm === "v1" ? <Other title="With OLM v0">{subscribe}</Other> : subscribe}
      {olm === "v0" && <Other title="With OLM v1">{extension}</Other>}
      <Commands {...props} />
      <Catalog {...props} />
    </div>
  );
}

/** The way to install that is not that of the reader's cluster. */
function Other({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

const PLATFORM_NAMES: Record<Platform, string> = { kubernetes: "Kubernetes", openshift: "OpenShift" };

/** Where it is installed, which says what catalogs and namespaces are called. */
function PlatformChoice() {
  const chosen = useStore(platform);
  const name = useId();
  return (
    <fieldset class="snippet-options platforms">
      <legend>Platform</legend>
      {PLATFORMS.map((each) => (
        <label key={each} class="check">
          <input type="radio" name={name} checked={chosen === each} onChange={() => setPlatform(each)} /> {PLATFORM_NAMES[each]}
        </label>
      ))}
    </fieldset>
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
  const { clusterCatalog } = platformNames(useStore(platform), catalog);
  const [namespace, setNamespace] = useState(bundle?.metadata?.suggestedNamespace ?? found.name);
  const [range, setRange] = useState(address.version ? (bundle?.version ?? "") : "");
  const [hasAccount, setAccount] = useState(false);
  const [withNamespace, setWithNamespace] = useState(false);
  const channels = channel ? [channel] : [];
  const text = clusterExtension({
    packageName: found.name,
    catalog: clusterCatalog,
    namespace,
    channels,
    version: range,
    withNamespace,
    ...(hasAccount && { serviceAccount: `${found.name}-installer` }),
  });
  const choices = ranges(bundle?.version);
  const isListed = choices.some(([, value]) => value === range);
  return (
    <section class="card stack">
      <h2>OLM v1: ClusterExtension</h2>
      {bundle?.olmV1.installable === "NO" && (
        <p class="alert warning">
          OLM v1 refuses {bundle.name}: {bundle.olmV1.blockers.find(({ hard }) => hard)?.detail}
        </p>
      )}
      <div class="snippet-options">
        <Field label="Namespace" value={namespace} onInput={setNamespace} />
        <label class="field">
          Versions
          <select value={range} onChange={({ currentTarget }) => setRange(currentTarget.value)}>
            {!isListed && <option value={range}>Only {range}</option>}
            {choices.map(([label, value]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <Check label="With its Namespace" isOn={withNamespace} onChange={setWithNamespace} />
        <Check label="Service account, for OLM v1 before 1.11" isOn={hasAccount} onChange={setAccount} />
      </div>
      <InstallsNow
        address={{ page: "resolve", name: found.name, in: [catalog], channel: channels, version: range || undefined }}
        shown={bundle?.version}
        compatible={compatibleNames(found)}
        onPin={setRange}
      />
      <Snippet label="ClusterExtension" text={text} file={`${found.name}-clusterextension.yaml`}>
        {!withNamespace && `The namespace ${namespace} must exist. `}A ClusterCatalog {clusterCatalog} must be served in the cluster.{" "}
        {!channel && "Without a channel, versions of every channel are considered. "}
        {hasAccount && "The service account must exist and be allowed to install the package. "}
      </Snippet>
    </section>
  );
}

function Subscribe(props: TabProps) {
  const chosen = useStore(platform);
  // Its fields begin anew with the names of another platform.
  return <SubscribeOn key={chosen} {...props} names={platformNames(chosen, props.address.catalog)} />;
}

function SubscribeOn({ address, found, bundle, names }: TabProps & { names: PlatformNames }) {
  const installModes = bundle?.metadata?.installModes ?? [];
  const isGlobal = installModes.includes("ALL_NAMESPACES");
  const suggested = bundle?.metadata?.suggestedNamespace;
  const [namespace, setNamespace] = useState(suggested ?? (isGlobal ? names.globalNamespace : found.name));
  const [source, setSource] = useState(names.source);
  const [sourceNamespace, setSourceNamespace] = useState(names.sourceNamespace);
  const [isWanted, setWanted] = useState(false);
  const [isPinned, setPinned] = useState(true);
  const channel = address.channel ?? found.defaultChannel?.name ?? bundle?.channelNames[0] ?? "";
  const head = found.channels.find(({ name }) => name === channel)?.head;
  const isInChannel = bundle?.channelNames.includes(channel) ?? false;
  const startingCsv = isInChannel && isPinned ? (bundle?.name ?? "") : "";
  // A second OperatorGroup in a namespace would stop every installation there.
  const isPrepared = namespace === names.globalNamespace;
  const withNamespace = isWanted && !isPrepared;
  const values = { packageName: found.name, source, sourceNamespace, namespace, channel, startingCsv, installModes, withNamespace };
  const installed = startingCsv ? (bundle?.version ?? startingCsv) : (head?.name ?? "nothing");
  return (
    <section class="card stack">
      <h2>OLM v0: Subscription</h2>
      <div class="snippet-options">
        <Field label="Namespace" value={namespace} onInput={setNamespace} />
        <Field label="CatalogSource" value={source} onInput={setSource} />
        <Field label="Namespace of the CatalogSource" value={sourceNamespace} onInput={setSourceNamespace} />
        {!isPrepared && <Check label="With its Namespace and OperatorGroup" isOn={isWanted} onChange={setWanted} />}
      </div>
      <p class="installs-now" role="status">
        <Glyph name="done" />
        <span>
          Installs <strong>{installed}</strong> now, from <bdi>{channel}</bdi> of <bdi>{found.catalog.displayName}</bdi>.
        </span>
        {isInChannel && (
          <button type="button" onClick={() => setPinned(!isPinned)}>
            {isPinned ? "Begin with the head" : `Pin ${bundle?.version ?? bundle?.name}`}
          </button>
        )}
      </p>
      <Snippet label="Subscription" text={subscription(values)} file={`${found.name}-subscription.yaml`}>
        {needsOperatorGroup(values)
          ? "The operator cannot watch all namespaces, so its namespace needs the OperatorGroup. "
          : isPrepared
            ? `OLM is installed with the namespace ${namespace} and its OperatorGroup. `
            : !withNamespace && `The namespace ${namespace} must have an OperatorGroup. `}
        {needsOperatorGroup(values) && !installModes.includes("OWN_NAMESPACE") && `Replace ${WATCHED_NAMESPACE}. `}
        The install plan waits for your approval.
      </Snippet>
    </section>
  );
}

function Check({ label, isOn, onChange }: { label: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={() => onChange(!isOn)} /> {label}
    </label>
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
      <p>
        Without internet: <Link to={{ page: "mirror", catalog: address.catalog, pick: [pickText({ name: found.name, channels: channel.slice(1) })] }}>the mirror set of this package</Link>.
      </p>
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
      <Snippet label="ClusterCatalog" text={clusterCatalog(name, image)} file={`${name}-clustercatalog.yaml`}>
        For a cluster that does not have it yet. The digest pins this content.
      </Snippet>
    </section>
  );
}

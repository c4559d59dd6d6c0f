// What OLM v1 would install: the fields of a ClusterExtension, and the bundle that they choose, or why none.

import "../package/package.css";
import "./resolve.css";

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { Heading, Link, navigate, type ResolveAddress } from "../address";
import { Resolve, type ResolveData } from "../generated/Resolve";
import { ResolveForm, type ResolveFormData } from "../generated/ResolveForm";
import { SuggestPackages } from "../generated/SuggestPackages";
import type { Considered, ResolutionFailureCode, ResolutionRejection, ResolveRequest } from "../generated/types";
import { channelLabel } from "../graph/label";
import { Deprecated, DeprecationAlert, Empty, Icon, OpenInPlayground, Result } from "../parts";
import { counted } from "../parts/format";
import { clusterExtension } from "../snippets/snippets";
import { Snippet } from "../snippets/snippet";
import { useDebounced } from "../use-debounced";
import { useQuery } from "../use-query";

type Outcome = NonNullable<ResolveData["resolve"]>;
type Chosen = Extract<Outcome, { __typename: "Resolution" }>;
type Failed = Extract<Outcome, { __typename: "ResolutionFailure" }>;

export default function ResolvePage({ address }: { address: ResolveAddress }) {
  const title = address.name ? `What would be installed of ${address.name}` : "What would be installed";
  return (
    <article class="package">
      <header>
        <Heading title={title} />
        <p class="subtle">
          The bundle that the controller of OLM v1 chooses for a ClusterExtension, from the catalogs that are served
          here.
        </p>
      </header>
      <div class="resolve">
        <Form address={address} />
        <section class="stack" aria-label="Result">
          {address.name ? (
            <Answer address={address} request={requestOf(address)} />
          ) : (
            <Empty title="Which package?">
              <p>Name a package to see which of its bundles would be installed.</p>
            </Empty>
          )}
        </section>
      </div>
    </article>
  );
}

/** What the address asks for. */
function requestOf({
  name = "",
  version,
  channel,
  in: catalogs,
  selector,
  installed,
  policy,
}: ResolveAddress): ResolveRequest {
  const [bundle = "", installedVersion = ""] = splitInstalled(installed);
  return {
    packageName: name,
    version: version ?? null,
    channels: channel,
    catalogs,
    selector: selector ?? null,
    installed: bundle ? { name: bundle, version: installedVersion } : null,
    ...(policy === "SELF_CERTIFIED" && { upgradeConstraintPolicy: "SELF_CERTIFIED" as const }),
  };
}

/** Bundle and version of `BUNDLE@VERSION`; without the version, what follows `.v` in the name. */
function splitInstalled(installed: string | undefined): string[] {
  if (!installed) return [];
  const at = installed.lastIndexOf("@");
  if (at >= 0) return [installed.slice(0, at), installed.slice(at + 1)];
  return [installed, /\.v?(\d.*)$/.exec(installed)?.[1] ?? ""];
}

function Form({ address }: { address: ResolveAddress }) {
  /** The name while it is typed. */
  const [typed, setTyped] = useState<string>();
  const choose = (change: Partial<ResolveAddress>) => {
    setTyped(undefined);
    navigate({ ...address, ...change }, { stay: true });
  };
  const form = useQuery(ResolveForm, { package: address.name ?? "" }).data;
  const text = useDebounced(typed?.trim() ?? "");
  const found = useQuery(SuggestPackages, { text }, { skip: text === "" }).data?.suggest ?? [];
  // Several catalogs may have a package of one name.
  const suggestions = [...new Map(found.map((each) => [each.text, each.displayName]))];
  const list = useId();
  const suggest = ({ currentTarget, inputType }: InputEvent & { currentTarget: HTMLInputElement }) => {
    // What is chosen from the list needs no key to be pressed after it.
    if (inputType === "insertReplacementText") choose({ name: currentTarget.value });
    else setTyped(currentTarget.value);
  };
  const field = (label: string, key: "name" | "version" | "selector" | "installed", example: string) => (
    <label class="stacked">
      <span>{label}</span>
      <input
        value={(key === "name" ? typed : undefined) ?? address[key] ?? ""}
        placeholder={example}
        spellcheck={false}
        autocomplete="off"
        {...(key === "name" && ({ list, onInput: suggest } as object))}
        onChange={({ currentTarget }) => choose({ [key]: currentTarget.value.trim() || undefined })}
      />
    </label>
  );
  return (
    <form class="card stack" aria-label="ClusterExtension" onSubmit={(event) => event.preventDefault()}>
      {field("Package", "name", "prometheus")}
      <datalist id={list}>
        {suggestions.map(([text, displayName]) => (
          <option key={text} value={text}>
            {displayName ?? ""}
          </option>
        ))}
      </datalist>
      {field("Version or range", "version", ">=1.2.0 <2.0.0")}
      <Choices
        title="Channels"
        none="every channel"
        items={channelsOf(form)}
        chosen={address.channel}
        onChoose={(channel) => choose({ channel })}
      />
      <Choices
        title="Catalogs"
        none="every catalog"
        items={catalogsOf(form)}
        chosen={address.in}
        onChoose={(chosen) => choose({ in: chosen })}
      />
      {field("Selector for catalogs", "selector", "tier=gold")}
      {field("Installed bundle", "installed", "prometheus.v1.2.0@1.2.0")}
      <label class="check">
        <input
          type="checkbox"
          checked={address.policy === "SELF_CERTIFIED"}
          onChange={({ currentTarget }) => choose({ policy: currentTarget.checked ? "SELF_CERTIFIED" : undefined })}
        />
        Upgrades need not follow the update graph (SelfCertified)
      </label>
      <button type="submit" class="primary">
        Resolve
      </button>
    </form>
  );
}

interface Item {
  value: string;
  label: string;
}

function channelsOf(form: ResolveFormData | undefined): Item[] {
  const channels = new Map<string, Item>();
  for (const { channels: own } of form?.packages?.nodes ?? []) {
    for (const channel of own)
      if (!channels.has(channel.name))
        channels.set(channel.name, { value: channel.name, label: channelLabel(channel) });
  }
  return [...channels.values()];
}

/** Those that have the package first. */
function catalogsOf(form: ResolveFormData | undefined): Item[] {
  const having = new Set(form?.packages?.nodes.map(({ catalog }) => catalog.name));
  const items = (form?.catalogs ?? []).map(({ name, displayName, priority }) => {
    const label = [displayName, priority !== 0 && `priority ${priority}`, !having.has(name) && "does not have it"];
    return { value: name, label: label.filter(Boolean).join(" · ") };
  });
  return items.sort((one, other) => Number(having.has(other.value)) - Number(having.has(one.value)));
}

interface ChoicesProps {
  title: string;
  none: string;
  items: readonly Item[];
  chosen: readonly string[];
  onChoose: (chosen: readonly string[]) => void;
}

/** Boxes to check; what the address names and nobody has is among them. */
function Choices({ title, none, items, chosen, onChoose }: ChoicesProps) {
  const unknown = chosen.filter((value) => !items.some((item) => item.value === value));
  const all = [...items, ...unknown.map((value) => ({ value, label: `${value} · unknown` }))];
  if (all.length === 0) return null;
  const toggle = (value: string, isOn: boolean) =>
    onChoose(isOn ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <details class="choices" open={all.length <= 8 || undefined}>
      <summary>
        {title}: {chosen.length > 0 ? counted(chosen.length, "chosen", "chosen") : none}
      </summary>
      <fieldset>
        <legend class="unseen">{title}</legend>
        {all.map(({ value, label }) => (
          <label key={value} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget }) => toggle(value, currentTarget.checked)}
            />
            <bdi>{label}</bdi>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function Answer({ address, request }: { address: ResolveAddress; request: ResolveRequest }) {
  const variables = { request };
  const result = useQuery(Resolve, variables);
  return (
    <>
      <Result of={result} document={Resolve} variables={variables}>
        {({ resolve }) =>
          resolve && (
            <div class="stack">
              {resolve.__typename === "Resolution" ? (
                <Chosen address={address} resolution={resolve} />
              ) : (
                <Failed address={address} failure={resolve} />
              )}
              <ConsideredTable considered={resolve.considered} />
            </div>
          )
        }
      </Result>
      <OpenInPlayground document={Resolve} variables={variables} />
    </>
  );
}

function Chosen({ address, resolution }: { address: ResolveAddress; resolution: Chosen }) {
  const { bundle, deprecations } = resolution;
  const { catalog, name, displayName, icon } = bundle.package;
  const [installed] = splitInstalled(address.installed);
  const text = clusterExtension({
    packageName: name,
    catalog: catalog.name,
    namespace: bundle.metadata?.suggestedNamespace ?? name,
    channels: address.channel,
    version: address.version ?? "",
  });
  return (
    <>
      <section class="card row resolve-chosen">
        <Icon icon={icon} name={displayName} size={64} />
        <div class="stack">
          <div role="status">
            <h2>
              <Link to={{ page: "version", catalog: catalog.name, package: name, bundle: bundle.name }}>
                <bdi>{displayName}</bdi> {bundle.version}
              </Link>
            </h2>
            <p class="subtle">
              {installed === bundle.name ? "is installed already, and stays." : "would be installed."}
            </p>
          </div>
          <p class="package-names">
            <code>{bundle.name}</code>
            <span>
              from <bdi>{catalog.displayName}</bdi>
            </span>
            {bundle.channelNames.length > 0 && (
              <span>
                in <bdi>{bundle.channelNames.join(", ")}</bdi>
              </span>
            )}
          </p>
        </div>
      </section>
      {deprecations.map((deprecation, at) => (
        <DeprecationAlert
          key={at}
          what={WHAT[deprecation.schema]?.(deprecation.name) ?? deprecation.name}
          message={deprecation.message}
        />
      ))}
      <details class="card">
        <summary>Its ClusterExtension</summary>
        <Snippet label="ClusterExtension" text={text} />
      </details>
    </>
  );
}

const WHAT: Record<string, (name: string) => string> = {
  "olm.package": () => "This package",
  "olm.channel": (name) => `The channel ${name}`,
  "olm.bundle": () => "This version",
};

const FAILURES: Record<ResolutionFailureCode, string> = {
  INVALID_REQUEST: "The request is not valid",
  PACKAGE_NOT_FOUND: "No catalog has this package",
  NO_MATCHING_BUNDLE: "No bundle meets the request",
  AMBIGUOUS: "Several catalogs have an equally good bundle",
  HAS_DEPENDENCIES: "The best bundle has dependencies",
};

function Failed({ address, failure }: { address: ResolveAddress; failure: Failed }) {
  const { code, message, similarNames, considered } = failure;
  const equal = considered.filter(({ rejection }) => rejection === "AMBIGUOUS");
  const catalogs = new Map(equal.map(({ bundle }) => [bundle.package.catalog.name, bundle]));
  return (
    <section class="alert info">
      <div role="status">
        <h2>Nothing would be installed: {lower(FAILURES[code])}</h2>
        <p class="message">
          <bdi>{message}</bdi>
        </p>
        {code === "AMBIGUOUS" && (
          <Ways title="The catalogs have the same priority. Choose one:">
            {[...catalogs].map(([name, { version, package: of }]) => (
              <Link key={name} class="button" to={{ ...address, in: [name] }} stay>
                {of.catalog.displayName}: {version}
              </Link>
            ))}
          </Ways>
        )}
        {similarNames.length > 0 && (
          <Ways title="Did you mean:">
            {similarNames.map((name) => (
              <Link key={name} class="button" to={{ ...address, name }} stay>
                {name}
              </Link>
            ))}
          </Ways>
        )}
        {code === "HAS_DEPENDENCIES" && (
          <p>Ask for another version or channel: one without dependencies can be installed.</p>
        )}
        {code === "NO_MATCHING_BUNDLE" && (
          <Ways title="Ask for less:">
            {address.version && (
              <Link class="button" to={{ ...address, version: undefined }} stay>
                Any version
              </Link>
            )}
            {address.channel.length > 0 && (
              <Link class="button" to={{ ...address, channel: [] }} stay>
                Any channel
              </Link>
            )}
            {address.installed && address.policy !== "SELF_CERTIFIED" && (
              <Link class="button" to={{ ...address, policy: "SELF_CERTIFIED" }} stay>
                Any upgrade
              </Link>
            )}
          </Ways>
        )}
      </div>
    </section>
  );
}

function Ways({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <>
      <p>{title}</p>
      <p class="actions">{children}</p>
    </>
  );
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const REJECTIONS: Record<ResolutionRejection, string> = {
  CHANNEL: "It is in none of the requested channels.",
  VERSION: "Its version is not in the requested range.",
  NOT_A_SUCCESSOR: "The installed bundle cannot be upgraded to it.",
  INCOMPATIBLE: "It does not run on the given cluster.",
  DEPRECATED: "Another bundle is deprecated less.",
  LOWER_VERSION: "Another bundle has a higher version.",
  LOWER_PRIORITY: "Another catalog has a higher priority.",
  AMBIGUOUS: "Another catalog of the same priority has an equally good bundle.",
  HAS_DEPENDENCIES: "It has dependencies, which a ClusterExtension cannot install.",
};

/** Bundles that are listed at once. */
const SHOWN_BUNDLES = 12;

function ConsideredTable({ considered }: { considered: readonly Considered[] }) {
  if (considered.length === 0) return null;
  const rest = considered.slice(SHOWN_BUNDLES);
  const table = (shown: readonly Considered[], label: string) => (
    <div class="scrolling">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Catalog</th>
            <th scope="col">Why not</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ bundle, rejection }) => (
            <tr key={`${bundle.package.catalog.name} ${bundle.name}`}>
              <th scope="row">
                <Link
                  to={{
                    page: "version",
                    catalog: bundle.package.catalog.name,
                    package: bundle.package.name,
                    bundle: bundle.name,
                  }}
                  title={bundle.name}
                >
                  <bdi>{bundle.version ?? bundle.name}</bdi>
                </Link>{" "}
                {bundle.deprecation && <Deprecated message={bundle.deprecation.message} />}
              </th>
              <td>
                <bdi>{bundle.package.catalog.displayName}</bdi>
              </td>
              <td>{rejection ? REJECTIONS[rejection] : <span class="badge success">Chosen</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return (
    <section class="card stack">
      <h2>
        Considered, best first{" "}
        <span class="count">{considered.length >= 100 ? "the first 100" : considered.length}</span>
      </h2>
      {table(considered.slice(0, SHOWN_BUNDLES), "Considered bundles")}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          {table(rest, "More considered bundles")}
        </details>
      )}
    </section>
  );
}

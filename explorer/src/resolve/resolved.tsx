// What OLM v1 would install: one bundle, or why none.

import type { ComponentChildren } from "preact";

import { Link, type ResolveAddress } from "../address";
import { type Considered, type ResolutionRejection, Resolve, type ResolveData } from "../generated/documents";
import { Deprecated, DeprecationAlert, FirstOf, Icon, OpenInPlayground, Result, Table, Words } from "../parts";
import { clusterExtension } from "../snippets/snippets";
import { Snippet } from "../snippets/snippet";
import { useQuery } from "../use-query";
import { failureMessage, failureText } from "./failures";
import { type Installed, resolveRequest } from "./request";

type Outcome = NonNullable<ResolveData["resolve"]>;
type Chosen = Extract<Outcome, { __typename: "Resolution" }>;
type Failed = Extract<Outcome, { __typename: "ResolutionFailure" }>;

/** The bundle that a `ClusterExtension` chooses, or why none, with all that were considered. */
export function Resolved({ address, installed }: { address: ResolveAddress; installed: readonly Installed[] }) {
  const variables = { request: resolveRequest(address, installed) };
  const result = useQuery(Resolve, variables);
  return (
    <>
      <Result of={result} document={Resolve} variables={variables}>
        {({ resolve }) =>
          resolve && (
            <div class="stack">
              {resolve.__typename === "Resolution" ? (
                <Chosen address={address} resolution={resolve} isInstalled={installed[0]?.name === resolve.bundle.name} />
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

function Chosen({ address, resolution, isInstalled }: { address: ResolveAddress; resolution: Chosen; isInstalled: boolean }) {
  const { bundle, deprecations } = resolution;
  const { catalog, name, displayName, icon } = bundle.package;
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
            <p class="subtle">{isInstalled ? "is installed already, and stays." : "would be installed."}</p>
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

function Failed({ address, failure }: { address: ResolveAddress; failure: Failed }) {
  const { code, message, similarNames, considered } = failure;
  const { text, hint } = failureMessage(message);
  const equal = considered.filter(({ rejection }) => rejection === "AMBIGUOUS");
  const catalogs = new Map(equal.map(({ bundle }) => [bundle.package.catalog.name, bundle]));
  return (
    <section class="alert info">
      <div role="status">
        <h2>Nothing would be installed: {failureText(code)}</h2>
        {/* What follows says it in other words. */}
        {code !== "AMBIGUOUS" && (
          <p class="message">
            <bdi>{text}</bdi>
          </p>
        )}
        {hint && (
          <p>
            <Words text={hint} />
          </p>
        )}
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
          <Ways title="Ask for another version or channel: one without dependencies can be installed. Or see what comes with it:">
            <Link class="button" to={{ ...address, olm: "v0" }} stay>
              With its dependencies (OLM v0)
            </Link>
          </Ways>
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
  const table = (shown: readonly Considered[], isRest: boolean) => (
    <Table heads={["Version", "Catalog", "Why not"]} label={isRest ? "More considered bundles" : "Considered bundles"}>
      {shown.map(({ bundle, rejection }) => (
        <tr key={`${bundle.package.catalog.name} ${bundle.name}`}>
          <th scope="row">
            <Link
              data-item
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
    </Table>
  );
  return (
    <section class="card stack">
      <h2>
        Considered, best first{" "}
        <span class="count">{considered.length >= 100 ? "the first 100" : considered.length}</span>
      </h2>
      <FirstOf items={considered} count={SHOWN_BUNDLES}>
        {table}
      </FirstOf>
    </section>
  );
}

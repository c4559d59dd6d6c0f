// One version of a package: what the package page shows, of one bundle, and its place in the update graph.

import "./package.css";

import { Heading, Link, type VersionAddress } from "../address";
import { Refused } from "../catalogs/verification";
import { Bundle, type BundleData, type UpdateReason } from "../generated/documents";
import { Markdown } from "../markdown/markdown";
import { Deprecated, DeprecationAlert, Empty, Failure, FirstOf, Icon, Loading, OpenInPlayground, Table } from "../parts";
import { counted, reasonText } from "../parts/format";
import { useQuery } from "../use-query";
import { ProvidedApis, Requirements } from "./apis";
import { BundleContentsView } from "./contents";
import { Facts } from "./facts";

type Found = NonNullable<BundleData["bundle"]>;

export default function VersionPage({ address }: { address: VersionAddress }) {
  const { catalog, package: packageName, bundle: name } = address;
  const variables = { catalog, package: packageName, bundle: name };
  const result = useQuery(Bundle, variables);
  const found = result.data?.bundle;
  return (
    <article class="package">
      <Head address={address} found={found ?? undefined} />
      <Failure of={result} document={Bundle} variables={variables} />
      {!result.data && !result.error && <Loading boxes={10} />}
      {result.data && !found && (
        <Empty title="No such version">
          <p>
            The package <bdi>{packageName}</bdi> in the catalog <bdi>{catalog}</bdi> has no bundle <bdi>{name}</bdi>.
          </p>
          <Link class="button" to={{ page: "package", catalog, package: packageName, tab: "versions" }}>
            Show its versions
          </Link>
        </Empty>
      )}
      {found && (
        <>
          <Alerts found={found} />
          <div class={result.stale ? "halves stale" : "halves"} aria-busy={result.loading}>
            <div class="stack">
              <Channels address={address} found={found} />
              <Upgrades address={address} found={found} />
              {found.metadata?.description && (
                <section class="card" aria-label="Description">
                  <Markdown text={found.metadata.description} level={2} />
                </section>
              )}
              <ProvidedApis bundle={found} />
              <Requirements catalog={catalog} packageName={packageName} bundle={found} />
              <BundleContentsView catalog={catalog} packageName={packageName} bundle={name} />
            </div>
            <aside class="card" aria-label="Facts">
              <Facts metadata={found.metadata} bundle={found} />
            </aside>
          </div>
        </>
      )}
      {result.data && <OpenInPlayground document={Bundle} variables={variables} />}
    </article>
  );
}

/** It is there from the beginning, so that the heading keeps the focus while the page is loaded. */
function Head({ address, found }: { address: VersionAddress; found?: Found | undefined }) {
  const of = found?.package ?? { name: address.package, displayName: address.package, icon: null };
  const label = found?.version ?? address.bundle;
  return (
    <header class="package-head">
      <Icon icon={of.icon} name={of.displayName} size={64} />
      <div>
        <Heading title={`${of.displayName} ${label}`}>
          <bdi>{of.displayName}</bdi> <bdi>{label}</bdi>
        </Heading>
        <p class="package-names">
          <code>{address.bundle}</code>
          {found?.release && <span>release {found.release}</span>}
          <span>
            of{" "}
            <Link to={{ page: "package", catalog: address.catalog, package: of.name }}>
              <bdi>{of.name}</bdi>
            </Link>
          </span>
          <span>
            in{" "}
            <Link to={{ page: "catalog", catalog: address.catalog }}>
              <bdi>{found?.package.catalog.displayName ?? address.catalog}</bdi>
            </Link>
          </span>
        </p>
        <p class="badges">{found?.deprecation && <Deprecated message={found.deprecation.message} />}</p>
      </div>
    </header>
  );
}

function Alerts({ found }: { found: Found }) {
  const channels = found.channelEntries.map(({ channel }) => channel).filter(({ deprecation }) => deprecation);
  return (
    <>
      <Refused verification={found.package.catalog.verification} />
      {found.deprecation && <DeprecationAlert what="This version" message={found.deprecation.message} />}
      {found.package.deprecation && <DeprecationAlert what="Its package" message={found.package.deprecation.message} />}
      {channels.map(({ name, deprecation }) => (
        <DeprecationAlert key={name} what={`Its channel ${name}`} message={deprecation!.message} />
      ))}
    </>
  );
}

interface PartProps {
  address: VersionAddress;
  found: Found;
}

function Channels({ address, found }: PartProps) {
  const { catalog, package: packageName } = address;
  const haveSkips = found.channelEntries.some(({ skips, skipRange }) => skips.length > 0 || skipRange);
  const bundleLink = (name: string) => (
    <Link to={{ page: "version", catalog, package: packageName, bundle: name }}>
      <bdi>{name}</bdi>
    </Link>
  );
  return (
    <section class="card stack">
      <h2>
        Channels <span class="count">{found.channelEntries.length}</span>
      </h2>
      {found.channelEntries.length === 0 ? (
        <p>It is in no channel, so OLM v0 does not install it.</p>
      ) : (
        <Table heads={["Channel", "Replaces", ...(haveSkips ? ["Skips"] : [])]}>
          {found.channelEntries.map(({ channel, replaces, skips, skipRange }, at) => (
            <tr key={at}>
              <th scope="row">
                <Link to={{ page: "package", catalog, package: packageName, tab: "updates", channel: channel.name }}>
                  <bdi>{channel.name}</bdi>
                </Link>{" "}
                {channel.isDefault && <span class="badge">default</span>}{" "}
                {channel.head?.name === found.name && <span class="badge info">head</span>}{" "}
                {channel.deprecation && <Deprecated message={channel.deprecation.message} />}
              </th>
              <td>{replaces && bundleLink(replaces)}</td>
              {haveSkips && (
                <td>
                  {skipRange && <code>{skipRange}</code>} {skips.length > 0 && counted(skips.length, "version")}
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

interface Step {
  name: string;
  version: string | null;
  deprecation: { message: string } | null;
  reasons: readonly UpdateReason[];
  channelNames: readonly string[];
}

function Upgrades({ address, found }: PartProps) {
  const to = (found.successors ?? []).map(({ toName, to, ...rest }): Step => ({ ...rest, name: toName, ...of(to) }));
  const from = found.predecessors.map(({ fromName, from, ...rest }): Step => ({
    ...rest,
    name: fromName,
    ...of(from),
  }));
  return (
    <section class="card stack">
      <h2>
        Can be upgraded to <span class="count">{to.length}</span>
      </h2>
      <Steps address={address} steps={to} none="No other version." isUpgrade />
      {found.version && (
        <p>
          <Link
            to={{
              page: "resolve",
              name: found.package.name,
              in: [address.catalog],
              channel: [],
              installed: `${found.name}@${found.version}`,
            }}
          >
            What would be installed from here?
          </Link>
        </p>
      )}
      <h2>
        Can be reached from <span class="count">{from.length}</span>
      </h2>
      <Steps address={address} steps={from} none="No other version." />
    </section>
  );
}

function of(bundle: { version: string | null; deprecation: { message: string } | null } | null) {
  return { version: bundle?.version ?? null, deprecation: bundle?.deprecation ?? null };
}

/** Steps that are listed at once. */
const SHOWN_STEPS = 10;

interface StepsProps {
  address: VersionAddress;
  steps: readonly Step[];
  none: string;
  /** Whether they lead from this version; otherwise to it. */
  isUpgrade?: boolean;
}

function Steps({ address, steps, none, isUpgrade = false }: StepsProps) {
  const { catalog, package: packageName, bundle } = address;
  const list = (shown: readonly Step[]) => (
    <ul role="list" class="steps">
      {shown.map(({ name, version, deprecation, reasons, channelNames }) => (
        <li key={name}>
          <Link to={{ page: "version", catalog, package: packageName, bundle: name }} title={name}>
            <bdi>{version ?? name}</bdi>
          </Link>
          {deprecation && <Deprecated message={deprecation.message} />}
          <span class="subtle">
            {reasonText(reasons)}
            {channelNames.length > 0 && " in "}
            <bdi>{channelNames.join(", ")}</bdi>
          </span>
          <Link
            to={{
              page: "compare",
              catalog,
              package: packageName,
              from: isUpgrade ? bundle : name,
              to: isUpgrade ? name : bundle,
            }}
          >
            Compare<span class="unseen"> with {version ?? name}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
  if (steps.length === 0) return <p class="subtle">{none}</p>;
  return (
    <FirstOf items={steps} count={SHOWN_STEPS}>
      {list}
    </FirstOf>
  );
}

// One package of one catalog.

import "./package.css";

import type { ComponentChildren } from "preact";

import { EVERYTHING, Heading, Link, PACKAGE_TABS, type PackageAddress, type PackageTab } from "../address";
import { Refused } from "../catalogs/verification";
import { isErrorOf, type ResponseError } from "../client";
import { cluster, clusterText } from "../cluster/cluster";
import { InstalledBadges } from "../cluster/installed-badges";
import { useInstalled } from "../cluster/use-installed";
import { type BundleDetails, Package, type PackageData } from "../generated/documents";
import { Markdown } from "../markdown/markdown";
import { Deprecated, DeprecationAlert, Empty, Failure, Icon, Loading, OpenInPlayground, Tabs } from "../parts";
import { Feed } from "../parts/feed";
import { counted, level } from "../parts/format";
import { DidYouMean } from "../parts/similar";
import { useStore } from "../store";
import { type QueryState, useQuery } from "../use-query";
import { ProvidedApis, Requirements } from "./apis";
import { Chooser, isUnlisted } from "./chooser";
import { compatibleNames } from "./compatible";
import { Contents } from "./contents";
import { Facts } from "./facts";
import { InCatalogs } from "./in-catalogs";
import { InstallTab, PermissionsTab } from "./lazy-tab";
import { problemCount, Problems } from "./problems";
import { loadGraph, Updates } from "./updates";
import { useVersions, type Versions } from "./use-versions";
import { packageVariables } from "./variables";
import { VersionTable } from "./versions";

export type FoundPackage = NonNullable<PackageData["package"]>;

/** What every tab gets. */
export interface TabProps {
  address: PackageAddress & { catalog: string };
  found: FoundPackage;
  /** The chosen version, or else the latest one. */
  bundle?: BundleDetails | undefined;
  /** Every version; only on the tabs that show them. */
  versions: Versions;
}

type HeadProps = Omit<TabProps, "versions">;

export default function PackagePage({ address }: { address: PackageAddress }) {
  const { catalog } = address;
  if (catalog === undefined) return <InCatalogs packageName={address.package} />;
  return <InCatalog address={{ ...address, catalog }} />;
}

/** What the page does without: the versions to choose from, and one where the range is malformed. */
function spares(error: ResponseError): boolean {
  const isMalformed = isErrorOf(error, "package", "chosen") && error.extensions?.code === "BAD_USER_INPUT";
  return isMalformed || isUnlisted(error);
}

function InCatalog({ address }: Pick<TabProps, "address">) {
  const variables = packageVariables(address);
  const result = useQuery(Package, variables, { spares });
  const found = result.data?.package ?? undefined;
  const tab = address.tab ?? "overview";
  // Asked for at the same time as the package.
  const versions = useVersions(address.catalog, address.package, { skip: tab !== "updates" && tab !== "versions" });
  if (tab === "updates") loadGraph().catch(() => undefined);
  const bundle = found?.chosen?.nodes[0] ?? found?.latest ?? undefined;
  return (
    <article class="package">
      <Head address={address} found={found} bundle={bundle} />
      <Failure of={result} document={Package} variables={variables} />
      {!result.data && !result.error && <Loading boxes={10} />}
      {result.data && !found && <NoPackage result={result} address={address} />}
      {found && (
        <>
          <Refused verification={found.catalog.verification} />
          <Alerts address={address} found={found} bundle={bundle} />
          <Tabs label="Package" current={tab} tabs={tabs(address, found)} />
          <div class={result.stale ? "stack stale" : "stack"} aria-busy={result.loading}>
            {CHOOSING.includes(tab) && <Chooser address={address} found={found} bundle={bundle} error={result.errors.find(isUnlisted)} />}
            <Tab address={address} found={found} bundle={bundle} versions={versions} />
          </div>
        </>
      )}
      {result.data && (!found || PLAYGROUND.includes(tab)) && <OpenInPlayground document={Package} variables={variables} />}
    </article>
  );
}

function Tab({ address, found, bundle, versions }: TabProps) {
  const { channel, version, tab = "overview" } = address;
  const Shown = TABS[tab];
  if (bundle || (!channel && !version) || !CHOOSING.includes(tab)) {
    return <Shown address={address} found={found} bundle={bundle} versions={versions} />;
  }
  return (
    <Empty title="No version matches">
      <p>There is no version {[version, channel && `in ${channel}`].filter(Boolean).join(" ")}.</p>
      <Link class="button" to={{ ...address, channel: undefined, version: undefined }}>
        Show the latest version
      </Link>
    </Empty>
  );
}

const TABS: Record<PackageTab, (props: TabProps) => ComponentChildren> = {
  overview: Overview,
  updates: Updates,
  versions: VersionTable,
  contents: Contents,
  permissions: PermissionsTab,
  install: InstallTab,
  problems: Problems,
};

/** Tabs that are about one version. */
const CHOOSING: readonly PackageTab[] = ["overview", "contents", "permissions", "install"];

/** Tabs that show what the query of the page gives; the others have queries of their own. */
const PLAYGROUND: readonly PackageTab[] = ["overview", "install"];

const TITLES: Record<PackageTab, string> = {
  overview: "Overview",
  updates: "Updates",
  versions: "Versions",
  contents: "Contents",
  permissions: "Permissions",
  install: "Install",
  problems: "Problems",
};

function tabs(address: TabProps["address"], found: FoundPackage) {
  const problems = problemCount(found);
  const shown = PACKAGE_TABS.filter((tab) => tab !== "problems" || problems > 0 || address.tab === "problems");
  return shown.map((tab) => ({
    id: tab,
    label: TITLES[tab],
    to: { ...address, tab: tab === "overview" ? undefined : tab },
    ...(tab === "problems" && { count: problems }),
  }));
}

function NoPackage({ result, address }: { result: QueryState<PackageData>; address: TabProps["address"] }) {
  const similar = result.suggestions.filter(({ value }) => value === address.package).flatMap((each) => each.similar);
  return (
    <Empty title="No such package">
      <p>
        The catalog <bdi>{address.catalog}</bdi> has no package <bdi>{address.package}</bdi>, or is not served.
      </p>
      <DidYouMean names={similar} to={(name) => ({ page: "package", catalog: address.catalog, package: name })} />
      <Link to={{ page: "package", package: address.package }}>Look for it in other catalogs</Link>
      <Link to={EVERYTHING}>Show all packages</Link>
    </Empty>
  );
}

/** It is there from the beginning, so that the heading keeps the focus while the page is loaded. */
function Head({ address, found, bundle }: Partial<HeadProps> & Pick<HeadProps, "address">) {
  const title = found?.displayName ?? address.package;
  const installed = useInstalled().filter(({ packageName }) => packageName === address.package);
  const metadata = bundle?.metadata ?? found?.metadata;
  const problems = found ? problemCount(found) : 0;
  const haveErrors = found?.problemCounts.some(({ severity, count }) => severity === "ERROR" && count > 0);
  const provider = metadata?.provider?.shortName ?? metadata?.provider?.name;
  return (
    <header class="package-head">
      <Icon icon={found?.icon} name={title} size={64} />
      <div>
        <Heading title={title}>
          <bdi>{title}</bdi>
        </Heading>
        <p class="package-names">
          <code>{address.package}</code>
          <span>
            in{" "}
            <Link to={{ page: "catalog", catalog: address.catalog }}>
              <bdi>{found?.catalog.displayName ?? address.catalog}</bdi>
            </Link>
          </span>
          {provider && (
            <span>
              by <bdi>{provider}</bdi>
            </span>
          )}
          {found && (
            <span>
              <Feed catalog={address.catalog} package={address.package} />
            </span>
          )}
        </p>
        <p class="badges">
          {bundle?.version && <span class="badge info">{bundle.version}</span>}
          {found && <Newest address={address} found={found} shown={bundle?.version} />}
          {found && bundle && <Compatibility address={address} found={found} bundle={bundle} />}
          <InstalledBadges of={installed} />
          {metadata?.capabilityLevel && <span class="badge">{level(metadata.capabilityLevel)}</span>}
          {found?.deprecation && <Deprecated message={found.deprecation.message} />}
          {problems > 0 && (
            <Link class={haveErrors ? "badge danger" : "badge warning"} to={{ ...address, tab: "problems" }}>
              {counted(problems, "problem")}
            </Link>
          )}
        </p>
      </div>
      {found && address.tab !== "install" && (
        <Link class="button primary" to={{ ...address, tab: "install" }}>
          Install
        </Link>
      )}
    </header>
  );
}

/** Whether the version runs on the reader's cluster, or else the highest one that does. */
function Compatibility({ address, found, bundle }: HeadProps & { found: FoundPackage; bundle: BundleDetails }) {
  const text = clusterText(useStore(cluster));
  const names = compatibleNames(found);
  if (!names || names.has(bundle.name)) return null;
  const highest = found.compatible?.nodes[0];
  return (
    <>
      <span class="badge warning">not for {text}</span>
      {highest?.version ? (
        <Link class="badge" stay to={{ ...address, version: highest.version }}>
          {highest.version} is
        </Link>
      ) : (
        <span class="badge">no version is</span>
      )}
    </>
  );
}

/** The highest version, where the default channel has another one at its head. */
function Newest({ address, found, shown }: { address: TabProps["address"]; found: FoundPackage; shown: string | null | undefined }) {
  const newest = found.newest?.nodes[0];
  if (!newest?.version || newest.version === shown) return null;
  return (
    <Link class="badge" stay to={{ ...address, channel: undefined, version: newest.version }} title={`in ${newest.channelNames.join(", ")}`}>
      newest {newest.version}
    </Link>
  );
}

/** Deprecations of the package, of the chosen version, and of the channel that is chosen or the default. */
function Alerts({ address, found, bundle }: HeadProps) {
  const channel = found.channels.find(({ name }) => name === (address.channel ?? found.defaultChannel?.name));
  const what = `The ${channel?.isDefault ? "default " : ""}channel ${channel?.name}`;
  return (
    <>
      {found.deprecation && <DeprecationAlert what="This package" message={found.deprecation.message} />}
      {channel?.deprecation && <DeprecationAlert what={what} message={channel.deprecation.message} />}
      {bundle?.deprecation && (
        <DeprecationAlert what={`Version ${bundle.version ?? bundle.name}`} message={bundle.deprecation.message} />
      )}
    </>
  );
}

function Overview({ address, found, bundle }: TabProps) {
  const metadata = bundle?.metadata ?? found.metadata ?? null;
  const description = metadata?.description ?? found.description ?? found.summary;
  return (
    <div class="halves">
      <div class="stack">
        <section class="card" aria-label="Description">
          {description ? (
            <Markdown text={description} level={2} />
          ) : (
            <p class="subtle">The catalog has no description of it.</p>
          )}
        </section>
        {bundle && <ProvidedApis bundle={bundle} />}
        {bundle && <Requirements catalog={address.catalog} packageName={found.name} bundle={bundle} />}
      </div>
      <aside class="card" aria-label="Facts">
        <Facts metadata={metadata} bundle={bundle} />
      </aside>
    </div>
  );
}

// Who provides an API and who needs it.

import "./package.css";

import { useState } from "preact/hooks";

import { type ApiAddress, Heading, Link } from "../address";
import { Api, type ApiData } from "../generated/documents";
import { Deprecated, Empty, Icon, OpenInPlayground, Result } from "../parts";
import { counted, number } from "../parts/format";
import { useQuery } from "../use-query";

type Page = NonNullable<ApiData["providers"]>;
type Requirers = NonNullable<ApiData["requirers"]>;
type Bundle = Requirers["nodes"][number] & {
  providedApis?: readonly { group: string; version: string; kind: string }[];
};

export default function ApiPage({ address }: { address: ApiAddress }) {
  const { group, kind } = address;
  const [allVersions, setAllVersions] = useState(false);
  const variables = { api: { group, kind }, onlyHeads: allVersions ? null : true };
  const result = useQuery(Api, variables);
  return (
    <article class="package">
      <header>
        <Heading title={kind}>
          <bdi>{kind}</bdi>
        </Heading>
        <p class="package-names">
          <span>API of the group</span> <code>{group || "core"}</code>
        </p>
      </header>
      <label class="check">
        <input type="checkbox" checked={allVersions} onChange={() => setAllVersions(!allVersions)} /> All versions, not
        only channel heads
      </label>
      <Result of={result} document={Api} variables={variables}>
        {({ providers, requirers }) => (
          <div class="stack">
            <Bundles title="Provided by" none={`No package provides ${kind}.`} page={providers} api={address} />
            <Bundles title="Required by" none={`No package requires ${kind}.`} page={requirers} api={address} />
          </div>
        )}
      </Result>
      <OpenInPlayground document={Api} variables={variables} />
    </article>
  );
}

interface BundlesProps {
  title: string;
  none: string;
  page: Page | Requirers | null;
  api: ApiAddress;
}

/** Bundles by their package, so that a package with twenty channels is one item. */
function Bundles({ title, none, page, api }: BundlesProps) {
  const packages = new Map<string, Bundle[]>();
  for (const bundle of page?.nodes ?? []) {
    const key = `${bundle.package.catalog.name}/${bundle.package.name}`;
    packages.set(key, [...(packages.get(key) ?? []), bundle]);
  }
  return (
    <section class="stack">
      <h2>
        {title} <span class="count">{counted(packages.size, "package")}</span>
      </h2>
      {packages.size === 0 && <Empty title={none} />}
      <ul role="list" class="plain-list stack">
        {[...packages].map(([key, bundles]) => (
          <li key={key} class="card row">
            <OfPackage bundles={bundles} api={api} />
          </li>
        ))}
      </ul>
      {page && page.nodes.length < page.totalCount && (
        <p>
          The first {number(page.nodes.length)} of {counted(page.totalCount, "version")} are shown.
        </p>
      )}
    </section>
  );
}

function OfPackage({ bundles, api }: { bundles: readonly Bundle[]; api: ApiAddress }) {
  const [first] = bundles;
  if (!first) return null;
  const { name, displayName, icon, catalog } = first.package;
  return (
    <>
      <Icon icon={icon} name={displayName} />
      <div>
        <h3>
          <Link data-item to={{ page: "package", catalog: catalog.name, package: name }}>
            <bdi>{displayName}</bdi>
          </Link>
        </h3>
        <p class="subtle">
          <code>{name}</code> in <bdi>{catalog.displayName}</bdi>
        </p>
        <ul role="list" class="chips-list">
          {bundles.map((bundle) => (
            <li key={bundle.name}>
              <Link
                class="tag"
                to={{ page: "version", catalog: catalog.name, package: name, bundle: bundle.name }}
                title={bundle.channelNames.join(", ")}
              >
                <bdi>{bundle.version ?? bundle.name}</bdi>
                {apiVersions(bundle, api)}
              </Link>{" "}
              {bundle.deprecation && <Deprecated message={bundle.deprecation.message} />}
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

/** The versions in which a bundle provides the API. */
function apiVersions({ providedApis = [] }: Bundle, { group, kind }: ApiAddress) {
  const versions = providedApis.filter((api) => api.group === group && api.kind === kind).map(({ version }) => version);
  return versions.length > 0 && <span class="subtle"> {versions.join(", ")}</span>;
}

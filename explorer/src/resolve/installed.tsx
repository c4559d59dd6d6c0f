// What is installed, with what the catalogs say of it: an address names bundles only, or little more.

import type { ComponentChildren } from "preact";

import { Link, type ResolveAddress } from "../address";
import { query } from "../client";
import { InstalledBundles } from "../generated/documents";
import { Empty, Loading, Result } from "../parts";
import { usePages } from "../use-pages";
import { useQuery } from "../use-query";
import { completed, type Installed, installedText, isVersion, lookupVariables, type NamedBundle, namedBundles } from "./request";

export interface WithInstalledProps {
  address: ResolveAddress;
  /** What is shown when everything of the installed bundles is known that a request must say. */
  children: (installed: readonly Installed[]) => ComponentChildren;
}

export function WithInstalled({ address, children }: WithInstalledProps) {
  const named = namedBundles(address);
  // The rules of OLM v1 need the name and the version alone.
  const isEnough = address.olm !== "v0" && named.every(({ version }) => version !== undefined);
  if (named.length === 0 || isEnough) return <>{children(completed(named, []).installed)}</>;
  return (
    <LookedUp key={[address.name, ...named.map(({ name }) => name)].join(" ")} address={address} named={named}>
      {children}
    </LookedUp>
  );
}

function LookedUp({ address, named, children }: WithInstalledProps & { named: readonly NamedBundle[] }) {
  const variables = lookupVariables(named, address.name);
  const result = useQuery(InstalledBundles, variables);
  // Every catalog may have each of them.
  const { nodes: found, missing } = usePages(result.data?.bundles, async (after, signal) => {
    const { data } = await query(InstalledBundles, { ...variables, after }, { signal });
    return data.bundles;
  });
  return (
    <Result of={result} document={InstalledBundles} variables={variables}>
      {() => {
        if (missing === "loading") return <Loading />;
        if (missing === "failed") return <Unread onRetry={result.retry} />;
        const { installed, withoutVersion } = completed(named, [...found, ...(result.data?.ofVersions?.nodes ?? [])], address.name);
        if (withoutVersion.length > 0) return <NoVersion names={withoutVersion} wanted={address.name} />;
        return (
          <div class="stack">
            {address.olm === "v0" && <NoPackage address={address} installed={installed} />}
            {children(installed)}
          </div>
        );
      }}
    </Result>
  );
}

/** Without all of it, a bundle would seem to be in no catalog. */
function Unread({ onRetry }: { onRetry: () => void }) {
  return (
    <div class="alert danger" role="alert">
      <div>
        <p>Not all that the catalogs say of the installed bundles could be loaded.</p>
        <p class="actions">
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        </p>
      </div>
    </div>
  );
}

function NoVersion({ names: [first = "", ...others], wanted }: { names: readonly string[]; wanted: string | undefined }) {
  const example = isVersion(first) ? `NAME@${first}` : `${first}@VERSION`;
  return (
    <Empty title={others.length > 0 ? "Some installed bundles are not known" : "The installed bundle is not known"}>
      <p>
        No catalog that is served has {isVersion(first) && "the version "}
        <bdi>{[first, ...others].join(", ")}</bdi>
        {isVersion(first) && (
          <>
            {" "}
            of the package <bdi>{wanted}</bdi>
          </>
        )}
        . Write the bundle as <code>{example}</code>.
      </p>
    </Empty>
  );
}

/** Says which bundles no catalog has, and lets the reader say of which package they are: their names do not. */
function NoPackage({ address, installed }: { address: ResolveAddress; installed: readonly Installed[] }) {
  const unknown = installed.filter(({ packageName }) => packageName === undefined);
  if (unknown.length === 0) return null;
  return (
    <ul role="list" class="alert info">
      {unknown.map((bundle) => {
        const of = installed.map((each) => (each === bundle ? { ...each, packageName: address.name } : each));
        return (
          <li key={bundle.name}>
            <p>
              No catalog that is served has <bdi>{bundle.name}</bdi>, so that its package is not known. Write <code>PACKAGE/{bundle.name}</code> to
              say it.
            </p>
            <p class="actions">
              <Link class="button" to={{ ...address, installed: installedText(of) }} stay>
                It is one of {address.name}
              </Link>
            </p>
          </li>
        );
      })}
    </ul>
  );
}

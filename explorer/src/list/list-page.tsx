// The list of packages: search, facets, tiles.

import "./list.css";

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";

import { Heading, href, Link, type ListAddress, navigate, recall, remember, replace } from "../address";
import { clusterText, cluster, setCluster } from "../cluster/cluster";
import { useInstalled } from "../cluster/use-installed";
import { Packages, type PackagesData } from "../generated/documents";
import { Dialog, Failure, Loading, OpenInPlayground } from "../parts";
import { counted } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { useStore } from "../store";
import { onDemand } from "../use-module";
import { type QueryState, useQuery } from "../use-query";
import { chipsOf, sortOf, variablesOf, withoutConditions } from "./conditions";
import { Facets } from "./facets";
import { SearchField } from "./search-field";
import { Tiles } from "./tiles";

type Found = NonNullable<PackagesData["packages"]>;

export function ListPage({ address }: { address: ListAddress }) {
  const variables = variablesOf(address);
  const result = useQuery(Packages, variables);
  const found = result.data?.packages ?? undefined;
  const [filtersAreOpen, openFilters] = useState(false);
  const catalogName = (name: string) => found?.facets?.catalogs?.find(({ value }) => value === name)?.displayName ?? name;
  const chips = chipsOf(address, catalogName);
  const facets = useFacets(address, found);
  const setLeaving = useLeaving(result);
  return (
    <div class="list">
      <a class="skip" href="#packages">
        Skip the filters
      </a>
      <aside class="side" aria-label="Filters">
        {facets ?? (!result.error && <Loading boxes={12} />)}
      </aside>
      <section class="results" id="packages" tabIndex={-1} aria-label="Packages">
        <Heading title={address.q ? `${address.q} · Packages` : "Packages"}>Packages</Heading>
        <div class="tools">
          <SearchField
            label="Search packages"
            value={address.q ?? ""}
            onChange={(q) => replace({ ...address, q })}
            onLeave={setLeaving}
          />
          <button type="button" class="filters" aria-haspopup="dialog" onClick={() => openFilters(true)}>
            <Glyph name="filter" />
            Filters{chips.length > 0 && ` (${chips.length})`}
          </button>
          <Sort address={address} />
        </div>
        <div class="summary-row">
          <p role="status">{found && counted(found.totalCount, "package")}</p>
          <Chips chips={chips} address={address} />
          <ClusterChip />
          {(found?.facets?.catalogs?.length ?? 0) > 1 && <EachCatalog address={address} />}
          {!result.error && <OpenInPlayground document={Packages} variables={variables} />}
        </div>
        {address.q && <Meanings address={{ ...address, q: address.q }} total={result.stale ? undefined : found?.totalCount} />}
        <Failure of={result} document={Packages} variables={variables} />
        {found ? <Matches address={address} found={found} result={result} /> : !result.error && <Loading class="tiles" boxes={12} />}
      </section>
      <Dialog title="Filters" class="filter-dialog" open={filtersAreOpen} onClose={() => openFilters(false)}>
        {facets}
        <button type="button" class="primary" onClick={() => openFilters(false)}>
          Show {found ? counted(found.totalCount, "package") : "packages"}
        </button>
      </Dialog>
    </div>
  );
}

/** What only a search shows, and what only one that finds nothing. */
const Hints = onDemand(async () => (await import("./hints")).Hints);
const Nothing = onDemand(async () => (await import("./nothing")).Nothing, <Loading boxes={3} />);

/** What else the search could mean. Its line is there before what is in it, so that the tiles stay where they are. */
function Meanings({ address, total }: { address: ListAddress & { q: string }; total: number | undefined }) {
  return <p class="hints">{total !== undefined && <Hints address={address} total={total} />}</p>;
}

/** The facets. They are rendered after the tiles are painted, which they would hold up. */
function useFacets(address: ListAddress, found: Found | undefined) {
  const current = useMemo(() => ({ address, found }), [href(address), found]);
  const [{ address: painted, found: shown }, setPainted] = useState<Partial<typeof current>>({});
  useEffect(() => setPainted(current), [current]);
  return useMemo(() => painted && shown?.facets && <Facets address={painted} counts={shown.facets} total={shown.totalCount} />, [painted, shown]);
}

/**
 * Moves the focus from the search to the first result as soon as the result is that of what was typed. Enter opens the
 * only one. Returns what begins that.
 */
function useLeaving({ data, stale, loading }: QueryState<PackagesData>) {
  const [leaving, setLeaving] = useState<"Enter" | "ArrowDown">();
  const isSettled = !stale && !loading;
  useEffect(() => {
    if (!leaving || !isSettled) return;
    setLeaving(undefined);
    const first = document.querySelector<HTMLElement>(".tiles [data-item]");
    if (leaving === "Enter" && data?.packages?.totalCount === 1) first?.click();
    else first?.focus();
  }, [leaving, isSettled]);
  return setLeaving;
}

/** The switch between one tile for each package and one for each catalog that has it. */
function EachCatalog({ address }: { address: ListAddress }) {
  const isEach = address.each === "catalog";
  return (
    <label class="each">
      <input type="checkbox" checked={isEach} onChange={() => navigate({ ...address, each: isEach ? undefined : "catalog" }, { stay: true })} /> A
      tile for each catalog
    </label>
  );
}

/** That the list leaves out what does not run on the reader's cluster, with what ends that. */
function ClusterChip() {
  const text = clusterText(useStore(cluster));
  if (!text) return null;
  return (
    <button
      type="button"
      class="chip"
      aria-label={`Runs on ${text}: show packages for every cluster`}
      title="Packages that say nothing of a highest version are among them"
      onClick={() => setCluster({ ...cluster.get(), openshift: undefined, kubernetes: undefined, architecture: undefined })}
    >
      <span class="label">Runs on</span> {text}
      <Glyph name="close" />
    </button>
  );
}

function Matches({ address, found, result: { stale, loading } }: { address: ListAddress; found: Found; result: QueryState<PackagesData> }) {
  const key = JSON.stringify(address);
  const [state, setState] = useState({ key, pages: recall<number>("pages") ?? 1 });
  // Another list begins with its first page, or with as many as it had when it was left.
  const pages = state.key === key ? state.pages : (recall<number>("pages") ?? 1);
  const installed = useInstalled();
  const more = useCallback(() => {
    remember("pages", pages + 1);
    setState({ key, pages: pages + 1 });
  }, [key, pages]);
  if (found.totalCount === 0) return <Nothing address={address} />;
  return (
    <ul role="list" class={stale ? "tiles stale" : "tiles"} aria-busy={stale && loading}>
      <Tiles address={address} page={found} installed={installed} shown={stale ? 1 : pages} onMore={more} />
    </ul>
  );
}

function Sort({ address }: { address: ListAddress }) {
  const sort = sortOf(address);
  return (
    <label class="sort">
      Sort by
      <select
        value={sort}
        onChange={({ currentTarget }) => navigate({ ...address, sort: currentTarget.value as "best" | "name" | "new" }, { stay: true })}
      >
        {address.q && <option value="best">Best match</option>}
        <option value="name">Name</option>
        <option value="new">Newest</option>
      </select>
    </label>
  );
}

function Chips({ chips, address }: { chips: ReturnType<typeof chipsOf>; address: ListAddress }) {
  if (chips.length === 0) return null;
  return (
    <ul role="list" class="chips" aria-label="Active filters">
      {chips.map(({ label, value, without }) => (
        <li key={`${label} ${value}`}>
          <Link stay to={without} class="chip" aria-label={`Remove the filter ${label}: ${value}`}>
            <span class="label">{label}</span> <bdi>{value}</bdi>
            <Glyph name="close" />
          </Link>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <Link stay to={withoutConditions(address)} class="clear">
            Clear all
          </Link>
        </li>
      )}
    </ul>
  );
}

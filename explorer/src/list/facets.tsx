// The facets at the side of the list, each with the number of packages for each of its values.

import { useId, useState } from "preact/hooks";

import { type ListAddress, navigate } from "../address";
import { FacetValues, type PackagesData } from "../generated/documents";
import { Failure } from "../parts";
import { number } from "../parts/format";
import { useDebounced } from "../use-debounced";
import { useQuery } from "../use-query";
import { filterOf, type ListKey, toggled } from "./conditions";

type Counts = NonNullable<NonNullable<PackagesData["packages"]>["facets"]>;

interface Value {
  value: string;
  displayName?: string;
  count: number;
}

/** So many values are shown until somebody wants to see them all. */
const SHORT = 8;

export function Facets({ address, counts }: { address: ListAddress; counts: Counts }) {
  const { catalogs, categories, providers, keywords } = counts;
  return (
    <div class="facets">
      {(catalogs?.length ?? 0) > 1 && <Facet title="Catalog" of="in" values={catalogs} address={address} />}
      <Facet title="Category" of="category" values={categories} address={address} />
      <Facet title="Provider" of="provider" values={providers} address={address} isSearched />
      <Facet title="Capability level" of="level" values={counts.capabilityLevels} address={address} />
      <Deprecation address={address} counts={counts} />
      <Facet title="Install mode" of="mode" values={counts.installModes} address={address} />
      <Facet title="Feature" of="feature" values={counts.infrastructureFeatures} address={address} />
      <Facet title="Keyword" of="keyword" values={keywords} address={address} isSearched />
    </div>
  );
}

interface FacetProps {
  title: string;
  of: ListKey;
  values: readonly Value[] | null;
  address: ListAddress;
  /** Whether it has too many values to list, so that one looks for them. */
  isSearched?: boolean;
}

function Facet({ title, of, values, address, isSearched = false }: FacetProps) {
  const [isLong, setLong] = useState(false);
  const chosen = address[of];
  const all = withChosen(values ?? [], chosen);
  if (all.length === 0) return null;
  const shown = isLong || all.length <= SHORT + 1 ? all : all.filter(({ value }, at) => at < SHORT || chosen.includes(value));
  return (
    <fieldset>
      <legend>{title}</legend>
      {isLong && isSearched ? <Search title={title} of={of} address={address} /> : <Values of={of} values={shown} address={address} />}
      {(shown.length < all.length || isSearched || isLong) && (
        <button type="button" class="plain" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
          {isLong ? "Show fewer" : isSearched ? "Find another" : `Show all ${number(all.length)}`}
          <span class="unseen"> of {title}</span>
        </button>
      )}
    </fieldset>
  );
}

function Values({ of, values, address }: { of: ListKey; values: readonly Value[]; address: ListAddress }) {
  return (
    <ul role="list">
      {values.map(({ value, displayName = value, count }) => (
        <li key={value}>
          <label title={displayName}>
            <input
              type="checkbox"
              checked={address[of].includes(value)}
              onChange={() => navigate(toggled(address, of, value), { stay: true })}
            />
            <bdi>{displayName}</bdi>
            <span class="number">{number(count)}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}

/** Looks for values by a part of them. */
function Search({ title, of, address }: { title: string; of: ListKey; address: ListAddress }) {
  const [text, setText] = useState("");
  const search = useDebounced(text);
  const providers = of === "provider";
  const variables = { catalogs: address.in, filter: filterOf(address), search, providers };
  const result = useQuery(FacetValues, variables);
  const facets = result.data?.packages?.facets;
  const values = (providers ? facets?.providers : facets?.keywords) ?? [];
  return (
    <>
      <input
        type="search"
        aria-label={`Find a ${title.toLowerCase()}`}
        placeholder={`Find a ${title.toLowerCase()}`}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Values of={of} values={search ? values : withChosen(values, address[of])} address={address} />
      {facets && !result.stale && !result.error && values.length === 0 && <p class="none">None has “{search}” in it.</p>}
      <Failure of={result} document={FacetValues} variables={variables} />
    </>
  );
}

function Deprecation({ address, counts }: { address: ListAddress; counts: Counts }) {
  const name = useId();
  const count = (wanted: boolean) => counts.deprecated.find(({ value }) => value === wanted)?.count ?? 0;
  if (count(true) + count(false) === 0 && !address.deprecated) return null;
  const choices = [
    { label: "All", value: undefined, count: count(true) + count(false) },
    { label: "Without deprecated", value: "no", count: count(false) },
    { label: "Only deprecated", value: "only", count: count(true) },
  ] as const;
  return (
    <fieldset>
      <legend>Deprecation</legend>
      <ul role="list">
        {choices.map(({ label, value, count }) => (
          <li key={label}>
            <label>
              <input
                type="radio"
                name={name}
                checked={address.deprecated === value}
                onChange={() => navigate({ ...address, deprecated: value }, { stay: true })}
              />
              {label}
              <span class="number">{number(count)}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

/** The values, and those that are chosen although no package has them. */
function withChosen(values: readonly Value[], chosen: readonly string[]): readonly Value[] {
  const missing = chosen.filter((each) => !values.some(({ value }) => value === each));
  return [...values, ...missing.map((value) => ({ value, count: 0 }))];
}

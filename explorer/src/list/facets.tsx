// The facets at the side of the list, each with the number of packages for each of its values.

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { type ListAddress, navigate } from "../address";
import { FacetValues, type PackagesData } from "../generated/documents";
import { Failure } from "../parts";
import { number } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { useDebounced } from "../use-debounced";
import { useQuery } from "../use-query";
import { filterOf, type ListKey, toggled } from "./conditions";

type Counts = NonNullable<NonNullable<PackagesData["packages"]>["facets"]>;

/** Facets that are open at first; of the others the title is shown, so that few keys lead past all of them. */
const OPEN_AT_FIRST: readonly string[] = ["Catalog", "Category", "Deprecation"];

/** Which facets the reader opened or closed since the page was loaded. */
const choices = new Map<string, boolean>();

interface Value {
  value: string;
  displayName?: string;
  count: number;
}

/** So many values are shown until somebody wants to see them all. */
const SHORT = 8;

export interface FacetsProps {
  address: ListAddress;
  counts: Counts;
  /** Packages of the list. */
  total: number;
}

export function Facets({ address, counts, total }: FacetsProps) {
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
      <Certified address={address} counts={counts} total={total} />
      <Facet title="Architecture" of="arch" values={counts.architectures} address={address} />
      <Facet title="OLM v1" of="olmv1" values={counts.olmV1} address={address} />
      <Facet title="Keyword" of="keyword" values={keywords} address={address} isSearched />
    </div>
  );
}

interface GroupProps {
  title: string;
  /** How many conditions it sets. */
  chosen: number;
  children: ComponentChildren;
}

/** A facet with a title that opens and closes it. */
function Group({ title, chosen, children }: GroupProps) {
  const [isOpen, setOpen] = useState(() => choices.get(title) ?? (chosen > 0 || OPEN_AT_FIRST.includes(title)));
  const toggle = () => {
    choices.set(title, !isOpen);
    setOpen(!isOpen);
  };
  return (
    <fieldset>
      <legend>
        <button type="button" aria-expanded={isOpen} onClick={toggle}>
          {title}
          {!isOpen && chosen > 0 && ` (${chosen})`}
          <Glyph name="unfold" />
        </button>
      </legend>
      {isOpen && children}
    </fieldset>
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
    <Group title={title} chosen={chosen.length}>
      {isLong && isSearched ? <Search title={title} of={of} address={address} /> : <Values of={of} values={shown} address={address} />}
      {(shown.length < all.length || isSearched || isLong) && (
        <button type="button" class="plain" aria-expanded={isLong} onClick={() => setLong(!isLong)}>
          {isLong ? "Show fewer" : isSearched ? "Find another" : `Show all ${number(all.length)}`}
          <span class="unseen"> of {title}</span>
        </button>
      )}
    </Group>
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

type Answers = Counts["certified"];

/** Choices of which one is taken: all, or those that meet a condition, or those that do not. */
interface OneOfProps {
  title: string;
  of: "certified" | "deprecated";
  address: ListAddress;
  options: readonly (readonly [label: string, value: string | undefined, count: number])[];
  children?: ComponentChildren;
}

function OneOf({ title, of, address, options, children }: OneOfProps) {
  const name = useId();
  return (
    <Group title={title} chosen={address[of] ? 1 : 0}>
      <ul role="list">
        {options.map(([label, value, count]) => (
          <li key={label}>
            <label>
              <input type="radio" name={name} checked={address[of] === value} onChange={() => navigate({ ...address, [of]: value }, { stay: true })} />
              {label}
              <span class="number">{number(count)}</span>
            </label>
          </li>
        ))}
      </ul>
      {children}
    </Group>
  );
}

function countsOf(answers: Answers): [yes: number, no: number] {
  const count = (wanted: boolean) => answers.find(({ value }) => value === wanted)?.count ?? 0;
  return [count(true), count(false)];
}

function Deprecation({ address, counts }: { address: ListAddress; counts: Counts }) {
  const [yes, no] = countsOf(counts.deprecated);
  if (yes + no === 0 && !address.deprecated) return null;
  const options = [["All", undefined, yes + no] as const, ["Without deprecated", "no", no] as const, ["Only deprecated", "only", yes] as const];
  return (
    <OneOf title="Deprecation" of="deprecated" address={address} options={options}>
      <p class="none">By the marks of the catalog, not by names.</p>
    </OneOf>
  );
}

/** Most packages may say nothing, which is neither yes nor no. */
function Certified({ address, counts, total }: { address: ListAddress; counts: Counts; total: number }) {
  const [yes, no] = countsOf(counts.certified);
  if (yes + no === 0 && !address.certified) return null;
  const silent = total - yes - no;
  const options = [["Any", undefined, address.certified ? yes + no : total] as const, ["Certified", "yes", yes] as const, ["Not certified", "no", no] as const];
  return (
    <OneOf title="Certified" of="certified" address={address} options={options}>
      {!address.certified && silent > 0 && <p class="none">{number(silent)} say nothing.</p>}
    </OneOf>
  );
}

/** The values, and those that are chosen although no package has them. */
function withChosen(values: readonly Value[], chosen: readonly string[]): readonly Value[] {
  const missing = chosen.filter((each) => !values.some(({ value }) => value === each));
  return [...values, ...missing.map((value) => ({ value, count: 0 }))];
}

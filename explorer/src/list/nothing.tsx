// What is shown where no package matches: what was asked, what is near to it, and how to ask for more.

import { useEffect, useState } from "preact/hooks";

import { EVERYTHING, Link, type ListAddress } from "../address";
import { PackageCount, SuggestPackages } from "../generated/documents";
import { Empty } from "../parts";
import { counted } from "../parts/format";
import { DidYouMean, useSimilarPackages } from "../parts/similar";
import { useQuery } from "../use-query";
import { chipsOf, filterOf, withoutConditions } from "./conditions";
import { NoCatalogs } from "./no-catalogs";

/** Packages that are proposed. */
const PROPOSALS = 3;

/** Letters at the beginning of what is searched that a proposal may have in common with it. */
const BEGINNING = { least: 3, most: 16 };

export function Nothing({ address }: { address: ListAddress }) {
  const chips = chipsOf(address, (name) => name);
  if (!address.q && chips.length === 0) return <NoCatalogs />;
  const asked = [address.q && `“${address.q}”`, ...chips.map(({ label, value }) => `${label.toLowerCase()} ${value}`)];
  return (
    <Empty title="No package matches">
      <p>You asked for {asked.filter(Boolean).join(", ")}.</p>
      {address.q && <Near key={address.q} q={address.q} catalogs={address.in} />}
      {chips.length > 0 && <WithoutFilters address={address} />}
      {address.q && (
        <Link class="button" to={{ ...address, q: undefined }}>
          Clear the search
        </Link>
      )}
      <Link to={EVERYTHING}>Show all packages</Link>
    </Empty>
  );
}

/** The way to the same search without filters, with how many packages it finds. */
function WithoutFilters({ address }: { address: ListAddress }) {
  const wider = withoutConditions(address);
  const { data } = useQuery(PackageCount, { filter: filterOf(wider) });
  return (
    <Link class="button" to={wider}>
      Remove all filters{data?.packages && `: ${counted(data.packages.totalCount, "package")}`}
    </Link>
  );
}

interface NearProps {
  q: string;
  catalogs: readonly string[];
}

/** Packages whose names are spelled similarly, then those whose names begin alike. */
function Near({ q, catalogs }: NearProps) {
  const packageName = q.trim().replace(/\s+/g, "-");
  const similar = useSimilarPackages(packageName, catalogs);
  const alike = useAlike(q, catalogs);
  const names = [...new Set([...similar, ...alike])].slice(0, PROPOSALS);
  return <DidYouMean names={names} to={(name) => ({ page: "package", package: name })} />;
}

/** Names that begin with the most letters of a text that any name begins with. */
function useAlike(q: string, catalogs: readonly string[]): string[] {
  const [length, setLength] = useState(Math.min(q.length - 1, BEGINNING.most));
  const isShort = length < BEGINNING.least;
  const { data, stale } = useQuery(SuggestPackages, { text: q.slice(0, length), catalogs }, { skip: isShort });
  const found = isShort || stale ? undefined : data?.suggest;
  useEffect(() => {
    if (found?.length === 0) setLength(length - 1);
  }, [found]);
  return found?.map(({ text }) => text) ?? [];
}

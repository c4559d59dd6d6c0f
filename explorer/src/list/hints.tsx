// What else a search could mean: kinds of APIs, and the search without one of its words where all of them find little.

import { Link, type ListAddress } from "../address";
import { ApiCounts, PackageCount, SuggestApis } from "../generated/documents";
import { counted, number } from "../parts/format";
import { useQuery } from "../use-query";
import { filterOf } from "./conditions";

/** With fewer packages than that, the search without a word is offered. */
const FEW_PACKAGES = 3;

/** Words of which the search without one is counted. */
const MAX_WORDS = 5;

/** Letters from which a text is completed to kinds of APIs: fewer are the beginning of too many. */
const MIN_KIND_LETTERS = 3;

export interface HintsProps {
  address: ListAddress & { q: string };
  /** How many packages are found. */
  total: number;
}

export function Hints({ address, total }: HintsProps) {
  const words = address.q.split(/\s+/).slice(0, MAX_WORDS);
  const isLittle = total < FEW_PACKAGES && words.length > 1;
  return (
    <>
      {address.q.length >= MIN_KIND_LETTERS && <Apis address={address} />}
      {isLittle && words.map((word, at) => <Without key={at} address={address} total={total} word={word} at={at} />)}
    </>
  );
}

function Apis({ address }: Pick<HintsProps, "address">) {
  const { data } = useQuery(SuggestApis, { text: address.q, catalogs: address.in });
  return <>{data?.suggest?.map(({ api }) => api && <Api key={`${api.group}/${api.kind}`} {...api} />)}</>;
}

function Api({ group, kind }: { group: string; kind: string }) {
  const { data } = useQuery(ApiCounts, { api: { group, kind } });
  const requirers = data?.requirers?.nodes ?? [];
  const needing = new Set(requirers.map((bundle) => `${bundle.package.catalog.name}/${bundle.package.name}`)).size;
  return (
    <Link class="hint" to={{ page: "api", group, kind }}>
      <span>
        API <bdi>{kind}</bdi> (<bdi>{group || "core"}</bdi>)
        {data?.providers && `: ${number(data.providers.totalCount)} provide, ${number(needing)} need it`}
      </span>
    </Link>
  );
}

function Without({ address, total, word, at }: HintsProps & { word: string; at: number }) {
  const q = address.q
    .split(/\s+/)
    .filter((_, other) => other !== at)
    .join(" ");
  const wider = { ...address, q };
  const { data } = useQuery(PackageCount, { catalogs: address.in, filter: filterOf(wider) });
  const count = data?.packages?.totalCount ?? 0;
  if (count <= total) return null;
  return (
    <Link class="hint" stay to={wider}>
      <span>
        Without “<bdi>{word}</bdi>”: {counted(count, "package")}
      </span>
    </Link>
  );
}

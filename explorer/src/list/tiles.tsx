// The tiles, page after page: the next one comes when the end is near, or at a click.

import { useEffect, useRef } from "preact/hooks";

import type { ListAddress } from "../address";
import { Packages, type PackagesData } from "../generated/documents";
import { Failure, Loading } from "../parts";
import { useQuery } from "../use-query";
import { variablesOf } from "./conditions";
import { Tile } from "./tile";

type Page = PackagesData["packages"];

export interface TilesProps {
  address: ListAddress;
  page: NonNullable<Page>;
  /** How many pages are shown, this one included. */
  shown: number;
  onMore: () => void;
}

/** The tiles of a page and of those after it. */
export function Tiles({ address, page: { edges, pageInfo }, shown, onMore }: TilesProps) {
  const { endCursor } = pageInfo;
  return (
    <>
      {edges.map(({ node, matched }) => (
        <Tile key={`${node.catalog.name}/${node.name}`} of={node} matched={matched} />
      ))}
      {pageInfo.hasNextPage && endCursor && shown > 1 && (
        <Further key={endCursor} address={address} after={endCursor} shown={shown - 1} onMore={onMore} />
      )}
      {pageInfo.hasNextPage && shown === 1 && <More onMore={onMore} />}
    </>
  );
}

function Further({ address, after, shown, onMore }: { address: ListAddress; after: string; shown: number; onMore: () => void }) {
  const variables = variablesOf(address, after);
  const { data, error, retry } = useQuery(Packages, variables);
  if (data?.packages) return <Tiles address={address} page={data.packages} shown={shown} onMore={onMore} />;
  return (
    <li class="whole">
      {error ? <Failure error={error} retry={retry} document={Packages} variables={variables} /> : <Loading class="tiles" boxes={4} />}
    </li>
  );
}

function More({ onMore }: { onMore: () => void }) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!item.current) return undefined;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onMore(), { rootMargin: "1200px" });
    observer.observe(item.current);
    return () => observer.disconnect();
  }, [onMore]);
  return (
    <li class="whole more" ref={item}>
      <button type="button" onClick={onMore}>
        Show more
      </button>
    </li>
  );
}

// The tiles, page after page: the next one comes when the end is near, or at a click.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ListAddress } from "../address";
import type { InstalledState } from "../cluster/use-installed";
import { Packages, type PackagesData } from "../generated/documents";
import { Failure, Loading } from "../parts";
import { useQuery } from "../use-query";
import { variablesOf } from "./conditions";
import { Tile } from "./tile";

type Page = PackagesData["packages"];

type Edge = NonNullable<Page>["edges"][number];

const NONE: ReadonlySet<string> = new Set();

export interface TilesProps {
  address: ListAddress;
  page: NonNullable<Page>;
  installed: readonly InstalledState[];
  /** Names of packages that have a tile already, with the other catalogs that have them. */
  known?: ReadonlySet<string>;
  /** How many pages are shown, this one included. */
  shown: number;
  onMore: () => void;
}

/**
 * Tiles that there are at each painting of a new list, so that no task takes long: at first as many as a window shows. The
 * second painting is that of the facets.
 */
const TILES_AT_PAINTING = [16, 16, 36];

/** The tiles of a page and of those after it. */
export function Tiles({ address, page: { edges, pageInfo }, installed, known = NONE, shown, onMore }: TilesProps) {
  const { endCursor } = pageInfo;
  // Each rendering gives other objects for the same operators.
  const state = JSON.stringify(installed);
  const isGrouped = address.each !== "catalog";
  const [tiles, names] = useMemo(() => {
    const groups = new Map<string, Edge[]>();
    for (const edge of edges) {
      const key = isGrouped ? edge.node.name : `${edge.node.catalog.name}/${edge.node.name}`;
      if (!known.has(key)) groups.set(key, [...(groups.get(key) ?? []), edge]);
    }
    const tiles = [...groups].map(([key, group]) => {
      const [{ node, matched }] = group as [Edge];
      const own = installed.filter(({ packageName }) => packageName === node.name);
      return <Tile key={key} of={node} matched={matched} installed={own} catalogs={group.map(({ node }) => node.catalog.displayName)} />;
    });
    return [tiles, new Set([...known, ...groups.keys()])] as const;
  }, [edges, isGrouped, known, state]);
  const made = useGrowing(tiles);
  const hasNext = pageInfo.hasNextPage && made >= tiles.length;
  return (
    <>
      {tiles.slice(0, made)}
      {hasNext && endCursor && shown > 1 && (
        <Further key={endCursor} address={address} after={endCursor} installed={installed} known={names} shown={shown - 1} onMore={onMore} />
      )}
      {hasNext && shown === 1 && <More onMore={onMore} />}
    </>
  );
}

/** How many of the tiles are made. */
function useGrowing(tiles: readonly unknown[]): number {
  const former = useRef<readonly unknown[]>(undefined);
  // A list that replaces another one is whole at once where the reader is further down the page, which would jump.
  const isWhole = useMemo(() => former.current !== undefined && scrollY > 0, [tiles]);
  const [state, setState] = useState({ tiles, paintings: 0 });
  const paintings = state.tiles === tiles ? state.paintings : 0;
  const made = isWhole ? tiles.length : (TILES_AT_PAINTING[paintings] ?? tiles.length);
  useEffect(() => {
    former.current = tiles;
    if (made < tiles.length) setState({ tiles, paintings: paintings + 1 });
  }, [tiles, paintings]);
  return made;
}

interface FurtherProps extends Omit<TilesProps, "page"> {
  after: string;
}

function Further({ address, after, installed, known, shown, onMore }: FurtherProps) {
  const variables = variablesOf(address, after);
  const result = useQuery(Packages, variables);
  const found = result.data?.packages;
  if (found) return <Tiles address={address} page={found} installed={installed} {...(known && { known })} shown={shown} onMore={onMore} />;
  return (
    <li class="whole">
      {result.error ? <Failure of={result} document={Packages} variables={variables} /> : <Loading class="tiles" boxes={4} />}
    </li>
  );
}

function More({ onMore }: { onMore: () => void }) {
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!item.current) return undefined;
    // A busy page is told of several observations at once, of which the last counts.
    const observer = new IntersectionObserver((entries) => entries.at(-1)?.isIntersecting && onMore(), { rootMargin: "1200px" });
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

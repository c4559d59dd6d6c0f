// A package in the list: one link with what tells it from others.

import { Link } from "../address";
import type { SearchField, Tile as Shown } from "../generated/documents";
import { Deprecated, Icon } from "../parts";

export interface TileProps {
  of: Shown;
  /** Where the words of the search were found, best first. */
  matched: readonly SearchField[];
}

export function Tile({ of, matched }: TileProps) {
  const { name, displayName, summary, catalog, icon, metadata, latest, deprecation, defaultChannel } = of;
  const provider = metadata?.provider?.shortName;
  const id = `${catalog.name}/${name}`;
  const message = deprecation?.message ?? (defaultChannel?.deprecation && `Channel ${defaultChannel.name}: ${defaultChannel.deprecation.message}`);
  return (
    <li>
      <Link class="tile" data-item to={{ page: "package", catalog: catalog.name, package: name }} aria-labelledby={`${id}/title ${id}/foot`}>
        <span class="top">
          <Icon icon={icon} name={displayName} />
          <span class="titles" id={`${id}/title`}>
            <span class="title" title={displayName}>
              <bdi>{displayName}</bdi>
            </span>{" "}
            <span class="name">
              <bdi>{name}</bdi>
            </span>
          </span>
        </span>
        {provider && (
          <span class="provider">
            by <bdi>{provider}</bdi>
          </span>
        )}
        <span class="summary">
          <bdi>{summary}</bdi>
        </span>
        <span class="foot" id={`${id}/foot`}>
          {latest?.version && <span class="version">{latest.version}</span>}
          <span class="catalog">{catalog.displayName}</span>
          {where(matched)}
          {message && <Deprecated message={message} />}
        </span>
      </Link>
    </li>
  );
}

const PLACES: Partial<Record<SearchField, string>> = {
  KEYWORDS: "in keywords",
  PROVIDER: "in provider",
  DESCRIPTION: "in description",
};

/** Where a match is that the names do not show. */
function where(matched: readonly SearchField[]) {
  const place = matched[0] && PLACES[matched[0]];
  return place && <span class="badge">{place}</span>;
}

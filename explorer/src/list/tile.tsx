// A package in the list, with what tells it from others. All of it is the target of its link.

import { Link } from "../address";
import { InstalledBadges } from "../cluster/installed-badges";
import type { InstalledState } from "../cluster/use-installed";
import type { SearchField, Tile as Shown } from "../generated/documents";
import { Deprecated, Icon } from "../parts";

export interface TileProps {
  of: Shown;
  /** Where the words of the search were found, best first. */
  matched: readonly SearchField[];
  /** What of it is installed in the reader's cluster. */
  installed: readonly InstalledState[];
  /** Display names of the catalogs that have the package. */
  catalogs: readonly string[];
}

export function Tile({ of, matched, installed, catalogs }: TileProps) {
  const { name, displayName, summary, catalog, icon, metadata, latest, newest, deprecation, defaultChannel } = of;
  const highest = newest?.nodes[0]?.version;
  const provider = metadata?.provider?.shortName;
  return (
    <li class="tile">
      <div class="top">
        <Icon icon={icon} name={displayName} />
        <Link class="titles" data-item to={{ page: "package", catalog: catalogs.length > 1 ? undefined : catalog.name, package: name }}>
          <span class="title" title={displayName}>
            <bdi>{displayName}</bdi>
          </span>{" "}
          <span class="name">
            <bdi>{name}</bdi>
          </span>
        </Link>
      </div>
      {provider && (
        <p class="provider" title={provider}>
          by <bdi>{provider}</bdi>
        </p>
      )}
      <p class="summary">
        <bdi>{summary}</bdi>
      </p>
      <p class="foot">
        {latest?.version && <span class="version">{latest.version}</span>}
        {highest && highest !== latest?.version && (
          // OLM v1 installs it unless a channel or a range is given.
          <span class="version" title="In another channel than the default one">
            newest {highest}
          </span>
        )}
        <span class="catalog" title={catalogs.join(", ")}>
          {catalogs.length > 1 ? `in ${catalogs.length} catalogs` : catalog.displayName}
        </span>
        {where(matched)}
        <InstalledBadges of={installed} />
        {deprecation ? (
          <Deprecated message={deprecation.message} />
        ) : (
          // The filter without deprecated packages shows these all the same.
          (defaultChannel?.deprecation && (
            <Deprecated label="Deprecated channel" message={`Channel ${defaultChannel.name}: ${defaultChannel.deprecation.message}`} />
          )) ||
          (/deprecat/i.test(displayName) && <span class="badge warning">its name says deprecated</span>)
        )}
      </p>
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

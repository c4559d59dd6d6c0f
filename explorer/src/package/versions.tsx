// The versions of a package as a table.

import { useState } from "preact/hooks";

import { Link, navigate } from "../address";
import { PackageVersions } from "../generated/documents";
import { channelLabel } from "../graph/label";
import { type ColumnHead, Day, Deprecated, Empty, OpenInPlayground, Result, Table } from "../parts";
import { counted, number } from "../parts/format";
import type { TabProps } from "./package-page";
import type { PackageVersion } from "./use-versions";

/** Rows that are shown at once; the others on demand. */
const SHOWN_ROWS = 100;

export function VersionTable({ address, found, versions: all }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name };
  const { result, found: graph, versions, missing } = all;
  const [isAll, setAll] = useState(false);
  const { channel } = address;
  const matching = channel ? versions.filter(({ channelNames }) => channelNames.includes(channel)) : versions;
  const previous = previousOf(graph?.channels ?? [], versions);
  const shown = isAll ? matching : matching.slice(0, SHOWN_ROWS);
  return (
    <>
      <Result of={result} document={PackageVersions} variables={variables}>
        {() => (
          <div class="stack">
            <div class="graph-tools">
              <label class="field">
                Channel
                <select
                  value={channel ?? ""}
                  onChange={({ currentTarget }) =>
                    navigate(
                      { ...address, channel: currentTarget.value || undefined, version: undefined },
                      { stay: true },
                    )
                  }
                >
                  <option value="">All ({found.channels.length})</option>
                  {found.channels.map((each) => (
                    <option key={each.name} value={each.name}>
                      {channelLabel(each)}
                    </option>
                  ))}
                </select>
              </label>
              <p role="status">{counted(matching.length, "version")}</p>
            </div>
            {matching.length === 0 ? (
              <Empty title="No versions" />
            ) : (
              <Rows address={address} versions={shown} all={versions} previous={previous} />
            )}
            {shown.length < matching.length && (
              <p>
                <button type="button" onClick={() => setAll(true)}>
                  Show all {number(matching.length)}
                </button>
              </p>
            )}
          </div>
        )}
      </Result>
      {missing && (
        <p role="status">{missing === "loading" ? "Loading more versions …" : "Not all versions could be loaded."}</p>
      )}
      <OpenInPlayground document={PackageVersions} variables={variables} />
    </>
  );
}

interface RowsProps extends Pick<TabProps, "address"> {
  versions: readonly PackageVersion[];
  /** Also those that are not shown. */
  all: readonly PackageVersion[];
  previous: Map<string, string>;
}

function Rows({ address, versions, all, previous }: RowsProps) {
  const { catalog, package: name } = address;
  const labels = new Map(all.map(({ name, version }) => [name, version ?? name]));
  const haveSupport = versions.some(({ lifecycle }) => lifecycle?.supportEndDate);
  const heads: ColumnHead[] = [
    "Version",
    "Channels",
    { text: "Created", class: "created" },
    ...(haveSupport ? ["Supported until"] : []),
    { text: "Comparison", isUnseen: true },
  ];
  return (
    <div class="card">
      <Table class="version-table" heads={heads}>
        {versions.map((each) => (
          <tr key={each.name}>
            <th scope="row" class="nowrap">
              <Link data-item to={{ page: "version", catalog, package: name, bundle: each.name }} title={each.name}>
                <bdi>{each.version ?? each.name}</bdi>
                {each.release && <bdi> release {each.release}</bdi>}
              </Link>{" "}
              {each.deprecation && <Deprecated message={each.deprecation.message} />}
            </th>
            <td>
              <bdi>{each.channelNames.join(", ") || "none"}</bdi>
            </td>
            <td class="nowrap created">{each.metadata?.createdAt && <Day time={each.metadata.createdAt} />}</td>
            {haveSupport && <td class="nowrap support">{each.lifecycle?.supportEndDate}</td>}
            <td class="end">
              {previous.has(each.name) && (
                <Link to={{ page: "compare", catalog, package: name, from: previous.get(each.name), to: each.name }}>
                  <span class="unseen">{each.version}: </span>Compare<span class="with"> with {labels.get(previous.get(each.name)!)}</span>
                </Link>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

interface ChannelEntries {
  isDefault: boolean;
  entries: readonly { name: string; replaces: string | null }[];
}

/**
 * What each version replaces, by the default channel first; where that is not in the catalog, the next lower version.
 */
function previousOf(channels: readonly ChannelEntries[], versions: readonly PackageVersion[]): Map<string, string> {
  const names = new Set(versions.map(({ name }) => name));
  const previous = new Map<string, string>();
  versions.forEach(({ name }, at) => {
    const lower = versions[at + 1];
    if (lower) previous.set(name, lower.name);
  });
  for (const { entries } of [...channels].sort((one, other) => Number(one.isDefault) - Number(other.isDefault))) {
    for (const { name, replaces } of entries)
      if (replaces !== null && names.has(replaces)) previous.set(name, replaces);
  }
  return previous;
}

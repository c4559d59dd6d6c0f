// Packages of several catalogs side by side: their channels with heads in each version of the platform.

import "../package/package.css";
import "../resolve/resolve.css";
import "../plan/plan.css";
import "./matrix.css";

import { useMemo, useState } from "preact/hooks";

import { Heading, Link, type MatrixAddress, navigate, replace } from "../address";
import { Choices } from "../fields/choices";
import { CatalogReferences, PlatformMatrix } from "../generated/documents";
import { Empty, Loading, OpenInPlayground, Result } from "../parts";
import { counted, number } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { saveFile } from "../parts/save";
import { Mark } from "../plan/mark";
import { catalogRelease, MAX_STEPS, minorOf, type ServedCatalog, sideBySide } from "../plan/steps";
import { useQuery } from "../use-query";
import { matrixCsv } from "./csv";
import { bars, isMark, MARK_NAMES, MARKS, markOf, type MatrixRow, type Minor } from "./marks";

export default function MatrixPage({ address }: { address: MatrixAddress }) {
  const served = useQuery(CatalogReferences, {});
  return (
    <article class="package">
      <header>
        <Heading title="Packages side by side" />
        <p class="subtle">The channels of each package in the catalogs of several versions of the platform, with their heads.</p>
      </header>
      <Result of={served} document={CatalogReferences} variables={{}}>
        {({ catalogs }) => <Chosen address={address} served={catalogs} />}
      </Result>
    </article>
  );
}

function Chosen({ address, served }: { address: MatrixAddress; served: readonly ServedCatalog[] }) {
  const names = address.in.length > 0 ? address.in : sideBySide(served);
  const variables = { catalogs: [...names] };
  const result = useQuery(PlatformMatrix, variables, { skip: names.length === 0 || names.length > MAX_STEPS });
  const order = (chosen: readonly string[]) => navigate({ ...address, in: ordered(chosen, served) }, { stay: true });
  return (
    <div class="stack">
      <div class="card">
        <Choices title="Catalogs" none="none" names items={served.map(({ name, displayName }) => ({ value: name, label: displayName }))} chosen={names} onChoose={order} />
      </div>
      {names.length < 2 || names.length > MAX_STEPS ? (
        <Empty title="Choose catalogs">
          <p>At least two, and at most {MAX_STEPS}: one for each version of the platform.</p>
        </Empty>
      ) : (
        <Result of={result} document={PlatformMatrix} variables={variables} loading={<Loading boxes={10} />}>
          {({ platformMatrix }) => platformMatrix && <Rows address={address} rows={platformMatrix} served={served} />}
        </Result>
      )}
      <OpenInPlayground document={PlatformMatrix} variables={variables} />
    </div>
  );
}

/** The lowest version of the platform first; catalogs that say none come last, in the order in which they were chosen. */
function ordered(names: readonly string[], served: readonly ServedCatalog[]): string[] {
  const place = (name: string) => {
    const release = versionOf(name, served);
    return release ? minorOf(release) : Infinity;
  };
  return [...names].sort((one, other) => Math.sign(place(one) - place(other)) || 0);
}

/** So many packages are shown at first. */
const SHORT = 100;

interface RowsProps {
  address: MatrixAddress;
  rows: readonly MatrixRow[];
  served: readonly ServedCatalog[];
}

function Rows({ address, rows, served }: RowsProps) {
  const [isLong, setLong] = useState(false);
  const catalogs = rows[0]?.catalogs.map(({ catalog }) => catalog) ?? [];
  const versions = catalogs.map((name) => versionOf(name, served));
  const marked = useMemo(() => rows.map((row) => ({ row, mark: markOf(row, versions) })), [rows]);
  const { q = "", mark } = address;
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const named = marked.filter(({ row }) => words.every((word) => row.name.toLowerCase().includes(word)));
  const found = isMark(mark) ? named.filter((each) => each.mark === mark) : named;
  const shown = isLong ? found : found.slice(0, SHORT);
  return (
    <section class="card stack plan" aria-label="Packages">
      <div class="matrix-tools">
        <label class="field">
          Filter
          <input
            type="search"
            id="search"
            aria-keyshortcuts="/"
            placeholder="Name of a package"
            spellcheck={false}
            autocomplete="off"
            value={q}
            onInput={({ currentTarget }) => replace({ ...address, q: currentTarget.value || undefined })}
          />
        </label>
        <label class="field">
          Show
          <select value={isMark(mark) ? mark : ""} onChange={({ currentTarget }) => navigate({ ...address, mark: currentTarget.value || undefined }, { stay: true })}>
            <option value="">All ({number(named.length)})</option>
            {MARK_NAMES.map((name) => (
              <option key={name} value={name}>
                {MARKS[name].label} ({number(named.filter((each) => each.mark === name).length)})
              </option>
            ))}
          </select>
        </label>
        <p role="status">{counted(found.length, "package")}</p>
        <button type="button" onClick={() => saveFile({ name: "packages.csv", type: "text/csv", text: matrixCsv(found) })}>
          <Glyph name="download" />
          Download as CSV
        </button>
      </div>
      {found.length === 0 ? (
        <Empty title="No package matches" />
      ) : (
        <div class="scrolling">
          <table class="matrix" aria-label="Packages side by side">
            <thead>
              <tr>
                <th scope="col">Package</th>
                {catalogs.map((name) => (
                  <th key={name} scope="col">
                    <bdi>{served.find((each) => each.name === name)?.displayName ?? name}</bdi>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ row, mark }) => (
                <tr key={row.name}>
                  <th scope="row">
                    <Link data-item to={{ page: "package", catalog: lastWith(row), package: row.name }}>
                      <bdi>{row.name}</bdi>
                    </Link>
                    <span class="matrix-mark" title={MARKS[mark].meaning}>
                      <Mark of={MARKS[mark]} />
                    </span>
                  </th>
                  {row.catalogs.map((cell, at) => (
                    <Cell key={cell.catalog} cell={cell} row={row} next={versions[at + 1]} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown.length < found.length && (
        <p>
          <button type="button" onClick={() => setLong(true)}>
            Show all {number(found.length)}
          </button>
        </p>
      )}
      <Legend />
    </section>
  );
}

/** The last catalog that has the package. */
function lastWith({ catalogs }: MatrixRow): string | undefined {
  return catalogs.findLast(({ channels }) => channels.length > 0)?.catalog;
}

/** The version of the platform that a catalog is of. */
function versionOf(name: string | undefined, served: readonly ServedCatalog[]) {
  const catalog = served.find((each) => each.name === name);
  return catalog && catalogRelease(catalog)?.release;
}

interface CellProps {
  cell: MatrixRow["catalogs"][number];
  row: MatrixRow;
  /** The version of the platform after that of this catalog. */
  next: Minor | undefined;
}

/** The default channel with its head; the others are folded. */
function Cell({ cell, row, next }: CellProps) {
  const { catalog, defaultChannel, isDefaultChannelChanged, channels } = cell;
  if (channels.length === 0) {
    return (
      <td class="matrix-none">
        <Glyph name="close" /> not there
      </td>
    );
  }
  const [main, others] = [channels.filter(({ name }) => name === defaultChannel), channels.filter(({ name }) => name !== defaultChannel)];
  const channel = (each: (typeof channels)[number]) => (
    <Link to={{ page: "package", catalog, package: row.name, tab: "updates", channel: each.name }}>
      <bdi>{each.name}</bdi>
    </Link>
  );
  return (
    <td>
      {main.map((each) => (
        <div key={each.name}>
          {channel(each)} {each.headVersion ?? each.headName ?? "no head"}{" "}
          {isDefaultChannelChanged && <span class="badge warning">another default</span>} <Limit of={each.maxOpenShiftVersion} next={next} />
        </div>
      ))}
      {others.length > 0 && (
        <details>
          <summary>
            {counted(others.length, "other channel")}
            {others.some(({ name }) => !row.commonChannels.includes(name)) && ", not all in every catalog"}
          </summary>
          <ul role="list" class="matrix-others">
            {others.map((each) => (
              <li key={each.name}>
                {channel(each)} {each.headVersion ?? each.headName ?? "no head"} {!row.commonChannels.includes(each.name) && <span class="subtle">not in all</span>}{" "}
                <Limit of={each.maxOpenShiftVersion} next={next} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </td>
  );
}

/** The last version of OpenShift that a head supports, marked where it bars the next one. */
function Limit({ of, next }: { of: string | null; next: CellProps["next"] }) {
  if (!of) return null;
  if (!bars(of, next)) return <span class="subtle">up to {of}</span>;
  return (
    <span class="badge danger mark">
      <Glyph name="alert" />
      up to {of} only
    </span>
  );
}

function Legend() {
  return (
    <details>
      <summary>What the marks mean</summary>
      <dl class="facts">
        {MARK_NAMES.map((name) => (
          <div key={name} class="matrix-legend">
            <dt>
              <Mark of={MARKS[name]} />
            </dt>
            <dd>{MARKS[name].meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

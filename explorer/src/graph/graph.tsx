// The update graph of a package as a table: a row for each version, and at its left a picture with a lane for each
// channel. What the picture shows is in the rows and beside the selected one as text, too.

import "./graph.css";

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { type Address, navigate } from "../address";
import { Copy, Deprecated, Empty } from "../parts";
import { counted } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { saveFile } from "../parts/save";
import { useDebounced } from "../use-debounced";
import { type Band, Drawing, type Place } from "./drawing";
import { channelLabel } from "./label";
import { layOut, MAX_COLUMNS, type Lane } from "./lanes";
import { foldedRows, restingName } from "./rest";
import { Selected } from "./selected";
import { type Channel, type UpgradeData, Upgrades, type Version } from "./upgrades";

/** Rows from which on those out of sight are not drawn. */
const MANY_ROWS = 500;

/** Rows of one picture. */
const CHUNK = 100;

export interface GraphVersion extends Version {
  deprecation: { message: string } | null;
}

export interface UpdateGraphProps {
  catalog: string;
  packageName: string;
  data: UpgradeData<GraphVersion>;
  /** Only this channel. */
  channel?: string | undefined;
  /** The address with another channel, or with all. */
  withChannel: (channel: string | undefined) => Address;
  /** The selection in the address that the page was opened with. */
  selected: Selection;
  /** Writes the selection to the address. */
  onSettle: (selection: Selection) => void;
}

export function UpdateGraph(props: UpdateGraphProps) {
  const { catalog, packageName, data, channel, withChannel, onSettle } = props;
  const upgrades = useMemo(() => new Upgrades(data), [data]);
  const [onlyHeads, setOnlyHeads] = useState(false);
  const [allLanes, setAllLanes] = useState(false);
  const shown = useMemo(() => channelsOf(upgrades, channel), [upgrades, channel]);
  const [selection, setSelection] = useState(props.selected);
  const resting = useMemo(() => restingName(upgrades, shown), [upgrades, shown]);
  const prereleases = useMemo(() => foldedRows(upgrades), [upgrades]);
  const isFolded = (name: string | undefined) => prereleases.has(upgrades.places.get(name ?? "") ?? -1);
  const isSelected = isFolded(selection.current) || isFolded(selection.marked);
  const [unfolded, setUnfolded] = useState(false);
  // What was unfolded by a selection stays so when the next one is selected.
  useEffect(() => {
    if (isSelected) setUnfolded(true);
  }, [isSelected]);
  const folded = unfolded || isSelected ? NO_ROWS : prereleases;
  const lanes = useMemo(() => layOut(upgrades, shown, folded), [upgrades, shown, folded]);
  const isNarrow = useNarrow();
  const columns = isNarrow ? MAX_COLUMNS / 2 : MAX_COLUMNS;
  const drawn = useMemo(
    () => (allLanes ? lanes : lanes.filter((lane) => lane.column < columns)),
    [lanes, allLanes, columns],
  );
  const rows = useMemo(() => rowsOf(upgrades, lanes, onlyHeads), [upgrades, lanes, onlyHeads]);
  const place = useMemo((): Place => ({ lane: isNarrow ? 12 : 18, row: isNarrow ? 52 : 32, rows }), [isNarrow, rows]);
  // An arrow key that is held down selects faster than browsers let a page change its address.
  const settled = useDebounced(selection);
  useEffect(() => onSettle(settled), [settled]);
  const open = (name: string) => {
    onSettle(selection);
    navigate({ page: "version", catalog, package: packageName, bundle: name });
  };
  if (upgrades.channels.length === 0) return <Empty title="The package has no channels" />;
  return (
    <div class="graph">
      <div class="graph-tools">
        <ChannelSelect channels={upgrades.channels} channel={channel} withChannel={withChannel} />
        <label class="check">
          <input type="checkbox" checked={onlyHeads} onChange={() => setOnlyHeads(!onlyHeads)} /> Only heads
        </label>
        {prereleases.size > 0 && (
          <label class="check">
            <input type="checkbox" checked={folded === NO_ROWS} onChange={() => setUnfolded(!unfolded)} /> Pre-releases (
            {prereleases.size})
          </label>
        )}
        <p role="status">{counted(rows.length, "version")}</p>
        <Export packageName={packageName} upgrades={upgrades} channels={shown} />
      </div>
      <Legend upgrades={upgrades} lanes={drawn} described={selection.marked ? undefined : (selection.current ?? resting)} />
      {drawn.length < lanes.length && (
        <p>
          <button type="button" onClick={() => setAllLanes(true)}>
            Show all {lanes.length} channels
          </button>
        </p>
      )}
      <div class="graph-halves">
        <Rows
          upgrades={upgrades}
          lanes={drawn}
          place={place}
          selection={selection}
          resting={resting}
          onSelect={setSelection}
          open={open}
        />
        <Selected
          catalog={catalog}
          packageName={packageName}
          upgrades={upgrades}
          selection={selection}
          resting={resting}
          onSelect={setSelection}
        />
      </div>
    </div>
  );
}

/** Names of rows, so that a selection outlives other rows being shown. */
export interface Selection {
  current?: string | undefined;
  /** The one that `current` is compared with. */
  marked?: string | undefined;
}

function channelsOf(upgrades: Upgrades, channel: string | undefined): number[] {
  const all = upgrades.channels.map((_, at) => at);
  return channel === undefined ? all : all.filter((at) => upgrades.channels[at]!.name === channel);
}

/** Rows that have a dot in one of the lanes. */
function rowsOf(upgrades: Upgrades, lanes: readonly Lane[], onlyHeads: boolean): number[] {
  const rows = new Set<number>();
  for (const { dots } of lanes) for (const { row, mark } of dots) if (!onlyHeads || mark === "head") rows.add(row);
  return upgrades.rows.map((_, at) => at).filter((at) => rows.has(at));
}

function useNarrow(): boolean {
  const query = useMemo(() => matchMedia("(max-width: 640px)"), []);
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return isNarrow;
}

interface ChannelSelectProps extends Pick<UpdateGraphProps, "channel" | "withChannel"> {
  channels: readonly Channel[];
}

function ChannelSelect({ channels, channel, withChannel }: ChannelSelectProps) {
  const choose = (name: string) => navigate(withChannel(name || undefined), { stay: true });
  return (
    <label class="field">
      Channel
      <select value={channel ?? ""} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">All ({channels.length})</option>
        {channels.map((each) => (
          <option key={each.name} value={each.name}>
            {channelLabel(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Export({ packageName, upgrades, channels }: { packageName: string; upgrades: Upgrades; channels: number[] }) {
  const text = async (format: "mermaid" | "dot" | "svg") =>
    (await loadTexts()).textOf(format, packageName, upgrades, channels);
  const download = async () =>
    saveFile({ name: `${packageName}.svg`, type: "image/svg+xml", text: await text("svg") });
  // A click that needs it tries again.
  const prepare = () => void loadTexts().catch(() => undefined);
  return (
    <div class="graph-export" role="group" aria-label="Export" onPointerEnter={prepare} onFocusCapture={prepare}>
      <Copy text={() => text("mermaid")} label="Mermaid" />
      <Copy text={() => text("dot")} label="DOT" />
      <button type="button" onClick={() => void download().catch(() => undefined)}>
        <Glyph name="download" />
        SVG
      </button>
    </div>
  );
}

/** Loads what writes the texts, which few readers want. */
function loadTexts() {
  return import("./texts");
}

interface LegendProps {
  upgrades: Upgrades;
  lanes: readonly Lane[];
  /** The version that a band may lead to. */
  described: string | undefined;
}

function Legend({ upgrades, lanes, described }: LegendProps) {
  const row = upgrades.places.get(described ?? "");
  const isBanded = row !== undefined && upgrades.ranges(row).length > 0;
  return (
    <>
      <ul class="graph-legend" role="list" aria-label="Lanes, from left to right">
        {lanes.map(({ channel, colour }) => (
          <li key={channel}>
            <span class={`swatch lane-${colour + 1}`} aria-hidden="true" />
            <bdi>{channelLabel(upgrades.channels[channel]!)}</bdi>
          </li>
        ))}
      </ul>
      {isBanded && (
        <p class="graph-legend">
          <span class="swatch band" aria-hidden="true" />
          upgraded to {upgrades.rows[row]!.bundle?.version ?? described} in one step, by a skip range
        </p>
      )}
    </>
  );
}

interface RowsProps {
  upgrades: Upgrades<GraphVersion>;
  lanes: readonly Lane[];
  place: Place;
  selection: Selection;
  /** What is shown while nothing is selected. */
  resting: string | undefined;
  onSelect: (selection: Selection) => void;
  open: (name: string) => void;
}

/** A grid in which one row can have the focus; arrows move it. */
function Rows({ upgrades, lanes, place, selection, resting, onSelect, open }: RowsProps) {
  const grid = useRef<HTMLDivElement>(null);
  const { rows } = place;
  const described = selection.current ?? resting;
  const related = useMemo(
    () => relatedRows(upgrades, { ...selection, current: described }),
    [upgrades, selection, described],
  );
  const head = selection.marked === undefined ? upgrades.places.get(described ?? "") : undefined;
  const bands = useMemo((): Band[] => (head === undefined ? [] : upgrades.ranges(head).map((span) => ({ ...span, head }))), [upgrades, head]);
  const heads = useMemo(() => namesByRow(upgrades, (channel) => upgrades.heads(channel)), [upgrades]);
  const stranded = useMemo(() => namesByRow(upgrades, (channel) => upgrades.stranded(channel)), [upgrades]);
  const current = selection.current === undefined ? -1 : rows.indexOf(upgrades.places.get(selection.current) ?? -1);
  const width = (Math.max(0, ...lanes.map((lane) => lane.column)) + 1) * place.lane + 8;
  const longest = useMemo(() => longestLabel(upgrades, rows), [upgrades, rows]);
  useLayoutEffect(() => {
    grid.current?.style.setProperty("--lanes", `${width}px`);
    grid.current?.style.setProperty("--version", longest);
  }, [width, longest]);

  const select = (at: number, marking: boolean) => {
    const name = upgrades.rows[rows[at]!]!.name;
    const marked = marking ? (selection.marked ?? selection.current) : selection.marked;
    onSelect({ current: name, marked: marked === name ? undefined : marked });
  };
  const moved = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 10,
      PageUp: -10,
      Home: -Infinity,
      End: Infinity,
    };
    const at = Math.max(current, 0);
    const step = steps[event.key];
    if (step !== undefined) {
      const to = Math.min(Math.max(at + step, 0), rows.length - 1);
      select(to, event.shiftKey);
      grid.current?.querySelectorAll<HTMLElement>("[data-row]")[to]?.focus();
    } else if (event.key === " ") {
      const { name } = upgrades.rows[rows[at]!]!;
      onSelect({ current: name, marked: selection.marked === name ? undefined : name });
    } else if (event.key === "Enter") {
      const { name, bundle } = upgrades.rows[rows[at]!]!;
      if (bundle) open(name);
    } else if (event.key === "Escape") {
      onSelect({});
    } else {
      return;
    }
    event.preventDefault();
  };
  // With Shift, a browser would select the text of every row between the two.
  const pressed = (event: MouseEvent) => {
    if (event.shiftKey) event.preventDefault();
  };
  const clicked = (event: MouseEvent) => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
    if (row) select(Number(row.dataset["row"]), event.shiftKey || event.ctrlKey || event.metaKey);
  };
  const haveRanges = upgrades.channels.some(({ entries }) => entries.some(({ skipRange }) => skipRange));
  const chunks = Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, at) => at * CHUNK);
  return (
    <div
      ref={grid}
      class={["graph-rows", rows.length > MANY_ROWS && "many", !haveRanges && "rangeless"].filter(Boolean).join(" ")}
      role="grid"
      aria-label="Versions, highest first"
      aria-multiselectable="true"
      aria-describedby="graph-keys"
      onKeyDown={moved}
      onMouseDown={pressed}
      onClick={clicked}
    >
      <p id="graph-keys" class="unseen">
        Arrow keys select a version, Space marks it for a comparison with the next one, Enter opens it.
      </p>
      <div role="rowgroup">
        <div role="row" class="graph-row graph-head">
          <span role="columnheader">Version</span>
          <span role="columnheader">Channels</span>
          <span role="columnheader">
            <span class={haveRanges ? undefined : "unseen"}>Skip range</span>
          </span>
        </div>
      </div>
      {chunks.map((start) => (
        <div key={start} role="rowgroup" class="graph-chunk">
          <Drawing
            lanes={lanes}
            place={place}
            start={start}
            count={Math.min(CHUNK, rows.length - start)}
            width={width}
            related={related}
            bands={bands}
          />
          {rows.slice(start, start + CHUNK).map((row, index) => (
            <GraphRow
              key={row}
              upgrades={upgrades}
              row={row}
              heads={heads.get(row) ?? NONE}
              stranded={stranded.get(row) ?? NONE}
              style={related.get(row) ?? ""}
              isSelected={
                upgrades.rows[row]!.name === selection.current || upgrades.rows[row]!.name === selection.marked
              }
              isCurrent={start + index === Math.max(current, 0)}
              at={start + index}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

const NONE: readonly string[] = [];
const NO_ROWS: ReadonlySet<number> = new Set();

interface GraphRowProps {
  upgrades: Upgrades<GraphVersion>;
  row: number;
  /** Names of the channels whose head it is. */
  heads: readonly string[];
  /** Names of the channels in which no upgrades lead from it to the head. */
  stranded: readonly string[];
  style: string;
  isSelected: boolean;
  isCurrent: boolean;
  /** Its place among the shown rows. */
  at: number;
}

function GraphRow({ upgrades, row, heads, stranded, style, isSelected, isCurrent, at }: GraphRowProps) {
  // Most rows are as they were when another one is selected.
  return useMemo(() => {
    const { name, bundle, entries } = upgrades.rows[row]!;
    const channels = entries
      .map(({ channel }) => upgrades.channels[channel]!.name)
      .filter((name) => !heads.includes(name));
    const ranges = [...new Set(entries.flatMap(({ entry }) => entry.skipRange ?? []))];
    return (
      <div
        role="row"
        id={`row-${row}`}
        data-row={at}
        class={`graph-row ${style}`}
        tabIndex={isCurrent ? 0 : -1}
        aria-selected={isSelected}
      >
        <span role="gridcell" class="graph-version">
          <bdi title={name}>{bundle?.version ?? name}</bdi>
          {!bundle && <span class="badge">not in the catalog</span>}
          {bundle?.deprecation && <Deprecated message={bundle.deprecation.message} />}
        </span>
        <span role="gridcell" class="graph-channels">
          {stranded.length > 0 && (
            <span class="badge danger" title={`No upgrades lead from it to the head of ${stranded.join(", ")}.`}>
              stranded
            </span>
          )}{" "}
          {heads.length > 0 && (
            <strong>
              head of <bdi>{heads.join(", ")}</bdi>
            </strong>
          )}
          {heads.length > 0 && channels.length > 0 && " · "}
          <bdi>{channels.join(", ")}</bdi>
        </span>
        <span role="gridcell" class="graph-ranges">
          {ranges.join(" · ")}
          {ranges.some((range) => upgrades.invalidRanges.has(range)) && <span class="badge danger">not valid</span>}
        </span>
      </div>
    );
  }, [upgrades, row, heads, stranded, style, isSelected, isCurrent, at]);
}

/** Width of the column of versions: that of the longest, so that rows are aligned. */
function longestLabel(upgrades: Upgrades, rows: readonly number[]): string {
  let [letters, badge] = [8, 0];
  for (const row of rows) {
    const { name, bundle } = upgrades.rows[row]!;
    letters = Math.max(letters, (bundle?.version ?? name).length);
    badge = Math.max(badge, bundle ? (bundle.deprecation ? 100 : 0) : 140);
  }
  return `calc(${Math.min(letters, 40)}ch + ${badge}px)`;
}

/** Names of the channels in which each row is something. */
function namesByRow(upgrades: Upgrades, rowsIn: (channel: number) => Iterable<number>): Map<number, string[]> {
  const names = new Map<number, string[]>();
  upgrades.channels.forEach(({ name }, channel) => {
    for (const row of rowsIn(channel)) names.set(row, [...(names.get(row) ?? []), name]);
  });
  return names;
}

/** How rows stand to the selected one: what can reach it, what it can go to, or what is on the path between two. */
function relatedRows(upgrades: Upgrades, { current, marked }: Selection): Map<number, string> {
  const related = new Map<number, string>();
  const row = upgrades.places.get(current ?? "");
  if (row === undefined) return related;
  const other = upgrades.places.get(marked ?? "");
  if (other === undefined) {
    for (const step of upgrades.predecessors(row)) related.set(step.row, "from");
    for (const step of upgrades.successors(row)) related.set(step.row, related.has(step.row) ? "from to" : "to");
  } else {
    for (const each of upgrades.path(Math.max(row, other), Math.min(row, other)) ?? []) related.set(each, "path");
    related.set(other, "path marked");
  }
  related.set(row, `${other === undefined ? "" : "path "}current`);
  return related;
}

// Where the update graph is drawn: a row for each version, a lane for each channel, as in the graph of a version
// control log. Pure: numbers of rows and columns come out, not pixels.
//
// General layouts were measured on real packages: with the edges of skip ranges none ends within a minute, and without
// them they take 10 to 900 ms and give pictures of 15,000 pixels. Lanes take less than 10 ms and can be read.

import type { Upgrades } from "./upgrades";

/** Columns that are shown unless somebody asks for all. */
export const MAX_COLUMNS = 12;

/** Number of colours of lanes. Names stand beside them, so that no colour alone tells channels apart. */
const COLOURS = 6;

export interface Lane {
  /** Index of the channel. */
  channel: number;
  column: number;
  colour: number;
  /** Highest version first. */
  dots: Dot[];
  lines: Line[];
}

export interface Dot {
  row: number;
  /** The most important thing that is special about it. */
  mark: "head" | "absent" | "stranded" | "none";
}

/** An upgrade from a lower row (`from`) to a higher one (`to`), or the other way round in a broken channel. */
export interface Line {
  from: number;
  to: number;
  kind: "replaces" | "skips";
  /** Whether there are other dots between the two, around which it must go. */
  isArc: boolean;
}

/**
 * Draws the channels of these indexes, without the rows that are folded. Lanes are in the order of the default channel
 * first, then of the head, highest version first: that reads like a staircase. Where there are more than `MAX_COLUMNS`,
 * lanes that do not overlap share a column.
 */
export function layOut(upgrades: Upgrades, channels: readonly number[], folded: ReadonlySet<number> = new Set()): Lane[] {
  const lanes = channels.map((channel) => draw(upgrades, channel, folded));
  const isDefault = (lane: Lane) => Number(upgrades.channels[lane.channel]!.isDefault);
  const name = (lane: Lane) => upgrades.channels[lane.channel]!.name;
  // Channels without a head compare as Infinity - Infinity, which is no number, so that their names decide.
  const order = (one: Lane, other: Lane) =>
    isDefault(other) - isDefault(one) || head(one) - head(other) || (name(one) < name(other) ? -1 : 1);
  lanes.sort(order);
  lanes.forEach((lane, at) => {
    lane.column = at;
    lane.colour = at % COLOURS;
  });
  if (lanes.length > MAX_COLUMNS) pack(lanes);
  return lanes;
}

function draw(upgrades: Upgrades, channel: number, folded: ReadonlySet<number>): Lane {
  const [heads, stranded] = [upgrades.heads(channel), upgrades.stranded(channel)];
  const rows = new Set<number>();
  for (const { name, replaces } of upgrades.channels[channel]!.entries) {
    rows.add(upgrades.places.get(name)!);
    // What is replaced is drawn also where the channel does not have it: its line has to end somewhere.
    if (replaces !== null) rows.add(upgrades.places.get(replaces)!);
  }
  const own = new Set(upgrades.channels[channel]!.entries.map(({ name }) => upgrades.places.get(name)!));
  const mark = (row: number): Dot["mark"] => {
    if (!own.has(row) || !upgrades.rows[row]!.bundle) return "absent";
    if (stranded.has(row)) return "stranded";
    return heads.has(row) ? "head" : "none";
  };
  const shown = [...rows].filter((row) => !folded.has(row)).sort((one, other) => one - other);
  const dots = shown.map((row) => ({ row, mark: mark(row) }));
  return { channel, column: 0, colour: 0, dots, lines: linesOf(upgrades, channel, dots) };
}

function linesOf(upgrades: Upgrades, channel: number, dots: Dot[]): Line[] {
  const order = new Map(dots.map(({ row }, at) => [row, at]));
  const lines: Line[] = [];
  const known = new Set<string>();
  const past = pastFolded(upgrades, channel, order);
  const add = (name: string, to: number, kind: Line["kind"]) => {
    if (!order.has(to)) return;
    const replaced = upgrades.places.get(name);
    const from = kind === "replaces" ? past(replaced) : replaced;
    if (from === undefined || from === to || !order.has(from)) return;
    if (known.has(`${from} ${to}`)) return;
    known.add(`${from} ${to}`);
    lines.push({ from, to, kind, isArc: kind === "skips" || Math.abs(order.get(from)! - order.get(to)!) > 1 });
  };
  for (const { name, replaces, skips } of upgrades.channels[channel]!.entries) {
    const to = upgrades.places.get(name)!;
    if (replaces !== null) add(replaces, to, "replaces");
    for (const skipped of new Set(skips)) add(skipped, to, "skips");
  }
  return lines;
}

/** Goes from a folded row to the one that it replaces, until there is one that is shown. */
function pastFolded(upgrades: Upgrades, channel: number, shown: ReadonlyMap<number, number>) {
  const replaced = new Map<number, number | undefined>();
  for (const { name, replaces } of upgrades.channels[channel]!.entries) {
    if (replaces !== null) replaced.set(upgrades.places.get(name)!, upgrades.places.get(replaces)!);
  }
  return (row: number | undefined) => {
    const passed = [];
    while (row !== undefined && !shown.has(row)) {
      passed.push(row);
      const next: number | undefined = replaced.get(row);
      // Broken channels go in circles.
      replaced.delete(row);
      row = next;
    }
    for (const each of passed) replaced.set(each, row);
    return row;
  };
}

/** The row of the highest head; a channel without one comes last. */
function head(lane: Lane): number {
  return lane.dots.find(({ mark }) => mark === "head")?.row ?? Infinity;
}

/**
 * Puts each lane into the first column in which nothing is drawn at its rows. The default channel stays at the left.
 */
function pack([first, ...others]: Lane[]) {
  const columns: Lane[][] = [];
  const [top, bottom] = [(lane: Lane) => lane.dots[0]?.row ?? 0, (lane: Lane) => lane.dots.at(-1)?.row ?? 0];
  for (const lane of [first!, ...others.sort((one, other) => top(one) - top(other))]) {
    const isFree = (column: Lane[]) => column.every((other) => bottom(other) < top(lane) || bottom(lane) < top(other));
    const free = columns.findIndex(isFree);
    lane.column = free < 0 ? columns.push([]) - 1 : free;
    columns[lane.column]!.push(lane);
  }
}

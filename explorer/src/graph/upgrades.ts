// Which versions of a package can be upgraded to which, from what the entries of its channels say. It knows names and
// rows, and nothing of pictures.
//
// An edge by a skip range is never stored: a package with a range in each of n entries has up to n² of them. Ranges
// stay runs of rows, and the rows are the versions in order.

import type { UpdateReason } from "../generated/documents";

/** A channel with its entries, as the API gives it. */
export interface Channel {
  name: string;
  isDefault: boolean;
  deprecation: object | null;
  entries: readonly Entry[];
}

export interface Entry {
  name: string;
  replaces: string | null;
  skips: readonly string[];
  skipRange: string | null;
}

/** A bundle with an entry in a channel. */
export interface Version {
  name: string;
  version: string | null;
  release: string | null;
  deprecation: object | null;
}

/** A skip range with the versions in it, as runs without a gap. */
export interface SkipRange {
  range: string;
  isValid: boolean;
  toName: string;
  channelNames: readonly string[];
  spans: readonly { highest: { name: string }; lowest: { name: string } }[];
}

/** What the update graph is made of. `versions` has the highest first. */
export interface UpgradeData<V extends Version = Version> {
  channels: readonly Channel[];
  versions: readonly V[];
  skipRanges: readonly SkipRange[];
}

/** A version, or a name that an entry has although the catalog has no bundle of that name. */
export interface Row<V extends Version = Version> {
  name: string;
  /** Absent where the catalog has no such bundle. */
  bundle?: V;
  /** The entries of this name, with the index of their channel. */
  entries: { channel: number; entry: Entry }[];
}

/** Rows `from` to `to`, both included, that a skip range of the channel leads from. */
export interface Span {
  from: number;
  to: number;
  channel: number;
}

/**
 * A step from one row to another, and why it is allowed. Without a reason both have the same version, between which the
 * controller of OLM v1 needs no entry.
 */
export interface Step {
  row: number;
  reasons: UpdateReason[];
  channels: number[];
}

export class Upgrades<V extends Version = Version> {
  readonly channels: readonly Channel[];
  readonly rows: readonly Row<V>[];
  /** The row of each name. */
  readonly places: ReadonlyMap<string, number>;
  /** Skip ranges that are malformed: no version is in them. */
  readonly invalidRanges: ReadonlySet<string>;
  /** By row: the skip ranges that lead to it. */
  private readonly spans: Span[][];
  private readonly knownHeads: ReadonlySet<number>[] = [];
  private readonly knownStranded: ReadonlySet<number>[] = [];
  /** The rows of each version and release. */
  private readonly twins = new Map<string, number[]>();

  constructor(data: UpgradeData<V>) {
    this.channels = data.channels;
    this.rows = rowsOf(data);
    this.places = new Map(this.rows.map((row, at) => [row.name, at]));
    this.invalidRanges = new Set(data.skipRanges.flatMap(({ range, isValid }) => (isValid ? [] : [range])));
    this.spans = this.rows.map(() => []);
    const channels = new Map(data.channels.map(({ name }, at) => [name, at]));
    for (const range of data.skipRanges) this.addRange(range, channels);
    this.rows.forEach((row, at) => {
      const key = identity(row.bundle);
      if (key) this.twins.set(key, [...(this.twins.get(key) ?? []), at]);
    });
  }

  private addRange(range: SkipRange, channels: Map<string, number>) {
    const to = this.places.get(range.toName);
    if (to === undefined) return;
    for (const { highest, lowest } of range.spans) {
      const [first, last] = [this.places.get(highest.name), this.places.get(lowest.name)];
      // Every version has a row. Data that names others has no run to draw.
      if (first === undefined || last === undefined) continue;
      for (const name of range.channelNames) {
        const channel = channels.get(name);
        if (channel !== undefined) this.spans[to]!.push({ from: first, to: last, channel });
      }
    }
  }

  /** The rows from which one upgrade leads to this one, highest version first. None leads to what has no bundle. */
  predecessors(row: number): Step[] {
    const steps = new Map<number, Step>();
    if (!this.rows[row]!.bundle) return [];
    for (const { channel, entry } of this.rows[row]!.entries) {
      if (entry.replaces !== null) this.addStep(steps, this.places.get(entry.replaces), row, "REPLACES", channel);
      for (const name of entry.skips) this.addStep(steps, this.places.get(name), row, "SKIPS", channel);
    }
    for (const { from, to, channel } of this.spans[row]!) {
      for (let at = from; at <= to; at++) {
        // What the catalog does not have has no version, so no range contains it.
        if (this.rows[at]!.bundle) this.addStep(steps, at, row, "SKIP_RANGE", channel);
      }
    }
    this.addTwins(steps, row);
    return inOrder(steps);
  }

  /** The rows to which one upgrade leads from this one, highest version first. */
  successors(row: number): Step[] {
    const steps = new Map<number, Step>();
    const { name, bundle } = this.rows[row]!;
    this.rows.forEach((target, at) => {
      if (!target.bundle) return;
      for (const { channel, entry } of target.entries) {
        if (entry.replaces === name) this.addStep(steps, at, row, "REPLACES", channel);
        if (entry.skips.includes(name)) this.addStep(steps, at, row, "SKIPS", channel);
      }
      if (!bundle) return;
      for (const span of this.spans[at]!) {
        if (span.from <= row && row <= span.to) this.addStep(steps, at, row, "SKIP_RANGE", span.channel);
      }
    });
    this.addTwins(steps, row);
    return inOrder(steps);
  }

  /** The skip ranges that lead to a row. */
  ranges(row: number): readonly Span[] {
    return this.spans[row]!;
  }

  private twinsOf(row: number): number[] {
    return this.twins.get(identity(this.rows[row]!.bundle) ?? "") ?? [];
  }

  private addTwins(steps: Map<number, Step>, row: number) {
    for (const at of this.twinsOf(row)) {
      if (at !== row && !steps.has(at)) steps.set(at, { row: at, reasons: [], channels: [] });
    }
  }

  private addStep(steps: Map<number, Step>, at: number | undefined, self: number, reason: UpdateReason, channel: number) {
    if (at === undefined || at === self) return;
    const step = steps.get(at);
    if (!step) return void steps.set(at, { row: at, reasons: [reason], channels: [channel] });
    if (!step.reasons.includes(reason)) step.reasons.push(reason);
    if (!step.channels.includes(channel)) step.channels.push(channel);
  }

  /** The rows that upgrades lead to from a row, itself included, each with the row before it on a shortest way. */
  reachable(from: number, to?: number): ReadonlyMap<number, number> {
    const came = new Map<number, number>([[from, from]]);
    const queue = [from];
    for (const row of queue) {
      if (row === to) break;
      for (const step of this.successors(row)) {
        if (came.has(step.row)) continue;
        came.set(step.row, row);
        queue.push(step.row);
      }
    }
    return came;
  }

  /** A shortest sequence of rows from one to another, both included; `undefined` when no upgrades lead there. */
  path(from: number, to: number): number[] | undefined {
    const came = this.reachable(from, to);
    if (!came.has(to)) return undefined;
    const path = [to];
    while (path[0] !== from) path.unshift(came.get(path[0]!)!);
    return path;
  }

  /** The rows of a channel that no entry of it replaces or skips by name. Broken channels have none or several. */
  heads(channel: number): ReadonlySet<number> {
    return (this.knownHeads[channel] ??= this.findHeads(channel));
  }

  private findHeads(channel: number): ReadonlySet<number> {
    const { entries } = this.channels[channel]!;
    const left = new Set<string>();
    for (const { replaces, skips } of entries) {
      for (const old of [replaces, ...skips]) if (old !== null) left.add(old);
    }
    return new Set(entries.filter(({ name }) => !left.has(name)).map(({ name }) => this.places.get(name)!));
  }

  /** The rows of a channel from which no sequence of upgrades leads to its head. */
  stranded(channel: number): ReadonlySet<number> {
    return (this.knownStranded[channel] ??= this.findStranded(channel));
  }

  private findStranded(channel: number): ReadonlySet<number> {
    const own = this.rows.flatMap((row, at) => (row.entries.some((entry) => entry.channel === channel) ? [at] : []));
    const hasBundle = (at: number) => this.rows[at]!.bundle !== undefined;
    const reached = new Set([...this.heads(channel)].filter(hasBundle));
    // The rows of a span that are left to visit: each row leads to the next one that was not reached.
    const next = new Int32Array(this.rows.length + 1).map((_, at) => at);
    const find = (at: number): number => {
      while (next[at] !== at) at = next[at] = next[next[at]!]!;
      return at;
    };
    const queue = [...reached];
    const reach = (at: number | undefined) => {
      if (at === undefined) return;
      next[at] = at + 1;
      if (reached.has(at) || !hasBundle(at)) return;
      reached.add(at);
      queue.push(at);
    };
    queue.forEach((at) => (next[at] = at + 1));
    for (const row of queue) {
      for (const { entry } of this.rows[row]!.entries.filter((entry) => entry.channel === channel)) {
        for (const name of [entry.replaces ?? "", ...entry.skips]) reach(this.places.get(name));
      }
      for (const span of this.spans[row]!.filter((span) => span.channel === channel)) {
        for (let at = find(span.from); at <= span.to; at = find(at)) reach(at);
      }
      this.twinsOf(row).forEach(reach);
    }
    return new Set(own.filter((at) => hasBundle(at) && !reached.has(at)));
  }
}

/** A row with the absent names beside it. */
interface Neighbours<V extends Version> {
  row: Row<V>;
  above: Neighbours<V>[];
  below: Neighbours<V>[];
  isPlaced: boolean;
}

/**
 * The versions, highest first, and among them the names without a bundle: each below the lowest entry that replaces it,
 * or else above what it replaces; those that nothing connects with a version come last. Linear in the entries.
 */
function rowsOf<V extends Version>(data: UpgradeData<V>): Row<V>[] {
  const all = new Map<string, Neighbours<V>>();
  const add = (row: Row<V>) => {
    const added = { row, above: [], below: [], isPlaced: row.bundle !== undefined };
    all.set(row.name, added);
    return added;
  };
  const versions = data.versions.map((bundle) => add({ name: bundle.name, bundle, entries: [] }));
  const named = (name: string) => all.get(name) ?? add({ name, entries: [] });
  data.channels.forEach(({ entries }, channel) => {
    for (const entry of entries) {
      named(entry.name).row.entries.push({ channel, entry });
      if (entry.replaces !== null) named(entry.replaces);
    }
  });
  placeAbsent(all, versions);
  const unconnected = [...all.values()].filter(({ isPlaced }) => !isPlaced);
  return [...inRowOrder(versions), ...unconnected.map(({ row }) => row)];
}

/**
 * Puts each absent name beside a row that replaces it or that it replaces, beginning with the versions, lowest first.
 */
function placeAbsent<V extends Version>(all: Map<string, Neighbours<V>>, versions: readonly Neighbours<V>[]) {
  const replacing = new Map<string, Neighbours<V>[]>();
  for (const one of all.values()) {
    for (const name of replacedBy(one)) {
      const others = replacing.get(name);
      if (others) others.push(one);
      else replacing.set(name, [one]);
    }
  }
  const place = (one: Neighbours<V> | undefined, beside: Neighbours<V>[]) => {
    if (!one || one.isPlaced) return;
    one.isPlaced = true;
    beside.push(one);
    placed.push(one);
  };
  const placed = [...versions].reverse();
  for (const one of [...placed]) for (const name of replacedBy(one)) place(all.get(name), one.below);
  for (const one of placed) {
    for (const name of replacedBy(one)) place(all.get(name), one.below);
    for (const other of replacing.get(one.row.name) ?? []) place(other, one.above);
  }
}

function replacedBy({ row }: Neighbours<Version>): string[] {
  return row.entries.flatMap(({ entry }) => entry.replaces ?? []);
}

/** Without recursion, since chains of absent names may be long. */
function inRowOrder<V extends Version>(versions: readonly Neighbours<V>[]): Row<V>[] {
  const rows: Row<V>[] = [];
  const left: (Neighbours<V> | Row<V>)[] = [...versions].reverse();
  for (let next = left.pop(); next; next = left.pop()) {
    if (!("row" in next)) {
      rows.push(next);
      continue;
    }
    const { above, row, below } = next;
    left.push(...[...above, row, ...below].reverse());
  }
  return rows;
}

/** Version and release, between which build metadata makes no difference. */
function identity(bundle: Version | undefined): string | undefined {
  return bundle?.version ? `${bundle.version.split("+")[0]} ${bundle.release ?? ""}` : undefined;
}

function inOrder(steps: Map<number, Step>): Step[] {
  return [...steps.values()].sort((one, other) => one.row - other.row);
}

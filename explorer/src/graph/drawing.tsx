// The picture beside the rows. Screen readers have the rows.

import { useMemo } from "preact/hooks";

import type { Dot, Lane, Line } from "./lanes";
import type { Span } from "./upgrades";

/** Measures in pixels, and which rows are shown. */
export interface Place {
  lane: number;
  row: number;
  /** Indexes of the rows that are shown, in order. */
  rows: readonly number[];
}

/** What a skip range covers, and the row that it leads to. */
export interface Band extends Span {
  head: number;
}

export interface DrawingProps {
  lanes: readonly Lane[];
  place: Place;
  /** Which of the shown rows the picture is of. */
  start: number;
  count: number;
  width: number;
  related: ReadonlyMap<number, string>;
  bands: readonly Band[];
}

/** The lanes are drawn once; what a selection marks is drawn over them. */
export function Drawing({ lanes, place, start, count, width, related, bands }: DrawingProps) {
  const picture = useMemo(() => drawLanes(lanes, place, start, count), [lanes, place, start, count]);
  return (
    <svg class="graph-lanes" aria-hidden="true" width={width} height={count * place.row}>
      {bands.map((band) => drawBand(lanes, place, start, band))}
      {picture}
      {marks(lanes, place, start, count, related)}
    </svg>
  );
}

function drawLanes(lanes: readonly Lane[], place: Place, start: number, count: number) {
  const shown = new Map(place.rows.map((row, at) => [row, at]));
  const y = (at: number) => (at - start) * place.row + place.row / 2;
  const paths = (lane: Lane, kind: Line["kind"]) =>
    lane.lines.flatMap((line) => {
      const [top, bottom] = [shown.get(line.to), shown.get(line.from)];
      if (line.kind !== kind || top === undefined || bottom === undefined) return [];
      if (Math.max(top, bottom) < start || Math.min(top, bottom) >= start + count) return [];
      return curve(xOf(lane, place), y(top), y(bottom), line.isArc, place.lane);
    });
  return lanes.map((lane) => (
    <g key={lane.channel} class={`lane-${lane.colour + 1}`}>
      {KINDS.map((kind) => (
        <path key={kind} class={kind} d={paths(lane, kind).join("")} />
      ))}
      {lane.dots.map(({ row, mark }) => {
        const at = shown.get(row);
        if (at === undefined || at < start || at >= start + count) return null;
        return <circle key={row} class={mark} cx={xOf(lane, place)} cy={y(at)} r={radius(mark)} />;
      })}
    </g>
  ));
}

const KINDS = ["skips", "replaces"] as const;

/** Dots that the selected version can go to, that are on the path between two, and its own. */
function marks(
  lanes: readonly Lane[],
  place: Place,
  start: number,
  count: number,
  related: ReadonlyMap<number, string>,
) {
  if (related.size === 0) return null;
  const rows = place.rows.slice(start, start + count);
  const marked = new Map(
    rows.flatMap((row, at) => (/to|path|current/.test(related.get(row) ?? "") ? [[row, at] as const] : [])),
  );
  if (marked.size === 0) return null;
  return lanes.map((lane) => (
    <g key={`marks ${lane.channel}`} class={`marks lane-${lane.colour + 1}`}>
      {lane.dots.map(({ row, mark }) => {
        const at = marked.get(row);
        if (at === undefined) return null;
        return <circle key={row} cx={xOf(lane, place)} cy={at * place.row + place.row / 2} r={radius(mark)} />;
      })}
    </g>
  ));
}

/** What a skip range covers, as a band beside the lane of its channel, and a line from there to where it leads. */
function drawBand(lanes: readonly Lane[], place: Place, start: number, { channel, head, from, to }: Band) {
  const lane = lanes.find((each) => each.channel === channel);
  const at = place.rows.indexOf(head);
  const top = place.rows.findIndex((row) => row >= from);
  const bottom = place.rows.findLastIndex((row) => row <= to);
  if (!lane || at < 0 || top < 0 || bottom < top) return null;
  const [x, edge] = [xOf(lane, place), (row: number) => (row - start) * place.row];
  return (
    <g key={`${channel} ${from}`} class={`band lane-${lane.colour + 1}`}>
      <path d={`M${x} ${edge(at) + place.row / 2}V${edge(bottom)}`} />
      <rect
        x={x - place.lane / 2 + 1}
        y={edge(top) + 3}
        width={place.lane - 2}
        height={edge(bottom + 1) - edge(top) - 6}
        rx={place.lane / 2 - 1}
      />
    </g>
  );
}

function xOf(lane: Lane, place: Place): number {
  return lane.column * place.lane + place.lane / 2 + 2;
}

function radius(mark: Dot["mark"]): number {
  return mark === "head" ? 5.5 : 4.5;
}

function curve(x: number, top: number, bottom: number, isArc: boolean, lane: number): string {
  if (!isArc) return `M${x} ${top}V${bottom}`;
  const bend = x + lane / 2 + 2;
  return `M${x} ${top}C${bend} ${top} ${bend} ${bottom} ${x} ${bottom}`;
}

// The picture beside the rows. Screen readers have the rows.

import type { Dot, Lane, Line } from "./lanes";

/** Measures in pixels, and which rows are shown. */
export interface Place {
  lane: number;
  row: number;
  /** Indexes of the rows that are shown, in order. */
  rows: readonly number[];
}

export interface DrawingProps {
  lanes: readonly Lane[];
  place: Place;
  /** Which of the shown rows the picture is of. */
  start: number;
  count: number;
  width: number;
  related: ReadonlyMap<number, string>;
}

export function Drawing({ lanes, place, start, count, width, related }: DrawingProps) {
  const shown = new Map(place.rows.map((row, at) => [row, at]));
  const y = (at: number) => (at - start) * place.row + place.row / 2;
  const isIn = (at: number) => at >= start && at < start + count;
  return (
    <svg class="graph-lanes" aria-hidden="true" width={width} height={count * place.row}>
      {lanes.map((lane) => {
        const x = lane.column * place.lane + place.lane / 2 + 2;
        const ends = (line: Line) => [shown.get(line.to), shown.get(line.from)] as const;
        return (
          <g key={lane.channel} class={`lane-${lane.colour + 1}`}>
            {lane.lines.map((line) => {
              const [top, bottom] = ends(line);
              if (top === undefined || bottom === undefined) return null;
              if (Math.max(top, bottom) < start || Math.min(top, bottom) >= start + count) return null;
              const style = `${line.kind}${related.get(line.to)?.includes("path") && related.get(line.from)?.includes("path") ? " path" : ""}`;
              return <path key={`${line.from} ${line.to}`} class={style} d={curve(x, y(top), y(bottom), line.isArc, place.lane)} />;
            })}
            {lane.dots.map((dot) => {
              const at = shown.get(dot.row);
              if (at === undefined || !isIn(at)) return null;
              return <circle key={dot.row} class={styleOf(dot, related)} cx={x} cy={y(at)} r={dot.mark === "head" ? 5.5 : 4.5} />;
            })}
          </g>
        );
      })}
    </svg>
  );
}

function curve(x: number, top: number, bottom: number, isArc: boolean, lane: number): string {
  if (!isArc) return `M${x} ${top}V${bottom}`;
  const bend = x + lane / 2 + 2;
  return `M${x} ${top}C${bend} ${top} ${bend} ${bottom} ${x} ${bottom}`;
}

function styleOf({ row, mark }: Dot, related: ReadonlyMap<number, string>): string {
  return `${mark} ${related.get(row) ?? ""}`.trim();
}

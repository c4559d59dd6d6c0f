// The update graph as text for other programs: Mermaid (mermaid.js.org), DOT (graphviz.org) and SVG. Each is what
// `catalogql graph` prints; a test compares them.

import { layOut } from "./lanes";
import type { Upgrades } from "./upgrades";

export type Format = "mermaid" | "dot" | "svg";

type Mark = "head" | "deprecated" | "stranded" | "absent";

interface DrawnChannel {
  title: string;
  nodes: { name: string; marks: Mark[]; ranges: string[] }[];
  edges: { from: number; to: number; isSkip: boolean }[];
}

/** The picture of the channels of these indexes as text. */
export function textOf(format: Format, packageName: string, upgrades: Upgrades, channels: readonly number[]): string {
  if (format === "svg") return svg(packageName, upgrades, channels);
  const name = (at: number) => upgrades.channels[at]!.name;
  const drawn = [...channels]
    .sort((one, other) => byCodePoint(name(one), name(other)))
    .map((channel) => drawnChannel(upgrades, channel));
  return format === "dot" ? dot(packageName, drawn) : mermaid(drawn);
}

function byCodePoint(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((letter, at) => letter !== right[at]);
  if (at < 0) return left.length - right.length;
  return right[at] === undefined ? 1 : left[at]!.codePointAt(0)! - right[at].codePointAt(0)!;
}

function channelTitle({ name, isDefault, deprecation }: Upgrades["channels"][number]): string {
  return name + (isDefault ? " (default)" : "") + (deprecation ? " (deprecated)" : "");
}

/**
 * A channel as a box, lowest version first. What an entry replaces is drawn also where the channel does not have it.
 */
function drawnChannel(upgrades: Upgrades, at: number): DrawnChannel {
  const channel = upgrades.channels[at]!;
  const [heads, stranded] = [upgrades.heads(at), upgrades.stranded(at)];
  const nodes: DrawnChannel["nodes"] = [];
  upgrades.rows.forEach(({ name, bundle, entries }, row) => {
    const own = entries.filter((entry) => entry.channel === at);
    if (!bundle || own.length === 0) return;
    const marks: [Mark, boolean][] = [
      ["head", heads.has(row)],
      ["deprecated", bundle.deprecation !== null],
      ["stranded", stranded.has(row)],
    ];
    const ranges = own.flatMap(({ entry }) => entry.skipRange ?? []);
    nodes.unshift({ name, marks: marks.filter(([, holds]) => holds).map(([mark]) => mark), ranges });
  });
  const places = new Map(nodes.map(({ name }, at) => [name, at]));
  const edges: DrawnChannel["edges"] = [];
  for (const { name, replaces, skips } of channel.entries) {
    const to = places.get(name);
    if (to === undefined) continue;
    if (replaces !== null && replaces !== name) {
      const absent = () => nodes.push({ name: replaces, marks: ["absent"], ranges: [] }) - 1;
      edges.push({ from: places.get(replaces) ?? absent(), to, isSkip: false });
    }
    for (const skipped of skips) {
      const from = places.get(skipped);
      if (from !== undefined && from !== to) edges.push({ from, to, isSkip: true });
    }
  }
  return { title: channelTitle(channel), nodes, edges };
}

function label({ name, marks }: DrawnChannel["nodes"][number]): string {
  return marks.length === 0 ? name : `${name} (${marks.join(", ")})`;
}

const MERMAID_CLASSES = [
  "classDef head stroke-width:3px",
  "classDef deprecated stroke-dasharray:4 3,opacity:0.6",
  "classDef stranded stroke:#c62828,stroke-width:3px",
  "classDef absent stroke-dasharray:2 2,fill:none",
];

function mermaid(channels: DrawnChannel[]): string {
  const lines = ["flowchart LR"];
  channels.forEach(({ title, nodes, edges }, at) => {
    lines.push(`  subgraph c${at}["${mermaidText(title)}"]`, "    direction LR");
    nodes.forEach((node, place) => {
      const ranges = node.ranges.map((range) => `<br/>from ${mermaidText(range)}`).join("");
      const mark = node.marks.at(-1);
      lines.push(`    c${at}n${place}["${mermaidText(label(node))}${ranges}"]${mark ? `:::${mark}` : ""}`);
    });
    for (const { from, to, isSkip } of edges) {
      lines.push(`    c${at}n${from} ${isSkip ? "-. skip .->" : "-->"} c${at}n${to}`);
    }
    lines.push("  end");
  });
  lines.push(...MERMAID_CLASSES.map((line) => `  ${line}`));
  return lines.join("\n") + "\n";
}

function mermaidText(text: string): string {
  return text.replace(/["#&<>`\\]/g, (letter) => `#${letter.charCodeAt(0)};`).replace(/\p{Cc}/gu, " ");
}

const DOT_STYLES: Record<Mark, string> = {
  head: ", penwidth=3",
  deprecated: ', style="rounded,dashed", fontcolor=gray40',
  stranded: ', penwidth=3, color="#c62828"',
  absent: ', style="rounded,dotted"',
};

function dot(packageName: string, channels: DrawnChannel[]): string {
  const lines = [`digraph ${dotText(packageName)} {`, "  rankdir=LR"];
  lines.push('  node [shape=box, style=rounded, fontname="sans-serif"]');
  channels.forEach(({ title, nodes, edges }, at) => {
    lines.push(`  subgraph cluster_${at} {`, `    label=${dotText(title)}`);
    nodes.forEach((node, place) => {
      const ranges = node.ranges.map((range) => `\nfrom ${range.replaceAll("\n", " ")}`).join("");
      const mark = node.marks.at(-1);
      const text = dotText(label(node).replaceAll("\n", " ") + ranges);
      lines.push(`    c${at}n${place} [label=${text}${mark ? DOT_STYLES[mark] : ""}]`);
    });
    for (const { from, to, isSkip } of edges) {
      lines.push(`    c${at}n${from} -> c${at}n${to}${isSkip ? " [style=dashed, label=skip]" : ""}`);
    }
    lines.push("  }");
  });
  lines.push("}");
  return lines.join("\n") + "\n";
}

function dotText(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n");
  return `"${escaped.replace(/\p{Cc}/gu, " ")}"`;
}

// Pixels of the picture, and letters of a channel's name in it.
const [LANE, ROW, MARGIN, TITLE_LETTERS] = [16, 22, 16, 32];

const SVG_STYLE = `\
svg{--text:#1f2328;--dim:#59636e;--paper:#fff;--c0:#0969da;--c1:#bc4c00;--c2:#1a7f37;--c3:#8250df;--c4:#bf3989;--c5:#7d6100}
@media(prefers-color-scheme:dark){svg{--text:#f0f6fc;--dim:#9198a1;--paper:#0d1117;--c0:#4493f8;--c1:#db6d28;--c2:#3fb950;\
--c3:#ab7df8;--c4:#db61a2;--c5:#d29922}}
.paper{fill:var(--paper)}text{font:12px ui-monospace,monospace;fill:var(--text)}.dim{fill:var(--dim)}.head{font-weight:bold}
path{fill:none;stroke-width:2}.skip{stroke-dasharray:3 3;stroke-width:1}circle{stroke-width:2;fill:var(--paper)}
.l0{stroke:var(--c0)}.l1{stroke:var(--c1)}.l2{stroke:var(--c2)}.l3{stroke:var(--c3)}.l4{stroke:var(--c4)}.l5{stroke:var(--c5)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}
.absent{stroke:var(--dim)}`;

/** A row for each version, and below them the names that the catalog has no bundle of. */
function svg(packageName: string, upgrades: Upgrades, channels: readonly number[]): string {
  const lanes = layOut(upgrades, channels).map((lane) => ({ ...lane, ...upgrades.channels[lane.channel]! }));
  const rows = svgRows(upgrades, lanes);
  const places = new Map(rows.map(({ name }, at) => [name, at]));
  const titles = lanes.map((lane) => [...channelTitle(lane)]);
  const header = MARGIN + width(Math.max(0, ...titles.map((title) => Math.min(title.length, TITLE_LETTERS)))) + ROW;
  const longest = (texts: string[]) => texts.reduce((most, text) => Math.max(most, width([...text].length)), 0);
  const version = MARGIN + lanes.length * LANE + LANE;
  const name = version + longest(rows.map((row) => row.version)) + LANE;
  const notes = name + longest(rows.map((row) => row.name)) + LANE;
  const right = notes + longest(rows.map((row) => row.notes)) + MARGIN;
  const height = header + rows.length * ROW + MARGIN;
  const x = (lane: number) => MARGIN + lane * LANE + LANE / 2;
  const y = (row: number) => header + row * ROW + ROW / 2;
  const size = `width="${right}" height="${height}" viewBox="0 0 ${right} ${height}"`;
  const lines = [`<svg xmlns="http://www.w3.org/2000/svg" role="img" ${size}>`];
  lines.push(`<title>Update graph of ${xmlText(packageName)}</title>`, `<style>${SVG_STYLE}</style>`);
  lines.push(`<rect class="paper" width="${right}" height="${height}"/>`);
  titles.forEach((title, at) => {
    const short = title.length > TITLE_LETTERS ? [...title.slice(0, TITLE_LETTERS - 1), "…"] : title;
    const place = `translate(${x(at) + 4} ${header - ROW / 2})rotate(-90)`;
    lines.push(`<text class="f${at % 6}" transform="${place}">${xmlText(short.join(""))}</text>`);
  });
  lanes.forEach((lane, at) => {
    const withDot = new Set(lane.entries.flatMap((entry) => places.get(entry.name) ?? []));
    const line = (to: number, from: number, isStraight: boolean, style: string) => {
      const [top, bottom, left, bend] = [y(to), y(from), x(at), x(at) + LANE / 2 + 3];
      const curve = isStraight ? `V${bottom}` : `C${bend} ${top} ${bend} ${bottom} ${left} ${bottom}`;
      lines.push(`<path class="l${at % 6}${style}" d="M${left} ${top}${curve}"/>`);
    };
    const isFree = (one: number, other: number) => {
      for (let row = Math.min(one, other) + 1; row < Math.max(one, other); row++) if (withDot.has(row)) return false;
      return true;
    };
    for (const entry of lane.entries) {
      const to = places.get(entry.name)!;
      const from = places.get(entry.replaces ?? "");
      if (from !== undefined && from !== to) line(to, from, isFree(to, from), "");
      for (const skipped of entry.skips) {
        const from = places.get(skipped);
        if (from !== undefined && from !== to && withDot.has(from)) line(to, from, false, " skip");
      }
    }
    const heads = upgrades.heads(lane.channel);
    for (const entry of lane.entries) {
      const place = upgrades.places.get(entry.name)!;
      const fill = upgrades.rows[place]!.bundle ? `l${at % 6}${heads.has(place) ? ` f${at % 6}` : ""}` : "absent";
      const title = `<title>${xmlText(entry.name)} in ${xmlText(channelTitle(lane))}</title>`;
      lines.push(`<circle class="${fill}" cx="${x(at)}" cy="${y(places.get(entry.name)!)}" r="4">${title}</circle>`);
    }
  });
  rows.forEach((row, at) => {
    const text = (style: string, left: number, text: string) =>
      lines.push(`<text class="${style}" x="${left}" y="${y(at) + 4}">${xmlText(text)}</text>`);
    text(row.isHead ? "head" : "row", version, row.version);
    text(row.isHead ? "head" : "row", name, row.name);
    text("dim", notes, row.notes);
    lines.push(lines.splice(-3).join(""));
  });
  lines.push("</svg>");
  return lines.join("\n") + "\n";
}

interface SvgRow {
  name: string;
  version: string;
  notes: string;
  isHead: boolean;
}

function svgRows(upgrades: Upgrades, lanes: { channel: number; name: string; entries: Entries }[]): SvgRow[] {
  const marks = lanes.map(({ channel, name }) => {
    return { name, heads: upgrades.heads(channel), stranded: upgrades.stranded(channel) };
  });
  const channels = new Set(lanes.map((lane) => lane.channel));
  const rows: SvgRow[] = [];
  const known = new Set<string>();
  upgrades.rows.forEach(({ name, bundle, entries }, row) => {
    if (!bundle || !entries.some(({ channel }) => channels.has(channel))) return;
    const heads = marks.filter((lane) => lane.heads.has(row)).map((lane) => lane.name);
    const notes = heads.length > 0 ? [`head of ${heads.join(", ")}`] : [];
    if (bundle.deprecation) notes.push("deprecated");
    if (marks.some(({ stranded }) => stranded.has(row))) notes.push("stranded");
    const ranges = new Set(entries.flatMap(({ entry }) => entry.skipRange ?? []));
    notes.push(...[...ranges].sort(byCodePoint).map((range) => `from ${range}`));
    rows.push({ name, version: bundle.version ?? "", notes: notes.join(" · "), isHead: heads.length > 0 });
    known.add(name);
  });
  for (const name of lanes.flatMap(({ entries }) => entries.flatMap((entry) => [entry.name, entry.replaces]))) {
    if (name === null || known.has(name)) continue;
    known.add(name);
    rows.push({ name, version: "", notes: "absent", isHead: false });
  }
  return rows;
}

type Entries = Upgrades["channels"][number]["entries"];

/** Width of a number of letters of the monospaced font, rounded up. */
function width(letters: number): number {
  return Math.ceil((letters * 74) / 10);
}

function xmlText(text: string): string {
  const entities: Record<string, string> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };
  // Also those that change the direction of what follows, and two that XML excludes.
  const safe = text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu, " ");
  return safe.replace(/[<>&"]/g, (letter) => entities[letter]!);
}

// Which lines of two texts differ, with bounded work. Pure.

export interface Part {
  kind: "same" | "removed" | "added";
  lines: string[];
}

/** Most lines that may differ for the difference to be found; beyond, all between the equal ends counts as replaced. */
export const MAX_DIFFERENCES = 1_000;

/** The parts of two texts in order; what was removed stands before what was added in its place. */
export function diffLines(from: string, to: string): Part[] {
  const [left, right] = [split(from), split(to)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  const parts: Part[] = [];
  add(parts, "same", left.slice(0, start));
  middle(parts, left.slice(start, left.length - end), right.slice(start, right.length - end));
  add(parts, "same", left.slice(left.length - end));
  return parts;
}

function split(text: string): string[] {
  return text === "" ? [] : text.split(/\r?\n/);
}

function add(parts: Part[], kind: Part["kind"], lines: string[]) {
  if (lines.length === 0) return;
  const last = parts.at(-1);
  if (last?.kind === kind) last.lines.push(...lines);
  else parts.push({ kind, lines });
}

/** The shortest script of Myers (1986), whose work grows with the number of differences. */
function middle(parts: Part[], left: string[], right: string[]) {
  const trace = search(left, right);
  if (!trace) {
    add(parts, "removed", left);
    add(parts, "added", right);
    return;
  }
  const steps: [Part["kind"], string][] = [];
  let [x, y] = [left.length, right.length];
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const ends = trace[depth]!;
    const diagonal = x - y;
    const isDown = diagonal === -depth || (diagonal !== depth && at(ends, diagonal - 1) < at(ends, diagonal + 1));
    const before = isDown ? diagonal + 1 : diagonal - 1;
    const [oldX, oldY] = depth === 0 ? [0, 0] : [at(ends, before), at(ends, before) - before];
    while (x > oldX && y > oldY) steps.push(["same", left[(--x, --y, x)]!]);
    if (depth === 0) break;
    if (isDown) steps.push(["added", right[--y]!]);
    else steps.push(["removed", left[--x]!]);
  }
  const order: [Part["kind"], string][] = [];
  const added: [Part["kind"], string][] = [];
  for (const step of steps.reverse()) {
    if (step[0] === "added") added.push(step);
    else if (step[0] === "removed") order.push(step);
    else order.push(...added.splice(0), step);
  }
  for (const [kind, line] of [...order, ...added]) add(parts, kind, [line]);
}

/** The furthest ends of each diagonal before each depth; `undefined` when there are too many differences. */
function search(left: string[], right: string[]): Map<number, number>[] | undefined {
  const trace: Map<number, number>[] = [];
  const ends = new Map<number, number>([[1, 0]]);
  for (let depth = 0; depth <= MAX_DIFFERENCES; depth++) {
    trace.push(new Map([...ends].filter(([diagonal]) => Math.abs(diagonal) <= depth + 1)));
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const isDown = diagonal === -depth || (diagonal !== depth && at(ends, diagonal - 1) < at(ends, diagonal + 1));
      let x = isDown ? at(ends, diagonal + 1) : at(ends, diagonal - 1) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x++;
      ends.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return trace;
    }
  }
  return undefined;
}

function at(ends: Map<number, number>, diagonal: number): number {
  return ends.get(diagonal) ?? -1;
}

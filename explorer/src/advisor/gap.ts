// How far upgrades lead from one version towards another, and where they end. Pure.

import type { Upgrades, Version } from "../graph/upgrades";

/** Where a way of upgrades ends before the wanted version. */
export interface Gap {
  /** The row of the first version on the other side: the lowest from which upgrades lead to the wanted one. */
  after: number;
}

export interface Way {
  /** The row of the furthest version towards the wanted one, which is the wanted one if nothing is between. */
  furthest: number;
  gap?: Gap;
}

/** The way from a row to another. Rows have the highest version first. */
export function wayBetween<V extends Version>(upgrades: Upgrades<V>, from: number, to: number): Way {
  const reached = upgrades.reachable(from);
  if (reached.has(to)) return { furthest: to };
  // A version above the wanted one is no step towards it.
  const before = [...reached.keys()].filter((row) => row > to);
  const furthest = Math.min(from, ...before);
  const beyond = upgrades.rows.map((_, row) => row).filter((row) => row >= to && row < furthest && !reached.has(row));
  const after = beyond.findLast((row) => upgrades.rows[row]!.bundle !== undefined && upgrades.reachable(row).has(to));
  return { furthest, gap: { after: after ?? to } };
}

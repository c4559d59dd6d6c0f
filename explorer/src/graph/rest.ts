// What the update graph shows before its reader chose anything: which version is described, and which rows are folded. Pure.

import type { Row, Upgrades } from "./upgrades";

/** The version that is described while none is selected: the head of the default channel, or of the only one that is shown. */
export function restingName(upgrades: Upgrades, shown: readonly number[]): string | undefined {
  return headOf(upgrades, shown.length === 1 ? shown[0]! : defaultChannel(upgrades))?.name;
}

/**
 * Rows of pre-releases that are the head of no channel. There are none where the head of the default channel is one: what
 * looks like a pre-release there is how the package numbers its releases.
 */
export function foldedRows(upgrades: Upgrades): ReadonlySet<number> {
  const usual = headOf(upgrades, defaultChannel(upgrades));
  if (!usual || isPrerelease(usual)) return new Set();
  const heads = new Set(upgrades.channels.flatMap((_, channel) => [...upgrades.heads(channel)]));
  return new Set(upgrades.rows.flatMap((row, at) => (isPrerelease(row) && !heads.has(at) ? [at] : [])));
}

function defaultChannel(upgrades: Upgrades): number {
  return upgrades.channels.findIndex(({ isDefault }) => isDefault);
}

/** The highest head of a channel that the catalog has. */
function headOf(upgrades: Upgrades, channel: number): Row | undefined {
  if (channel < 0) return undefined;
  const heads = [...upgrades.heads(channel)].filter((row) => upgrades.rows[row]!.bundle);
  return upgrades.rows[Math.min(...heads)];
}

function isPrerelease({ bundle }: Row): boolean {
  return /^[^+]*-/.test(bundle?.version ?? "");
}

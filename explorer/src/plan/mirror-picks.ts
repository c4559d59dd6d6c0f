// The mirror set of a plan: what the catalogs of its steps must have for the upgrades that it goes through. Pure.

import type { PlanUpgradeData } from "../generated/documents";
import { type Pick, pickText } from "../mirror/picks";

export type Plan = NonNullable<PlanUpgradeData["platformUpgrade"]>;

/** What one catalog must have. */
export interface CatalogPicks {
  catalog: string;
  /** The first step whose moves it is for. */
  step: number;
  picks: string[];
}

/** From the lowest to the highest version that the plan goes to in each catalog, step after step. */
export function planPicks({ packages }: Plan): CatalogPicks[] {
  const catalogs = new Map<string, { step: number; picks: Map<string, Pick> }>();
  for (const { packageName, moves } of packages) {
    for (const { step, to, channel } of moves) {
      if (!to) continue;
      const name = to.package.catalog.name;
      const own = catalogs.get(name) ?? { step, picks: new Map<string, Pick>() };
      const known = own.picks.get(packageName);
      const channels = [...new Set([...(known?.channels ?? []), ...(channel ? [channel] : [])])];
      // Moves are in the order of their versions.
      own.picks.set(packageName, { name: packageName, channels, low: known?.low ?? to.version ?? undefined, high: to.version ?? known?.high });
      catalogs.set(name, own);
    }
  }
  return [...catalogs]
    .map(([catalog, { step, picks }]) => ({ catalog, step, picks: [...picks.values()].map(pickText) }))
    .sort((one, other) => one.step - other.step);
}

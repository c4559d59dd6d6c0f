// Which versions of a package run on the reader's cluster. Pure.

import type { FoundPackage } from "./package-page";

/** Bundles that run on the reader's cluster, by name; `undefined` without a cluster, or where not all are known. */
export function compatibleNames({ compatible }: FoundPackage): ReadonlySet<string> | undefined {
  if (!compatible || compatible.nodes.length < compatible.totalCount) return undefined;
  return new Set(compatible.nodes.map(({ name }) => name));
}

// Every version of a package with the entries of its channels, page by page.

import { query } from "../client";
import { PackageVersions, type PackageVersionsData } from "../generated/documents";
import { usePages } from "../use-pages";
import { type QueryState, useQuery } from "../use-query";

type Found = NonNullable<PackageVersionsData["package"]>;
type Bundles = NonNullable<Found["bundles"]>;
export type PackageVersion = Bundles["nodes"][number];

export interface Versions {
  result: QueryState<PackageVersionsData>;
  found?: Found | undefined;
  /** Highest first. */
  versions: readonly PackageVersion[];
  /** Whether some are not there: they are being loaded, or cannot be loaded. */
  missing?: "loading" | "failed";
}

/** With `skip`, nothing is asked for. */
export function useVersions(catalog: string, packageName: string, { skip = false } = {}): Versions {
  const result = useQuery(PackageVersions, { catalog, package: packageName }, { skip });
  const found = result.data?.package ?? undefined;
  const { nodes: versions, ...rest } = usePages(found?.bundles, async (after, signal) => {
    const { data } = await query(PackageVersions, { catalog, package: packageName, after }, { signal });
    return data.package?.bundles;
  });
  return { result, found, versions, ...rest };
}

// Every version of a package with the entries of its channels, page by page.

import { useEffect, useMemo, useState } from "preact/hooks";

import { type Answer, isReachable, query } from "../client";
import { PackageVersions, type PackageVersionsData } from "../generated/documents";
import { useStore } from "../store";
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
  const [more, setMore] = useState<{ of: Found; nodes: readonly PackageVersion[] }>();
  const first = found?.bundles;
  const rest = more?.of === found ? more?.nodes : undefined;
  const versions = useMemo(() => [...(first?.nodes ?? []), ...(rest ?? [])], [found, rest]);
  const isComplete = versions.length >= (first?.totalCount ?? 0);
  const isThere = useStore(isReachable);
  useEffect(() => {
    if (!isThere || !found || isComplete || !first?.pageInfo.hasNextPage) return undefined;
    const abort = new AbortController();
    const nodes: PackageVersion[] = [];
    const load = async () => {
      for (let page: Bundles | null | undefined = first; page?.pageInfo.hasNextPage;) {
        const variables = { catalog, package: packageName, after: page.pageInfo.endCursor };
        const next: Answer<PackageVersionsData> = await query(PackageVersions, variables, { signal: abort.signal });
        page = next.data.package?.bundles;
        nodes.push(...(page?.nodes ?? []));
      }
      // Once, because a graph of thousands of versions takes a moment to be drawn.
      setMore({ of: found, nodes });
    };
    load().catch(() => {
      if (!abort.signal.aborted) setMore({ of: found, nodes });
    });
    return () => abort.abort();
    // What could not be loaded is asked for again when the server is back.
  }, [found, isThere]);
  return { result, found, versions, ...(!isComplete && { missing: rest ? "failed" : "loading" }) };
}

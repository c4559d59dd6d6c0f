// What is wrong with a package in its catalog.

import { ProblemList, problemVariables } from "../catalogs/problem-list";
import { Problems as Document } from "../generated/documents";
import { Empty, OpenInPlayground } from "../parts";
import type { FoundPackage, TabProps } from "./package-page";

/** How many problems of any severity a package has. */
export function problemCount({ problemCounts }: FoundPackage): number {
  return problemCounts.reduce((sum, { count }) => sum + count, 0);
}

export function Problems({ address, found }: TabProps) {
  const of = { catalog: address.catalog, package: found.name };
  if (problemCount(found) === 0) return <Empty title="No problems" />;
  return (
    <>
      <p>
        Errors are what <code>opm validate</code> refuses. The catalog is served all the same.
      </p>
      <div class="card">
        <ProblemList of={of} isOfPackage />
      </div>
      <OpenInPlayground document={Document} variables={problemVariables(of)} />
    </>
  );
}

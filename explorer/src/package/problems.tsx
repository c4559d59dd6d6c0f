// What is wrong with a package in its catalog.

import { Problems as Document } from "../generated/Problems";
import { Empty, OpenInPlayground, ProblemList, Result } from "../parts";
import { number } from "../parts/format";
import { useQuery } from "../use-query";
import type { TabProps } from "./package-page";

/** Problems of one package that are shown. */
const SHOWN_PROBLEMS = 500;

export function Problems({ address, found }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name, first: SHOWN_PROBLEMS };
  const result = useQuery(Document, variables);
  return (
    <>
      <Result of={result} document={Document} variables={variables}>
        {(data) => {
          const problems = data.catalog?.problems;
          if (!problems?.nodes.length) return <Empty title="No problems" />;
          return (
            <div class="stack">
              <p>
                Errors are what <code>opm validate</code> refuses. The catalog is served all the same.
              </p>
              <div class="card">
                <ProblemList catalog={address.catalog} packageName={found.name} problems={problems.nodes} />
              </div>
              {problems.totalCount > problems.nodes.length && (
                <p>{number(problems.totalCount - problems.nodes.length)} more are not shown.</p>
              )}
            </div>
          );
        }}
      </Result>
      <OpenInPlayground document={Document} variables={variables} />
    </>
  );
}

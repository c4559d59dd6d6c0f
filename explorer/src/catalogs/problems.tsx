// The problems of a catalog, page after page.

import { useState } from "preact/hooks";

import { type CatalogAddress, Link } from "../address";
import { Problems as Document, type ProblemSeverity } from "../generated/documents";
import { Loading, OpenInPlayground, ProblemList, Result } from "../parts";
import { counted } from "../parts/format";
import { useQuery } from "../use-query";

/** Problems of one page. */
const PAGE_SIZE = 100;

export interface ProblemsProps {
  address: CatalogAddress;
  counts: readonly { severity: ProblemSeverity; count: number }[];
}

export function Problems({ address, counts }: ProblemsProps) {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const variables = variablesOf(address);
  const errors = counts.find(({ severity }) => severity === "ERROR")?.count ?? 0;
  return (
    <section class="card wide" aria-labelledby="problems">
      <div class="title-row">
        <h2 id="problems">{total > 0 ? counted(total, "problem") : "No problems"}</h2>
        {errors > 0 && errors < total && (
          <Link stay to={{ ...address, severity: address.severity ? undefined : "error" }}>
            {address.severity ? "Show warnings, too" : "Show errors only"}
          </Link>
        )}
        {address.package && (
          <Link stay to={{ ...address, package: undefined }}>
            Show those of all packages
          </Link>
        )}
        {total > 0 && <OpenInPlayground document={Document} variables={variables} />}
      </div>
      {total > 0 ? <Page address={address} /> : <p>Nothing is wrong in this catalog.</p>}
    </section>
  );
}

function variablesOf({ catalog, package: name, severity }: CatalogAddress, after?: string) {
  return {
    catalog,
    ...(name && { package: name }),
    ...(severity && { severity: "ERROR" as const }),
    first: PAGE_SIZE,
    ...(after && { after }),
  };
}

function Page({ address, after }: { address: CatalogAddress; after?: string }) {
  const [hasMore, setMore] = useState(false);
  const variables = variablesOf(address, after);
  const result = useQuery(Document, variables);
  return (
    <Result of={result} document={Document} variables={variables} loading={<Loading />}>
      {({ catalog }) => (
        <>
          <ProblemList catalog={address.catalog} problems={catalog?.problems?.nodes ?? []} />
          {catalog?.problems?.pageInfo.hasNextPage &&
            catalog.problems.pageInfo.endCursor &&
            (hasMore ? (
              <Page address={address} after={catalog.problems.pageInfo.endCursor} />
            ) : (
              <p>
                <button type="button" onClick={() => setMore(true)}>
                  Show more
                </button>
              </p>
            ))}
        </>
      )}
    </Result>
  );
}

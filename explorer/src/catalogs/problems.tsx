// The problems of a catalog.

import { type CatalogAddress, Link } from "../address";
import { type ProblemSeverity, Problems as Document } from "../generated/documents";
import { OpenInPlayground } from "../parts";
import { counted } from "../parts/format";
import { ProblemList, problemVariables } from "./problem-list";

export interface ProblemsProps {
  address: CatalogAddress;
  counts: readonly { severity: ProblemSeverity; count: number }[];
}

export function Problems({ address, counts }: ProblemsProps) {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
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
        {total > 0 && <OpenInPlayground document={Document} variables={problemVariables(address)} />}
      </div>
      {total > 0 ? <ProblemList of={address} /> : <p>Nothing is wrong in this catalog.</p>}
    </section>
  );
}

// What several pages say of a catalog.

import { EVERYTHING, Link, type ListAddress } from "../address";
import type { CatalogsData, ProblemSeverity } from "../generated/documents";
import { Day, Digest } from "../parts";
import { ago, counted } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { Signatures } from "./verification";

/** How the last loads of a catalog went. */
export type CatalogStatus = CatalogsData["catalogStatuses"][number];

/** The packages of one catalog. */
export function inCatalog(name: string): ListAddress {
  return { ...EVERYTHING, in: [name] };
}

export interface SourceProps {
  catalog: { digest: string; image: string | null; lastUnpacked: string | null; priority: number };
  status: { lastSuccess: string | null; nextCheck: string | null };
  verification: Parameters<typeof Signatures>[0]["verification"];
}

/** Which content is served and where it comes from. */
export function Source({ catalog, status, verification }: SourceProps) {
  const { digest, image, lastUnpacked, priority } = catalog;
  return (
    <dl class="facts">
      <dt>Content</dt>
      <dd>
        <Digest digest={digest} />
      </dd>
      <dt>Source</dt>
      <dd>{image ? <code>{image}</code> : "A directory"}</dd>
      {lastUnpacked && (
        <>
          <dt>Unpacked</dt>
          <dd>
            <Day time={lastUnpacked} /> ({ago(lastUnpacked)})
          </dd>
        </>
      )}
      {status.lastSuccess && (
        <>
          <dt>Last read</dt>
          <dd>
            {ago(status.lastSuccess)}
            {status.nextCheck && `; next ${ago(status.nextCheck)}`}
          </dd>
        </>
      )}
      <Signatures verification={verification} />
      <dt>Priority</dt>
      <dd>{priority}</dd>
    </dl>
  );
}

/** A load that failed. */
export function Failing({ failure, isServed }: { failure: NonNullable<CatalogStatus["lastFailure"]>; isServed: boolean }) {
  const { at, reason, message, attempts } = failure;
  return (
    <div class="alert danger">
      <Glyph name="alert" />
      <div>
        <strong>{isServed ? "The last load failed; the former content is served" : "It cannot be loaded"}</strong>
        <p class="message">{message}</p>
        <p>
          <code>{reason}</code> {ago(at)}, {counted(attempts, "failed attempt")} in a row
        </p>
      </div>
    </div>
  );
}

/** How many problems a catalog has, of each severity that it has. */
export function ProblemBadges({ counts, catalog }: { counts: readonly { severity: ProblemSeverity; count: number }[]; catalog: string }) {
  return (
    <>
      {counts
        .filter(({ count }) => count > 0)
        .map(({ severity, count }) => (
          <Link key={severity} class={`badge ${severity === "ERROR" ? "danger" : "warning"}`} to={{ page: "catalog", catalog }}>
            {counted(count, severity.toLowerCase())}
          </Link>
        ))}
    </>
  );
}

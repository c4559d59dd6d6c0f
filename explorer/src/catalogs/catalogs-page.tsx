// Every catalog: what it holds, where it comes from, how its last load went.

import "./catalogs.css";

import { Heading, Link } from "../address";
import { token } from "../client";
import { Catalogs } from "../generated/documents";
import { OpenInPlayground, Result } from "../parts";
import { counted } from "../parts/format";
import { NoCatalogs } from "../list/no-catalogs";
import { useStore } from "../store";
import { useQuery } from "../use-query";
import { type CatalogStatus, Failing, inCatalog, ProblemBadges, Source } from "./source";
import { Refused } from "./verification";

export default function CatalogsPage() {
  const result = useQuery(Catalogs, {});
  const hasToken = useStore(token) !== undefined;
  return (
    <>
      <div class="title-row">
        <Heading title="Catalogs" />
        <Link class="button" to={{ page: "diff" }}>
          Compare contents
        </Link>
        <Link class="button" to={{ page: "matrix", in: [] }}>
          Packages side by side
        </Link>
        <OpenInPlayground document={Catalogs} variables={{}} />
      </div>
      {hasToken && <p class="subtle">These are the catalogs that your token may read.</p>}
      <Result of={result} document={Catalogs} variables={{}}>
        {({ catalogStatuses }) =>
          catalogStatuses.length > 0 ? (
            <ul role="list" class="catalog-cards">
              {catalogStatuses.map((status) => (
                <Card key={status.name} status={status} />
              ))}
            </ul>
          ) : (
            <NoCatalogs />
          )
        }
      </Result>
    </>
  );
}

function Card({ status }: { status: CatalogStatus }) {
  const { name, catalog, lastFailure, verification } = status;
  return (
    <li class="card catalog-card">
      <header>
        <h2>
          <Link data-item to={{ page: "catalog", catalog: name }}>
            {catalog?.displayName ?? name}
          </Link>
        </h2>
        {catalog && catalog.displayName !== name && <code>{name}</code>}
        {catalog?.publisher && <span class="publisher">by {catalog.publisher}</span>}
        {catalog && <ProblemBadges counts={catalog.problemCounts} catalog={name} />}
      </header>
      {lastFailure && <Failing failure={lastFailure} isServed={catalog !== null} />}
      <Refused verification={verification} isServed={catalog !== null} />
      {catalog ? (
        <>
          <p class="counts">
            <Link to={inCatalog(name)}>{counted(catalog.packageCount, "package")}</Link>
            <span>{counted(catalog.bundleCount, "bundle")}</span>
          </p>
          <Source catalog={catalog} status={status} verification={verification} />
        </>
      ) : (
        !lastFailure && <p>It is being loaded for the first time.</p>
      )}
    </li>
  );
}

// One catalog: its content, those before it, and what is wrong in it.

import "./catalogs.css";

import { type CatalogAddress, Heading, Link } from "../address";
import { Catalog, type CatalogData } from "../generated/documents";
import { Day, Digest, Empty, OpenInPlayground, Result, Table } from "../parts";
import { Feed } from "../parts/feed";
import { ago, counted, number } from "../parts/format";
import { useQuery } from "../use-query";
import { Problems } from "./problems";
import { Failing, inCatalog, Source } from "./source";
import { Refused } from "./verification";

type Shown = NonNullable<CatalogData["catalog"]>;

export default function CatalogPage({ address }: { address: CatalogAddress }) {
  const name = address.catalog;
  const variables = { name };
  const result = useQuery(Catalog, variables);
  const catalog = result.data?.catalog;
  return (
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to={{ page: "catalogs" }}>Catalogs</Link>
      </nav>
      <div class="title-row">
        <Heading title={catalog?.displayName ?? name} />
        {catalog && catalog.displayName !== name && <code>{name}</code>}
        {catalog?.publisher && <span class="publisher">by {catalog.publisher}</span>}
        {catalog && (
          <Link class="button" to={inCatalog(name)}>
            {counted(catalog.packageCount, "package")}
          </Link>
        )}
        {catalog && (
          <Link class="button" to={{ page: "mirror", catalog: name, pick: [] }}>
            Mirror a part
          </Link>
        )}
        {catalog && <Feed catalog={name} class="button" />}
        <OpenInPlayground document={Catalog} variables={variables} />
      </div>
      <Result of={result} document={Catalog} variables={variables}>
        {({ catalog }) => (catalog ? <Details catalog={catalog} address={address} /> : <Missing name={name} />)}
      </Result>
    </>
  );
}

function Missing({ name }: { name: string }) {
  return (
    <Empty title={`No catalog ${name} is served`}>
      <p>It may have been withdrawn, or has not been loaded yet.</p>
      <Link class="button" to={{ page: "catalogs" }}>
        All catalogs
      </Link>
    </Empty>
  );
}

function Details({ catalog, address }: { catalog: Shown; address: CatalogAddress }) {
  return (
    <div class="catalog-details">
      <section class="card" aria-label="Content">
        {catalog.status.lastFailure && <Failing failure={catalog.status.lastFailure} isServed />}
        <Refused verification={catalog.verification} />
        <Source catalog={catalog} status={catalog.status} verification={catalog.verification} />
        {catalog.labels.length > 0 && (
          <ul role="list" class="labels" aria-label="Labels">
            {catalog.labels.map(({ key, value }) => (
              <li key={key}>
                <code>
                  {key}={value}
                </code>
              </li>
            ))}
          </ul>
        )}
      </section>
      <Schemas schemas={catalog.schemas} />
      <Contents contents={catalog.contents} />
      <Problems address={address} counts={catalog.problemCounts} />
    </div>
  );
}

function Schemas({ schemas }: Pick<Shown, "schemas">) {
  return (
    <section class="card" aria-label="Blobs">
      <h2>Blobs</h2>
      <Table heads={["Schema", { text: "Blobs", class: "number" }]}>
        {schemas.map(({ schema, count }) => (
          <tr key={schema}>
            <td>
              <code>{schema}</code>
            </td>
            <td class="number">{number(count)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

/** The contents that a diff can be made of. */
function Contents({ contents }: Pick<Shown, "contents">) {
  const served = contents.find(({ isServed }) => isServed);
  return (
    <section class="card wide" aria-label="Contents">
      <h2>Contents</h2>
      {contents.length < 2 && <p>Only the content that is served is remembered: earlier ones appear here when it changes.</p>}
      <ul role="list" class="contents">
        {contents.map(({ digest, isServed, image, unpackedAt }) => (
          <li key={digest}>
            <Digest digest={digest} />
            {unpackedAt && (
              <span>
                <Day time={unpackedAt} /> ({ago(unpackedAt)})
              </span>
            )}
            {image && <code class="image">{image}</code>}
            {isServed ? (
              <span class="badge success">served</span>
            ) : (
              served && <Link to={{ page: "diff", from: digest, to: served.digest }}>What changed since</Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

// The catalogs that have a package of a name; where it is one, its page.

import { useEffect } from "preact/hooks";

import { EVERYTHING, Heading, Link, replace } from "../address";
import { PackageCatalogs } from "../generated/documents";
import { Deprecated, Empty, Icon, OpenInPlayground, Result } from "../parts";
import { DidYouMean, useSimilarPackages } from "../parts/similar";
import { useQuery } from "../use-query";

export function InCatalogs({ packageName }: { packageName: string }) {
  const variables = { package: packageName };
  const result = useQuery(PackageCatalogs, variables);
  const found = result.data?.packages?.nodes;
  const only = found?.length === 1 ? found[0] : undefined;
  useEffect(() => {
    if (only) replace({ page: "package", catalog: only.catalog.name, package: packageName }, { isOther: true });
  }, [only]);
  return (
    <article class="package">
      <Heading title={packageName} />
      <Result of={result} document={PackageCatalogs} variables={variables}>
        {() =>
          found?.length ? (
            <ul role="list" class="plain-list stack">
              {found.map((each) => (
                <li key={each.catalog.name} class="card row">
                  <Icon icon={each.icon} name={each.displayName} />
                  <div>
                    <h2>
                      <Link data-item to={{ page: "package", catalog: each.catalog.name, package: packageName }}>
                        <bdi>{each.catalog.displayName}</bdi>
                      </Link>
                    </h2>
                    <p>
                      <bdi>{each.displayName}</bdi> {each.latest?.version}{" "}
                      {each.deprecation && <Deprecated message={each.deprecation.message} />}
                    </p>
                  </div>
                </li>
              ))}
            </ul>
          ) : (
            <NoPackage packageName={packageName} />
          )
        }
      </Result>
      <OpenInPlayground document={PackageCatalogs} variables={variables} />
    </article>
  );
}

function NoPackage({ packageName }: { packageName: string }) {
  const similar = useSimilarPackages(packageName);
  return (
    <Empty title="No such package">
      <p>
        No catalog has a package <bdi>{packageName}</bdi>.
      </p>
      <DidYouMean names={similar} to={(name) => ({ page: "package", package: name })} />
      <Link class="button" to={{ ...EVERYTHING, q: packageName }}>
        Search for it
      </Link>
    </Empty>
  );
}

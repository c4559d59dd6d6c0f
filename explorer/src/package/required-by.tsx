// The bundles of other packages that require one, page after page.

import { Link } from "../address";
import { RequiredBy } from "../generated/documents";
import { NextPage, Result } from "../parts";
import { useQuery } from "../use-query";

export interface RequiredByProps {
  catalog: string;
  packageName: string;
  bundle: string;
  /** The cursor that the page begins after. */
  after?: string;
}

export function RequiredByList({ catalog, packageName, bundle, after }: RequiredByProps) {
  const variables = { catalog, package: packageName, bundle, ...(after && { after }) };
  const result = useQuery(RequiredBy, variables);
  return (
    <Result of={result} document={RequiredBy} variables={variables}>
      {(data) => {
        const found = data.bundle?.requiredBy;
        if (!found) return null;
        return (
          <>
            <ul class="bullets">
              {found.nodes.map((each) => (
                <li key={`${each.package.name} ${each.name}`}>
                  <Link to={{ page: "version", catalog, package: each.package.name, bundle: each.name }}>
                    <bdi>{each.package.displayName}</bdi> {each.version}
                  </Link>
                </li>
              ))}
            </ul>
            <NextPage pageInfo={found.pageInfo}>
              {(cursor) => <RequiredByList catalog={catalog} packageName={packageName} bundle={bundle} after={cursor} />}
            </NextPage>
          </>
        );
      }}
    </Result>
  );
}

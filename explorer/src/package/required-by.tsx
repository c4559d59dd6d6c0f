// The bundles of other packages that require one.

import { Link } from "../address";
import { RequiredBy } from "../generated/RequiredBy";
import { Result } from "../parts";
import { useQuery } from "../use-query";

export function RequiredByList({
  catalog,
  packageName,
  bundle,
}: {
  catalog: string;
  packageName: string;
  bundle: string;
}) {
  const variables = { catalog, package: packageName, bundle };
  const result = useQuery(RequiredBy, variables);
  return (
    <Result of={result} document={RequiredBy} variables={variables}>
      {(data) => {
        const found = data.bundle?.requiredBy;
        const rest = (found?.totalCount ?? 0) - (found?.nodes.length ?? 0);
        return (
          <ul class="bullets">
            {found?.nodes.map((each) => (
              <li key={`${each.package.name} ${each.name}`}>
                <Link to={{ page: "version", catalog, package: each.package.name, bundle: each.name }}>
                  <bdi>{each.package.displayName}</bdi> {each.version}
                </Link>
              </li>
            ))}
            {rest > 0 && <li>and {rest} more</li>}
          </ul>
        );
      }}
    </Result>
  );
}

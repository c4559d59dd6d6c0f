// Names that are spelled like one that does not exist.

import { type Address, Link } from "../address";
import { SimilarPackages } from "../generated/documents";
import { useQuery } from "../use-query";

/** Names of packages of these catalogs, or of all, that are spelled like one that none of them has. */
export function useSimilarPackages(packageName: string, catalogs: readonly string[] = []): readonly string[] {
  const { data } = useQuery(SimilarPackages, { request: { packageName, ...(catalogs.length > 0 && { catalogs }) } });
  return data?.resolve && "similarNames" in data.resolve ? data.resolve.similarNames : [];
}

/** The question whether one of the names is meant, with a link for each. */
export function DidYouMean({ names, to }: { names: readonly string[]; to: (name: string) => Address }) {
  if (names.length === 0) return null;
  return (
    <p>
      Did you mean{" "}
      {names.map((name, at) => (
        <span key={name}>
          {at > 0 && " or "}
          <Link to={to(name)}>
            <bdi>{name}</bdi>
          </Link>
        </span>
      ))}
      ?
    </p>
  );
}

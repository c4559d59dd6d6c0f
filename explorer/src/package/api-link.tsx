// The way to who provides and needs an API.

import { Link } from "../address";

interface ApiLinkProps {
  group: string;
  version: string;
  kind: string;
}

export function ApiLink({ group, version, kind }: ApiLinkProps) {
  return (
    <Link to={{ page: "api", group, kind }} title={`${kind}.${version}.${group}`}>
      <bdi>{kind}</bdi>
    </Link>
  );
}

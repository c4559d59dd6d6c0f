// What is shown where no catalog is served yet.

import { Link } from "../address";
import { Catalogs } from "../generated/documents";
import { Copy, Empty } from "../parts";
import { useQuery } from "../use-query";

const SERVE = "catalogql serve operatorhubio=quay.io/operatorhubio/catalog:latest";

export function NoCatalogs() {
  const { data } = useQuery(Catalogs, {});
  const waiting = data?.catalogStatuses ?? [];
  if (waiting.length > 0) {
    return (
      <Empty title="No catalog has been loaded yet">
        <p>
          {waiting.map(({ name }) => name).join(", ")}: <Link to={{ page: "catalogs" }}>see how the loading goes</Link>. What is loaded appears
          here.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No catalog is served yet">
      <p>On a cluster, create a ClusterCatalog. Elsewhere, name catalogs when you start the server:</p>
      <p class="command">
        <code>{SERVE}</code> <Copy text={SERVE} />
      </p>
    </Empty>
  );
}

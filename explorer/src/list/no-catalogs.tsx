// What is shown where there is no catalog: none is served yet, or the reader may read none.

import { Link } from "../address";
import { token } from "../client";
import { Catalogs } from "../generated/documents";
import { Copy, Empty } from "../parts";
import { useStore } from "../store";
import { useQuery } from "../use-query";

const SERVE = "catalogql serve operatorhubio=quay.io/operatorhubio/catalog:latest";

export function NoCatalogs() {
  const { data } = useQuery(Catalogs, {});
  const hasToken = useStore(token) !== undefined;
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
  if (hasToken) {
    return (
      <Empty title="Your token may read no catalog">
        <p>
          The server knows who you are, and shows you the catalogs that you may read. Ask an administrator of the cluster for the right to get{" "}
          <code>clustercatalogs/content</code>, or reload the page to use another token.
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

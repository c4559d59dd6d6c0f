// What would be installed: by OLM v1 for a ClusterExtension, or by OLM v0 for a Subscription with its dependencies.

import "../package/package.css";
import "./resolve.css";

import { Heading, type ResolveAddress } from "../address";
import { ResolveForm } from "../generated/documents";
import { Empty, OpenInPlayground } from "../parts";
import { Form, formVariables } from "./form";
import { WithInstalled } from "./installed";
import { Resolved } from "./resolved";
import { Solved } from "./solved";

export default function ResolvePage({ address }: { address: ResolveAddress }) {
  const title = address.name ? `What would be installed of ${address.name}` : "What would be installed";
  const isV0 = address.olm === "v0";
  return (
    <article class="package">
      <header>
        <Heading title={title} />
        <p class="subtle">
          {isV0
            ? "The bundles that OLM v0 installs together for a Subscription, from the catalogs that are served here."
            : "The bundle that the controller of OLM v1 chooses for a ClusterExtension, from the catalogs that are served here."}
        </p>
      </header>
      <div class="resolve">
        <Form address={address} />
        <section class="stack" aria-label="Result">
          {!address.name ? (
            <>
              <Empty title="Which package?">
                <p>Name a package to see {isV0 ? "what would be installed with it" : "which of its bundles would be installed"}.</p>
              </Empty>
              <OpenInPlayground document={ResolveForm} variables={formVariables(address)} />
            </>
          ) : (
            <WithInstalled address={address}>
              {(installed) => (isV0 ? <Solved address={address} installed={installed} /> : <Resolved address={address} installed={installed} />)}
            </WithInstalled>
          )}
        </section>
      </div>
    </article>
  );
}

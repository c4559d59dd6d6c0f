// Texts to copy: manifests for OLM v1 and v0, and commands. Pure: values come in, text comes out.

import { command } from "../shared/command";
import { toYaml } from "./yaml";

/** Label that OLM v1 gives each ClusterCatalog. */
const CATALOG_NAME_LABEL = "olm.operatorframework.io/metadata.name";

export interface Install {
  packageName: string;
  catalog: string;
  namespace: string;
  /** Every channel when empty. */
  channels: readonly string[];
  /** A version or a range; the highest allowed version when empty. */
  version: string;
  /** For releases of OLM v1 before 1.11, which do not ignore it. */
  serviceAccount?: string;
  /** Whether the namespace is created too. */
  withNamespace?: boolean;
}

/** A `ClusterExtension` of OLM v1. The namespace must exist, or is before it. */
export function clusterExtension(install: Install): string {
  const { packageName, catalog, namespace, channels, version, serviceAccount, withNamespace = false } = install;
  const text = toYaml({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterExtension",
    metadata: { name: packageName },
    spec: {
      namespace,
      serviceAccount: serviceAccount ? { name: serviceAccount } : undefined,
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName,
          channels: channels.length > 0 ? channels : undefined,
          version: version || undefined,
          selector: { matchLabels: { [CATALOG_NAME_LABEL]: catalog } },
        },
      },
    },
  });
  return withNamespace ? `${namespaceManifest(namespace)}---\n${text}` : text;
}

function namespaceManifest(name: string): string {
  return toYaml({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

export interface Subscribe {
  packageName: string;
  /** Name of the CatalogSource. */
  source: string;
  sourceNamespace: string;
  namespace: string;
  channel: string;
  /** Name of the bundle to begin with; the head of the channel when empty. */
  startingCsv: string;
  /** Supported modes, as the API names them. */
  installModes: readonly string[];
  /** Whether the namespace and its OperatorGroup are created too. */
  withNamespace?: boolean;
}

/** Whether an OperatorGroup must say which namespaces the operator watches. */
export function needsOperatorGroup({ installModes }: Pick<Subscribe, "installModes">): boolean {
  return installModes.length > 0 && !installModes.includes("ALL_NAMESPACES");
}

/** What stands for the namespace that the operator is to watch, where it cannot watch its own. */
export const WATCHED_NAMESPACE = "namespace-to-watch";

/** A `Subscription` of OLM v0, with an `OperatorGroup` before it where one is needed or wanted. */
export function subscription(subscribe: Subscribe): string {
  const { packageName, source, sourceNamespace, namespace, channel, startingCsv, installModes, withNamespace = false } = subscribe;
  const text = toYaml({
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "Subscription",
    metadata: { name: packageName, namespace },
    spec: {
      name: packageName,
      channel,
      source,
      sourceNamespace,
      startingCSV: startingCsv || undefined,
      installPlanApproval: "Manual",
    },
  });
  const isForSome = needsOperatorGroup(subscribe);
  if (!isForSome && !withNamespace) return text;
  const watched = installModes.includes("OWN_NAMESPACE") ? namespace : WATCHED_NAMESPACE;
  const group = toYaml({
    apiVersion: "operators.coreos.com/v1",
    kind: "OperatorGroup",
    metadata: { name: packageName, namespace },
    // Without namespaces it is for all of them.
    spec: isForSome ? { targetNamespaces: [watched] } : {},
  });
  return [...(withNamespace ? [namespaceManifest(namespace)] : []), group, text].join("---\n");
}

/** A `ClusterCatalog` of OLM v1 that serves an image. */
export function clusterCatalog(name: string, image: string): string {
  return toYaml({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterCatalog",
    metadata: { name },
    spec: { source: { type: "Image", image: { ref: image } } },
  });
}

/** A command that sends a GraphQL request. */
export function curl(endpoint: string, document: string, variables: object): string {
  const shown = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
  return [
    command("curl", "--silent", "--get", endpoint),
    command("--data-urlencode", `query=${document}`),
    command("--data-urlencode", `variables=${JSON.stringify(shown)}`),
  ].join(" \\\n  ");
}

/** References of images, each once, one a line. */
export function imageList(images: readonly string[]): string {
  return [...new Set(images.filter((image) => image !== ""))]
    .sort()
    .map((image) => `${image}\n`)
    .join("");
}

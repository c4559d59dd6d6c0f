// Names of catalogs and namespaces on the platforms that OLM runs on.

import { cluster } from "../cluster/cluster";
import { createStore } from "../store";

export const PLATFORMS = ["kubernetes", "openshift"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** Catalogs that OpenShift brings, by what names of the same catalog elsewhere have in them; the first that fits. */
const OPENSHIFT_CATALOGS = [
  ["certified", "certified-operators"],
  ["marketplace", "redhat-marketplace"],
  ["redhat", "redhat-operators"],
  ["community", "community-operators"],
  ["operatorhub", "community-operators"],
] as const;

export interface PlatformNames {
  /** Name of the ClusterCatalog of OLM v1. */
  clusterCatalog: string;
  /** Name of the CatalogSource of OLM v0. */
  source: string;
  sourceNamespace: string;
  /** Namespace for operators that watch every namespace; OLM v0 is installed with it and its OperatorGroup. */
  globalNamespace: string;
}

/** The names that a catalog has on a platform. */
export function platformNames(platform: Platform, catalog: string): PlatformNames {
  if (platform === "kubernetes") {
    return { clusterCatalog: catalog, source: catalog, sourceNamespace: "olm", globalNamespace: "operators" };
  }
  const [, known] = OPENSHIFT_CATALOGS.find(([part]) => catalog.includes(part)) ?? [];
  return {
    clusterCatalog: known ? `openshift-${known}` : catalog,
    source: known ?? catalog,
    sourceNamespace: "openshift-marketplace",
    globalNamespace: "openshift-operators",
  };
}

const KEY = "catalogql:platform";

/** The platform that was chosen last; the browser remembers it. */
export const platform = createStore<Platform>(stored());

export function setPlatform(chosen: Platform) {
  platform.set(chosen);
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Storage may be forbidden; it holds for this visit.
  }
}

function stored(): Platform {
  try {
    const chosen = PLATFORMS.find((each) => each === localStorage.getItem(KEY));
    return chosen ?? (cluster.get().openshift ? "openshift" : "kubernetes");
  } catch {
    // There is no storage where it is forbidden, nor outside of a browser.
    return "kubernetes";
  }
}

// The reader's cluster: its versions, which are in the address of every page, and what is installed there, which is kept in the
// browser alone.

import type { PlatformInput } from "../generated/documents";
import { createStore } from "../store";

export interface Cluster {
  /** Versions, as `4.18`. */
  openshift?: string | undefined;
  kubernetes?: string | undefined;
  /** As `amd64`. */
  architecture?: string | undefined;
  olm?: "v0" | "v1" | undefined;
}

/** An operator that is installed in the cluster. */
export interface InstalledOperator {
  /** What says so: a ClusterServiceVersion (OLM v0) or a ClusterExtension (v1). */
  kind: "CSV" | "ClusterExtension";
  /** Of the bundle. */
  name: string;
  version: string;
  packageName: string;
  /** Where it is installed; empty for an extension, which has no namespace of its own. */
  namespace: string;
  /** Channels that the cluster names for it. */
  channels?: readonly string[];
  /** The catalog that its Subscription names. */
  source?: string;
  /** Range of versions that the extension allows. */
  versionRange?: string;
  /** Whether a user approves each upgrade. */
  isManual?: boolean;
  /** Whether OLM installed it because another one requires it. */
  isDependency?: boolean;
  /** Values of `olm.maxOpenShiftVersion` in its annotation, if it has the annotation. */
  limits?: readonly unknown[];
}

const CLUSTER_KEY = "catalogql:cluster";
const INSTALLED_KEY = "catalogql:installed";

/** Where an address names the cluster. */
export const CLUSTER_KEYS = ["openshift", "kubernetes", "architecture", "olm"] as const;

/** What an address says of the cluster. What is malformed is ignored. */
export function clusterOf(parameters: URLSearchParams): Cluster {
  const version = (key: string) => checkedVersion(parameters.get(key) ?? "");
  const architecture = parameters.get("architecture");
  const olm = parameters.get("olm");
  return {
    openshift: version("openshift"),
    kubernetes: version("kubernetes"),
    ...(architecture && /^[a-z0-9]{1,20}$/.test(architecture) && { architecture }),
    ...((olm === "v0" || olm === "v1") && { olm }),
  };
}

/** A version as the server takes it, if a text is one. */
export function checkedVersion(text: string): string | undefined {
  return /^v?\d{1,4}\.\d{1,4}(\.\d{1,6})?([-+.][\w.+-]{0,40})?$/.test(text.trim()) ? text.trim() : undefined;
}

export function isEmpty(cluster: Cluster): boolean {
  return CLUSTER_KEYS.every((key) => !cluster[key]);
}

export const cluster = createStore<Cluster>(initialCluster());

/** What the browser was told; see `parseObjects`. */
export const installed = createStore<readonly InstalledOperator[]>(storedOperators());

/** Whether the dialog of the cluster is open. */
export const clusterIsOpen = createStore(false);

/** The cluster of the address, or else the one of the last visit. That of the page that resolves is of a request. */
function initialCluster(): Cluster {
  if (typeof location === "undefined") return {};
  const parameters = new URLSearchParams(location.search);
  const named = clusterOf(parameters);
  if (!isEmpty(named) && !parameters.has("resolve")) return named;
  return clusterOf(new URLSearchParams(storedValue<Record<string, string>>(CLUSTER_KEY, {})));
}

/** The operators of the last visit. */
function storedOperators(): readonly InstalledOperator[] {
  const stored = storedValue<unknown>(INSTALLED_KEY, []);
  return Array.isArray(stored) ? (stored as InstalledOperator[]) : [];
}

/** Sets the cluster, also for later visits. */
export function setCluster(chosen: Cluster) {
  const named = CLUSTER_KEYS.flatMap((key) => (chosen[key] ? [[key, chosen[key]]] : []));
  const known = Object.fromEntries(named) as Cluster;
  store(CLUSTER_KEY, known);
  cluster.set(known);
}

export function setInstalled(operators: readonly InstalledOperator[]) {
  store(INSTALLED_KEY, operators);
  installed.set(operators);
}

/** Minor versions of Kubernetes are those of OpenShift 4 and so many. */
const KUBERNETES_AHEAD = 13;

/** The platform that bundles must be compatible with; nothing without a version or an architecture. */
export function platformInput({ openshift, kubernetes, architecture }: Cluster): PlatformInput | undefined {
  if (!openshift && !kubernetes && !architecture) return undefined;
  const [, minor] = /^v?4\.(\d+)/.exec(openshift ?? "") ?? [];
  const implied = minor === undefined ? undefined : `1.${Number(minor) + KUBERNETES_AHEAD}`;
  const version = kubernetes ?? implied;
  return {
    ...(openshift && { openshift }),
    ...(version && { kubernetes: version }),
    ...(architecture && { architecture }),
  };
}

/** The cluster in words, such as `OpenShift 4.18, arm64`. */
export function clusterText({ openshift, kubernetes, architecture }: Cluster): string {
  return [openshift && `OpenShift ${openshift}`, kubernetes && `Kubernetes ${kubernetes}`, architecture].filter(Boolean).join(", ");
}

function storedValue<Value>(key: string, none: Value): Value {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "null") as Value | null) ?? none;
  } catch {
    // Storage may be forbidden, or hold something else.
    return none;
  }
}

function store(key: string, value: unknown) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // It holds for this visit.
  }
}

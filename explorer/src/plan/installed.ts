// What a plan says of what is installed: what the browser was told, and what the address names. Pure.

import type { InstalledOperator } from "../cluster/cluster";
import { MAX_OPENSHIFT } from "../cluster/objects";
import type { ClusterBundleInput } from "../generated/documents";

/** A package as an address names it: `PACKAGE@VERSION[:CHANNEL]`. */
export interface NamedInstalled {
  packageName: string;
  version: string;
  channel?: string;
}

export function parseInstalled(text: string): NamedInstalled | undefined {
  const [, packageName, version, channel] = /^([^@]+)@([^:]+)(?::(.+))?$/.exec(text) ?? [];
  if (!packageName || !version) return undefined;
  return { packageName, version, ...(channel && { channel }) };
}

export function installedText({ packageName, version, channel }: NamedInstalled): string {
  return `${packageName}@${version}${channel ? `:${channel}` : ""}`;
}

/** An operator of the cluster, as a plan takes it. Its catalog is that of its Subscription if it is among those of the first step. */
export function operatorInput(operator: InstalledOperator, catalogs: readonly string[]): ClusterBundleInput {
  const { kind, name, version, packageName, namespace, channels, source, versionRange, isManual, isDependency, limits } = operator;
  return {
    packageName,
    name,
    version,
    ...(namespace && { namespace }),
    ...(channels && { channels: [...channels] }),
    ...(source && catalogs.includes(source) && { catalog: source }),
    ...(kind === "ClusterExtension" && { olm: "V1" as const, ...(versionRange && { versionRange }) }),
    ...(isManual && { approval: "MANUAL" as const }),
    ...(isDependency && { dependency: true }),
    ...(limits && { properties: limits.map((value) => ({ type: MAX_OPENSHIFT, value })) }),
  };
}

export function namedInput({ packageName, version, channel }: NamedInstalled, olm: "v0" | "v1" | undefined): ClusterBundleInput {
  return { packageName, version, ...(channel && { channels: [channel] }), ...(olm === "v1" && { olm: "V1" as const }) };
}

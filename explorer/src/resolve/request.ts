// What an address asks the server: by the rules of OLM v1, or of v0. Pure.

import type { ResolveAddress } from "../address";
import type { InstalledBundlesData, ResolveRequest, SolveRequest } from "../generated/documents";

/** What a `ClusterExtension` would ask for, where this is installed. */
export function resolveRequest(address: ResolveAddress, [installed]: readonly Installed[]): ResolveRequest {
  const { name = "", version, channel, in: catalogs, selector, policy, kubernetes, openshift, architecture } = address;
  const isForCluster = kubernetes || openshift || architecture;
  return {
    packageName: name,
    version: version ?? null,
    channels: channel,
    catalogs,
    selector: selector ?? null,
    installed: installed ? { name: installed.name, version: installed.version } : null,
    ...(isForCluster && {
      compatibleWith: { kubernetes: kubernetes ?? null, openshift: openshift ?? null, architecture: architecture ?? null },
    }),
    ...(policy === "SELF_CERTIFIED" && { upgradeConstraintPolicy: "SELF_CERTIFIED" as const }),
  };
}

/** What a `Subscription` would ask for, in a namespace where these bundles are installed. */
export function solveRequest({ name = "", channel, in: catalogs }: ResolveAddress, installed: readonly Installed[]): SolveRequest {
  const own = installed.find(({ packageName }) => packageName === name);
  return {
    wanted: [{ packageName: name, channels: channel.slice(0, 1), ...(own && { installed: own.name }) }],
    installed: [...installed],
    catalogs,
  };
}

/** A bundle as an address names it: `[PACKAGE/]BUNDLE[@VERSION]`, or by its version in the place of its name. */
export interface NamedBundle {
  packageName?: string;
  /** Or a version, where none follows. */
  name: string;
  version?: string;
}

/** The installed bundles that an address names. */
export function namedBundles({ installed = "" }: ResolveAddress): NamedBundle[] {
  return installed
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => {
      const [, packageName, name = "", version] = /^(?:([^/]*)\/)?(.*?)(?:@([^@]*))?$/.exec(word) ?? [];
      return { ...(packageName && { packageName }), name, ...(version && { version }) };
    });
}

/** What the catalogs are asked for: bundles of these names, and those of the wanted or named packages with these versions. */
export function lookupVariables(named: readonly NamedBundle[], wanted = "") {
  const versions = named.flatMap(({ name, version }) => (version === undefined ? (versionIn(name) ?? []) : []));
  return {
    names: [...new Set(named.map(({ name }) => name))],
    packages: [...new Set(named.map(({ packageName = wanted }) => packageName))],
    versions: versions.map((version) => `=${version}`).join(" || ") || null,
    hasVersions: versions.length > 0,
  };
}

/** Whether a version stands in the place of a name. */
export function isVersion(name: string): boolean {
  return versionIn(name) !== undefined;
}

/** The version that stands in the place of a name, if it is one. */
function versionIn(name: string): string | undefined {
  return /^v?(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)$/.exec(name)?.[1];
}

/** How an address names bundles. */
export function installedText(bundles: readonly NamedBundle[]): string {
  return bundles.map(({ packageName, name, version }) => `${packageName ? `${packageName}/` : ""}${name}${version ? `@${version}` : ""}`).join(" ");
}

type Found = NonNullable<InstalledBundlesData["bundles"]>["nodes"][number];

/** What a request says of an installed bundle. */
export interface Installed {
  name: string;
  version: string;
  /** Without it, nobody knows: neither the address nor a catalog says it. */
  packageName?: string;
  /** By which it meets requirements, and has some; without a catalog that has the bundle, none. */
  properties?: Found["properties"];
}

/**
 * The named bundles with what catalogs say of them; also the names of those whose version nobody says. Where packages have a
 * bundle of the same name, it is that of the wanted package. What no bundle is called may be the version of one.
 */
export function completed(
  named: readonly NamedBundle[],
  found: readonly Found[],
  wanted?: string,
): { installed: Installed[]; withoutVersion: string[] } {
  const installed: Installed[] = [];
  const withoutVersion: string[] = [];
  for (const { packageName, name, version } of named) {
    const same = found.filter((each) => each.name === name && (packageName === undefined || each.package.name === packageName));
    const isMeant = (each: Found) => each.version === versionIn(name) && each.package.name === (packageName ?? wanted);
    const ofVersion = version === undefined ? found.find(isMeant) : undefined;
    const bundle = same.find((each) => each.package.name === wanted) ?? same[0] ?? ofVersion;
    const owner = packageName ?? bundle?.package.name;
    const known = version ?? bundle?.version;
    if (!known) withoutVersion.push(name);
    else
      installed.push({
        name: bundle?.name ?? name,
        version: known,
        ...(owner && { packageName: owner }),
        ...(bundle && { properties: bundle.properties }),
      });
  }
  return { installed, withoutVersion };
}

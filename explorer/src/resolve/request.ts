// What an address asks the server: by the rules of OLM v1, or of v0.

import type { ResolveAddress } from "../address";
import type { ResolveRequest, SolveRequest } from "../generated/types";

/** What a `ClusterExtension` would ask for. */
export function resolveRequest(address: ResolveAddress): ResolveRequest {
  const { name = "", version, channel, in: catalogs, selector, policy, kubernetes, openshift, architecture } = address;
  const [installed] = installedBundles(address);
  const isForCluster = kubernetes || openshift || architecture;
  return {
    packageName: name,
    version: version ?? null,
    channels: channel,
    catalogs,
    selector: selector ?? null,
    installed: installed ?? null,
    ...(isForCluster && {
      compatibleWith: { kubernetes: kubernetes ?? null, openshift: openshift ?? null, architecture: architecture ?? null },
    }),
    ...(policy === "SELF_CERTIFIED" && { upgradeConstraintPolicy: "SELF_CERTIFIED" as const }),
  };
}

/** What a `Subscription` would ask for, in a namespace where these bundles are installed. */
export function solveRequest(address: ResolveAddress): SolveRequest {
  const { name = "", channel, in: catalogs } = address;
  const installed = installedBundles(address).map((bundle) => ({ ...bundle, packageName: packageOf(bundle) }));
  const own = installed.find(({ packageName }) => packageName === name);
  return {
    wanted: [{ packageName: name, channels: channel.slice(0, 1), ...(own && { installed: own.name }) }],
    installed,
    catalogs,
  };
}

interface InstalledBundle {
  name: string;
  version: string;
}

/** The bundles that an address names as `BUNDLE@VERSION`; without the version, it is what follows `.v` in the name. */
export function installedBundles({ installed = "" }: ResolveAddress): InstalledBundle[] {
  const words = installed.split(/[\s,]+/).filter(Boolean);
  return words.map((word) => {
    const at = word.lastIndexOf("@");
    if (at >= 0) return { name: word.slice(0, at), version: word.slice(at + 1) };
    return { name: word, version: VERSION.exec(word)?.[1] ?? "" };
  });
}

/** The version at the end of a name. */
const VERSION = /\.v?(\d.*)$/;

/** The package of a bundle that may be in no catalog any more: its name without the version. */
function packageOf({ name }: InstalledBundle): string {
  return name.replace(VERSION, "");
}

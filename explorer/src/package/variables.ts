// What the page of a package asks for. Pure.

import type { PackageAddress } from "../address";
import { cluster, platformInput } from "../cluster/cluster";
import type { PackageVariables } from "../generated/documents";

/** The package, with the version that the address chooses, or else with the latest one. */
export function packageVariables({ catalog, package: name, channel, version }: PackageAddress & { catalog: string }): PackageVariables {
  const platform = platformInput(cluster.get());
  return {
    catalog,
    package: name,
    isChosen: channel !== undefined || version !== undefined,
    channels: channel ? [channel] : [],
    ...(version && { version }),
    ...(platform && { cluster: platform }),
    hasCluster: platform !== undefined,
  };
}

// What is installed in the reader's cluster, with what the catalogs have for it.

import { AvailableUpgrades } from "../generated/documents";
import { useStore } from "../store";
import { useQuery } from "../use-query";
import { cluster, type InstalledOperator, installed, platformInput } from "./cluster";

export interface InstalledState extends InstalledOperator {
  /** The highest version that one upgrade leads to. */
  update?: string;
  /** Why it should no longer be used. */
  deprecation?: string;
  /** A catalog that has the package. */
  catalog?: string;
}

/** The installed operators in the order in which they were pasted. */
export function useInstalled(): readonly InstalledState[] {
  const operators = useStore(installed);
  const platform = platformInput(useStore(cluster));
  const variables = {
    installed: operators.map(({ packageName, name, version }) => ({ packageName, bundle: { name, version } })),
    ...(platform && { cluster: platform }),
  };
  const { data } = useQuery(AvailableUpgrades, variables, { skip: operators.length === 0 });
  return operators.map((operator, at) => {
    const own = data?.availableUpgrades?.filter(({ index }) => index === at) ?? [];
    const update = own.flatMap(({ successors }) => successors ?? []).find(({ to }) => to?.version && to.version !== operator.version);
    const deprecation = own.flatMap(({ deprecations }) => deprecations)[0];
    const catalog = own.find((each) => each.package)?.package?.catalog.name;
    return {
      ...operator,
      ...(update?.to?.version && { update: update.to.version }),
      ...(deprecation && { deprecation: deprecation.message }),
      ...(catalog && { catalog }),
    };
  });
}

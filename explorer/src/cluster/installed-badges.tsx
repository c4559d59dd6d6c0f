// That a package is installed in the reader's cluster, and what is to be done about it.

import { Deprecated } from "../parts";
import type { InstalledState } from "./use-installed";

/** Badges of a package, for the operators that are installed of it. */
export function InstalledBadges({ of: operators }: { of: readonly InstalledState[] }) {
  const [first] = operators;
  if (!first) return null;
  const versions = [...new Set(operators.map(({ version }) => version))];
  const update = operators.find((operator) => operator.update)?.update;
  const deprecation = operators.find((operator) => operator.deprecation)?.deprecation;
  return (
    <>
      <span class="badge success">installed {versions.join(", ")}</span>
      {update && <span class="badge info">update {update}</span>}
      {deprecation && <Deprecated label="Deprecated in use" message={deprecation} />}
    </>
  );
}

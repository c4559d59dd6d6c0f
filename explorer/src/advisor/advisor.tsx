// The form of the upgrade advisor: which version is installed and which one is wanted. The advice is loaded when both are known.

import "./advisor.css";

import { navigate, type PackageAddress } from "../address";
import type { InstalledState } from "../cluster/use-installed";
import { versionLabel } from "../package/chooser";
import type { PackageVersion } from "../package/use-versions";
import { Loading } from "../parts";
import { useModule } from "../use-module";
import type { Advice, AdviceProps } from "./advice";

let loaded: typeof Advice | undefined;

async function loadAdvice(): Promise<typeof Advice> {
  loaded = (await import("./advice")).Advice;
  return loaded;
}

export interface AdvisorProps extends Pick<AdviceProps, "data" | "compatible"> {
  address: PackageAddress & { catalog: string };
  versions: readonly PackageVersion[];
  /** What of the package is installed in the reader's cluster. */
  installed: readonly InstalledState[];
}

export function Advisor({ address, data, compatible, versions, installed }: AdvisorProps) {
  const from = address.installed ?? installed[0]?.name;
  const to = address.wanted ?? versions[0]?.name;
  const choose = (change: Pick<PackageAddress, "installed" | "wanted">) => navigate({ ...address, ...change }, { stay: true });
  const select = (label: string, value: string | undefined, onChoose: (name: string | undefined) => void) => (
    <label class="field">
      {label}
      <select value={value ?? ""} onChange={({ currentTarget }) => onChoose(currentTarget.value || undefined)}>
        <option value="">Choose</option>
        {value && !versions.some(({ name }) => name === value) && <option value={value}>{value}</option>}
        {versions.map((version) => (
          <option key={version.name} value={version.name}>
            {versionLabel(version)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section class="card stack" aria-labelledby="advisor">
      <h2 id="advisor">Upgrade advisor</h2>
      <div class="chooser">
        {select("Installed", from, (installed) => choose({ installed }))}
        {select("Wanted", to, (wanted) => choose({ wanted }))}
      </div>
      {from && to && <LoadedAdvice catalog={address.catalog} packageName={address.package} data={data} installed={from} wanted={to} compatible={compatible} />}
    </section>
  );
}

function LoadedAdvice(props: AdviceProps) {
  const { module: Shown } = useModule(loaded, loadAdvice);
  return Shown ? <Shown {...props} /> : <Loading boxes={3} />;
}

// The way of upgrades from an installed version to a wanted one, with what each step needs, or where it ends and what bridges
// the gap.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import { Link } from "../address";
import { Advise, type AdvisedBundle, Bridge } from "../generated/documents";
import type { GraphVersion } from "../graph/graph";
import { Upgrades, type UpgradeData } from "../graph/upgrades";
import { Deprecated, Result } from "../parts";
import { counted, reasonText } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { useQuery } from "../use-query";
import { type Gap, wayBetween } from "./gap";

export interface AdviceProps {
  catalog: string;
  packageName: string;
  data: UpgradeData<GraphVersion>;
  /** Names of bundles. */
  installed: string;
  wanted: string;
  /** Bundles that run on the reader's cluster, if that is known. */
  compatible: ReadonlySet<string> | undefined;
}

export function Advice({ catalog, packageName, data, installed, wanted, compatible }: AdviceProps) {
  const upgrades = useMemo(() => new Upgrades(data), [data]);
  const [from, to] = [upgrades.places.get(installed), upgrades.places.get(wanted)];
  const way = useMemo(() => (from === undefined || to === undefined ? undefined : wayBetween(upgrades, from, to)), [upgrades, from, to]);
  if (from === undefined || to === undefined || !way || !upgrades.rows[from]!.bundle) {
    return (
      <p role="status">
        No channel of this catalog has <bdi>{from === undefined ? installed : wanted}</bdi>.
      </p>
    );
  }
  const bundleOf = (row: number) => upgrades.rows[row]!.bundle;
  return (
    <Steps
      catalog={catalog}
      packageName={packageName}
      compatible={compatible}
      installed={bundleOf(from)!}
      target={upgrades.rows[way.furthest]!.name}
      isWhole={!way.gap}
    >
      {way.gap && (
        <Blocked
          catalog={catalog}
          packageName={packageName}
          upgrades={upgrades}
          furthest={bundleOf(way.furthest)}
          gap={way.gap}
          wanted={bundleOf(to)}
        />
      )}
    </Steps>
  );
}

interface StepsProps extends Pick<AdviceProps, "catalog" | "packageName" | "compatible"> {
  installed: GraphVersion;
  /** Name of the bundle that the steps lead to. */
  target: string;
  /** Whether it is the wanted one. */
  isWhole: boolean;
  children: ComponentChildren;
}

function Steps({ catalog, packageName, compatible, installed, target, isWhole, children }: StepsProps) {
  const version = installed.version ?? "";
  const next = { packageName, catalogs: [catalog], installed: { name: installed.name, version } };
  const variables = { catalog, package: packageName, installed: installed.name, target, next };
  const result = useQuery(Advise, variables);
  return (
    <Result of={result} document={Advise} variables={variables}>
      {({ package: found, resolve }) => {
        const steps = found?.bundle?.upgradePath ?? [];
        const last = steps.at(-1)?.to?.version ?? target;
        const chosen = resolve?.__typename === "Resolution" ? resolve.bundle : undefined;
        return (
          <div class="stack-advice">
            <p role="status">
              <strong>
                {steps.length === 0
                  ? isWhole
                    ? `${version} is the wanted version.`
                    : `No upgrade leads on from ${version}.`
                  : `${counted(steps.length, "upgrade")} from ${version} to ${last}${isWhole ? "." : ", and no further."}`}
              </strong>{" "}
              {chosen && chosen.name !== installed.name && chosen.name !== steps[0]?.toName && `By itself OLM v1 would go to ${chosen.version ?? chosen.name} next.`}
            </p>
            {steps.length > 0 && (
              <ol class="advice-steps">
                {steps.map(({ toName, to, reasons, channelNames }) => (
                  <li key={toName}>
                    <Link to={{ page: "version", catalog, package: packageName, bundle: toName }}>
                      <bdi>{to?.version ?? toName}</bdi>
                    </Link>{" "}
                    <span class="subtle">
                      {reasonText(reasons)} in <bdi>{channelNames.slice(0, 3).join(", ")}</bdi>
                      {channelNames.length > 3 && ` and ${channelNames.length - 3} more`}
                    </span>{" "}
                    {to && <Limits of={to} compatible={compatible} />}
                  </li>
                ))}
              </ol>
            )}
            {children}
          </div>
        );
      }}
    </Result>
  );
}

/** What a version needs, and why it should not be stayed at. */
function Limits({ of, compatible }: { of: AdvisedBundle; compatible: ReadonlySet<string> | undefined }) {
  const { name, maxOpenShiftVersion, metadata, deprecation } = of;
  const limits = [
    metadata?.minKubeVersion && `Kubernetes ${metadata.minKubeVersion} or newer`,
    metadata?.maxKubeVersion && `Kubernetes up to ${metadata.maxKubeVersion}`,
    maxOpenShiftVersion && `OpenShift up to ${maxOpenShiftVersion}`,
  ].filter(Boolean);
  return (
    <>
      {limits.length > 0 && <span class="limits">{limits.join(", ")}</span>}{" "}
      {compatible?.has(name) === false && <span class="badge warning">not for my cluster</span>}{" "}
      {deprecation && <Deprecated message={deprecation.message} />}
    </>
  );
}

interface BlockedProps {
  catalog: string;
  packageName: string;
  upgrades: Upgrades<GraphVersion>;
  furthest: GraphVersion | undefined;
  gap: Gap;
  wanted: GraphVersion | undefined;
}

/** Why the way ends, and what leads across. */
function Blocked({ catalog, packageName, upgrades, furthest, gap, wanted }: BlockedProps) {
  const { name, bundle, entries } = upgrades.rows[gap.after]!;
  const from = furthest ? { name: furthest.name, version: furthest.version ?? "" } : null;
  const version = bundle?.version ?? "";
  const request = { packageName, catalogs: [catalog], version, installed: from, upgradeConstraintPolicy: "SELF_CERTIFIED" as const };
  const { data } = useQuery(Bridge, { request }, { skip: !version || !from });
  const isBridged = data?.resolve?.__typename === "Resolution" && data.resolve.bundle.name === name;
  const replaced = [...new Set(entries.flatMap(({ entry }) => [entry.replaces, entry.skipRange && `versions ${entry.skipRange}`].filter(Boolean)))];
  const channels = [...new Set(entries.map(({ channel }) => upgrades.channels[channel]!.name))];
  const isWanted = wanted?.name === name;
  const shown = bundle?.version ?? name;
  return (
    <div class="alert warning">
      <Glyph name="alert" />
      <div class="stack-advice">
        <p>
          <strong>
            No upgrade leads from {furthest?.version ?? furthest?.name} to {shown}
          </strong>
          {isWanted ? "" : `, the first version from which ${wanted?.version ?? wanted?.name} can be reached`}. It replaces{" "}
          {replaced.length > 0 ? `only ${replaced.join(", ")}` : "nothing"}.
        </p>
        <ul class="bullets">
          <li>
            OLM v1: set <code>upgradeConstraintPolicy: SelfCertified</code> and the version <code>{shown}</code>, once its release notes say that
            this works.{" "}
            {isBridged && furthest && (
              <Link
                to={{
                  page: "resolve",
                  name: packageName,
                  version,
                  channel: [],
                  in: [catalog],
                  installed: `${furthest.name}@${furthest.version}`,
                  policy: "SELF_CERTIFIED",
                }}
              >
                OLM v1 would install it
              </Link>
            )}
          </li>
          <li>
            OLM v0: remove the Subscription and its ClusterServiceVersion, and install again from the channel{" "}
            <bdi>{channels.join(" or ") || "that has it"}</bdi>. Custom resources stay.
          </li>
        </ul>
      </div>
    </div>
  );
}

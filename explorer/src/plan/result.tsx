// A plan: the verdict, what to do in which order, what becomes of each package, and what OLM says meanwhile.

import { type Address, Link } from "../address";
import type { ClusterBundleInput, PlannedMove } from "../generated/documents";
import { Deprecated, Table } from "../parts";
import { counted } from "../parts/format";
import { Glyph, type GlyphName } from "../parts/glyph";
import { Mark } from "./mark";
import { type Plan, planPicks } from "./mirror-picks";
import { CAUSES, VERDICTS } from "./verdicts";

type PlannedPackage = Plan["packages"][number];

export interface PlanResultProps {
  plan: Plan;
  /** What is installed, in the order in which the plan counts it. */
  bundles: readonly ClusterBundleInput[];
}

export function PlanResult({ plan, bundles }: PlanResultProps) {
  const { verdict, steps, reachableStep, packages } = plan;
  const { meaning } = VERDICTS[verdict];
  const end = steps[reachableStep]?.platform;
  const isWhole = reachableStep === steps.length - 1;
  const blocking = packages.filter((each) => each.verdict === "BLOCKED").length;
  return (
    <div class="stack plan">
      <section class="card stack" aria-labelledby="plan-verdict">
        <div role="status" class="plan-verdict">
          <Mark of={VERDICTS[verdict]} />
          <h2 id="plan-verdict">{isWhole ? `${end} can be reached` : reachableStep === 0 ? `No step leads on from ${end}` : `The way ends at ${end}`}</h2>
          <p class="subtle">
            {isWhole ? (verdict === "STAYS" ? "Nothing has to be upgraded." : meaning) : `${counted(blocking, "package")} of ${packages.length} blocked.`}
          </p>
        </div>
        <Counts packages={packages} />
        <Order plan={plan} />
      </section>
      <section class="card stack" aria-label="Packages">
        <h2>Packages</h2>
        <Packages plan={plan} bundles={bundles} />
      </section>
      <Conditions plan={plan} />
      <MirrorLinks plan={plan} />
    </div>
  );
}

function Counts({ packages }: Pick<Plan, "packages">) {
  const kinds = Object.entries(VERDICTS).map(([verdict, style]) => ({ style, count: packages.filter((each) => each.verdict === verdict).length }));
  return (
    <ul role="list" class="plan-counts" aria-label="Verdicts">
      {kinds
        .filter(({ count }) => count > 0)
        .map(({ style, count }) => (
          <li key={style.label}>
            <strong>{count}</strong> <Mark of={style} /> <span class="subtle">{style.meaning}</span>
          </li>
        ))}
    </ul>
  );
}

/** What to do, one after another. */
function Order({ plan: { order, steps, packages, reachableStep } }: { plan: Plan }) {
  if (order.length === 0) return null;
  const next = steps[reachableStep + 1];
  return (
    <>
      <h3>In this order</h3>
      <ol class="plan-order">
        {order.map(({ platformStep, package: at, move }, place) =>
          move ? (
            <li key={place}>
              <MoveItem move={move} packageName={packages[at ?? -1]?.packageName ?? ""} />
            </li>
          ) : (
            <li key={place} class="platform">
              <Glyph name="open" />
              <strong>Upgrade the platform to {steps[platformStep ?? 0]?.platform}</strong>
            </li>
          ),
        )}
      </ol>
      {next && <p class="subtle">Here it ends: {next.platform} is blocked.</p>}
    </>
  );
}

function MoveItem({ move, packageName }: { move: PlannedMove; packageName: string }) {
  const { kind, fromName, fromVersion, to, channel, approval, message } = move;
  const isSwitch = kind === "SWITCH";
  const glyph: GlyphName = isSwitch ? "switch" : approval === "MANUAL" ? "key" : "follow";
  const target = to && { page: "version" as const, catalog: to.package.catalog.name, package: packageName, bundle: to.name };
  return (
    <>
      <Glyph name={glyph} />
      <span>
        {isSwitch ? (
          <>
            Switch <bdi>{packageName}</bdi> to channel <bdi>{channel}</bdi>
          </>
        ) : (
          <>
            {approval === "MANUAL" ? "Approve" : "Wait for"} the upgrade of <bdi>{packageName}</bdi> from {fromVersion ?? fromName} to{" "}
            {target ? <Link to={target}>{to.version ?? to.name}</Link> : "another version"}
          </>
        )}{" "}
        {to?.deprecation && <Deprecated message={to.deprecation.message} />}
        {message && <span class="plan-why">{message}</span>}
      </span>
    </>
  );
}

function Packages({ plan, bundles }: PlanResultProps) {
  const { packages, steps } = plan;
  const catalogs = steps[0]?.catalogs ?? [];
  // The worst first: there is something to do.
  const order = Object.keys(VERDICTS);
  const sorted = [...packages].sort((one, other) => rank(other) - rank(one));
  function rank({ verdict }: PlannedPackage) {
    // What blocks is worse than what is not known.
    return verdict === "BLOCKED" ? order.length : order.indexOf(verdict);
  }
  return (
    <Table heads={["Package", "Installed", "Verdict", "Ends with", "Reason"]} label="Packages of the plan">
      {sorted.map((each) => {
        const bundle = bundles[each.index];
        const { packageName, namespace, verdict, finalName, finalVersion, finalBundle, finalChannel, requiredBy, unconfirmedSteps } = each;
        const needing = requiredBy.map((at) => bundles[at]?.packageName ?? "").filter(Boolean);
        return (
          <tr key={each.index}>
            <th scope="row">
              <Link to={packageOf(each, catalogs)}>
                <bdi>{packageName}</bdi>
              </Link>
              {namespace && (
                <span class="subtle">
                  {" "}
                  in <bdi>{namespace}</bdi>
                </span>
              )}
            </th>
            <td>{bundle?.version ?? bundle?.name}</td>
            <td>
              <Mark of={VERDICTS[verdict]} />
            </td>
            <td>
              {finalVersion ?? finalName}
              {finalChannel && (
                <span class="subtle">
                  {" "}
                  in <bdi>{finalChannel}</bdi>
                </span>
              )}{" "}
              {finalBundle?.deprecation && <Deprecated message={finalBundle.deprecation.message} />}
            </td>
            <td class="plan-reason">
              {reasonOf(each)}
              {needing.length > 0 && <span class="plan-why">Required by {needing.join(", ")}.</span>}
              {unconfirmedSteps.length > 0 && verdict !== "UNKNOWN" && (
                <span class="plan-why">Not said for {unconfirmedSteps.map((at) => steps[at]?.platform).join(", ")}.</span>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** The page of a package, in the catalog where its way ends, or in whichever one has it. */
function packageOf({ packageName, finalBundle }: PlannedPackage, catalogs: readonly string[]): Address {
  const [only] = catalogs;
  const catalog = finalBundle?.package.catalog.name ?? (catalogs.length === 1 ? only : undefined);
  return { page: "package", catalog, package: packageName, tab: "updates" };
}

function reasonOf({ block, message, moves }: PlannedPackage) {
  if (message) {
    return (
      <>
        {block && <strong>{CAUSES[block.cause]}: </strong>}
        <bdi>{message}</bdi>
      </>
    );
  }
  const channels = moves.filter(({ kind }) => kind === "SWITCH").map(({ channel }) => channel);
  const upgrades = moves.filter(({ kind }) => kind === "UPGRADE").length;
  const parts = [channels.length > 0 && `switch to channel ${channels.join(", then ")}`, upgrades > 0 && counted(upgrades, "upgrade")];
  return <bdi>{parts.filter(Boolean).join(", ")}</bdi>;
}

/** What OLM v0 itself says while everything is as it arrives at a step. */
function Conditions({ plan: { steps } }: { plan: Plan }) {
  const saying = steps.filter(({ condition }) => condition);
  if (saying.length === 0) return null;
  return (
    <section class="card stack" aria-label="What OLM says">
      <h2>What OLM says</h2>
      <p class="subtle">The message of its condition Upgradeable=False, until the upgrades of that step are made.</p>
      {saying.map(({ platform, condition }) => (
        <div key={platform} class="stack-plan">
          <h3>On {platform}</h3>
          <pre tabIndex={0} role="group" aria-label={`Condition on ${platform}`}>
            {condition}
          </pre>
        </div>
      ))}
    </section>
  );
}

function MirrorLinks({ plan }: { plan: Plan }) {
  const catalogs = planPicks(plan);
  const names = [...new Set(plan.steps.flatMap(({ catalogs }) => catalogs))];
  return (
    <section class="card stack" aria-label="Further">
      <h2>Without internet</h2>
      {catalogs.length === 0 ? (
        <p>No upgrade of the plan needs an image.</p>
      ) : (
        <>
          <p>The bundles and images that the upgrades of this plan need:</p>
          <ul class="bullets">
            {catalogs.map(({ catalog, picks }) => (
              <li key={catalog}>
                <Link to={{ page: "mirror", catalog, pick: picks }}>
                  Mirror set of <bdi>{catalog}</bdi>: {counted(picks.length, "package")}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      {names.length > 1 && (
        <p>
          <Link to={{ page: "matrix", in: names }}>These catalogs side by side</Link>
        </p>
      )}
    </section>
  );
}

// What happens to what is installed when the platform is upgraded: from what the browser knows of the cluster, or by hand.

import "../package/package.css";
import "../resolve/resolve.css";
import "./plan.css";

import { Heading, type PlanAddress } from "../address";
import { cluster, installed } from "../cluster/cluster";
import { CatalogReferences, PlanUpgrade } from "../generated/documents";
import { Empty, OpenInPlayground, Result } from "../parts";
import { useStore } from "../store";
import { useQuery } from "../use-query";
import { PlanForm } from "./form";
import { namedInput, operatorInput, parseInstalled } from "./installed";
import { PlanResult } from "./result";
import { isKubernetes, parseRelease, type PlanStep, planSteps, platformName, type ServedCatalog, wayBetween } from "./steps";

export default function PlanPage({ address }: { address: PlanAddress }) {
  const { from, to } = versionsOf(address);
  const served = useQuery(CatalogReferences, {});
  return (
    <article class="package">
      <header>
        <Heading title={from && to ? `Upgrade from ${platformName(from)} to ${to}` : "Upgrade the platform"} />
        <p class="subtle">What stays, what follows by itself, what must be switched by hand, and what blocks the way.</p>
      </header>
      <Result of={served} document={CatalogReferences} variables={{}}>
        {({ catalogs }) => <Planned address={address} served={catalogs} />}
      </Result>
    </article>
  );
}

/** Without a version in the address, the plan begins with that of the reader's cluster. */
function versionsOf({ from, to }: PlanAddress) {
  const { openshift, kubernetes } = cluster.get();
  return { from: from ?? openshift ?? kubernetes, to };
}

function Planned({ address, served }: { address: PlanAddress; served: readonly ServedCatalog[] }) {
  const { olm, architecture } = useStore(cluster);
  const own = useStore(installed);
  const { from, to } = versionsOf(address);
  const way = from && to ? wayBetween(from, to) : undefined;
  const steps = way && "versions" in way ? planSteps(way.versions, address.step, served) : [];
  const [first] = steps;
  const operators = address.mine === "no" ? [] : own;
  const named = address.installed.flatMap((text) => parseInstalled(text) ?? []);
  const bundles = [...operators.map((each) => operatorInput(each, first?.catalogs ?? [])), ...named.map((each) => namedInput(each, olm))];
  const empty = steps.find(({ catalogs }) => catalogs.length === 0);
  return (
    <div class="resolve">
      <PlanForm address={address} from={from} steps={steps} served={served} fault={way && "fault" in way ? way.fault : undefined} />
      <section class="stack" aria-label="Plan">
        {steps.length === 0 ? (
          <Empty title="From which version to which?">
            <p>Name the version of the platform that the cluster has, and the one that it should get.</p>
          </Empty>
        ) : empty ? (
          <Empty title={`Which catalogs does ${platformName(empty.version)} read?`}>
            <p>No catalog that is served has the tag of this version. Choose its catalogs beside.</p>
          </Empty>
        ) : bundles.length === 0 ? (
          <Empty title="What is installed?">
            <p>Paste the objects of the cluster into My cluster, or name packages by hand.</p>
          </Empty>
        ) : (
          <Answer steps={steps} bundles={bundles} architecture={architecture} />
        )}
      </section>
    </div>
  );
}

interface AnswerProps {
  steps: readonly PlanStep[];
  bundles: readonly ReturnType<typeof namedInput>[];
  architecture: string | undefined;
}

function Answer({ steps, bundles, architecture }: AnswerProps) {
  const input = {
    steps: steps.map(({ version, catalogs }) => ({ platform: platformOf(version, architecture), catalogs: [...catalogs] })),
    installed: [...bundles],
  };
  const variables = { input };
  const result = useQuery(PlanUpgrade, variables);
  return (
    <>
      <Result of={result} document={PlanUpgrade} variables={variables}>
        {({ platformUpgrade }) => platformUpgrade && <PlanResult plan={platformUpgrade} bundles={bundles} />}
      </Result>
      <OpenInPlayground document={PlanUpgrade} variables={variables} />
    </>
  );
}

function platformOf(version: string, architecture: string | undefined) {
  const release = parseRelease(version);
  return { [release && isKubernetes(release) ? "kubernetes" : "openshift"]: version, ...(architecture && { architecture }) };
}

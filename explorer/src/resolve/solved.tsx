// What OLM v0 would install: bundles with their dependencies, or why nothing fits together. In the words of the command
// `catalogql solve`.

import type { ComponentChildren } from "preact";

import { Link, type ResolveAddress } from "../address";
import { rangeInWords } from "../compare/range";
import { type Contradiction, Solve, type SolveData, type SolveRefusalCode, type SolvedBundle } from "../generated/documents";
import { ApiLink } from "../package/api-link";
import { Deprecated, Empty, Icon, OpenInPlayground, Result } from "../parts";
import { counted } from "../parts/format";
import { useQuery } from "../use-query";
import { type Installed, solveRequest } from "./request";

type Outcome = NonNullable<SolveData["solve"]>;
type Solution = Extract<Outcome, { __typename: "Solution" }>;
type Conflict = Extract<Outcome, { __typename: "SolveConflict" }>;
type Refusal = Extract<Outcome, { __typename: "SolveRefusal" }>;
type Step = Solution["steps"][number];
type Reason = Step["reasons"][number];

/** What a `Subscription` makes OLM install, with who pulled in whom. */
export function Solved({ address, installed }: { address: ResolveAddress; installed: readonly Installed[] }) {
  const variables = { request: solveRequest(address, installed) };
  const result = useQuery(Solve, variables);
  return (
    <>
      <Result of={result} document={Solve} variables={variables}>
        {({ solve }) => solve && <Answer outcome={solve} address={address} />}
      </Result>
      <OpenInPlayground document={Solve} variables={variables} />
    </>
  );
}

function Answer({ outcome, address }: { outcome: Outcome; address: ResolveAddress }) {
  switch (outcome.__typename) {
    case "Solution":
      return <Steps solution={outcome} />;
    case "SolveConflict":
      return <Contradictions conflict={outcome} address={address} />;
    default:
      return <Refused refusal={outcome} />;
  }
}

function Steps({ solution: { steps, unchanged } }: { solution: Solution }) {
  if (steps.length === 0) {
    return (
      <Empty title="Nothing has to change">
        <p>What is installed is what would be installed.</p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      <div role="status">
        <h2>{counted(steps.length, "bundle")} would be installed{steps.length > 1 && ", in this order"}</h2>
      </div>
      <ol role="list" class="plain-list stack">
        {steps.map((step) => (
          <li key={`${step.bundle.package.catalog.name} ${step.bundle.name}`} class="card row">
            <StepOf {...step} />
          </li>
        ))}
      </ol>
      {unchanged.length > 0 && (
        <p>
          <bdi>{unchanged.join(", ")}</bdi> {unchanged.length === 1 ? "stays as it is." : "stay as they are."}
        </p>
      )}
    </div>
  );
}

function StepOf({ bundle, channel, action, replaces, reasons, passedOver }: Step) {
  const { displayName, icon } = bundle.package;
  return (
    <>
      <Icon icon={icon} name={displayName} />
      <div class="stack step">
        <div>
          <h3>
            <BundleLink of={bundle}>
              <bdi>{displayName}</bdi> {bundle.version}
            </BundleLink>{" "}
            {action === "UPGRADE" && <span class="badge info">upgrade</span>}{" "}
            {bundle.deprecation && <Deprecated message={bundle.deprecation.message} />}
          </h3>
          <p class="package-names">
            <code>{bundle.name}</code>
            <span>
              from the channel <bdi>{channel.name}</bdi> of <bdi>{bundle.package.catalog.displayName}</bdi>
            </span>
            {action === "UPGRADE" && replaces && (
              <span>
                in the place of <code>{replaces}</code>
              </span>
            )}
          </p>
        </div>
        <ul role="list" class="plain-list">
          {reasons.map((reason, at) => (
            <li key={at}>{because(reason)}</li>
          ))}
        </ul>
        {passedOver && passedOver.length > 0 && <PassedOver bundles={passedOver} />}
      </div>
    </>
  );
}

/** Who pulled a bundle in. */
function because({ wanted, requirement, requiredBy, requiredByInstalled }: Reason): ComponentChildren {
  if (wanted) return "Requested.";
  return (
    <>
      {requiredBy ? <BundleLink of={requiredBy} /> : `${requiredByInstalled}, which is installed,`} requires an operator{" "}
      <bdi>{requirement}</bdi>.
    </>
  );
}

function PassedOver({ bundles }: { bundles: NonNullable<Step["passedOver"]> }) {
  return (
    <details>
      <summary>{counted(bundles.length, "bundle")} would be preferred, but cannot be installed</summary>
      <ul role="list" class="plain-list stack">
        {bundles.map(({ bundle, constraints }, at) => (
          <li key={at}>
            <BundleLink of={bundle} /> in <bdi>{bundle.package.catalog.displayName}</bdi>:
            <Reasons of={constraints} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Contradictions({ conflict: { constraints, relaxations }, address }: { conflict: Conflict; address: ResolveAddress }) {
  const without = relaxations.filter(({ isSolvable }) => isSolvable).map(({ wanted }) => wanted);
  return (
    <section class="alert info">
      <div class="stack">
        <div role="status">
          <h2>Nothing would be installed: these contradict one another</h2>
          <p>Without any one of them there would be a solution.</p>
        </div>
        <Reasons of={constraints} />
        {relaxations.length > 1 && without.length > 0 && <p>There is a solution without {without.join(", or without ")}.</p>}
        <p class="actions">
          {address.channel.length > 0 && (
            <Link class="button" to={{ ...address, channel: [] }} stay>
              Any channel
            </Link>
          )}
          {address.in.length > 0 && (
            <Link class="button" to={{ ...address, in: [] }} stay>
              Any catalog
            </Link>
          )}
          {address.installed && (
            <Link class="button" to={{ ...address, installed: undefined }} stay>
              As if nothing were installed
            </Link>
          )}
        </p>
      </div>
    </section>
  );
}

/** A constraint, where the bundles that could meet it were asked for with those. */
type Constraint = Contradiction & { candidates?: readonly SolvedBundle[] | null };

function Reasons({ of }: { of: readonly Constraint[] }) {
  return (
    <ul class="bullets">
      {of.map((constraint, at) => (
        <li key={at}>{sentence(constraint)}</li>
      ))}
    </ul>
  );
}

/** A constraint in the words of catalogs. */
function sentence(of: Constraint): ComponentChildren {
  const { kind, text, wanted, installed, bundle, candidates } = of;
  const subject = bundle ? <BundleLink of={bundle} /> : <bdi>{installed && `${installed}, which is installed,`}</bdi>;
  const found = candidates && candidates.length > 0 && <Candidates of={candidates} />;
  switch (kind) {
    case "WANTED":
      return found ? (
        <>
          <bdi>{wanted}</bdi> can be {found}.
        </>
      ) : (
        <bdi>{text}.</bdi>
      );
    case "INSTALLED":
      return <bdi>{installed} is installed and not kept up to date.</bdi>;
    case "REQUIRES": {
      const required = requirement(of);
      return (
        <>
          {required ? <>{subject} requires {required}</> : <bdi>{text}</bdi>}
          {found ? <>; only these meet that: {found}.</> : candidates ? "; no bundle meets that." : "."}
        </>
      );
    }
    case "PROHIBITED":
      return <>{subject} is deprecated by its property olm.deprecated.</>;
    case "ONE_OF_PACKAGE":
      return found ? <>Only one bundle of a package can be installed: {found}.</> : <bdi>{text}.</bdi>;
    case "ONE_OF_API":
      return (
        <>
          Only one provider of an API can be installed: <bdi>{text}</bdi>.
        </>
      );
    default:
      return <bdi>{text}.</bdi>;
  }
}

/** A required package or API; other requirements are said by the text of the constraint. */
function requirement({ constraint }: Constraint): ComponentChildren {
  if (constraint?.package) {
    const { packageName, versionRange } = constraint.package;
    return (
      <>
        the package <bdi>{packageName}</bdi>, {rangeInWords(versionRange)}
      </>
    );
  }
  return constraint?.gvk && <>the API <ApiLink {...constraint.gvk} /></>;
}

/** Candidates that are named; the others are counted. */
const NAMED_CANDIDATES = 6;

/** Bundles that several channels have are named once. */
function Candidates({ of }: { of: readonly SolvedBundle[] }) {
  const names = new Map(of.map((bundle) => [`${bundle.package.catalog.name} ${bundle.package.name} ${bundle.name}`, bundle]));
  const more = names.size - NAMED_CANDIDATES;
  return (
    <>
      {[...names].slice(0, NAMED_CANDIDATES).map(([key, bundle], at) => (
        <span key={key}>
          {at > 0 && ", "}
          <BundleLink of={bundle} />
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}

const REFUSALS: Record<SolveRefusalCode, string> = {
  INVALID_REQUEST: "The request is not valid",
  BAD_REQUIREMENT: "A bundle has a malformed requirement",
  BAD_CHANNEL: "A channel cannot be ordered",
  UNKNOWN_CATALOG: "A catalog is not served",
  LIMIT: "This is larger than the server allows",
};

function Refused({ refusal: { code, message, bundle } }: { refusal: Refusal }) {
  return (
    <section class="alert info">
      <div role="status">
        <h2>{REFUSALS[code]}</h2>
        <p class="message">
          <bdi>{message}</bdi>
        </p>
        {bundle && (
          <p>
            In <BundleLink of={bundle} />.
          </p>
        )}
      </div>
    </section>
  );
}

function BundleLink({ of, children }: { of: SolvedBundle; children?: ComponentChildren }) {
  const { name, package: owner } = of;
  return (
    <Link to={{ page: "version", catalog: owner.catalog.name, package: owner.name, bundle: name }} title={owner.catalog.displayName}>
      {children ?? <bdi>{name}</bdi>}
    </Link>
  );
}

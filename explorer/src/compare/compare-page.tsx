// Two versions of a package beside one another, and the way of upgrades between them.

import "../package/package.css";
import "./compare.css";

import { type ComponentChildren, Fragment, type VNode } from "preact";

import { type CompareAddress, Heading, Link, navigate } from "../address";
import type { ResponseError } from "../client";
import { Compare, type CompareData, type Compared, type Metadata } from "../generated/documents";
import { WebLink } from "../markdown/web-link";
import { isUnlisted, Unlisted, versionLabel } from "../package/chooser";
import { Deprecated, DeprecationAlert, Empty, Failure, Icon, Loading, OpenInPlayground, Table } from "../parts";
import { counted, day, installMode, level } from "../parts/format";
import { useQuery } from "../use-query";
import { diffLines } from "./lines";
import { changesOf, imageChanges, type ListChanges } from "./lists";

type Found = NonNullable<CompareData["package"]>;
type From = NonNullable<Found["from"]>;

export default function ComparePage({ address }: { address: CompareAddress }) {
  const { catalog, package: name, from = "", to = "" } = address;
  const variables = { catalog, package: name, from, to };
  const result = useQuery(Compare, variables, { spares: isUnlisted });
  const found = result.data?.package;
  const title = found ? `Compare versions of ${found.displayName}` : "Compare versions";
  return (
    <article class="package">
      <header class="package-head">
        {found && <Icon icon={found.icon} name={found.displayName} size={64} />}
        <div>
          <Heading title={title}>
            Compare versions{found && " of "}
            {found && <bdi>{found.displayName}</bdi>}
          </Heading>
          <p class="package-names">
            <Link to={{ page: "package", catalog, package: name }}>
              <bdi>{name}</bdi>
            </Link>
            <span>
              in <bdi>{found?.catalog.displayName ?? catalog}</bdi>
            </span>
          </p>
        </div>
      </header>
      <Failure of={result} document={Compare} variables={variables} />
      {!result.data && !result.error && <Loading boxes={10} />}
      {result.data && !found && <Empty title="No such package" />}
      {found && (
        <div class={result.stale ? "stack stale" : "stack"} aria-busy={result.loading}>
          <Sides address={address} found={found} error={result.errors[0]} />
          {found.from && found.to ? (
            <Both address={address} from={found.from} to={found.to} />
          ) : (
            <Missing address={address} found={found} />
          )}
        </div>
      )}
      <OpenInPlayground document={Compare} variables={variables} />
    </article>
  );
}

interface SidesProps {
  address: CompareAddress;
  found: Found;
  /** Why there is no list of versions. */
  error: ResponseError | undefined;
}

function Sides({ address, found, error }: SidesProps) {
  const versions = found.versions?.nodes ?? [];
  const choose = (change: Partial<CompareAddress>) => navigate({ ...address, ...change }, { stay: true });
  const side = (label: string, value: string | undefined, key: "from" | "to") => (
    <label class="field">
      {label}
      <select value={value ?? ""} onChange={({ currentTarget }) => choose({ [key]: currentTarget.value })}>
        {!versions.some(({ name }) => name === value) && <option value={value ?? ""}>{value ?? "Choose"}</option>}
        {versions.map((version) => (
          <option key={version.name} value={version.name}>
            {versionLabel(version)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="chooser">
      {side("From", address.from, "from")}
      {side("To", address.to, "to")}
      <button type="button" onClick={() => choose({ from: address.to, to: address.from })}>
        Swap
      </button>
      <Unlisted versions={found.versions} error={error} />
    </div>
  );
}

function Missing({ address, found }: { address: CompareAddress; found: Found }) {
  const missing = [!found.from && address.from, !found.to && address.to].filter(Boolean);
  return (
    <Empty title={missing.length > 0 ? "No such version" : "Choose two versions"}>
      {missing.length > 0 && <p>The catalog has no {missing.join(" and no ")}.</p>}
    </Empty>
  );
}

function Both({ address, from, to }: { address: CompareAddress; from: From; to: Compared }) {
  const rows = factRows(from, to);
  const apis = changesOf(from.providedApis.map(apiName), to.providedApis.map(apiName));
  const requirements = changesOf(texts(from), texts(to));
  const channels = changesOf(from.channelNames, to.channelNames);
  const [before, after] = [from.metadata?.description ?? "", to.metadata?.description ?? ""];
  const images = differingImages(from, to).length;
  const properties = differingTypes(from, to).length;
  const parts: Part[] = [
    ["provided APIs", differing(apis)],
    ["requirements", differing(requirements)],
    ["channels", differing(channels)],
    ["images", images],
    ["properties", properties],
    ["description", Number(before !== after)],
  ];
  return (
    <>
      {to.deprecation && (
        <DeprecationAlert what={`Version ${to.version ?? to.name}`} message={to.deprecation.message} />
      )}
      <Summary from={from} to={to} parts={parts} />
      <Path address={address} from={from} to={to} />
      <section class="card stack">
        <h2>Facts</h2>
        <FactTable from={from} to={to} rows={rows} />
      </section>
      {differing(apis) > 0 && <Changes title="Provided APIs" changes={apis} />}
      {differing(requirements) > 0 && <Changes title="Requirements" changes={requirements} />}
      {differing(channels) > 0 && <Changes title="Channels" changes={channels} />}
      {images > 0 && <Images from={from} to={to} />}
      {properties > 0 && <Properties from={from} to={to} />}
      {before !== after && (
        <section class="card stack">
          <h2>Description</h2>
          <Lines from={before} to={after} />
        </section>
      )}
    </>
  );
}

/** A part of a version, with how many of its items differ. */
type Part = readonly [what: string, differing: number];

function differing({ added, removed }: ListChanges): number {
  return added.length + removed.length;
}

/** What changed in a sentence, and what did not. */
function Summary({ from, to, parts }: { from: Compared; to: Compared; parts: readonly Part[] }) {
  const changed = parts.filter(([, count]) => count > 0).map(([what, count]) => `${what} (${count})`);
  const same = parts.filter(([, count]) => count === 0).map(([what]) => what);
  const kubernetes = [from.metadata?.minKubeVersion, to.metadata?.minKubeVersion];
  const release = releaseOf(to);
  return (
    <section class="card stack" aria-label="Summary">
      <p>
        <strong>{changed.length > 0 ? `Changed: ${changed.join(", ")}.` : "Nothing of this changed."}</strong>{" "}
        {kubernetes[0] === kubernetes[1]
          ? kubernetes[1] && `Needs Kubernetes ${kubernetes[1]} as before.`
          : `Needs Kubernetes ${kubernetes[1] ?? "of any version"} instead of ${kubernetes[0] ?? "any"}.`}{" "}
        {release && <WebLink href={release}>Release notes</WebLink>}
      </p>
      {same.length > 0 && <p class="subtle">No difference: {same.join(", ")}.</p>}
    </section>
  );
}

/** Where GitHub has the notes of a release if its tag is named as most are. */
function releaseOf({ version, metadata }: Compared): string | undefined {
  const [repository] = /^https:\/\/github\.com\/[\w.-]+\/[\w.-]+/.exec(metadata?.repository ?? "") ?? [];
  return repository && version ? `${repository.replace(/\.git$/, "")}/releases/tag/v${encodeURIComponent(version)}` : undefined;
}

function Path({ address, from, to }: { address: CompareAddress; from: From; to: Compared }) {
  const { catalog, package: packageName } = address;
  const path = from.upgradePath;
  return (
    <section class="card stack">
      <h2>Upgrade path</h2>
      {!path ? (
        <p>
          No sequence of upgrades leads from {from.version ?? from.name} to {to.version ?? to.name}.
        </p>
      ) : path.length === 0 ? (
        <p>Both are the same version.</p>
      ) : (
        <>
          <p>{counted(path.length, "upgrade")}, the fewest possible:</p>
          <ol role="list" class="upgrade-path">
            <li>
              <bdi>{from.version ?? from.name}</bdi>
            </li>
            {path.map((step) => (
              <li key={step.toName}>
                <span aria-hidden="true">→ </span>
                <Link
                  to={{ page: "version", catalog, package: packageName, bundle: step.toName }}
                  title={`in ${step.channelNames.join(", ")}`}
                >
                  <bdi>{step.to?.version ?? step.toName}</bdi>
                </Link>{" "}
                {step.to?.deprecation && <Deprecated message={step.to.deprecation.message} />}
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

type Row = readonly [term: string, before: string, after: string];

const METADATA: readonly (readonly [string, (metadata: Metadata) => string | null | undefined])[] = [
  ["Display name", ({ displayName }) => displayName],
  ["Provider", ({ provider }) => provider?.name],
  ["Created", ({ createdAt }) => createdAt && day(createdAt)],
  ["Capability level", ({ capabilityLevel }) => capabilityLevel && level(capabilityLevel)],
  ["Maturity", ({ maturity }) => maturity],
  ["Lowest Kubernetes", ({ minKubeVersion }) => minKubeVersion],
  ["Highest Kubernetes", ({ maxKubeVersion }) => maxKubeVersion],
  ["Install modes", ({ installModes }) => installModes.map(installMode).join(", ")],
  ["Features", ({ infrastructureFeatures }) => infrastructureFeatures.join(", ")],
  ["Architectures", ({ architectures }) => architectures.join(", ")],
  ["Categories", ({ categories }) => categories.join(", ")],
  ["Keywords", ({ keywords }) => keywords.join(", ")],
  ["Operator image", ({ containerImage }) => containerImage],
  ["Repository", ({ repository }) => repository],
  ["Support", ({ support }) => support],
  ["Suggested namespace", ({ suggestedNamespace }) => suggestedNamespace],
];

/** What at least one side has. */
function factRows(from: Compared, to: Compared): Row[] {
  const rows: Row[] = [
    ["Version", from.version ?? "", to.version ?? ""],
    ["Release", from.release ?? "", to.release ?? ""],
    ["Bundle", from.name, to.name],
    ["Highest OpenShift", from.maxOpenShiftVersion ?? "", to.maxOpenShiftVersion ?? ""],
    ["Deprecated", from.deprecation?.message ?? "", to.deprecation?.message ?? ""],
  ];
  for (const [term, value] of METADATA) {
    rows.push([term, (from.metadata && value(from.metadata)) || "", (to.metadata && value(to.metadata)) || ""]);
  }
  return rows.filter(([, before, after]) => before || after);
}

function FactTable({ from, to, rows }: { from: Compared; to: Compared; rows: readonly Row[] }) {
  const changed = rows.filter(([, before, after]) => before !== after);
  const same = rows.filter(([, before, after]) => before === after);
  return (
    <>
      <Table class="compared" heads={[{ text: "Fact", isUnseen: true }, from.version ?? from.name, to.version ?? to.name]}>
        {changed.map(([term, before, after]) => (
          <tr key={term}>
            <th scope="row">{term}</th>
            <td>
              <bdi>{before || "–"}</bdi>
            </td>
            <td>
              <bdi>{after || "–"}</bdi>
            </td>
          </tr>
        ))}
      </Table>
      {same.length > 0 && (
        <details>
          <summary>{counted(same.length, "fact")} without a difference</summary>
          <dl class="facts">
            {same.map(([term, value]) => (
              <Fragment key={term}>
                <dt>{term}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </Fragment>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

function Changes({ title, changes }: { title: string; changes: ListChanges }) {
  const { added, removed, same } = changes;
  if (added.length + removed.length + same.length === 0) return null;
  return (
    <section class="card stack">
      <h2>{title}</h2>
      <Differences>
        {[
          ...removed.map((item) => (
            <Change key={`- ${item}`} kind="removed">
              {item}
            </Change>
          )),
          ...added.map((item) => (
            <Change key={`+ ${item}`} kind="added">
              {item}
            </Change>
          )),
        ]}
      </Differences>
      {same.length > 0 && (
        <details>
          <summary>{counted(same.length, "item")} in both</summary>
          <ul class="bullets">
            {same.map((item) => (
              <li key={item}>
                <bdi>{item}</bdi>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** What differs. */
function Differences({ children }: { children: VNode[] }) {
  return (
    <ul role="list" class="compared-changes">
      {children}
    </ul>
  );
}

const KINDS = { added: "Added", removed: "Removed", changed: "Changed" } as const;

function Change({ kind, children }: { kind: keyof typeof KINDS; children: ComponentChildren }) {
  return (
    <li>
      <span class={`badge ${kind}`}>{KINDS[kind]}</span> <bdi>{children}</bdi>
    </li>
  );
}

function allImages(from: Compared, to: Compared) {
  const list = ({ image, relatedImages }: Compared) =>
    [image, ...relatedImages.map((each) => each.image)].filter(Boolean);
  return imageChanges(list(from), list(to));
}

function differingImages(from: Compared, to: Compared) {
  return allImages(from, to).filter(({ before, after }) => before.join() !== after.join());
}

function Images({ from, to }: { from: Compared; to: Compared }) {
  const changes = allImages(from, to);
  const differing = differingImages(from, to);
  return (
    <section class="card stack">
      <h2>Images</h2>
      <Differences>
        {differing.map(({ repository, before, after }) => (
          <Change key={repository} kind={before.length === 0 ? "added" : after.length === 0 ? "removed" : "changed"}>
            <code>{repository}</code>
            <span class="subtle">
              {before.join(", ")}
              {before.length > 0 && after.length > 0 && " → "}
              {after.join(", ")}
            </span>
          </Change>
        ))}
      </Differences>
      {differing.length > 0 && differing.length < changes.length && (
        <p class="subtle">{counted(changes.length - differing.length, "image")} in both.</p>
      )}
    </section>
  );
}

function Properties({ from, to }: { from: Compared; to: Compared }) {
  const [before, after] = [countsOf(from), countsOf(to)];
  const differing = differingTypes(from, to);
  return (
    <section class="card stack">
      <h2>Properties by type</h2>
      <Differences>
        {differing.map((type) => (
          <Change key={type} kind={!before.has(type) ? "added" : !after.has(type) ? "removed" : "changed"}>
            <code>{type}</code>
            <span class="subtle">
              {before.get(type) ?? 0} → {after.get(type) ?? 0}
            </span>
          </Change>
        ))}
      </Differences>
    </section>
  );
}

/** Types of properties of which the versions have other numbers. */
function differingTypes(from: Compared, to: Compared): string[] {
  const [before, after] = [countsOf(from), countsOf(to)];
  const types = [...new Set([...before.keys(), ...after.keys()])].sort();
  return types.filter((type) => before.get(type) !== after.get(type));
}

/** How many properties there are of each type. */
function countsOf({ properties }: Compared): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { type } of properties) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

function Lines({ from, to }: { from: string; to: string }) {
  const signs = { same: " ", added: "+", removed: "-" };
  return (
    <div class="diff-lines" tabIndex={0} role="region" aria-label="Lines that differ">
      {diffLines(from, to).map(({ kind, lines }, at) => {
        const shown = kind === "same" && lines.length > 7 ? [...lines.slice(0, 3), "…", ...lines.slice(-3)] : lines;
        return (
          <div key={at} class={`diff-lines-${kind}`}>
            {kind !== "same" && <span class="unseen">{KINDS[kind]}:</span>}
            {shown.map((line, at) => (
              <div key={at}>
                <span aria-hidden="true">{signs[kind]}</span>
                <bdi>{line}</bdi>
              </div>
            ))}
          </div>
        );
      })}
    </div>
  );
}

function apiName({ group, version, kind }: { group: string; version: string; kind: string }): string {
  return `${kind}.${version}.${group}`;
}

function texts({ requirements }: Compared): string[] {
  return requirements.map(({ text }) => text);
}

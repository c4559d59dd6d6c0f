// What differs between two contents: packages with the heads of their channels before and after.

import "./catalogs.css";

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { type DiffAddress, Heading, Link, navigate, replace } from "../address";
import { type CatalogRef, type Change, Diff, type DiffData, DiffSides, type DiffSidesData, PackageDiff } from "../generated/documents";
import { Empty, Loading, OpenInPlayground, Result } from "../parts";
import { counted, day, number, shortDigest } from "../parts/format";
import { useQuery } from "../use-query";

type Differences = NonNullable<DiffData["diff"]>;
type ChangedPackage = Differences["packages"][number];
type Sides = DiffSidesData["catalogs"];

export default function DiffPage({ address }: { address: DiffAddress }) {
  const sides = useQuery(DiffSides, {});
  const { from, to } = address;
  const variables = from && to ? { from: reference(from), to: reference(to) } : undefined;
  return (
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to={{ page: "catalogs" }}>Catalogs</Link>
      </nav>
      <div class="title-row">
        <Heading title="Compare contents" />
        {variables ? <OpenInPlayground document={Diff} variables={variables} /> : <OpenInPlayground document={DiffSides} variables={{}} />}
      </div>
      <Result of={sides} document={DiffSides} variables={{}}>
        {({ catalogs }) => (
          <div class="diff-sides">
            <Side label="From" value={from} catalogs={catalogs} onChange={(value) => navigate({ ...address, from: value }, { stay: true })} />
            <Side label="To" value={to} catalogs={catalogs} onChange={(value) => navigate({ ...address, to: value }, { stay: true })} />
          </div>
        )}
      </Result>
      {variables ? (
        <Comparison variables={variables} address={address} />
      ) : (
        <Empty title="Choose two contents">
          <p>Two catalogs, or an earlier content of one and what it serves now.</p>
        </Empty>
      )}
    </>
  );
}

/** A side by its digest, or by the name of a catalog. */
function reference(side: string): CatalogRef {
  return side.startsWith("sha256:") ? { digest: side } : { name: side };
}

interface SideProps {
  label: string;
  value: string | undefined;
  catalogs: Sides;
  onChange: (value: string) => void;
}

function Side({ label, value = "", catalogs, onChange }: SideProps) {
  const isKnown = catalogs.some(({ name, contents }) => name === value || contents.some(({ digest }) => digest === value));
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {!isKnown && <option value={value}>{value ? shortDigest(value) : "Choose a content"}</option>}
        {catalogs.map(({ name, displayName, contents }) => (
          <optgroup key={name} label={displayName}>
            <option value={name}>{displayName}: what is served</option>
            {contents.map(({ digest, isServed, unpackedAt }) => (
              <option key={digest} value={digest}>
                {displayName}: {shortDigest(digest)}
                {unpackedAt && `, ${day(unpackedAt)}`}
                {isServed && " (served)"}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

interface Compared {
  from: CatalogRef;
  to: CatalogRef;
}

function Comparison({ variables, address }: { variables: Compared; address: DiffAddress }) {
  const result = useQuery(Diff, variables);
  return (
    <Result of={result} document={Diff} variables={variables} loading={<Loading boxes={10} />}>
      {({ diff }) => {
        if (!diff) {
          return (
            <Empty title="A content is no longer known">
              <p>It is neither served nor remembered. Choose another one.</p>
            </Empty>
          );
        }
        if (diff.packages.length === 0) return <Empty title="The contents are equal" />;
        return <Packages diff={diff} variables={variables} address={address} />;
      }}
    </Result>
  );
}

/** So many packages are shown until somebody wants to see them all. */
const SHORT = 200;

function Packages({ diff, variables, address }: { diff: Differences; variables: Compared; address: DiffAddress }) {
  const [isLong, setLong] = useState(false);
  const text = address.q?.trim().toLowerCase() ?? "";
  const named = diff.packages.filter(({ name }) => name.toLowerCase().includes(text));
  const found = named.filter(({ change }) => WORDS[change] === address.change || !KINDS.some((word) => word === address.change));
  const shown = isLong ? found : found.slice(0, SHORT);
  return (
    <section class="diff" aria-label="Differences">
      <p class="counts" role="status">
        <strong>{counted(diff.packages.length, "package")} differ</strong>
        <ChangeCount change="ADDED" count={diff.bundlesAdded} />
        <ChangeCount change="REMOVED" count={diff.bundlesRemoved} />
        <ChangeCount change="CHANGED" count={diff.bundlesChanged} />
      </p>
      <div class="diff-tools">
        <label>
          Filter{" "}
          <input
            type="search"
            id="search"
            aria-keyshortcuts="/"
            placeholder="Name of a package"
            spellcheck={false}
            autocomplete="off"
            value={address.q ?? ""}
            onInput={({ currentTarget }) => replace({ ...address, q: currentTarget.value || undefined })}
          />
        </label>
        <label>
          Show{" "}
          <select value={address.change ?? ""} onChange={({ currentTarget }) => navigate({ ...address, change: currentTarget.value || undefined }, { stay: true })}>
            <option value="">All ({number(named.length)})</option>
            {KINDS.map((word) => (
              <option key={word} value={word}>
                Only {word} ({number(named.filter(({ change }) => WORDS[change] === word).length)})
              </option>
            ))}
          </select>
        </label>
      </div>
      {found.length === 0 && <Empty title="No package matches" />}
      <ul role="list" class="differences" hidden={found.length === 0}>
        {shown.map((each) => (
          <Row key={each.name} of={each} variables={variables} />
        ))}
      </ul>
      {shown.length < found.length && (
        <p>
          <button type="button" onClick={() => setLong(true)}>
            Show all {number(found.length)}
          </button>
        </p>
      )}
    </section>
  );
}

const WORDS: Record<Change, string> = { ADDED: "added", REMOVED: "removed", CHANGED: "changed" };

const KINDS = Object.values(WORDS);

function ChangeCount({ change, count }: { change: Change; count: number }) {
  if (count === 0) return null;
  return <span class={`badge ${WORDS[change]}`}>{`${counted(count, "bundle")} ${WORDS[change]}`}</span>;
}

function Row({ of, variables }: { of: ChangedPackage; variables: Compared }) {
  const [isOpen, setOpen] = useState(false);
  const { name, change, fromDefaultChannel, toDefaultChannel, channels } = of;
  const hasOtherDefault = change === "CHANGED" && fromDefaultChannel !== toDefaultChannel;
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary data-item>
          <Badge change={change} />
          <span class="name">{name}</span>
        </summary>
        {isOpen && <Details name={name} variables={variables} />}
      </details>
      {change === "CHANGED" && (
        <ul role="list" class="heads">
          {hasOtherDefault && <Before what="Default channel" before={fromDefaultChannel} after={toDefaultChannel} />}
          {channels.map((channel) => (
            <Before
              key={channel.name}
              what={channel.name}
              badge={channel.change !== "CHANGED" && <Badge change={channel.change} />}
              before={channel.fromHead}
              after={channel.toHead}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

function Badge({ change }: { change: Change }) {
  return <span class={`badge ${WORDS[change]}`}>{WORDS[change]}</span>;
}

interface BeforeProps {
  what: string;
  badge?: ComponentChildren;
  before: string | null;
  after: string | null;
}

/** A head before and after. */
function Before({ what, badge, before, after }: BeforeProps) {
  return (
    <li>
      <span class="what">{what}</span>
      {badge}
      {before === after ? <span class="same">{after ?? "no head"}</span> : <Arrow before={before} after={after} />}
    </li>
  );
}

function Arrow({ before, after }: { before: string | null; after: string | null }) {
  return (
    <span>
      {before && <del>{before}</del>} {before && after && <span aria-hidden="true">→</span>} {after && <ins>{after}</ins>}
    </span>
  );
}

/** What differs within a package, asked for when it is opened. */
function Details({ name, variables }: { name: string; variables: Compared }) {
  const own = { ...variables, package: name };
  const result = useQuery(PackageDiff, own);
  return (
    <Result of={result} document={PackageDiff} variables={own} loading={<Loading boxes={3} />}>
      {({ diff }) => {
        const [found] = diff?.packages ?? [];
        if (!found) return <p>Nothing differs any more.</p>;
        return (
          <div class="within">
            {found.fields.length > 0 && <p>Of the package itself: {found.fields.map(words).join(", ")}.</p>}
            {found.channels.map((channel) => (
              <Entries key={channel.name} channel={channel} />
            ))}
            <ul role="list" class="bundles">
              {found.bundles.map((bundle) => (
                <li key={bundle.name}>
                  <Badge change={bundle.change} /> {bundle.name} {bundle.fields.length > 0 && <span class="fields">{bundle.fields.map(words).join(", ")}</span>}
                </li>
              ))}
            </ul>
          </div>
        );
      }}
    </Result>
  );
}

interface ChannelEntries {
  name: string;
  entriesAdded: string[];
  entriesRemoved: string[];
  entriesChanged: string[];
}

function Entries({ channel }: { channel: ChannelEntries }) {
  const parts = [
    ["added", channel.entriesAdded],
    ["removed", channel.entriesRemoved],
    ["changed", channel.entriesChanged],
  ] as const;
  const said = parts.filter(([, entries]) => entries.length > 0).map(([word, entries]) => `${number(entries.length)} ${word}`);
  return (
    <p>
      Channel <strong>{channel.name}</strong>: {said.length > 0 ? `entries ${said.join(", ")}` : "same entries"}.
    </p>
  );
}

/** A field of the schema as words: `RELATED_IMAGES` is `related images`. */
function words(field: string): string {
  return field.toLowerCase().replaceAll("_", " ");
}

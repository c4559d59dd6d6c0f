// The fields of what is asked for: those of a ClusterExtension, or of a Subscription with what is installed.

import { useId, useLayoutEffect, useState } from "preact/hooks";

import { navigate, type ResolveAddress } from "../address";
import { ResolveForm, type ResolveFormData, SuggestPackages } from "../generated/documents";
import { channelLabel } from "../graph/label";
import { counted } from "../parts/format";
import { useDebounced } from "../use-debounced";
import { useQuery } from "../use-query";

/** Fields of free text beside the name. */
type TextField = "version" | "selector" | "installed" | "kubernetes" | "openshift" | "architecture";

/** What the form asks for: the channels of the package, and the catalogs. */
export function formVariables({ name = "" }: ResolveAddress) {
  return { package: name };
}

export function Form({ address }: { address: ResolveAddress }) {
  /** The name while it is typed, for suggestions. */
  const [typed, setTyped] = useState<string>();
  const choose = (change: Partial<ResolveAddress>) => {
    setTyped(undefined);
    navigate({ ...address, ...change }, { stay: true });
  };
  const form = useQuery(ResolveForm, formVariables(address)).data;
  const text = useDebounced(typed?.trim() ?? "");
  const found = useQuery(SuggestPackages, { text }, { skip: text === "" }).data?.suggest ?? [];
  // Several catalogs may have a package of one name.
  const suggestions = [...new Map(found.map((each) => [each.text, each.displayName]))];
  const list = useId();
  const isV0 = address.olm === "v0";
  const hasCluster = Boolean(address.kubernetes || address.openshift || address.architecture);
  const field = (label: string, key: TextField, example: string) => (
    <Field label={label} value={address[key] ?? ""} example={example} onChoose={(value) => choose({ [key]: value || undefined })} />
  );
  return (
    <form class="card stack" aria-label={isV0 ? "Subscription" : "ClusterExtension"} onSubmit={(event) => event.preventDefault()}>
      <Rules isV0={isV0} onChoose={(olm) => choose({ olm })} />
      <Field
        label="Package"
        value={address.name ?? ""}
        example="prometheus"
        list={list}
        onChoose={(name) => choose({ name: name || undefined })}
        onType={setTyped}
      />
      <datalist id={list}>
        {suggestions.map(([text, displayName]) => (
          <option key={text} value={text}>
            {displayName ?? ""}
          </option>
        ))}
      </datalist>
      {!isV0 && field("Version or range", "version", ">=1.2.0 <2.0.0")}
      {isV0 ? (
        <OneChannel items={channelsOf(form)} chosen={address.channel[0]} onChoose={(channel) => choose({ channel })} />
      ) : (
        <Choices
          title="Channels"
          none="every channel"
          items={channelsOf(form)}
          chosen={address.channel}
          onChoose={(channel) => choose({ channel })}
        />
      )}
      <Choices
        title="Catalogs"
        none="every catalog"
        items={catalogsOf(form, Boolean(address.name))}
        chosen={address.in}
        onChoose={(chosen) => choose({ in: chosen })}
      />
      {!isV0 && field("Selector for catalogs", "selector", "tier=gold")}
      {isV0
        ? field("Installed bundles", "installed", "prometheus.v1.2.0@1.2.0 …")
        : field("Installed bundle", "installed", "prometheus.v1.2.0@1.2.0")}
      {!isV0 && (
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={address.policy === "SELF_CERTIFIED"}
              onChange={({ currentTarget }) => choose({ policy: currentTarget.checked ? "SELF_CERTIFIED" : undefined })}
            />
            Upgrades need not follow the update graph (SelfCertified)
          </label>
          <details class="choices" open={hasCluster || undefined}>
            <summary>Cluster: {hasCluster ? "only compatible bundles" : "any"}</summary>
            <div class="stack cluster">
              <p class="subtle">The controller does not look at this: it would install an incompatible bundle.</p>
              {field("Kubernetes", "kubernetes", "1.31")}
              {field("OpenShift", "openshift", "4.18")}
              {field("Architecture", "architecture", "arm64")}
            </div>
          </details>
        </>
      )}
      <button type="submit" class="primary">
        Resolve
      </button>
    </form>
  );
}

interface FieldProps {
  label: string;
  /** What is asked for now. */
  value: string;
  example: string;
  onChoose: (value: string) => void;
  /** Gets the text while it is typed. */
  onType?: (text: string) => void;
  /** The id of the list of suggestions. */
  list?: string;
}

/** A field of free text. What is typed in it stays while something else of the form is loaded. */
function Field({ label, value, example, onChoose, onType, list }: FieldProps) {
  const [text, setText] = useState(value);
  // A link or the way back changed it.
  useLayoutEffect(() => setText(value), [value]);
  const typed = ({ currentTarget, inputType }: InputEvent & { currentTarget: HTMLInputElement }) => {
    setText(currentTarget.value);
    // What is chosen from the list needs no key to be pressed after it.
    if (list && inputType === "insertReplacementText") onChoose(currentTarget.value.trim());
    else onType?.(currentTarget.value);
  };
  return (
    <label class="stacked">
      <span>{label}</span>
      <input
        value={text}
        placeholder={example}
        spellcheck={false}
        autocomplete="off"
        {...({ list, onInput: typed } as object)}
        onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
      />
    </label>
  );
}

/** Which OLM it is. */
function Rules({ isV0, onChoose }: { isV0: boolean; onChoose: (olm: "v0" | undefined) => void }) {
  const name = useId();
  const choice = (label: string, what: string, isChosen: boolean, olm: "v0" | undefined) => (
    <label class="check">
      <input type="radio" name={name} checked={isChosen} onChange={() => onChoose(olm)} />
      <span>
        {label} <span class="subtle">{what}</span>
      </span>
    </label>
  );
  return (
    <fieldset class="rules">
      <legend>Rules</legend>
      {choice("OLM v1", "one bundle", !isV0, undefined)}
      {choice("OLM v0", "with its dependencies", isV0, "v0")}
    </fieldset>
  );
}

interface OneChannelProps {
  items: readonly Item[];
  chosen: string | undefined;
  onChoose: (channel: readonly string[]) => void;
}

/** A Subscription names one channel, or none. */
function OneChannel({ items, chosen = "", onChoose }: OneChannelProps) {
  const isKnown = chosen === "" || items.some(({ value }) => value === chosen);
  return (
    <label class="stacked">
      <span>Channel</span>
      <select value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value ? [currentTarget.value] : [])}>
        <option value="">Every channel</option>
        {!isKnown && <option value={chosen}>{chosen} · unknown</option>}
        {items.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Item {
  value: string;
  label: string;
}

function channelsOf(form: ResolveFormData | undefined): Item[] {
  const channels = new Map<string, Item>();
  for (const { channels: own } of form?.packages?.nodes ?? []) {
    for (const channel of own)
      if (!channels.has(channel.name))
        channels.set(channel.name, { value: channel.name, label: channelLabel(channel) });
  }
  return [...channels.values()];
}

/** Those that have the package first. */
function catalogsOf(form: ResolveFormData | undefined, isNamed: boolean): Item[] {
  const having = new Set(form?.packages?.nodes.map(({ catalog }) => catalog.name));
  const items = (form?.catalogs ?? []).map(({ name, displayName, priority }) => {
    const label = [displayName, priority !== 0 && `priority ${priority}`, isNamed && !having.has(name) && "does not have it"];
    return { value: name, label: label.filter(Boolean).join(" · ") };
  });
  return items.sort((one, other) => Number(having.has(other.value)) - Number(having.has(one.value)));
}

interface ChoicesProps {
  title: string;
  none: string;
  items: readonly Item[];
  chosen: readonly string[];
  onChoose: (chosen: readonly string[]) => void;
}

/** Boxes to check; what the address names and nobody has is among them. */
function Choices({ title, none, items, chosen, onChoose }: ChoicesProps) {
  const unknown = chosen.filter((value) => !items.some((item) => item.value === value));
  const all = [...items, ...unknown.map((value) => ({ value, label: `${value} · unknown` }))];
  if (all.length === 0) return null;
  const toggle = (value: string, isOn: boolean) =>
    onChoose(isOn ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <details class="choices" open={all.length <= 8 || undefined}>
      <summary>
        {title}: {chosen.length > 0 ? counted(chosen.length, "chosen", "chosen") : none}
      </summary>
      <fieldset>
        <legend class="unseen">{title}</legend>
        {all.map(({ value, label }) => (
          <label key={value} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget }) => toggle(value, currentTarget.checked)}
            />
            <bdi>{label}</bdi>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

// The fields of what is asked for: those of a ClusterExtension, or of a Subscription with what is installed.

import { useId } from "preact/hooks";

import { navigate, type ResolveAddress } from "../address";
import { type Choice, Choices } from "../fields/choices";
import { PackageField } from "../fields/package-field";
import { TextField } from "../fields/text-field";
import { ResolveForm, type ResolveFormData } from "../generated/documents";
import { channelLabel } from "../graph/label";
import { useQuery } from "../use-query";

/** Fields of free text beside the name. */
type TextKey = "version" | "selector" | "installed" | "kubernetes" | "openshift" | "architecture";

/** What the form asks for: the channels of the package, and the catalogs. */
export function formVariables({ name = "" }: ResolveAddress) {
  return { package: name };
}

export function Form({ address }: { address: ResolveAddress }) {
  const choose = (change: Partial<ResolveAddress>) => navigate({ ...address, ...change }, { stay: true });
  const form = useQuery(ResolveForm, formVariables(address)).data;
  const isV0 = address.olm === "v0";
  const hasCluster = Boolean(address.kubernetes || address.openshift || address.architecture);
  const field = (label: string, key: TextKey, example: string, hint?: string) => (
    <TextField label={label} value={address[key] ?? ""} example={example} hint={hint} onChoose={(value) => choose({ [key]: value || undefined })} />
  );
  return (
    <form class="card stack" aria-label={isV0 ? "Subscription" : "ClusterExtension"} onSubmit={(event) => event.preventDefault()}>
      <Rules isV0={isV0} onChoose={(olm) => choose({ olm })} />
      <PackageField value={address.name ?? ""} onChoose={(name) => choose({ name: name || undefined })} />
      {!isV0 && field("Version or range", "version", ">=1.2.0 <2.0.0", "Such as 1.2.0, 1.2.x or >=1.2.0 <2.0.0.")}
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
        ? field("Installed bundles", "installed", "prometheus.v1.2.0 or 1.2.0, …")
        : field("Installed bundle", "installed", "prometheus.v1.2.0 or 1.2.0")}
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
  items: readonly Choice[];
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

function channelsOf(form: ResolveFormData | undefined): Choice[] {
  const channels = new Map<string, Choice>();
  for (const { channels: own } of form?.packages?.nodes ?? []) {
    for (const channel of own)
      if (!channels.has(channel.name))
        channels.set(channel.name, { value: channel.name, label: channelLabel(channel) });
  }
  return [...channels.values()];
}

/** Those that have the package first. */
function catalogsOf(form: ResolveFormData | undefined, isNamed: boolean): Choice[] {
  const having = new Set(form?.packages?.nodes.map(({ catalog }) => catalog.name));
  const items = (form?.catalogs ?? []).map(({ name, displayName, priority }) => {
    const label = [displayName, priority !== 0 && `priority ${priority}`, isNamed && !having.has(name) && "does not have it"];
    return { value: name, label: label.filter(Boolean).join(" · ") };
  });
  return items.sort((one, other) => Number(having.has(other.value)) - Number(having.has(one.value)));
}

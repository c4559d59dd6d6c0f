// The fields of a mirror set: the catalog, what is wanted of each package, and the registry to copy to.

import { useState } from "preact/hooks";

import { type MirrorAddress, navigate } from "../address";
import { cluster, clusterText } from "../cluster/cluster";
import { Choices } from "../fields/choices";
import { PackageField } from "../fields/package-field";
import { TextField } from "../fields/text-field";
import { MirrorForm as Document, type MirrorFormData } from "../generated/documents";
import { Glyph } from "../parts/glyph";
import { useStore } from "../store";
import { useQuery } from "../use-query";
import { parsePick, type Pick, pickText } from "./picks";

type Found = NonNullable<NonNullable<MirrorFormData["catalog"]>["packages"]>["nodes"][number];

export function MirrorForm({ address }: { address: MirrorAddress }) {
  const [entry, setEntry] = useState("");
  const text = clusterText(useStore(cluster));
  const picks = address.pick.map(parsePick);
  const names = picks.map(({ name }) => name);
  const { data } = useQuery(Document, { catalog: address.catalog ?? "", packages: names });
  const catalogs = data?.catalogs ?? [];
  const found = data?.catalog?.packages?.nodes ?? [];
  const choose = (change: Partial<MirrorAddress>) => navigate({ ...address, ...change }, { stay: true });
  const isKnown = catalogs.some(({ name }) => name === address.catalog);
  const change = (at: number, pick: Pick) => choose({ pick: address.pick.map((text, other) => (other === at ? pickText(pick) : text)) });
  const add = (name: string) => {
    setEntry("");
    if (name && !names.includes(name)) choose({ pick: [...address.pick, pickText({ name, channels: [] })] });
  };
  return (
    <form class="card stack" aria-label="Mirror set" onSubmit={(event) => event.preventDefault()}>
      <label class="stacked">
        <span>Catalog</span>
        <select value={address.catalog ?? ""} onChange={({ currentTarget }) => choose({ catalog: currentTarget.value || undefined })}>
          {!isKnown && <option value={address.catalog ?? ""}>{address.catalog ?? "Choose a catalog"}</option>}
          {catalogs.map(({ name, displayName }) => (
            <option key={name} value={name}>
              {displayName}
            </option>
          ))}
        </select>
      </label>
      <div>
        {picks.map((pick, at) => (
          <PickFields
            key={pick.name}
            pick={pick}
            found={found.find(({ name }) => name === pick.name)}
            onChange={(changed) => change(at, changed)}
            onRemove={() => choose({ pick: address.pick.filter((_, other) => other !== at) })}
          />
        ))}
      </div>
      <PackageField value={entry} onChoose={add} />
      <label class="check">
        <input type="checkbox" checked={address.full === "yes"} onChange={({ currentTarget }) => choose({ full: currentTarget.checked ? "yes" : undefined })} />
        All entries of the channels
      </label>
      {text && (
        <label class="check">
          <input type="checkbox" checked={address.fits === "yes"} onChange={({ currentTarget }) => choose({ fits: currentTarget.checked ? "yes" : undefined })} />
          Only what runs on {text}
        </label>
      )}
      <TextField label="Registry to copy to" value={address.to ?? ""} example="mirror.example.com/olm" onChoose={(to) => choose({ to: to || undefined })} />
    </form>
  );
}

interface PickFieldsProps {
  pick: Pick;
  /** The package in the catalog. */
  found: Found | undefined;
  onChange: (pick: Pick) => void;
  onRemove: () => void;
}

function PickFields({ pick, found, onChange, onRemove }: PickFieldsProps) {
  const isByNeed = pick.from !== undefined;
  const channels = (found?.channels ?? []).map(({ name, isDefault, head }) => ({
    value: name,
    label: [name, isDefault && "default", head?.bundle?.version].filter(Boolean).join(" · "),
  }));
  const version = (label: string, key: "low" | "high" | "from" | "to", example: string) => (
    <TextField label={label} value={pick[key] ?? ""} example={example} onChoose={(value) => onChange({ ...pick, [key]: value || (key === "from" ? "" : undefined) })} />
  );
  return (
    <section class="pick" aria-label={pick.name}>
      <header>
        <bdi>{pick.name}</bdi>
        <button type="button" class="plain" aria-label={`Remove ${pick.name}`} onClick={onRemove}>
          <Glyph name="close" />
        </button>
      </header>
      <Choices title="Channels" none={isByNeed ? "the default one" : "every channel"} names items={channels} chosen={pick.channels} onChoose={(chosen) => onChange({ ...pick, channels: chosen })} />
      <label class="stacked">
        <span>Versions</span>
        <select
          value={isByNeed ? "need" : "range"}
          onChange={({ currentTarget }) =>
            onChange({ name: pick.name, channels: pick.channels, dependencies: pick.dependencies, ...(currentTarget.value === "need" && { from: "" }) })
          }
        >
          <option value="range">Heads, or a range</option>
          <option value="need">Upgrades from what is installed</option>
        </select>
      </label>
      <div class="pick-versions">
        {isByNeed ? version("Installed", "from", "1.0.0") : version("Lowest", "low", "1.0.0")}
        {isByNeed ? version("Wanted", "to", "the head") : version("Highest", "high", "2.0.0")}
      </div>
      <label class="check">
        <input type="checkbox" checked={pick.dependencies === true} onChange={({ currentTarget }) => onChange({ ...pick, dependencies: currentTarget.checked || undefined })} />
        With what it requires
      </label>
    </section>
  );
}

// The fields of a plan: versions of the platform, their catalogs, and what is installed.

import { useState } from "preact/hooks";

import { navigate, type PlanAddress } from "../address";
import { clusterIsOpen, installed } from "../cluster/cluster";
import { Choices } from "../fields/choices";
import { PackageField } from "../fields/package-field";
import { TextField } from "../fields/text-field";
import { counted } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { useStore } from "../store";
import { installedText, parseInstalled } from "./installed";
import { type PlanStep, platformName, type ServedCatalog, withCatalogs } from "./steps";

export interface PlanFormProps {
  address: PlanAddress;
  /** The version that the cluster has, if that is known. */
  from: string | undefined;
  steps: readonly PlanStep[];
  served: readonly ServedCatalog[];
  /** Why there is no way between the versions. */
  fault: string | undefined;
}

export function PlanForm({ address, from, steps, served, fault }: PlanFormProps) {
  const choose = (change: Partial<PlanAddress>) => navigate({ ...address, ...change }, { stay: true });
  const items = served.map(({ name, displayName }) => ({ value: name, label: displayName }));
  return (
    <form class="card stack" aria-label="Upgrade" onSubmit={(event) => event.preventDefault()}>
      <div class="plan-versions">
        <TextField label="From version" value={from ?? ""} example="4.16" onChoose={(value) => choose({ from: value || undefined })} />
        <TextField label="To version" value={address.to ?? ""} example="4.18" onChoose={(value) => choose({ to: value || undefined })} />
      </div>
      <p role="status" class="plan-fault">
        {fault}
      </p>
      {steps.map(({ version, catalogs }) => (
        <Choices
          key={version}
          title={`Catalogs of ${platformName(version)}`}
          none="none"
          names
          items={items}
          chosen={catalogs}
          onChoose={(chosen) => choose({ step: withCatalogs(address.step, version, chosen) })}
        />
      ))}
      <fieldset class="rules plan-installed">
        <legend>Installed</legend>
        <Mine address={address} onChoose={choose} />
        <ByHand address={address} onChoose={choose} />
      </fieldset>
    </form>
  );
}

interface PartProps {
  address: PlanAddress;
  onChoose: (change: Partial<PlanAddress>) => void;
}

/** What the browser was told of the reader's cluster. */
function Mine({ address, onChoose }: PartProps) {
  const count = useStore(installed).length;
  return (
    <div class="plan-mine">
      {count > 0 && (
        <label class="check">
          <input type="checkbox" checked={address.mine !== "no"} onChange={({ currentTarget }) => onChoose({ mine: currentTarget.checked ? undefined : "no" })} />
          {counted(count, "operator")} of my cluster
        </label>
      )}
      <button type="button" aria-haspopup="dialog" onClick={() => clusterIsOpen.set(true)}>
        {count > 0 ? "Change" : "Paste the objects of my cluster"}
      </button>
    </div>
  );
}

const NONE = { packageName: "", version: "", channel: "" };

/** Packages that the address names. */
function ByHand({ address, onChoose }: PartProps) {
  const [entry, setEntry] = useState(NONE);
  const isWhole = entry.packageName !== "" && entry.version !== "";
  const setVersion = (version: string) => setEntry((entry) => ({ ...entry, version: version.trim() }));
  const setChannel = (channel: string) => setEntry((entry) => ({ ...entry, channel: channel.trim() }));
  const add = () => {
    if (!isWhole) return;
    onChoose({ installed: [...address.installed, installedText(entry)] });
    setEntry(NONE);
  };
  return (
    <>
      <ul role="list" class="plan-named">
        {address.installed.map((text, at) => {
          const { packageName, version, channel } = parseInstalled(text) ?? { packageName: text, version: "no version" };
          return (
            <li key={`${at} ${text}`}>
              <span>
                <bdi>{packageName}</bdi> {version}
                {channel && (
                  <span class="subtle">
                    {" "}
                    in <bdi>{channel}</bdi>
                  </span>
                )}
              </span>
              <button
                type="button"
                class="plain"
                aria-label={`Remove ${packageName} ${version}`}
                onClick={() => onChoose({ installed: address.installed.filter((_, other) => other !== at) })}
              >
                <Glyph name="close" />
              </button>
            </li>
          );
        })}
      </ul>
      <details class="choices" open={address.installed.length > 0 || undefined}>
        <summary>Add a package by hand</summary>
        <div class="stack plan-entry" onKeyDown={({ key }) => key === "Enter" && add()}>
          <PackageField value={entry.packageName} onChoose={(packageName) => setEntry((entry) => ({ ...entry, packageName }))} />
          <TextField label="Installed version" value={entry.version} example="1.2.0" onChoose={setVersion} onType={setVersion} />
          <TextField label="Channel" value={entry.channel} example="the default channel" onChoose={setChannel} onType={setChannel} />
          <button type="button" disabled={!isWhole} onClick={add}>
            Add
          </button>
        </div>
      </details>
    </>
  );
}

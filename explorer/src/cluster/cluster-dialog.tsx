// The dialog in which the reader says which cluster it is, and what is installed there.

import "./cluster.css";

import { useState } from "preact/hooks";

import { Link } from "../address";
import { Copy, Dialog } from "../parts";
import { counted } from "../parts/format";
import { useStore } from "../store";
import { type Cluster, checkedVersion, cluster, setCluster, setInstalled } from "./cluster";
import { InstalledBadges } from "./installed-badges";
import { parseObjects } from "./objects";
import { useInstalled } from "./use-installed";

const COMMAND = "kubectl get csv,subscription,clusterextension -A -o json";

const ARCHITECTURES = ["amd64", "arm64", "ppc64le", "s390x"];

export function ClusterDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title="My cluster" class="cluster-dialog" open={open} onClose={onClose}>
      <Versions />
      <Objects />
      <Installed onLeave={onClose} />
      <p class="actions">
        <span onClick={onClose}>
          <Link class="button" to={{ page: "upgrade-plan", step: [], installed: [] }}>
            Plan an upgrade of the platform
          </Link>
        </span>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}

function Versions() {
  const current = useStore(cluster);
  const change = (part: Partial<Cluster>) => setCluster({ ...current, ...part });
  return (
    <div class="cluster-fields">
      <VersionField label="OpenShift" example="4.18" value={current.openshift} onChange={(openshift) => change({ openshift })} />
      <VersionField label="Kubernetes" example="1.31" value={current.kubernetes} onChange={(kubernetes) => change({ kubernetes })} />
      <label class="stacked">
        <span>Architecture</span>
        <select value={current.architecture ?? ""} onChange={({ currentTarget }) => change({ architecture: currentTarget.value || undefined })}>
          <option value="">Any</option>
          {ARCHITECTURES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="stacked">
        <span>OLM</span>
        <select value={current.olm ?? ""} onChange={({ currentTarget }) => change({ olm: (currentTarget.value || undefined) as Cluster["olm"] })}>
          <option value="">v0 and v1</option>
          <option value="v1">v1: ClusterExtension</option>
          <option value="v0">v0: Subscription</option>
        </select>
      </label>
      <p class="subtle">
        Lists leave packages out that say that they do not run there. Most say nothing of a highest version, and stay. OpenShift 4 implies its
        version of Kubernetes.
      </p>
    </div>
  );
}

interface VersionFieldProps {
  label: string;
  example: string;
  value: string | undefined;
  onChange: (version: string | undefined) => void;
}

function VersionField({ label, example, value, onChange }: VersionFieldProps) {
  const [fault, setFault] = useState<string>();
  const chosen = (text: string) => {
    const version = checkedVersion(text);
    setFault(text.trim() && !version ? `“${text.trim()}” is not a version such as ${example}.` : undefined);
    if (version || !text.trim()) onChange(version);
  };
  return (
    <label class="stacked">
      <span>{label}</span>
      <input
        defaultValue={value ?? ""}
        placeholder={example}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={fault !== undefined}
        onChange={({ currentTarget }) => chosen(currentTarget.value)}
      />
      <span role="status" class="fault">
        {fault}
      </span>
    </label>
  );
}

/** The field for what kubectl prints. It never leaves the browser. */
function Objects() {
  const [said, setSaid] = useState<{ text: string; isFault: boolean }>();
  const read = (text: string) => {
    if (!text.trim()) return setSaid(undefined);
    const parsed = parseObjects(text);
    if ("fault" in parsed) return setSaid({ text: parsed.fault, isFault: true });
    setInstalled(parsed.operators);
    const left = parsed.left > 0 ? ` ${counted(parsed.left, "object")} left out: copies, or not installed.` : "";
    return setSaid({ text: `${counted(parsed.operators.length, "operator")} found.${left}`, isFault: false });
  };
  return (
    <div class="stack-small">
      <p>
        To see what is installed there, paste what this prints. It is read here and kept in this browser only.
      </p>
      <p class="command">
        <code>{COMMAND}</code> <Copy text={COMMAND} />
      </p>
      <textarea
        rows={3}
        spellcheck={false}
        aria-label="Installed operators, as JSON"
        placeholder='{"kind": "List", "items": […]}'
        onInput={({ currentTarget }) => read(currentTarget.value)}
      />
      <p role="status" class={said?.isFault ? "fault" : undefined}>
        {said?.text}
      </p>
    </div>
  );
}

function Installed({ onLeave }: { onLeave: () => void }) {
  const operators = useInstalled();
  if (operators.length === 0) return null;
  return (
    <section class="stack-small">
      <h3>Installed</h3>
      <ul role="list" class="installed-list">
        {operators.map((operator) => (
          <li key={`${operator.packageName} ${operator.name} ${operator.namespace}`} onClick={(event) => (event.target as Element).closest("a") && onLeave()}>
            <Link to={{ page: "package", catalog: operator.catalog, package: operator.packageName, tab: "updates", installed: operator.name }}>
              <bdi>{operator.packageName}</bdi>
            </Link>{" "}
            {operator.namespace && (
              <span class="subtle">
                in <bdi>{operator.namespace}</bdi>
              </span>
            )}{" "}
            <InstalledBadges of={[operator]} /> {!operator.catalog && <span class="subtle">in no catalog that is served</span>}
          </li>
        ))}
      </ul>
      <p>
        <button type="button" onClick={() => setInstalled([])}>
          Forget what is installed
        </button>
      </p>
    </section>
  );
}

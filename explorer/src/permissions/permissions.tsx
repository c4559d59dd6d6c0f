// What an install of a version creates in a cluster, what it may do there, and what that is beyond another version.

import { useState } from "preact/hooks";

import { isErrorOf, type ResponseError } from "../client";
import { Installation, type InstallationData, type InstallationVariables, type PermissionFlag } from "../generated/documents";
import type { TabProps } from "../package/package-page";
import { Empty, OpenInPlayground, Result, Table } from "../parts";
import { Snippet } from "../snippets/snippet";
import { toYaml, type Yaml } from "../snippets/yaml";
import { useQuery } from "../use-query";
import { FLAG_TEXTS, isGrave, rightText, ruleText } from "./texts";

type Found = NonNullable<InstallationData["bundle"]>;
type Install = NonNullable<Found["installation"]>;

/** The manifests may be out of reach; the page says so. */
function spares(error: ResponseError): boolean {
  return isErrorOf(error, "bundle", "installation");
}

export interface PermissionsProps extends TabProps {
  /** Name of the installed bundle of the package. */
  installed: string | undefined;
}

export function Permissions({ address, found, bundle, installed }: PermissionsProps) {
  const [chosen, setChosen] = useState<string>();
  if (!bundle) return <Empty title="No version to show" />;
  const versions = found.versions?.nodes.filter(({ name }) => name !== bundle.name) ?? [];
  const known = versions.find(({ name }) => name === installed);
  const from = chosen ?? known?.name ?? "";
  const namespace = bundle.metadata?.suggestedNamespace ?? found.name;
  const variables = {
    catalog: address.catalog,
    package: found.name,
    bundle: bundle.name,
    input: { namespace: isLabel(namespace) ? namespace : "operators" },
    from,
    compares: from !== "",
  };
  return (
    <>
      <label class="field">
        Compared with
        <select value={from} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
          <option value="">No other version</option>
          {versions.map(({ name, version }) => (
            <option key={name} value={name}>
              {version ?? name}
              {name === installed && " (installed)"}
            </option>
          ))}
        </select>
      </label>
      <Installed variables={variables} />
    </>
  );
}

/** Whether a namespace can have the name. */
function isLabel(name: string): boolean {
  return /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name);
}

function Installed({ variables }: { variables: InstallationVariables }) {
  const result = useQuery(Installation, variables, { spares });
  const missing = result.errors.find(spares);
  return (
    <>
      <Result of={result} document={Installation} variables={variables}>
        {({ bundle }) => (
          <div class="stack">
            {missing ? (
              <Empty title="The manifests are not here">
                <p>{missing.message}</p>
              </Empty>
            ) : (
              bundle?.installation && <Shown install={bundle.installation} />
            )}
            {bundle?.metadata?.examples != null && <Examples examples={bundle.metadata.examples} />}
          </div>
        )}
      </Result>
      <OpenInPlayground document={Installation} variables={variables} />
    </>
  );
}

function Shown({ install }: { install: Install }) {
  if (install.errors.length > 0) {
    return (
      <section class="card stack" role="alert">
        <h2>OLM v1 refuses this install</h2>
        <ul class="bullets">
          {install.errors.map(({ message }, at) => (
            <li key={at}>
              <bdi>{message}</bdi>
            </li>
          ))}
        </ul>
      </section>
    );
  }
  return (
    <>
      {install.difference && <Difference difference={install.difference} />}
      <Risks flags={install.flags} />
      <Rights permissions={install.permissions} />
      <Workloads workloads={install.workloads} />
      <Webhooks webhooks={install.webhooks} />
      <Objects objects={install.objects} />
    </>
  );
}

function Risks({ flags }: { flags: readonly PermissionFlag[] }) {
  return (
    <section class="card stack">
      <h2>
        Risks <span class="count">{flags.length}</span>
      </h2>
      {flags.length === 0 ? (
        <p>Its service accounts have none of the rights that need a second look.</p>
      ) : (
        <ul class="bullets">
          {flags.map((flag) => (
            <li key={flag}>
              <span class={isGrave(flag) ? "badge danger" : "badge warning"}>{flag}</span> It may {FLAG_TEXTS[flag]}.
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Rights({ permissions }: Pick<Install, "permissions">) {
  if (permissions.length === 0) return null;
  return (
    <section class="card stack">
      <h2>Permissions</h2>
      {permissions.map(({ serviceAccount, namespaces, foreignRole, rules }, at) => (
        <details key={at} open={permissions.length === 1}>
          <summary>
            <bdi>{serviceAccount}</bdi> in {namespaces.length === 0 ? "the whole cluster" : <bdi>{namespaces.join(", ")}</bdi>}{" "}
            <span class="count">{rules.length}</span>
          </summary>
          {foreignRole && (
            <p>
              The role <bdi>{foreignRole}</bdi>, which the bundle does not contain.
            </p>
          )}
          <Table heads={["May", "On"]} label={`Rules of ${serviceAccount}`} hasNoLinks>
            {rules.map((rule, at) => (
              <tr key={at}>
                <td>
                  <code>{rule.verbs.join(", ")}</code>
                </td>
                <td>
                  <bdi>{ruleText(rule)}</bdi>
                </td>
              </tr>
            ))}
          </Table>
        </details>
      ))}
    </section>
  );
}

function Workloads({ workloads }: Pick<Install, "workloads">) {
  if (workloads.length === 0) return null;
  return (
    <section class="card stack">
      <h2>
        Workloads <span class="count">{workloads.length}</span>
      </h2>
      <Table heads={["Deployment", "Images", "On its node"]} label="Workloads" hasNoLinks>
        {workloads.map(({ name, images, privileged, hostNetwork, hostPid, hostPaths }) => {
          const reach = [privileged && "privileged", hostNetwork && "its network", hostPid && "its processes", ...hostPaths];
          return (
            <tr key={name}>
              <th scope="row">
                <bdi>{name}</bdi>
              </th>
              <td>
                <bdi>{images.join(", ")}</bdi>
              </td>
              <td>
                <bdi>{reach.filter(Boolean).join(", ") || "nothing"}</bdi>
              </td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

function Webhooks({ webhooks }: Pick<Install, "webhooks">) {
  if (webhooks.length === 0) return null;
  return (
    <section class="card stack">
      <h2>
        Webhooks <span class="count">{webhooks.length}</span>
      </h2>
      <Table heads={["Webhook", "Kind", "Sees", "If it fails"]} label="Webhooks" hasNoLinks>
        {webhooks.map(({ name, type, rules, failurePolicy }, at) => (
          <tr key={at}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>{type.toLowerCase()}</td>
            <td>
              <bdi>{rules.join(", ")}</bdi>
            </td>
            <td>{failurePolicy}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Objects({ objects }: Pick<Install, "objects">) {
  return (
    <section class="card stack">
      <h2>
        Objects <span class="count">{objects.length}</span>
      </h2>
      {objects.map(({ kind, name, namespace, manifest }, at) => (
        <Manifest key={at} title={kind} name={name} namespace={namespace} manifest={manifest} />
      ))}
    </section>
  );
}

interface ManifestProps {
  title: string;
  name: string;
  namespace?: string | null;
  manifest: unknown;
}

/** A manifest, written when it is opened. */
function Manifest({ title, name, namespace, manifest }: ManifestProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {title} <bdi>{name}</bdi>
        {namespace && (
          <span class="subtle">
            {" "}
            in <bdi>{namespace}</bdi>
          </span>
        )}
      </summary>
      {isOpen && <Snippet label={`${title} ${name}`} text={toYaml(manifest as Record<string, Yaml>)} file={`${name}.yaml`} />}
    </details>
  );
}

function Examples({ examples }: { examples: unknown }) {
  const samples = (Array.isArray(examples) ? examples : [examples]).filter(isObject);
  if (samples.length === 0) return null;
  return (
    <section class="card stack">
      <h2>
        Examples of its APIs <span class="count">{samples.length}</span>
      </h2>
      {samples.map((sample, at) => (
        <Manifest key={at} title={String(sample.kind ?? "Object")} name={nameOf(sample)} manifest={sample} />
      ))}
    </section>
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameOf({ metadata }: Record<string, unknown>): string {
  return isObject(metadata) && typeof metadata.name === "string" ? metadata.name : "example";
}

function Difference({ difference }: { difference: NonNullable<Install["difference"]> }) {
  const names = (webhooks: readonly { name: string }[]) => webhooks.map(({ name }) => name);
  const more = [
    ...difference.flagsGained,
    ...difference.rightsGained.map(rightText),
    ...difference.imagesAdded,
    ...names(difference.webhooksAdded),
  ];
  const less = [
    ...difference.flagsLost,
    ...difference.rightsLost.map(rightText),
    ...difference.imagesRemoved,
    ...names(difference.webhooksRemoved),
  ];
  const breaks = difference.crdChanges.map(({ name, message }) => `${name}: ${message}`);
  const lists = [
    { title: "More than the other version", items: more },
    { title: "Less than the other version", items: less },
    { title: "Breaks objects or clients", items: breaks },
  ].filter(({ items }) => items.length > 0);
  return (
    <section class="card stack">
      <h2>Changes</h2>
      {lists.length === 0 && <p>Both versions create and may do the same.</p>}
      {lists.map(({ title, items }) => (
        <div key={title}>
          <h3>{title}</h3>
          <ul class="bullets">
            {items.map((item, at) => (
              <li key={at}>
                <bdi>{item}</bdi>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

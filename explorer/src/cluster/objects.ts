// Reads what `kubectl get csv,subscription,clusterextension -A -o json` prints. Pure: a text comes in, operators or a fault come out.

import type { InstalledOperator } from "./cluster";

/** Longest text that is read, in characters. */
export const MAX_OBJECTS_LENGTH = 10 * 1024 * 1024;

/** Operators that are kept, as many as the server looks up at once. */
export const MAX_INSTALLED = 200;

/** Longest name of an object of Kubernetes. */
const MAX_NAME_LENGTH = 253;

export type ParsedObjects = { operators: InstalledOperator[]; left: number } | { fault: string };

/** The operators that objects show. `left` counts objects that show none: copies, installations that failed, other kinds. */
export function parseObjects(text: string): ParsedObjects {
  if (text.length > MAX_OBJECTS_LENGTH) return { fault: "The text is longer than 10 MB. Paste the objects of one kind at a time." };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const hint = /^\s*(apiVersion|items|kind):/.test(text) ? " It looks like YAML: use -o json." : "";
    const message = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
    return { fault: `This is not JSON: ${message}.${hint}` };
  }
  const root = record(value);
  const items = Array.isArray(value) ? value : Array.isArray(root["items"]) ? root["items"] : [value];
  const objects = items.map(record);
  const subscribed = subscribedOf(objects);
  const found = new Map<string, InstalledOperator>();
  let left = 0;
  for (const item of objects) {
    // It says how an operator is kept, which is counted by itself.
    if (item["kind"] === "Subscription") continue;
    const operator = operatorOf(item, subscribed);
    if (operator && found.size < MAX_INSTALLED) found.set(`${operator.packageName} ${operator.name} ${operator.namespace}`, operator);
    else left++;
  }
  if (found.size === 0) return { fault: "There is no installed operator in it: neither a ClusterServiceVersion nor a ClusterExtension." };
  return { operators: [...found.values()], left };
}

/** What Subscriptions say of operators, by namespace and name of the ClusterServiceVersion. */
type Subscribed = ReadonlyMap<string, Pick<InstalledOperator, "channels" | "source" | "isManual" | "isDependency">>;

function subscribedOf(objects: readonly Record<string, unknown>[]): Subscribed {
  const subscribed = objects.filter(({ kind }) => kind === "Subscription").map((object) => {
    const [metadata, spec, status] = [record(object["metadata"]), record(object["spec"]), record(object["status"])];
    const [channel, source] = [text(spec["channel"]), text(spec["source"])];
    const isDependency = [metadata["annotations"], metadata["labels"]].some((marks) => GENERATED_BY in record(marks));
    const kept = {
      ...(channel && { channels: [channel] }),
      ...(source && { source }),
      ...(spec["installPlanApproval"] === "Manual" && { isManual: true }),
      ...(isDependency && { isDependency }),
    };
    return [`${text(metadata["namespace"])} ${text(status["installedCSV"])}`, kept] as const;
  });
  return new Map(subscribed);
}

/** Mark of a Subscription that OLM made for a dependency. */
const GENERATED_BY = "olm.generated-by";

function operatorOf(object: Record<string, unknown>, subscribed: Subscribed): InstalledOperator | undefined {
  const metadata = record(object["metadata"]);
  if (object["kind"] === "ClusterServiceVersion") {
    const labels = record(metadata["labels"]);
    const namespace = text(metadata["namespace"]);
    // Operators that watch every namespace have a copy in each.
    if ("olm.copiedFrom" in labels) return undefined;
    const label = Object.keys(labels).find((key) => key.startsWith(COMPONENT) && key.endsWith(`.${namespace}`));
    const properties = propertiesOf(metadata);
    const own = properties?.find(({ type }) => type === "olm.package");
    const packageName = label?.slice(COMPONENT.length, -namespace.length - 1) ?? text(record(own?.["value"])["packageName"]);
    const limits = properties?.filter(({ type }) => type === MAX_OPENSHIFT).map(({ value }) => value);
    const name = text(metadata["name"]);
    const version = text(record(object["spec"])["version"]);
    return checked({ kind: "CSV", name, version, packageName, namespace, ...subscribed.get(`${namespace} ${name}`), ...(limits && { limits }) });
  }
  if (object["kind"] === "ClusterExtension") {
    const source = record(record(object["spec"])["source"]);
    const bundle = record(record(record(object["status"])["install"])["bundle"]);
    const { packageName, channels, version: range } = record(source["catalog"]);
    const chosen = Array.isArray(channels) ? channels.map(text).filter(Boolean) : [];
    const rest = { ...(chosen.length > 0 && { channels: chosen }), ...(text(range) && { versionRange: text(range) }) };
    return checked({ kind: "ClusterExtension", name: text(bundle["name"]), version: text(bundle["version"]), packageName: text(packageName), namespace: "", ...rest });
  }
  return undefined;
}

/** Beginning of the label that OLM v0 gives the objects of an operator, before `PACKAGE.NAMESPACE`. */
const COMPONENT = "operators.coreos.com/";

/** Property of a bundle with the last version of OpenShift that it supports. */
export const MAX_OPENSHIFT = "olm.maxOpenShiftVersion";

/** The properties that OLM v0 writes into an annotation, if it is there. */
function propertiesOf(metadata: Record<string, unknown>): Record<string, unknown>[] | undefined {
  try {
    const { properties } = record(JSON.parse(text(record(metadata["annotations"])["operatorframework.io/properties"])));
    return Array.isArray(properties) ? properties.map(record) : undefined;
  } catch {
    return undefined;
  }
}

/** The operator, if everything that a request needs is there. */
function checked(operator: InstalledOperator): InstalledOperator | undefined {
  const { name, version, packageName } = operator;
  const isNamed = [name, version, packageName].every((each) => each !== "" && each.length <= MAX_NAME_LENGTH);
  return isNamed ? operator : undefined;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

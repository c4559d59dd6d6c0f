// Reads what `kubectl get csv,clusterextension -A -o json` prints. Pure: a text comes in, operators or a fault come out.

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
  const found = new Map<string, InstalledOperator>();
  let left = 0;
  for (const item of items) {
    const operator = operatorOf(record(item));
    if (operator && found.size < MAX_INSTALLED) found.set(`${operator.packageName} ${operator.name} ${operator.namespace}`, operator);
    else left++;
  }
  if (found.size === 0) return { fault: "There is no installed operator in it: neither a ClusterServiceVersion nor a ClusterExtension." };
  return { operators: [...found.values()], left };
}

function operatorOf(object: Record<string, unknown>): InstalledOperator | undefined {
  const metadata = record(object["metadata"]);
  if (object["kind"] === "ClusterServiceVersion") {
    const labels = record(metadata["labels"]);
    const namespace = text(metadata["namespace"]);
    // Operators that watch every namespace have a copy in each.
    if ("olm.copiedFrom" in labels) return undefined;
    const label = Object.keys(labels).find((key) => key.startsWith(COMPONENT) && key.endsWith(`.${namespace}`));
    const packageName = label?.slice(COMPONENT.length, -namespace.length - 1) ?? packageOf(metadata);
    return checked({ kind: "CSV", name: text(metadata["name"]), version: text(record(object["spec"])["version"]), packageName, namespace });
  }
  if (object["kind"] === "ClusterExtension") {
    const source = record(record(object["spec"])["source"]);
    const bundle = record(record(record(object["status"])["install"])["bundle"]);
    const packageName = text(record(source["catalog"])["packageName"]);
    return checked({ kind: "ClusterExtension", name: text(bundle["name"]), version: text(bundle["version"]), packageName, namespace: "" });
  }
  return undefined;
}

/** Beginning of the label that OLM v0 gives the objects of an operator, before `PACKAGE.NAMESPACE`. */
const COMPONENT = "operators.coreos.com/";

/** The package by the properties that OLM v0 writes into an annotation. */
function packageOf(metadata: Record<string, unknown>): string {
  try {
    const { properties } = record(JSON.parse(text(record(metadata["annotations"])["operatorframework.io/properties"]))) as { properties?: unknown };
    const own = Array.isArray(properties) ? properties.map(record).find(({ type }) => type === "olm.package") : undefined;
    return text(record(own?.["value"])["packageName"]);
  } catch {
    return "";
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

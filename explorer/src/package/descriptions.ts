// What a bundle says about the APIs that it provides. Pure.

import type { BundleDetails, Metadata } from "../generated/documents";

type Api = BundleDetails["providedApis"][number];
type Description = Metadata["ownedCrds"][number];

/** What names an API. */
export function apiKey({ group, version, kind }: Api): string {
  return `${group} ${version} ${kind}`;
}

/** Descriptions by the key of their API. Kinds of several groups may have one name. */
export function describedApis(crds: readonly Description[]): ReadonlyMap<string, Description> {
  return new Map(crds.map((crd) => [apiKey({ ...crd, group: groupOf(crd.name) }), crd]));
}

/** The group in the name of a CustomResourceDefinition, which is a plural, a dot, and the group. */
function groupOf(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

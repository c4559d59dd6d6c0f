// The conditions of the list: what of them is asked, and how each is named.

import { EVERYTHING, type ListAddress } from "../address";
import { cluster, platformInput } from "../cluster/cluster";
import type { CapabilityLevel, InstallModeType, OlmV1Installability, PackageFilter, PackageOrder, PackagesVariables } from "../generated/documents";
import { installMode, level, olmV1 } from "../parts/format";

/** Tiles of one page. */
export const PAGE_SIZE = 60;

/** Conditions that are lists of values, by their key in the address. */
export type ListKey = "in" | "category" | "provider" | "keyword" | "level" | "mode" | "feature" | "arch" | "olmv1";

const LEVELS: readonly CapabilityLevel[] = ["BASIC_INSTALL", "SEAMLESS_UPGRADES", "FULL_LIFECYCLE", "DEEP_INSIGHTS", "AUTO_PILOT"];
const MODES: readonly InstallModeType[] = ["OWN_NAMESPACE", "SINGLE_NAMESPACE", "MULTI_NAMESPACE", "ALL_NAMESPACES"];

const OLM_V1: readonly OlmV1Installability[] = ["YES", "TECH_PREVIEW", "NO", "UNKNOWN"];

/** A name that no package has: for conditions that nothing can meet. */
const NO_NAME = "\u0000";

export function filterOf(address: ListAddress): PackageFilter {
  const levels = LEVELS.filter((each) => address.level.includes(each));
  const modes = MODES.filter((each) => address.mode.includes(each));
  const installable = OLM_V1.filter((each) => address.olmv1.includes(each));
  const platform = platformInput(cluster.get());
  const isImpossible = levels.length < address.level.length || modes.length < address.mode.length || installable.length < address.olmv1.length;
  return {
    ...(address.q && { search: address.q }),
    ...(isImpossible && { names: [NO_NAME] }),
    ...(address.category.length > 0 && { categories: address.category }),
    ...(address.provider.length > 0 && { providers: address.provider }),
    ...(address.keyword.length > 0 && { keywords: address.keyword }),
    ...(levels.length > 0 && { capabilityLevels: levels }),
    ...(modes.length > 0 && { installModes: modes }),
    ...(address.feature.length > 0 && { infrastructureFeatures: address.feature }),
    ...(address.arch.length > 0 && { architectures: address.arch }),
    ...(installable.length > 0 && { olmV1: installable }),
    ...(address.certified && { certified: address.certified === "yes" }),
    ...(platform && { compatibleWith: platform }),
    ...(address.deprecated && { deprecated: address.deprecated === "only" }),
  };
}

/** What is asked for the first page, or for the one after a cursor. */
export function variablesOf(address: ListAddress, after?: string): PackagesVariables {
  return {
    ...(address.in.length > 0 && { catalogs: address.in }),
    filter: filterOf(address),
    orderBy: order(address),
    first: PAGE_SIZE,
    ...(after && { after }),
    withFacets: after === undefined,
  };
}

/** How the list is ordered: by relevance where something is searched, else by name. */
export function sortOf({ q, sort }: ListAddress): "best" | "name" | "new" {
  if (sort === "new" || sort === "name") return sort;
  return q ? "best" : "name";
}

function order(address: ListAddress): PackageOrder {
  switch (sortOf(address)) {
    case "best":
      return { field: "RELEVANCE" };
    case "new":
      return { field: "CREATED_AT", direction: "DESC" };
    default:
      return { field: "DISPLAY_NAME" };
  }
}

/** A condition that is set, with the address without it. */
export interface Chip {
  label: string;
  value: string;
  without: ListAddress;
}

export function chipsOf(address: ListAddress, catalogName: (name: string) => string): Chip[] {
  const lists: readonly [ListKey, string, (value: string) => string][] = [
    ["in", "Catalog", catalogName],
    ["category", "Category", same],
    ["provider", "Provider", same],
    ["keyword", "Keyword", same],
    ["level", "Level", level],
    ["mode", "Install mode", installMode],
    ["feature", "Feature", same],
    ["arch", "Architecture", same],
    ["olmv1", "OLM v1", olmV1],
  ];
  const chips = lists.flatMap(([key, label, name]) =>
    address[key].map((value) => ({ label, value: name(value), without: toggled(address, key, value) })),
  );
  if (address.certified) chips.push({ label: "Certified", value: address.certified, without: { ...address, certified: undefined } });
  if (address.deprecated) {
    const value = address.deprecated === "only" ? "only" : "hidden";
    chips.push({ label: "Deprecated", value, without: { ...address, deprecated: undefined } });
  }
  return chips;
}

/** The address with a value more, or without it if it was there. */
export function toggled(address: ListAddress, key: ListKey, value: string): ListAddress {
  const values = address[key];
  return { ...address, [key]: values.includes(value) ? values.filter((each) => each !== value) : [...values, value] };
}

/** The same search and order without any other condition. */
export function withoutConditions({ q, sort, each }: ListAddress): ListAddress {
  return { ...EVERYTHING, q, sort, each };
}

function same(value: string): string {
  return value;
}

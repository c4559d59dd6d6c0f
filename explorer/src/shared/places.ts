// The pages that lead from either page to the explorer, by the query strings of their addresses.

export interface Place {
  label: string;
  search: string;
}

export const PACKAGES: Place = { label: "Packages", search: "" };
export const CATALOGS: Place = { label: "Catalogs", search: "?catalogs=1" };
export const RESOLVE: Place = { label: "Resolve", search: "?resolve=1" };
export const CONTENTS: Place = { label: "Compare contents", search: "?diff=1" };

export const UPGRADE: Place = { label: "Upgrade", search: "?upgrade-plan=1" };

/** Those in the head of both pages, before the playground. */
export const MAIN_PLACES: readonly Place[] = [PACKAGES, CATALOGS, RESOLVE, UPGRADE];

/** The name of the whole, in the head of both pages. */
export const SITE = "Operator catalogs";

/** Where the playground is, in the words of the head. */
export const PLAYGROUND = "Playground";

// Where one can go from either page: the explorer's main pages, by the query strings of their addresses.

export interface Place {
  label: string;
  search: string;
}

export const PACKAGES: Place = { label: "Packages", search: "" };
export const CATALOGS: Place = { label: "Catalogs", search: "?catalogs=1" };
export const RESOLVE: Place = { label: "Resolve", search: "?resolve=1" };
export const CONTENTS: Place = { label: "Compare contents", search: "?diff=1" };

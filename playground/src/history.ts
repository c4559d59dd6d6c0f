// The queries that were executed, the last ones first, and those that the reader wants to keep.

import type { Draft } from "./draft";
import { itemsOf, load, save, textOf } from "./storage";

export interface Executed extends Draft {
  /** Whether it stays whatever else is executed. */
  isFavorite: boolean;
}

/** As GraphiQL called them, so that what was executed at former visits is there. */
const KEYS = [
  { key: "graphiql:favorites", list: "favorites", isFavorite: true },
  { key: "graphiql:queries", list: "queries", isFavorite: false },
] as const;

/** Queries that are kept beside the favorites. */
export const MAX_EXECUTED = 20;

export function loadHistory(): Executed[] {
  return KEYS.flatMap(({ key, list, isFavorite }) => {
    const items = itemsOf(load(key), list).map((each) => ({ query: textOf(each, "query"), variables: textOf(each, "variables"), isFavorite }));
    // The last is the one that was executed last.
    return items.filter(({ query }) => query).reverse();
  });
}

export function keepHistory(executed: readonly Executed[]) {
  for (const { key, list, isFavorite } of KEYS) {
    const items = executed.filter((each) => each.isFavorite === isFavorite).reverse();
    save(key, { [list]: items.map(({ query, variables }) => ({ query, variables })) });
  }
}

/** With a draft as the last that was executed. */
export function withExecuted(history: readonly Executed[], { query, variables }: Draft): Executed[] {
  const isSame = (each: Executed) => each.query === query && each.variables === variables;
  if (!query.trim() || history.some((each) => each.isFavorite && isSame(each))) return [...history];
  const others = history.filter((each) => !isSame(each));
  const favorites = others.filter(({ isFavorite }) => isFavorite);
  const rest = others.filter(({ isFavorite }) => !isFavorite);
  return [...favorites, { query, variables, isFavorite: false }, ...rest].slice(0, favorites.length + MAX_EXECUTED);
}

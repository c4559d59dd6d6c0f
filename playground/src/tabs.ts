// The tabs, each with its own query, and what the browser keeps of them.

import type { Draft } from "./draft";
import { executed, operations } from "./operations";
import { itemsOf, load, save, textOf } from "./storage";

export interface Tab extends Draft {
  /** Tells tabs apart; not kept. */
  id: number;
  /** The text of the headers, in memory only: they may hold secrets. */
  headers: string;
  /** Which of several operations is executed. */
  operationName: string | undefined;
  /** What the server responded; not kept. */
  response: string;
}

export interface Tabs {
  tabs: readonly Tab[];
  active: number;
}

/** As GraphiQL called it, so that the tabs of former visits are there. */
const KEY = "graphiql:tabState";

let lastId = 0;

export function newTab({ query, variables }: Draft): Tab {
  lastId += 1;
  return { id: lastId, query, variables, headers: "", operationName: undefined, response: "" };
}

/** The name of what a tab executes. */
export function titleOf({ query, operationName }: Pick<Tab, "query" | "operationName">): string {
  return executed(operations(query), operationName)?.name ?? "Untitled";
}

/** The tabs of the last visit with that of a link, which is shown; one with the first query where there are none. */
export function initialTabs(linked: Draft | undefined, welcome: string): Tabs {
  const stored = load(KEY);
  const tabs = itemsOf(stored, "tabs").map((each) => newTab({ query: textOf(each, "query"), variables: textOf(each, "variables") }));
  if (linked) return withDraft({ tabs: tabs.filter(({ query }) => query.trim() && query !== welcome), active: 0 }, linked);
  if (tabs.length === 0) return { tabs: [newTab({ query: welcome, variables: "" })], active: 0 };
  const active = (stored as { activeTabIndex?: unknown }).activeTabIndex;
  return { tabs, active: typeof active === "number" && tabs[active] ? active : 0 };
}

/** Shows a draft: in the tab that has it as it is, or else in a new one. */
export function withDraft({ tabs }: Tabs, draft: Draft): Tabs {
  const shown = tabs.findIndex(({ query }) => query === draft.query);
  if (shown < 0) return { tabs: [...tabs, newTab(draft)], active: tabs.length };
  const { variables } = draft;
  return { tabs: tabs.map((tab, at) => (at === shown && variables ? { ...tab, variables } : tab)), active: shown };
}

/** Without a tab; an empty one stays when it was the last. */
export function withoutTab({ tabs, active }: Tabs, closed: number): Tabs {
  const left = tabs.filter((_, at) => at !== closed);
  if (left.length === 0) return { tabs: [newTab({ query: "", variables: "" })], active: 0 };
  return { tabs: left, active: Math.min(closed < active ? active - 1 : active, left.length - 1) };
}

/** Keeps queries and variables in the browser. */
export function keepTabs({ tabs, active }: Tabs) {
  const kept = tabs.map((tab) => ({ title: titleOf(tab), query: tab.query, variables: tab.variables, operationName: tab.operationName }));
  save(KEY, { tabs: kept, activeTabIndex: active });
}

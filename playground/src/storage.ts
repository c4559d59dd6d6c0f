// What the browser keeps: tabs, executed queries, and the open panel. Where it keeps nothing, all is as on a first visit.

/** Texts under a name, which no other page of the same host uses. */
export function load(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`catalogql:${name}`) ?? "null");
  } catch {
    // Storage may be forbidden, or hold something else.
    return null;
  }
}

export function save(name: string, value: unknown) {
  try {
    localStorage.setItem(`catalogql:${name}`, JSON.stringify(value));
  } catch {
    // Storage may be forbidden, or full: what is shown stays until the page is closed.
  }
}

/** The text of a member, or an empty one. */
export function textOf(value: unknown, name: string): string {
  const text = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return typeof text === "string" ? text : "";
}

/** The items of a member that is a list, or none. */
export function itemsOf(value: unknown, name: string): readonly unknown[] {
  const items = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return Array.isArray(items) ? items : [];
}

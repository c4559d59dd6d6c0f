// A list of which the first items are shown, and the others when somebody wants to see them.

import type { ComponentChildren } from "preact";

import { number } from "./format";

export interface FirstOfProps<Item> {
  items: readonly Item[];
  /** Items that are shown at once. */
  count: number;
  /** How items are shown; `isRest` says that they are those that come when they are wanted. */
  children: (items: readonly Item[], isRest: boolean) => ComponentChildren;
}

export function FirstOf<Item>({ items, count, children }: FirstOfProps<Item>) {
  const rest = items.slice(count);
  return (
    <>
      {children(items.slice(0, count), false)}
      {rest.length > 0 && (
        <details>
          <summary>{number(rest.length)} more</summary>
          {children(rest, true)}
        </details>
      )}
    </>
  );
}

// A table that scrolls by itself where it is wider than its place.

import type { ComponentChildren } from "preact";

/** The head of a column: its text, with a class or read only. */
export type ColumnHead = string | { text: string; class?: string; isUnseen?: boolean };

export interface TableProps {
  heads: readonly ColumnHead[];
  /** Its rows. */
  children: ComponentChildren;
  label?: string;
  class?: string;
  /** Nothing in it takes the focus, so that it must itself: it may be wider than its place. It has a label then. */
  hasNoLinks?: boolean;
}

export function Table({ heads, children, label, class: name, hasNoLinks = false }: TableProps) {
  return (
    <div class="scrolling" {...(hasNoLinks && { tabIndex: 0, role: "group", "aria-label": label })}>
      <table aria-label={label} class={name}>
        <thead>
          <tr>
            {heads.map((head, at) => {
              const { text, class: column, isUnseen = false } = typeof head === "string" ? { text: head } : head;
              return (
                <th key={at} scope="col" class={column}>
                  {isUnseen ? <span class="unseen">{text}</span> : text}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

// A table that scrolls by itself where it is wider than its place.

import type { ComponentChildren } from "preact";

export interface TableProps {
  /** The heads of its columns. */
  heads: readonly string[];
  /** Its rows. */
  children: ComponentChildren;
  label?: string;
}

export function Table({ heads, children, label }: TableProps) {
  return (
    <div class="scrolling">
      <table aria-label={label}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

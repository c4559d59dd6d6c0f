// Tabs of a page. Each has an address, so they are links.

import { type Address, Link } from "../address";

export interface Tab {
  id: string;
  label: string;
  to: Address;
  /** A number beside the label. */
  count?: number;
}

export function Tabs({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, label, to, count }) => (
        <Link key={id} to={to} aria-current={id === current ? "page" : undefined}>
          {label}
          {count !== undefined && count > 0 && <span class="count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}

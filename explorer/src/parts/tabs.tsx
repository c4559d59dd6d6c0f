// Tabs of a page. Each has an address, so they are links.

import { useEffect, useRef } from "preact/hooks";

import { type Address, Link } from "../address";
import { number } from "./format";

export interface Tab {
  id: string;
  label: string;
  to: Address;
  /** A number beside the label. */
  count?: number;
}

export function Tabs({ label, tabs, current }: { label: string; tabs: readonly Tab[]; current: string }) {
  const row = useRef<HTMLElement>(null);
  // Where the row is wider than the page, the current tab is in sight, also when the page becomes narrower.
  useEffect(() => {
    const [nav, tab] = [row.current!, row.current!.querySelector<HTMLElement>("[aria-current]")];
    const observer = new ResizeObserver(() => {
      if (tab) nav.scrollLeft = tab.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
    });
    observer.observe(nav);
    return () => observer.disconnect();
  }, [current]);
  return (
    <nav ref={row} class="tabs" aria-label={label}>
      {tabs.map(({ id, label, to, count }) => (
        <Link key={id} to={to} aria-current={id === current ? "page" : undefined}>
          {label}
          {count !== undefined && count > 0 && <span class="count">{number(count)}</span>}
        </Link>
      ))}
    </nav>
  );
}

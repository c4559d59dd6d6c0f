// The panels at the side: their names and icons, and which one is open.

import { load, save } from "./storage";

export const PANELS = ["documentation", "history", "examples", "builder"] as const;
export type Panel = (typeof PANELS)[number];

export const PANEL_TITLES: Record<Panel, string> = {
  documentation: "Documentation",
  history: "History",
  examples: "Examples",
  builder: "Query builder",
};

const ICONS: Record<Panel, string> = {
  documentation: "M4 5.5h6a2 2 0 0 1 2 2v11a2 2 0 0 0-2-2H4zM20 5.5h-6a2 2 0 0 0-2 2v11a2 2 0 0 1 2-2h6z",
  history: "M4.5 12a7.5 7.5 0 1 0 2.3-5.4M4.5 4v4h4M12 8v4.5l3 2",
  examples: "M5 3.5h14v17l-7-4.5-7 4.5zM9 8h6M9 11.5h4",
  builder: "M4 5h4v4H4zM12 7h8M8 9v8h4M12 15h8",
};

/** Where a panel at the side leaves no room for an editor. */
const NARROW = matchMedia("(max-width: 700px)");

const VISITED = "playground:visited";
const OPEN = "playground:panel";

export function isNarrow(): boolean {
  return NARROW.matches;
}

/** The panel that is open: the examples for who comes for the first time and brings no query, and later what was left open. */
export function initialPanel(isLinked: boolean): Panel | undefined {
  const isFirst = load(VISITED) === null;
  save(VISITED, "yes");
  if (isFirst && !isLinked && !NARROW.matches) return "examples";
  const left = PANELS.find((each) => each === load(OPEN));
  return NARROW.matches ? undefined : left;
}

/** Keeps which panel the reader opened. */
export function keepPanel(panel: Panel | undefined) {
  save(OPEN, panel ?? null);
}

export interface RailProps {
  open: Panel | undefined;
  onOpen: (panel: Panel | undefined) => void;
}

/** The buttons that open and close the panels. */
export function Rail({ open, onOpen }: RailProps) {
  return (
    <nav class="rail" aria-label="Panels">
      {PANELS.map((panel) => (
        <button key={panel} type="button" aria-expanded={panel === open} onClick={() => onOpen(panel === open ? undefined : panel)}>
          <svg aria-hidden="true" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
            <path d={ICONS[panel]} />
          </svg>
          {PANEL_TITLES[panel]}
        </button>
      ))}
    </nav>
  );
}

// Light, dark, or as the system says; remembered by the browser.

import { createStore } from "../store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "catalogql:theme";

export const theme = createStore<Theme>(stored());

/** Shows the theme that was chosen, now and whenever it changes. */
export function applyTheme() {
  const apply = () => {
    const chosen = theme.get();
    document.documentElement.style.colorScheme = chosen === "system" ? "" : chosen;
  };
  apply();
  theme.subscribe(() => {
    apply();
    store(theme.get());
  });
}

function stored(): Theme {
  try {
    return THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system";
  } catch {
    // Storage may be forbidden.
    return "system";
  }
}

function store(value: Theme) {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // The theme is then that of this visit.
  }
}

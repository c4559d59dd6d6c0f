// The look of the explorer: the theme that was chosen there.

/** Where the explorer keeps the theme. */
const KEY = "catalogql:theme";

/** Shows the theme that was chosen in the explorer, now and whenever it is chosen in another window. */
export function applyTheme() {
  const apply = () => (document.documentElement.style.colorScheme = chosenTheme());
  apply();
  addEventListener("storage", ({ key }) => key === KEY && apply());
}

/** An empty text is the theme of the system. */
function chosenTheme(): string {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : "";
  } catch {
    // Storage may be forbidden.
    return "";
  }
}

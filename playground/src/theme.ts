// The look of the explorer: the theme that was chosen there, and its colours for the editors.

import tokens from "../../explorer/src/style/tokens.css?raw";

/** Where the explorer keeps the theme. */
const KEY = "catalogql:theme";

/** The theme that was chosen in the explorer; `null` is that of the system. */
export function explorerTheme(): "light" | "dark" | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    // Storage may be forbidden.
    return null;
  }
}

/** Colours of the editors by the tokens that they have in the explorer; what is left out is that of the editor. */
const EDITOR_COLOURS = {
  "editorHoverWidget.background": "raised",
  "editorLineNumber.dimmedForeground": "subtle",
  "editorLineNumber.foreground": "subtle",
  "editorLink.activeForeground": "link",
  "editorSuggestWidget.background": "raised",
  "editorSuggestWidget.selectedBackground": "selected",
  "editorSuggestWidget.selectedForeground": "text",
  "editorWidget.background": "raised",
  "editorWidget.resizeBorder": "accent",
  focusBorder: "accent",
  "highlighted.label": "link",
  "input.background": "sunken",
  "inputOption.hoverBackground": "hover",
  "list.focusHighlightForeground": "link",
  "list.highlightForeground": "link",
  "list.hoverBackground": "hover",
  "menu.background": "raised",
  "menu.selectionBackground": "selected",
  "menu.selectionForeground": "text",
  "pickerGroup.foreground": "link",
  "quickInput.background": "raised",
  "quickInputList.focusBackground": "selected",
  "quickInputList.focusForeground": "text",
  "textLink.activeForeground": "link",
  "textLink.foreground": "link",
  "toolbar.hoverBackground": "hover",
} as const;

/** Letters that lie on the page, without a background of their own. */
const TRANSPARENT = { "editor.background": "#ffffff00", "scrollbar.shadow": "#ffffff00" };

/** The themes of the editors, by the names that GraphiQL gives them. */
export function editorThemes() {
  const themeOf = (base: "vs" | "vs-dark", at: 0 | 1) => ({
    base,
    inherit: true,
    rules: [
      { token: "argument.identifier.gql", foreground: themed("info")[at] },
      { token: "comment", foreground: themed("success")[at] },
      { token: "number", foreground: themed("lane-5")[at] },
    ],
    colors: {
      ...TRANSPARENT,
      ...Object.fromEntries(Object.entries(EDITOR_COLOURS).map(([name, token]) => [name, themed(token)[at]])),
    },
  });
  return { "graphiql-LIGHT": themeOf("vs", 0), "graphiql-DARK": themeOf("vs-dark", 1) };
}

/** The colour of a token in the light theme, and in the dark one. */
function themed(token: string): readonly [string, string] {
  const [, light, dark] = tokens.match(new RegExp(`--${token}: light-dark\\((#\\w{6}), (#\\w{6})\\)`)) ?? [];
  if (!light || !dark) throw new Error(`no colour is called ${token}`);
  return [light, dark];
}

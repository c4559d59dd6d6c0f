// GraphiQL over the server that the page came from.

import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./style.css";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { ToolbarButton, useGraphiQL, useGraphiQLActions, useMonaco } from "@graphiql/react";
import { createLocalStorage } from "@graphiql/toolkit";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

import { curl, type Draft, isRunKey, link } from "./draft";
import { EXAMPLES_PLUGIN } from "./examples-panel";
import { fetcher } from "./fetcher";
import { editorThemes, explorerTheme } from "./theme";
import welcome from "./welcome.graphql?raw";

const PLUGINS = [EXAMPLES_PLUGIN, HISTORY_PLUGIN, explorerPlugin()];

// Tabs are kept apart from those of other playgrounds that were at the same address.
const STORAGE = createLocalStorage({ namespace: "catalogql" });

/** Where a panel at the side leaves no room for an editor. */
const NARROW = matchMedia("(max-width: 700px)");

const SYSTEM_THEME = matchMedia("(prefers-color-scheme: dark)");

/** Set by the first visit. */
const VISITED = "playground:visited";

/** Where GraphiQL keeps the title of the panel that is open. */
const OPEN_PANEL = "graphiql:visiblePlugin";

/** What the small editor hands over. */
interface Handover {
  /** What is opened in a tab; the tabs of the last visit, if there is none. */
  draft: Draft | undefined;
  /** The result that was shown. */
  result: string;
  hadFocus: boolean;
  /** Whether a link brought the draft. */
  isLinked: boolean;
}

/** Puts GraphiQL in the place of what is there. */
export function mount(root: HTMLElement, handover: Handover) {
  root.replaceChildren();
  createRoot(root).render(<Playground {...handover} />);
}

/** Whether the examples are shown without being asked for: to who comes for the first time and brings no query. */
function opensExamples(isLinked: boolean): boolean {
  const isFirst = STORAGE.getItem(VISITED) === null;
  STORAGE.setItem(VISITED, "yes");
  // GraphiQL keeps it open, although nobody asked for it.
  if (!isFirst && STORAGE.getItem(OPEN_PANEL) === EXAMPLES_PLUGIN.title) STORAGE.removeItem(OPEN_PANEL);
  return isFirst && !isLinked && !NARROW.matches;
}

function Playground(handover: Handover) {
  const [hasExamples] = useState(() => opensExamples(handover.isLinked));
  return (
    <GraphiQL
      fetcher={fetcher}
      storage={STORAGE}
      plugins={PLUGINS}
      visiblePlugin={hasExamples ? EXAMPLES_PLUGIN : undefined}
      defaultTheme={explorerTheme()}
      defaultQuery={welcome}
      initialQuery={handover.draft?.query}
      initialVariables={handover.draft?.variables}
      defaultEditorToolsVisibility={NARROW.matches ? false : "variables"}
    >
      <GraphiQL.Logo>
        <span className="logo">
          catalog<em>ql</em>
        </span>
      </GraphiQL.Logo>
      <GraphiQL.Toolbar>
        {({ prettify, merge, copy }) => (
          <>
            {prettify}
            {merge}
            {copy}
            <CopyButton label="Copy link" make={link} icon="M9 15l6-6M8 12l-2 2a3.5 3.5 0 005 5l2-2M16 12l2-2a3.5 3.5 0 00-5-5l-2 2" />
            <CopyButton label="Copy as curl" make={curl} icon="M5 7l5 5-5 5M12 18h7" />
            <Continuation {...handover} />
            <RunKey />
            <EditorColours />
          </>
        )}
      </GraphiQL.Toolbar>
    </GraphiQL>
  );
}

/** Shows what the small editor showed, once the editors are there. */
function Continuation({ result, hadFocus }: Handover) {
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const responseEditor = useGraphiQL((state) => state.responseEditor);
  const isDone = useRef(false);
  useEffect(() => {
    if (isDone.current || !queryEditor || !responseEditor) return;
    isDone.current = true;
    if (result) responseEditor.setValue(result);
    if (hadFocus) queryEditor.focus();
  }, [queryEditor, responseEditor, result, hadFocus]);
  return null;
}

/** Runs the query by its keys also where no editor has the focus. */
function RunKey() {
  const { run } = useGraphiQLActions();
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const isElsewhere = event.target instanceof Element && event.target.closest(".monaco-editor, dialog, [role=dialog]");
      if (isElsewhere || event.defaultPrevented || !isRunKey(event)) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [run]);
  return null;
}

/** Gives the editors the colours of the explorer, and lets them follow the theme of the system. */
function EditorColours() {
  const monaco = useMonaco((state) => state.monaco);
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    if (theme !== null) return undefined;
    const changed = () => setTheme(null);
    SYSTEM_THEME.addEventListener("change", changed);
    return () => SYSTEM_THEME.removeEventListener("change", changed);
  }, [theme, setTheme]);
  useEffect(() => {
    for (const [name, theme] of Object.entries(editorThemes())) monaco?.editor.defineTheme(name, theme);
  }, [monaco]);
  return null;
}

/** A button that copies a text made of what is in the editors. */
function CopyButton({ label, make, icon }: { label: string; make: (draft: Draft) => string; icon: string }) {
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const variableEditor = useGraphiQL((state) => state.variableEditor);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const draft = { query: queryEditor?.getValue() ?? "", variables: variableEditor?.getValue() ?? "" };
    await navigator.clipboard.writeText(make(draft));
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <ToolbarButton label={isCopied ? "Copied" : label} onClick={copy}>
      <svg className="graphiql-toolbar-icon" aria-hidden="true" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5">
        <path strokeLinecap="round" strokeLinejoin="round" d={isCopied ? "M5 12l5 5L19 7" : icon} />
      </svg>
    </ToolbarButton>
  );
}

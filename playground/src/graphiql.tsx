// GraphiQL over the server that the page came from.

import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./style.css";

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { ToolbarButton, useGraphiQL } from "@graphiql/react";
import { createLocalStorage } from "@graphiql/toolkit";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

import { curl, type Draft, link } from "./draft";
import { EXAMPLES_PLUGIN } from "./examples-panel";
import { fetcher } from "./fetcher";
import welcome from "./welcome.graphql?raw";

const PLUGINS = [EXAMPLES_PLUGIN, HISTORY_PLUGIN, explorerPlugin()];

// Tabs are kept apart from those of other playgrounds that were at the same address.
const STORAGE = createLocalStorage({ namespace: "catalogql" });

/** Where a panel at the side leaves no room for an editor. */
const NARROW = matchMedia("(max-width: 700px)");

/** What the small editor hands over. */
interface Handover {
  /** What is opened in a tab; the tabs of the last visit, if there is none. */
  draft: Draft | undefined;
  /** The result that was shown. */
  result: string;
  hadFocus: boolean;
}

/** Puts GraphiQL in the place of what is there. */
export function mount(root: HTMLElement, handover: Handover) {
  root.replaceChildren();
  createRoot(root).render(<Playground {...handover} />);
}

function Playground(handover: Handover) {
  return (
    <GraphiQL
      fetcher={fetcher}
      storage={STORAGE}
      plugins={PLUGINS}
      visiblePlugin={NARROW.matches ? undefined : EXAMPLES_PLUGIN}
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

// The list of examples at the side; a click opens one in a tab.

import { type GraphiQLPlugin, useGraphiQL, useGraphiQLActions } from "@graphiql/react";

import { CATALOGS, CONTENTS, PACKAGES, type Place, RESOLVE } from "../../explorer/src/shared/places";
import { type Example, GROUPS } from "./examples";
import { variablesFor } from "./variables";

export const EXAMPLES_PLUGIN: GraphiQLPlugin = { title: "Examples", icon: Icon, content: Panel };

function Panel() {
  const open = useOpen();
  return (
    <section aria-label="Examples" className="examples">
      <h2>Examples</h2>
      <p>A click opens one in a tab, with variables from what is served here.</p>
      {GROUPS.map(({ title, examples }) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <InExplorer of={title} />
          {examples.map((example) => (
            <button key={example.name} type="button" onClick={() => open(example)}>
              <b>{example.name}</b>
              <span>{words(example.about)}</span>
            </button>
          ))}
        </section>
      ))}
    </section>
  );
}

/** Where the explorer shows what the examples of a group ask for. */
const PLACES: Record<string, Place> = {
  Consoles: PACKAGES,
  Resolvers: RESOLVE,
  Mirroring: PACKAGES,
  Watching: CONTENTS,
  "Anything else": CATALOGS,
};

function InExplorer({ of }: { of: string }) {
  const place = PLACES[of];
  if (!place) return null;
  return (
    <p>
      In the explorer: <a href={`../${place.search}`}>{place.label}</a>
    </p>
  );
}

/** Shows an example: in the tab that has it as it is, or else in a new one. */
function useOpen() {
  const { addTab, changeTab } = useGraphiQLActions();
  const tabs = useGraphiQL((state) => state.tabs);
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const variableEditor = useGraphiQL((state) => state.variableEditor);
  return async ({ query }: Example) => {
    const variables = await variablesFor(query);
    const shown = tabs.findIndex((tab) => tab.query === query);
    if (shown >= 0) return changeTab(shown);
    addTab();
    queryEditor?.setValue(query);
    variableEditor?.setValue(variables);
    queryEditor?.focus();
  };
}

/** A text with what stands between backticks as code. */
function words(text: string) {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}

function Icon() {
  return (
    <svg aria-hidden="true" viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5">
      <path strokeLinejoin="round" d="M5 3.5h14v17l-7-4.5-7 4.5z" />
      <path strokeLinecap="round" d="M9 8h6M9 11.5h4" />
    </svg>
  );
}

// The list of examples at the side; a click opens one in a tab.

import { CATALOGS, CONTENTS, PACKAGES, type Place, RESOLVE } from "../../explorer/src/shared/places";
import { Words } from "../../explorer/src/shared/words";
import type { Draft } from "./draft";
import { type Example, GROUPS } from "./examples";

export function ExamplesPanel({ onOpen }: { onOpen: (draft: Draft) => void }) {
  const open = async ({ query }: Example) => {
    const { variablesFor } = await import("./variables");
    onOpen({ query, variables: await variablesFor(query) });
  };
  return (
    <>
      <p>A click opens one in a tab, with variables from what is served here.</p>
      {GROUPS.map(({ title, examples }) => (
        <section key={title} aria-label={title}>
          <h3>{title}</h3>
          <InExplorer of={title} />
          {examples.map((example) => (
            <button key={example.name} type="button" class="example" onClick={() => void open(example)}>
              <b>{example.name}</b>
              <span>
                <Words text={example.about} />
              </span>
            </button>
          ))}
        </section>
      ))}
    </>
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

// The dialog with keys and words.

import { Fragment } from "preact";

import { hasPlayground } from "../client";
import { Server } from "../generated/documents";
import { Dialog } from "../parts/dialog";
import { createStore, useStore } from "../store";
import { useQuery } from "../use-query";
import { keysAreOn, setKeys } from "./keys";

export const helpIsOpen = createStore(false);

const KEYS: readonly [string, string][] = [
  ["/", "Search"],
  ["g l", "Packages"],
  ["g c", "Catalogs"],
  ["g r", "Resolve"],
  ["g u", "Upgrade of the platform"],
  ["j k", "Next and previous tile or row"],
  ["Enter", "Open"],
  ["[ ]", "Previous and next tab"],
  ["y", "Copy the snippet"],
  ["p", "Open this view in the playground"],
  ["?", "This help"],
  ["Esc", "Close"],
];

const WORDS: readonly [string, string][] = [
  ["Catalog", "What one ClusterCatalog, image or directory offers."],
  ["Package", "Something to install and upgrade. It has channels and bundles."],
  ["Bundle", "One version of a package, with its manifests and images."],
  ["Channel", "A sequence of upgrades. Its head is the entry that nothing replaces."],
  ["Deprecated", "The catalog says that it should no longer be used, and what to do."],
];

export function Help() {
  return (
    <Dialog title="Help" open={useStore(helpIsOpen)} onClose={() => helpIsOpen.set(false)}>
      <Keys />
      <dl class="facts">
        {WORDS.map(([word, meaning]) => (
          <Fragment key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
      <About />
    </Dialog>
  );
}

/** Which server this is, and where else to ask it. */
function About() {
  const { data } = useQuery(Server, {});
  return (
    <p class="about">
      {data && (
        <>
          catalogql {data.server.version}
          {data.server.commit && ` (${data.server.commit})`} ·{" "}
        </>
      )}
      <a href="schema.graphql">Schema</a>
      {useStore(hasPlayground) && (
        <>
          {" "}
          · <a href="playground/">Playground</a>
        </>
      )}
    </p>
  );
}

function Keys() {
  const areOn = useStore(keysAreOn);
  return (
    <>
      <label class="switch">
        <input type="checkbox" checked={areOn} onChange={({ currentTarget }) => setKeys(currentTarget.checked)} />
        Single-key shortcuts
      </label>
      <table class="keys">
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={keys}>
              <td>
                {keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

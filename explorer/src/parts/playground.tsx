// The way to the playground: with the very document of a view.

import { type Document, hasPlayground } from "../client";
import { useStore } from "../store";
import { Glyph } from "./glyph";

/** A link that opens a document with its variables in the playground. */
function playgroundUrl(document: Document<unknown, never>, variables: unknown): string {
  const parameters = new URLSearchParams({ query: `${document.text}\n`, variables: JSON.stringify(variables, null, 2) });
  return `playground/?${parameters}`;
}

export interface OpenInPlaygroundProps<Data, Variables> {
  document: Document<Data, Variables>;
  variables: Variables;
}

export function OpenInPlayground<Data, Variables>({ document, variables }: OpenInPlaygroundProps<Data, Variables>) {
  if (!useStore(hasPlayground)) return null;
  return (
    <a class="to-playground" title="Open in the playground" href={playgroundUrl(document as Document<unknown, never>, variables)}>
      <Glyph name="open" />
      <span>Open in the playground</span>
    </a>
  );
}

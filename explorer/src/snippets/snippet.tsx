// A text to copy or to save, with what it presumes.

import "./snippets.css";

import type { ComponentChildren } from "preact";

import { Copy } from "../parts";
import { Glyph } from "../parts/glyph";
import { saveFile } from "../parts/save";

export interface SnippetProps {
  /** What the text is, for the button and for screen readers. */
  label: string;
  text: string;
  /** Name of the file that it can be saved as, if it is a manifest. */
  file?: string;
  /** What it presumes. */
  children?: ComponentChildren;
}

export function Snippet({ label, text, file, children }: SnippetProps) {
  return (
    <div class="stack">
      {children && <p class="subtle">{children}</p>}
      <div class="snippet">
        <div class="snippet-actions">
          <Copy text={text} />
          {file && (
            <button type="button" onClick={() => saveFile({ name: file, type: "application/yaml", text })}>
              <Glyph name="download" />
              Download
            </button>
          )}
        </div>
        <pre tabIndex={0} role="group" aria-label={label}>
          <code>{text}</code>
        </pre>
      </div>
    </div>
  );
}

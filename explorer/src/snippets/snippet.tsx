// A text to copy, with what it presumes.

import "./snippets.css";

import type { ComponentChildren } from "preact";

import { Copy } from "../parts";

export interface SnippetProps {
  /** What the text is, for the button and for screen readers. */
  label: string;
  text: string;
  /** What it presumes. */
  children?: ComponentChildren;
}

export function Snippet({ label, text, children }: SnippetProps) {
  return (
    <div class="stack">
      {children && <p class="subtle">{children}</p>}
      <div class="snippet">
        <Copy text={text} />
        <pre tabIndex={0} role="group" aria-label={label}>
          <code>{text}</code>
        </pre>
      </div>
    </div>
  );
}

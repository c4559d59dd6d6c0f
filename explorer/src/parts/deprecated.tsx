// What should no longer be used, and why.

import { useId } from "preact/hooks";

import { Glyph } from "./glyph";

export interface DeprecatedProps {
  message: string;
  /** What the badge says; it names what is deprecated where that is not what it stands beside. */
  label?: string;
}

/** A badge. Its message is shown while the pointer is on it or while the link that it stands beside has the focus. */
export function Deprecated({ message, label = "Deprecated" }: DeprecatedProps) {
  const id = useId();
  return (
    <span class="badge deprecated" aria-describedby={id}>
      {label}
      <span class="tip" id={id} role="tooltip">
        {message}
      </span>
    </span>
  );
}

/** The message in full, as text. */
export function DeprecationAlert({ what, message }: { what: string; message: string }) {
  return (
    <div class="alert warning">
      <Glyph name="alert" />
      <div>
        <strong>{what} is deprecated</strong>
        <p class="message">{message}</p>
      </div>
    </div>
  );
}

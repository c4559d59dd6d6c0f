// A button that copies a text and says so.

import { useEffect, useState } from "preact/hooks";

import { Glyph } from "./glyph";

/** For so long a button says that it copied, in milliseconds. */
const SAID_MILLISECONDS = 2000;

export interface CopyProps {
  /** What is copied, or what makes it when it is wanted. */
  text: string | (() => string | Promise<string>);
  /** What the button says. */
  label?: string;
  /** Whether it shows a sign only; the label is read all the same. */
  icon?: boolean;
}

export function Copy({ text, label = "Copy", icon = false }: CopyProps) {
  const [outcome, setOutcome] = useState<"copied" | "failed">();
  useEffect(() => {
    if (!outcome) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SAID_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () => {
    const made = typeof text === "string" ? text : text();
    // Some browsers copy only while they handle the click.
    (typeof made === "string" ? copyText(made) : made.then(copyText)).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  };
  const said = outcome === "copied" ? "Copied" : outcome === "failed" ? "Cannot copy" : "";
  return (
    <button type="button" class={icon ? "copy plain" : "copy"} onClick={copy} aria-label={icon ? label : undefined} title={icon ? label : undefined}>
      <Glyph name={outcome === "copied" ? "done" : "copy"} />
      {!icon && <span>{said || label}</span>}
      <span role="status" class="unseen">
        {said}
      </span>
    </button>
  );
}

/** Copies a text, also where the page came by plain HTTP, which has no clipboard of its own. */
async function copyText(text: string) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const copied = (event: ClipboardEvent) => {
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
  };
  document.addEventListener("copy", copied, { once: true });
  if (!document.execCommand("copy")) throw new Error("the browser does not copy");
  return undefined;
}

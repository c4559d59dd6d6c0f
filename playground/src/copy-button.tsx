// A button that copies a text.

import { useState } from "preact/hooks";

/** For so long it says that the text was copied, in milliseconds. */
const SAID = 2000;

export function CopyButton({ label, make }: { label: string; make: () => string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(make());
    setCopied(true);
    setTimeout(() => setCopied(false), SAID);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {isCopied ? "Copied" : label}
    </button>
  );
}

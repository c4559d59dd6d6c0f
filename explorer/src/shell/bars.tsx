// Bars below the head: content changed, or the server is gone. What is shown stays as it is until the reader wants another.

import { useEffect, useState } from "preact/hooks";

import { isReachable } from "../client";
import { number } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { useStore } from "../store";
import { type Notice, nextAttempt, notices, showChanges, tryNow } from "./live";

export function Bars() {
  const isGone = !useStore(isReachable);
  const changed = [...useStore(notices).values()];
  return (
    <div class="bars">
      <div role="status">
        {isGone && <Gone />}
        {changed.length > 0 && <Changed changed={changed} />}
      </div>
    </div>
  );
}

function Gone() {
  const seconds = useSeconds(useStore(nextAttempt));
  return (
    <div class="bar danger">
      <span class="said">
        <Glyph name="alert" />
        The server does not answer. What is loaded stays here.
      </span>
      {seconds !== undefined && <span aria-hidden="true">{seconds > 0 ? `Next attempt in ${number(seconds)} s` : "Trying again…"}</span>}
      <button type="button" onClick={tryNow}>
        Try now
      </button>
    </div>
  );
}

/** Seconds until a time, counted down. */
function useSeconds(time: number | undefined): number | undefined {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (time === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [time]);
  return time === undefined ? undefined : Math.max(0, Math.ceil((time - now) / 1000));
}

function Changed({ changed }: { changed: readonly Notice[] }) {
  const [first] = changed;
  return (
    <div class="bar">
      <span>{changed.length === 1 && first ? sentence(first) : `${number(changed.length)} catalogs changed.`}</span>
      <button type="button" onClick={showChanges}>
        Show what is served now
      </button>
    </div>
  );
}

function sentence({ displayName, change }: Notice): string {
  switch (change) {
    case "added":
      return `Another catalog is served now: ${displayName}.`;
    case "removed":
      return `${displayName} is no longer served. What you see is what it was.`;
    default:
      return `${displayName} has new content.`;
  }
}

// Keeps in touch with the server: says when content changes and when the server is gone, and notices when it is back.

import { authorization, endpoint, failureOf, hasPlayground, isReachable, query, RequestError, token } from "../client";
import { CatalogChanged, Digests } from "../generated/documents";
import { minified } from "../minified.mjs";
import { pauseAfter } from "../pause";
import { createStore } from "../store";
import { refresh } from "../use-query";

/** A catalog that is no longer as it is shown. */
export interface Notice {
  displayName: string;
  change: "added" | "removed" | "changed";
}

/** What changed since the page was loaded or the reader asked for it, by the name of the catalog. */
export const notices = createStore<ReadonlyMap<string, Notice>>(new Map());

/** When the server is asked again, by `Date.now()`; `undefined` while it answers. */
export const nextAttempt = createStore<number | undefined>(undefined);

/** A stream that ended is opened again within so long: at once for some readers, later for others. Milliseconds. */
const LONGEST_REOPENING = 1000;

/** The page is there before this begins: nothing of it waits for the stream. Milliseconds. */
const START = 1500;

/** How a stream ended: there was none, it was refused, there was no room for it, or it was there for a while. */
type End = "lost" | "refused" | "busy" | "closed";

/** For so long the server wants no other attempt after it had no room for a stream, in milliseconds. */
let retryAfter = 0;

interface Shown {
  displayName: string;
  digest: string;
}

/** The contents that are shown, by the name of the catalog. */
let shown: ReadonlyMap<string, Shown> | undefined;

/** Ends the pause, or the stream so that the next one begins. */
let wake: () => void = () => undefined;

/** Follows the server for as long as the page is open. */
export function follow() {
  addEventListener("visibilitychange", () => wake());
  token.subscribe(() => wake());
  isReachable.subscribe(() => {
    if (!isReachable.get()) wake();
  });
  void run();
}

/** Asks the server now, instead of after the pause. */
export function tryNow() {
  wake();
}

/** Shows what is served now. */
export function showChanges() {
  notices.set(new Map());
  shown = undefined;
  refresh();
  // If it fails, the next change finds what is shown.
  compare().catch(() => undefined);
}

async function run() {
  await pause(START);
  // A page that was opened in the background will be looked at later, and says then what changed since.
  if (document.hidden) await compare().catch(() => undefined);
  for (let failures = 0; ; ) {
    // A page that nobody looks at takes none of the few connections to a host.
    while (document.hidden) await pause(Number.MAX_SAFE_INTEGER);
    const end = await stream();
    const isFailure = end === "lost" || end === "busy";
    failures = isFailure ? failures + 1 : 0;
    if (document.hidden) continue;
    const length = pauseBefore(end, failures);
    nextAttempt.set(end === "lost" ? Date.now() + length : undefined);
    if (end === "lost") isReachable.set(false);
    await pause(length);
  }
}

/** How long to wait before the next stream, in milliseconds. */
function pauseBefore(end: End, failures: number): number {
  switch (end) {
    case "lost":
      return pauseAfter(failures);
    case "busy":
      return Math.max(retryAfter, pauseAfter(failures));
    case "refused":
      // Without a stream the page works as well, and asks again when something failed.
      return Number.MAX_SAFE_INTEGER;
    case "closed":
      return LONGEST_REOPENING * Math.random();
  }
}

/** Waits until something wakes it, at most for so many milliseconds. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    // Longer times would be none: they are 32 bits.
    const timer = milliseconds < 2 ** 31 ? setTimeout(resolve, milliseconds) : undefined;
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** Reads the stream of changes until it ends. */
async function stream(): Promise<End> {
  const abort = new AbortController();
  wake = () => abort.abort();
  let isOpen = false;
  try {
    const url = endpoint();
    url.search = new URLSearchParams({ query: minified(CatalogChanged.text) }).toString();
    const headers = { accept: "text/event-stream, application/json", ...authorization() };
    const response = await fetch(url, { headers, signal: abort.signal });
    const end = response.ok ? undefined : endBy(failureOf(response, await response.text()));
    if (end === "lost") return end;
    nextAttempt.set(undefined);
    isReachable.set(true);
    if (end === "refused" || !response.body) return "refused";
    isOpen = end !== "busy";
    // What changed while nobody listened. Where there is no room for a stream, nobody does.
    await compare();
    if (end) return end;
    for await (const event of events(response.body)) if (event === "next") await compare();
    return "closed";
  } catch (error) {
    if (error instanceof RequestError) return endBy(error);
    return isOpen || abort.signal.aborted ? "closed" : "lost";
  } finally {
    // It may still be open where the comparison failed.
    abort.abort();
  }
}

/** How a stream ends for which there was this response, or to which a comparison belongs that failed. */
function endBy({ kind, retryAfter: wanted }: RequestError): End {
  if (kind === "unreachable") return "lost";
  if (kind !== "busy") return "refused";
  retryAfter = wanted;
  return "busy";
}

/** Compares what is served with what is shown. */
async function compare() {
  const { data } = await query(Digests, {});
  hasPlayground.set(data.server.playgroundUrl !== null);
  const served = new Map(data.catalogs.map(({ name, ...rest }) => [name, rest]));
  const former = (shown ??= served);
  const found = new Map<string, Notice>();
  for (const [name, { displayName, digest }] of served) {
    const before = former.get(name);
    if (before?.digest !== digest) found.set(name, { displayName, change: before ? "changed" : "added" });
  }
  for (const [name, { displayName }] of former) if (!served.has(name)) found.set(name, { displayName, change: "removed" });
  if (JSON.stringify([...found]) !== JSON.stringify([...notices.get()])) notices.set(found);
}

/** The names of the events of a stream (server-sent events), as they come. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const name = block.match(/^event: ?(.*)$/m)?.[1];
      if (name) yield name;
    }
  }
}

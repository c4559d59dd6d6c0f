// Keeps in touch with the server: says when content changes and when the server is gone, and notices when it is back.

import { authorization, endpoint, hasPlayground, isAbsent, isReachable, query, token } from "../client";
import { CatalogChanged, Digests } from "../generated/documents";
import { minified } from "../minified.mjs";
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

/** The pause before a second attempt, in milliseconds. It doubles each time, and varies so that readers do not come together. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

/** The page is there before this begins: nothing of it waits for the stream. Milliseconds. */
const START = 1500;

/** How a stream ended: there was none, it was refused, or it was there for a while. */
type End = "lost" | "refused" | "closed";

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
  void compare();
}

async function run() {
  await pause(START);
  for (let failures = 0; ; ) {
    // A page that nobody looks at takes none of the few connections to a host.
    while (document.hidden) await pause(Number.MAX_SAFE_INTEGER);
    const end = await stream();
    failures = end === "lost" ? failures + 1 : 0;
    if (document.hidden) continue;
    if (end === "lost") {
      const length = Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE) * (0.75 + Math.random() / 2);
      nextAttempt.set(Date.now() + length);
      isReachable.set(false);
      await pause(length);
      continue;
    }
    nextAttempt.set(undefined);
    // Without a stream the page works as well, and asks again when something failed.
    await pause(end === "refused" ? Number.MAX_SAFE_INTEGER : FIRST_PAUSE * Math.random());
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
    const headers = { accept: "text/event-stream", ...authorization() };
    const response = await fetch(url, { headers, signal: abort.signal });
    if (isAbsent(response)) return "lost";
    nextAttempt.set(undefined);
    isReachable.set(true);
    if (!response.ok || !response.body) return "refused";
    isOpen = true;
    // What changed while nobody listened.
    await compare();
    for await (const event of events(response.body)) if (event === "next") await compare();
    return "closed";
  } catch {
    return isOpen || abort.signal.aborted ? "closed" : "lost";
  }
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

// The pages of a list after its first one, one by one.

import { useEffect, useMemo, useState } from "preact/hooks";

import { isReachable } from "./client";
import { useStore } from "./store";

export interface Page<Node> {
  nodes: readonly Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

export interface Pages<Node> {
  /** Those of the first page, and when every page is there or one cannot be loaded, those of the others. */
  nodes: readonly Node[];
  /** Whether some are not there: they are being loaded, or cannot be loaded. */
  missing?: "loading" | "failed";
}

/** Loads the page after a cursor. */
export type NextPage<Node> = (after: string, signal: AbortSignal) => Promise<Page<Node> | null | undefined>;

/** What could not be loaded is asked for again when the server is back. */
export function usePages<Node>(first: Page<Node> | null | undefined, next: NextPage<Node>): Pages<Node> {
  const [more, setMore] = useState<{ of: Page<Node>; nodes: readonly Node[]; isAll: boolean }>();
  const rest = first && more?.of === first ? more : undefined;
  const nodes = useMemo(() => [...(first?.nodes ?? []), ...(rest?.nodes ?? [])], [first, rest]);
  const isComplete = !first?.pageInfo.hasNextPage || rest?.isAll === true;
  const isThere = useStore(isReachable);
  useEffect(() => {
    if (!isThere || !first || isComplete) return undefined;
    const abort = new AbortController();
    const nodes: Node[] = [];
    const load = async () => {
      let after = first.pageInfo.endCursor;
      while (after !== null) {
        const page = await next(after, abort.signal);
        if (!page) break;
        nodes.push(...page.nodes);
        if (!page.pageInfo.hasNextPage) return true;
        after = page.pageInfo.endCursor;
      }
      return false;
    };
    // Once, because a graph of thousands of versions takes a moment to be drawn.
    load()
      .catch(() => false)
      .then((isAll) => {
        if (!abort.signal.aborted) setMore({ of: first, nodes, isAll });
      });
    return () => abort.abort();
  }, [first, isThere]);
  return { nodes, ...(!isComplete && { missing: rest ? ("failed" as const) : ("loading" as const) }) };
}

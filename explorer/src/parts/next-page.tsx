// What follows a page of a list: a button, and in its place the next page when somebody wants it.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface NextPageProps {
  /** Where the page before it ends. */
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  /** The page after a cursor. */
  children: (after: string) => ComponentChildren;
}

export function NextPage({ pageInfo: { hasNextPage, endCursor }, children }: NextPageProps) {
  const [isWanted, setWanted] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  // The button had the focus, and is gone.
  useLayoutEffect(() => {
    if (isWanted) place.current?.focus();
  }, [isWanted]);
  if (!hasNextPage || endCursor === null) return null;
  return (
    <div ref={place} tabIndex={-1} class="next-page">
      {isWanted ? (
        children(endCursor)
      ) : (
        <button type="button" onClick={() => setWanted(true)}>
          Show more
        </button>
      )}
    </div>
  );
}

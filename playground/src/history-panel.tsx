// The list of executed queries at the side; a click opens one in a tab.

import type { Draft } from "./draft";
import type { Executed } from "./history";
import { titleOf } from "./tabs";

export interface HistoryPanelProps {
  history: readonly Executed[];
  onOpen: (draft: Draft) => void;
  onChange: (history: readonly Executed[]) => void;
}

export function HistoryPanel({ history, onOpen, onChange }: HistoryPanelProps) {
  if (history.length === 0) return <p>What you run is listed here.</p>;
  const changed = (executed: Executed, change: Partial<Executed>) => onChange(history.map((each) => (each === executed ? { ...each, ...change } : each)));
  return (
    <>
      <ul class="history">
        {history.map((executed, at) => {
          const title = labelOf(executed);
          const star = executed.isFavorite ? `Remove ${title} from the favorites` : `Add ${title} to the favorites`;
          return (
            <li key={at}>
              <button type="button" class="link" title={executed.query} onClick={() => onOpen(executed)}>
                {title}
              </button>
              <button type="button" class="plain" aria-label={star} title={star} onClick={() => changed(executed, { isFavorite: !executed.isFavorite })}>
                <span aria-hidden="true">{executed.isFavorite ? "★" : "☆"}</span>
              </button>
              <button
                type="button"
                class="plain"
                aria-label={`Forget ${title}`}
                title={`Forget ${title}`}
                onClick={() => onChange(history.filter((each) => each !== executed))}
              >
                <span aria-hidden="true">×</span>
              </button>
            </li>
          );
        })}
      </ul>
      <p>
        <button type="button" onClick={() => onChange(history.filter(({ isFavorite }) => isFavorite))}>
          Forget all but favorites
        </button>
      </p>
    </>
  );
}

/** The name of the operation, or its first words. */
function labelOf({ query }: Executed): string {
  const title = titleOf({ query, operationName: undefined });
  return title === "Untitled" ? query.replace(/#.*/g, "").replace(/\s+/g, " ").trim().slice(0, 40) : title;
}

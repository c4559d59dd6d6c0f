// The response to an operation as a component shows it: at once if it is kept, and the former one until it comes.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import {
  type Answer,
  type Document,
  forgetAnswers,
  isReachable,
  keptAnswer,
  query,
  RequestError,
  type RequestOptions,
  type ResponseError,
  requestKey,
  type SuggestedNames,
  token,
} from "./client";
import { pauseAfter } from "./pause";
import { createStore, useStore } from "./store";

export interface QueryState<Data> {
  /** What was asked for, or while that is not there what was asked for before. */
  data?: Data;
  /** Errors of fields that are spared, whose values are therefore missing in `data`. */
  errors: readonly ResponseError[];
  /** Similar names for one that does not exist. */
  suggestions: readonly SuggestedNames[];
  /** Whether `data` is that of a former request. */
  stale: boolean;
  /** Whether a request is under way. */
  loading: boolean;
  /** Why the last request failed. `data` may be that of a former one. */
  error?: RequestError;
  /** Asks again. */
  retry(): void;
}

/** Counts how often everything was asked for anew. */
const round = createStore(0);

/** Forgets what is kept and asks for everything that is shown, which stays until the new is there. */
export function refresh() {
  forgetAnswers();
  round.set(round.get() + 1);
}

// Who asks may see something else.
token.subscribe(refresh);

/** Why the last request failed, and how many in a row did. */
interface Failed {
  key: string;
  reason: RequestError;
  times: number;
}

interface Outcome<Data> {
  /** The request that `answer` answers. */
  key: string;
  answer?: Answer<Data>;
  error?: Failed;
  /** The last attempt that ended: see `useQuery`. */
  attempt?: string;
}

/** Options of `useQuery`. */
export interface QueryOptions extends Pick<RequestOptions, "spares"> {
  /** Sends nothing as long as it is true. */
  skip?: boolean;
}

/** Sends an operation when it or its variables change. */
export function useQuery<Data, Variables>(
  operation: Document<Data, Variables>,
  variables: Variables,
  { skip = false, spares }: QueryOptions = {},
): QueryState<Data> {
  const key = requestKey(operation as Document<unknown, never>, variables);
  const [outcome, setOutcome] = useState<Outcome<Data>>();
  const [retries, setRetries] = useState(0);
  const now = useStore(round);
  const repetition = `${retries} ${now}`;
  // An outcome says which attempt ended, so that a response takes one rendering and not a second one for "no longer loading".
  const attempt = `${repetition} ${key}`;
  const before = useRef(repetition);
  const found = skip ? undefined : keptAnswer<Data>(key);

  // Before the page is painted: the server may begin meanwhile.
  useLayoutEffect(() => {
    if (skip) return undefined;
    const isRepeated = before.current !== repetition;
    before.current = repetition;
    const atHand = keptAnswer<Data>(key);
    const isEnough = atHand?.isFresh && !isRepeated;
    if (atHand && isEnough) setOutcome({ key, answer: atHand.answer, attempt });
    else if (atHand) setOutcome((former) => ({ ...former, key, answer: atHand.answer }));
    if (isEnough) return undefined;
    const abort = new AbortController();
    query(operation, variables, { signal: abort.signal, spares })
      .then((answer) => setOutcome({ key, answer, attempt }))
      .catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        setOutcome((former) => {
          const times = former?.error?.key === key ? former.error.times + 1 : 1;
          return { ...former, key: former?.key ?? key, error: { key, reason: error, times }, attempt };
        });
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      });
    return () => abort.abort();
    // The attempt says all of the operation, its variables and how often it was sent.
  }, [attempt, skip]);

  const retry = useCallback(() => setRetries((count) => count + 1), []);
  const isPending = !skip && outcome?.attempt !== attempt;
  const isOwn = outcome?.key === key;
  const failed = outcome?.error?.key === key && !isPending ? outcome.error : undefined;
  useRepetition(failed, retry);
  const error = failed?.reason;
  const answer = isOwn || !found ? outcome?.answer : found.answer;
  return {
    ...(answer && { data: answer.data }),
    errors: answer?.errors ?? [],
    suggestions: answer?.suggestions ?? [],
    stale: answer !== undefined && !isOwn && !found,
    loading: isPending,
    ...(error && { error }),
    retry,
  };
}

/** Asks again, with growing pauses, what the server had no room for, and what did not reach it as soon as it is back. */
function useRepetition(failed: Failed | undefined, retry: () => void) {
  const isThere = useStore(isReachable);
  useEffect(() => {
    const pause = failed && pauseBefore(failed, isThere);
    if (pause === undefined) return undefined;
    const timer = setTimeout(retry, pause);
    return () => clearTimeout(timer);
  }, [failed, isThere]);
}

/** How long to wait before a request is repeated, in milliseconds; `undefined` if that would not help. */
function pauseBefore({ reason: { kind, retryAfter }, times }: Failed, isThere: boolean): number | undefined {
  if (kind === "busy") return Math.max(retryAfter, pauseAfter(times));
  if (kind !== "unreachable" || !isThere) return undefined;
  return times > 1 ? pauseAfter(times - 1) : 0;
}

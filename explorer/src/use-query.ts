// The response to an operation as a component shows it: at once if it is kept, and the former one until it comes.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import {
  type Answer,
  type Document,
  forgetAnswers,
  isReachable,
  keptAnswer,
  query,
  RequestError,
  type ResponseError,
  requestKey,
  type SuggestedNames,
  token,
} from "./client";
import { createStore, useStore } from "./store";

export interface QueryState<Data> {
  /** What was asked for, or while that is not there what was asked for before. */
  data?: Data;
  /** Errors of fields whose values are therefore missing in `data`. */
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
isReachable.subscribe(() => {
  if (isReachable.get()) round.set(round.get() + 1);
});

interface Outcome<Data> {
  /** The request that `answer` answers. */
  key: string;
  answer?: Answer<Data>;
  error?: { key: string; reason: RequestError };
}

/** Options of `useQuery`. */
export interface QueryOptions {
  /** Sends nothing as long as it is true. */
  skip?: boolean;
}

/** Sends an operation when it or its variables change. */
export function useQuery<Data, Variables>(
  operation: Document<Data, Variables>,
  variables: Variables,
  { skip = false }: QueryOptions = {},
): QueryState<Data> {
  const key = requestKey(operation as Document<unknown, never>, variables);
  const [outcome, setOutcome] = useState<Outcome<Data>>();
  const [attempt, setAttempt] = useState(0);
  const [isPending, setPending] = useState(false);
  const asked = useRef({ attempt, round: round.get() });
  const now = useStore(round);
  const found = skip ? undefined : keptAnswer<Data>(key);

  useEffect(() => {
    if (skip) return undefined;
    const isRepeated = asked.current.attempt !== attempt || asked.current.round !== now;
    asked.current = { attempt, round: now };
    const atHand = keptAnswer<Data>(key);
    if (atHand) setOutcome({ key, answer: atHand.answer });
    if (atHand?.isFresh && !isRepeated) return undefined;
    const abort = new AbortController();
    setPending(true);
    query(operation, variables, abort.signal)
      .then((answer) => setOutcome({ key, answer }))
      .catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        setOutcome((former) => ({ ...former, key: former?.key ?? key, error: { key, reason: error } }));
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      })
      .finally(() => {
        if (!abort.signal.aborted) setPending(false);
      });
    return () => {
      abort.abort();
      setPending(false);
    };
    // The key says all of the operation and its variables.
  }, [key, skip, attempt, now]);

  const retry = useCallback(() => setAttempt((count) => count + 1), []);
  const isOwn = outcome?.key === key;
  const error = outcome?.error?.key === key && !isPending ? outcome.error.reason : undefined;
  const answer = isOwn || !found ? outcome?.answer : found.answer;
  return {
    ...(answer && { data: answer.data }),
    errors: answer?.errors ?? [],
    suggestions: answer?.suggestions ?? [],
    stale: answer !== undefined && !isOwn && !found,
    loading: isPending || (!skip && !answer && !error),
    ...(error && { error }),
    retry,
  };
}

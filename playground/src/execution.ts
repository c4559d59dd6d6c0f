// Runs what is in a tab, one at a time, and can be stopped.

import { useRef, useState } from "preact/hooks";

import { ask, type GraphqlRequest, type RequestOptions, subscribe } from "./fetcher";
import { executed, operations } from "./operations";
import type { Tab } from "./tabs";

export interface Execution {
  /** The id of the tab that is executed, if one is. */
  running: number | undefined;
  run: (tab: Tab) => Promise<void>;
  stop: () => void;
}

/** Executes tabs; `onResponse` gets the id of the tab and the text of each response. */
export function useExecution(onResponse: (id: number, text: string) => void): Execution {
  const [running, setRunning] = useState<number>();
  const current = useRef<AbortController | undefined>(undefined);
  const stop = () => {
    current.current?.abort();
    current.current = undefined;
    setRunning(undefined);
  };
  const run = async (tab: Tab) => {
    stop();
    const control = new AbortController();
    current.current = control;
    setRunning(tab.id);
    try {
      for await (const response of responses(tab, control.signal)) {
        if (current.current === control) onResponse(tab.id, JSON.stringify(response, null, 2));
      }
    } catch (error) {
      if (current.current === control) onResponse(tab.id, JSON.stringify({ errors: [{ message: messageOf(error) }] }, null, 2));
    } finally {
      if (current.current === control) stop();
    }
  };
  return { running, run, stop };
}

async function* responses({ query, variables, headers, operationName }: Tab, signal: AbortSignal): AsyncGenerator<unknown> {
  const operation = executed(operations(query), operationName);
  const request: GraphqlRequest = { query, operationName: operation?.name, variables: objectOf(variables, "variables") };
  const options: RequestOptions = { signal, headers: objectOf(headers, "headers") as Record<string, string> | undefined ?? {} };
  if (operation?.type === "subscription") yield* subscribe(request, options);
  else yield await ask(request, options);
}

/** The object that a text in JSON is; nothing for an empty text. */
function objectOf(text: string, what: string): Record<string, unknown> | undefined {
  if (!text.trim()) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`the ${what} are not valid JSON: ${messageOf(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`the ${what} are not a JSON object`);
  return value as Record<string, unknown>;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}

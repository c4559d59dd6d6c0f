// How the server is asked: a request and its answer, and for subscriptions a stream of events.

import { endpoint } from "./draft";
import { send } from "./server";

const ENDPOINT = endpoint();

const MEDIA = "application/graphql-response+json, application/json";

/** Before a stream that broke off is opened again, in milliseconds; twice as long each time. */
const PAUSE = 1000;

export interface GraphqlRequest {
  query: string;
  operationName?: string | undefined;
  variables?: Record<string, unknown> | undefined;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The answer to one request; what the server says in plain text is an error with that text. */
export async function ask(request: GraphqlRequest, { headers, signal }: RequestOptions = {}) {
  const response = await send(ENDPOINT, {
    method: "POST",
    headers: { accept: MEDIA, "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
    ...(signal && { signal }),
  });
  if (response.headers.get("content-type")?.includes("json")) return response.json();
  return { errors: [{ message: await reasonOf(response) }] };
}

/** What the server says in plain text, or the status. */
async function reasonOf(response: Response): Promise<string> {
  return (await response.text()).trim() || `status ${response.status}`;
}

/** What a subscription tells, until the server or the signal ends it. */
export async function* subscribe(request: GraphqlRequest, { headers, signal }: RequestOptions): AsyncGenerator<unknown> {
  const { createClient } = await import("graphql-sse");
  let refusal: string | undefined;
  const client = createClient({
    url: ENDPOINT,
    headers: { ...headers },
    fetchFn: async (url: string, init: RequestInit) => {
      const response = await send(url, init);
      if (!response.ok) refusal = await reasonOf(response.clone());
      return response;
    },
    // What was refused would be refused again, or ask for a token again; what broke off goes on.
    retry: async (retries) => {
      if (refusal !== undefined) throw new Error(refusal);
      await new Promise((waited) => setTimeout(waited, PAUSE * 2 ** retries));
    },
  });
  const { query, operationName, variables } = request;
  const events = client.iterate({ query, operationName, variables });
  signal?.addEventListener("abort", () => void events.return?.(undefined));
  yield* events;
}

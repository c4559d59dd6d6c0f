// How GraphiQL asks the server: a request and its answer, and for subscriptions a stream of events.

import type { Fetcher, FetcherOpts, FetcherParams } from "@graphiql/toolkit";
import { getOperationAST, OperationTypeNode, parse } from "graphql";
import { createClient } from "graphql-sse";

import { endpoint } from "./draft";
import { send } from "./server";

const ENDPOINT = endpoint();

const MEDIA = "application/graphql-response+json, application/json";

/** Answers what GraphiQL asks. */
export const fetcher: Fetcher = (params, options) =>
  isSubscription(params) ? subscribe(params, options) : ask(params, options);

/** The answer to one request; what the server says in plain text is an error with that text. */
export async function ask(params: FetcherParams, options?: FetcherOpts) {
  const response = await send(ENDPOINT, {
    method: "POST",
    headers: { accept: MEDIA, "content-type": "application/json", ...options?.headers },
    body: JSON.stringify(params),
  });
  if (response.headers.get("content-type")?.includes("json")) return response.json();
  const text = (await response.text()).trim();
  return { errors: [{ message: text || `status ${response.status}` }] };
}

function subscribe({ query, operationName, variables }: FetcherParams, options?: FetcherOpts) {
  const client = createClient({ url: ENDPOINT, headers: { ...options?.headers }, fetchFn: send });
  return client.iterate({ query, operationName: operationName ?? undefined, variables });
}

function isSubscription({ query, operationName }: FetcherParams): boolean {
  try {
    return getOperationAST(parse(query), operationName)?.operation === OperationTypeNode.SUBSCRIPTION;
  } catch {
    // The server says best what is wrong with a document.
    return false;
  }
}

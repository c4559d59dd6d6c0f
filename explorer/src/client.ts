// Asks the server: GraphQL over HTTP, with the few last responses at hand for the way back.

import { minified } from "./minified.mjs";
import { createStore } from "./store";

/** An operation with the types of what it gives and takes; scripts/types.mjs makes them. */
export interface Document<Data, Variables> {
  /** Name of the operation. */
  name: string;
  /** The document for people to read, with the fragments that it uses. */
  text: string;
  /** Only for the type checker. */
  readonly types?: (variables: Variables) => Data;
}

/** An error of a GraphQL response. */
export interface ResponseError {
  message: string;
  path?: readonly (string | number)[];
  extensions?: { code?: string };
}

/** Similar names for one that does not exist. */
export interface SuggestedNames {
  path: readonly (string | number)[];
  argument: string;
  value: string;
  similar: readonly string[];
}

/** A response that has data, though perhaps not all. */
export interface Answer<Data> {
  data: Data;
  errors: readonly ResponseError[];
  suggestions: readonly SuggestedNames[];
}

/** Why a request failed: no response, no permission, or a response without data. */
export type FailureKind = "unreachable" | "unauthorized" | "refused";

export class RequestError extends Error {
  readonly kind: FailureKind;
  /** Error code of the response, or its HTTP status. */
  readonly code: string;

  constructor(kind: FailureKind, code: string, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** Longest URL of a GET in bytes, the limit of the server; longer requests are sent by POST. */
const MAX_URL_BYTES = 16_000;

/** Responses that are kept for the way back: at most so many, with so many characters altogether. */
const MAX_KEPT = 40;
const MAX_KEPT_CHARACTERS = 4_000_000;

/** For so long a kept response is shown without asking again, in milliseconds. */
const FRESH_MILLISECONDS = 60_000;

/** Longest message in plain text that is shown, in characters. */
const MAX_MESSAGE = 2000;

const MEDIA = "application/graphql-response+json, application/json";

/** The token that requests carry, in memory only; none until somebody gives one. */
export const token = createStore<string | undefined>(undefined);

/** Whether the last request was refused for want of a token. */
export const isTokenWanted = createStore(false);

/** Whether the last request reached the server. */
export const isReachable = createStore(true);

/** Whether the server has a playground, as far as it has been asked. */
export const hasPlayground = createStore(true);

interface Kept {
  answer: Answer<unknown>;
  characters: number;
  /** When it came, by `performance.now()`. */
  at: number;
}

/** The oldest first. */
const kept = new Map<string, Kept>();

/** Requests that were sent ahead and are under way. */
const ahead = new Map<string, Promise<Answer<unknown>>>();

/** Where GraphQL is answered: beside the page, whatever path leads to it. */
export function endpoint(): URL {
  return new URL("graphql", document.baseURI);
}

/** What names a request among those that are kept. */
export function requestKey(operation: Document<unknown, never>, variables: unknown): string {
  return `${operation.name} ${JSON.stringify(variables)}`;
}

/** A kept response, and whether it is new enough not to ask again. */
export function keptAnswer<Data>(key: string): { answer: Answer<Data>; isFresh: boolean } | undefined {
  const found = kept.get(key);
  if (!found) return undefined;
  return { answer: found.answer as Answer<Data>, isFresh: performance.now() - found.at < FRESH_MILLISECONDS };
}

/** Forgets every response, because the content changed or somebody else asks now. */
export function forgetAnswers() {
  kept.clear();
  ahead.clear();
}

/** Sends an operation before there is a view of it. The view's own `query` gets this response. */
export function queryAhead<Data, Variables>(operation: Document<Data, Variables>, variables: Variables) {
  const key = requestKey(operation, variables);
  const answer = sent(operation, variables);
  ahead.set(key, answer);
  const end = () => ahead.delete(key);
  // Who comes later finds it among those that are kept, or asks again.
  answer.then(end, end);
}

/**
 * Sends an operation. The result has data, though perhaps not all.
 *
 * @throws {RequestError}
 */
export async function query<Data, Variables>(
  operation: Document<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Answer<Data>> {
  const answer = ahead.get(requestKey(operation, variables)) as Promise<Answer<Data>> | undefined;
  if (!answer) return sent(operation, variables, signal);
  await answer.catch(() => undefined);
  signal?.throwIfAborted();
  return answer;
}

async function sent<Data, Variables>(
  operation: Document<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Answer<Data>> {
  const response = await send(minified(operation.text), variables, signal);
  const text = await response.text().catch((error: unknown) => {
    throw lost(error);
  });
  const answer = read<Data>(response, text);
  keep(requestKey(operation, variables), { answer, characters: text.length, at: performance.now() });
  return answer;
}

/** Headers that say who asks. */
export function authorization(): Record<string, string> {
  const value = token.get();
  return value ? { authorization: `Bearer ${value}` } : {};
}

async function send(text: string, variables: unknown, signal?: AbortSignal): Promise<Response> {
  const url = endpoint();
  url.search = new URLSearchParams({ query: text, variables: JSON.stringify(variables) }).toString();
  const headers = { accept: MEDIA, ...authorization() };
  const options: RequestInit = { headers, ...(signal && { signal }) };
  const isLong = url.href.length > MAX_URL_BYTES;
  try {
    const response = await (isLong ? fetch(endpoint(), posted(options, text, variables)) : fetch(url, options));
    isReachable.set(!isAbsent(response));
    return response;
  } catch (error) {
    throw lost(error);
  }
}

/** Whether a response is that of a proxy before a server that is not there, or of one that has no time. */
export function isAbsent({ status }: Response): boolean {
  return status === 502 || status === 503 || status === 504;
}

function posted(options: RequestInit, query: string, variables: unknown): RequestInit {
  const headers = { ...options.headers, "content-type": "application/json" };
  return { ...options, method: "POST", headers, body: JSON.stringify({ query, variables }) };
}

/** The error of a request that got no response; one that the page gave up stays what it is. */
function lost(error: unknown): unknown {
  if (error instanceof DOMException && error.name === "AbortError") return error;
  isReachable.set(false);
  return new RequestError("unreachable", "UNREACHABLE", "The server does not answer.");
}

function read<Data>(response: Response, text: string): Answer<Data> {
  if (response.status === 401) {
    isTokenWanted.set(true);
    throw new RequestError("unauthorized", "401", "The server wants to know who asks.");
  }
  const kind = isAbsent(response) ? "unreachable" : "refused";
  const type = response.headers.get("content-type") ?? "";
  if (!type.includes("json")) {
    const message = type.startsWith("text/plain") ? text.trim().slice(0, MAX_MESSAGE) : "";
    throw new RequestError(kind, String(response.status), message || `status ${response.status}`);
  }
  const { data, errors = [], extensions } = JSON.parse(text);
  if (!data) {
    const [error] = errors as ResponseError[];
    const code = error?.extensions?.code ?? String(response.status);
    throw new RequestError(kind, code, error?.message ?? `status ${response.status}`);
  }
  return { data, errors, suggestions: extensions?.suggestions ?? [] };
}

function keep(key: string, response: Kept) {
  kept.delete(key);
  kept.set(key, response);
  let characters = [...kept.values()].reduce((sum, each) => sum + each.characters, 0);
  for (const [oldest, each] of kept) {
    if (kept.size <= MAX_KEPT && characters <= MAX_KEPT_CHARACTERS) break;
    kept.delete(oldest);
    characters -= each.characters;
  }
}

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

/**
 * Why a request failed: no response, no permission, no room for it at the moment, a response without data, or one in which
 * data is missing that the view needs.
 */
export type FailureKind = "unreachable" | "unauthorized" | "busy" | "refused" | "incomplete";

export class RequestError extends Error {
  readonly kind: FailureKind;
  /** Error code of the response; empty where it has none. */
  readonly code: string;
  /** For so long the server wants not to be asked again, in milliseconds. */
  readonly retryAfter: number;

  constructor(kind: FailureKind, code: string, message: string, retryAfter = 0) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.retryAfter = retryAfter;
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

/** Options of `query`. */
export interface RequestOptions {
  signal?: AbortSignal;
  /** Whether one can do without the field that has an error; without it, no field may have any. */
  spares?: ((error: ResponseError) => boolean) | undefined;
}

/**
 * Sends an operation. The result has all data but for what is spared: a field that is `null` because of an error must not be
 * taken for one that the catalogs do not have.
 *
 * @throws {RequestError}
 */
export async function query<Data, Variables>(
  operation: Document<Data, Variables>,
  variables: Variables,
  { signal, spares = () => false }: RequestOptions = {},
): Promise<Answer<Data>> {
  const before = ahead.get(requestKey(operation, variables)) as Promise<Answer<Data>> | undefined;
  await before?.catch(() => undefined);
  signal?.throwIfAborted();
  const answer = await (before ?? sent(operation, variables, signal));
  const error = answer.errors.find((each) => !spares(each));
  if (error) throw new RequestError("incomplete", error.extensions?.code ?? "", error.message);
  return answer;
}

/** Whether an error is that of a field, by the keys that lead to it. */
export function isErrorOf({ path = [] }: ResponseError, ...field: readonly string[]): boolean {
  return path.length === field.length && field.every((key, at) => key === path[at]);
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
  const { data, errors = [], extensions } = bodyOf<Data>(response, text);
  const failure = data ? undefined : failureOf(response, text);
  isReachable.set(failure?.kind !== "unreachable");
  if (failure?.kind === "unauthorized") isTokenWanted.set(true);
  if (!data || failure) throw failure;
  const answer = { data, errors, suggestions: extensions?.suggestions ?? [] };
  // What is missing may be there when it is asked for again.
  if (errors.length === 0) keep(requestKey(operation, variables), { answer, characters: text.length, at: performance.now() });
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
    return await (isLong ? fetch(endpoint(), posted(options, text, variables)) : fetch(url, options));
  } catch (error) {
    throw lost(error);
  }
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

/** The parts of a GraphQL response. */
interface Body<Data> {
  data?: Data | null;
  errors?: readonly ResponseError[];
  extensions?: { suggestions?: readonly SuggestedNames[] };
}

/** What a response says in JSON; nothing where it is something else. */
function bodyOf<Data>({ headers }: Response, text: string): Body<Data> {
  if (!headers.get("content-type")?.includes("json")) return {};
  try {
    return JSON.parse(text) ?? {};
  } catch {
    // A proxy may call a page of its own what was asked for.
    return {};
  }
}

/** What a status means that comes without a message, mostly from a proxy. */
const STATUS_MESSAGES: Readonly<Record<number, string>> = {
  403: "You may not read this (status 403).",
  404: "There is no GraphQL endpoint at this address (status 404).",
  413: "The request is too large for a proxy on the way (status 413).",
  429: "There were too many requests (status 429).",
  500: "The server failed (status 500).",
  502: "A proxy cannot reach the server (status 502).",
  503: "The server is not available (status 503).",
  504: "The server did not respond in time (status 504).",
};

/** Why there is no data in a response, of which the text has been read. */
export function failureOf(response: Response, text: string): RequestError {
  const { status, headers } = response;
  if (status === 401) return new RequestError("unauthorized", "401", "The server wants to know who asks.");
  const [error] = bodyOf(response, text).errors ?? [];
  const code = error?.extensions?.code;
  const message = headers.get("content-type")?.startsWith("text/plain") ? text.trim().slice(0, MAX_MESSAGE) : error?.message;
  // A proxy before a server that is not there responds with the same statuses, but without a code.
  const isAway = status >= 502 && status <= 504;
  const kind = status === 429 || (isAway && code) ? "busy" : isAway ? "unreachable" : "refused";
  if (message) return new RequestError(kind, code ?? String(status), message, retryAfter(headers));
  // The sentence has the status.
  const sentence = STATUS_MESSAGES[status] ?? `The server failed with status ${status}.`;
  return new RequestError(kind, code ?? "", sentence, retryAfter(headers));
}

/** How long to wait before the next request, in milliseconds. A date, which this server never gives, is no time. */
function retryAfter(headers: Headers): number {
  return (Number(headers.get("retry-after")) || 0) * 1000;
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

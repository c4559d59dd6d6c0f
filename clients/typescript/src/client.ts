// Asks a server: GraphQL over HTTP, with entity tags, repetitions while it is busy, and lists of one content.

import { minified } from "./minified.mjs";

/** An operation with the types of what it gives and takes. */
export interface Document<Data, Variables> {
  /** Name of the operation. */
  name: string;
  /** The document, with the fragments that it uses. */
  text: string;
  /** Only for the type checker. */
  readonly types?: (variables: Variables) => Data;
}

/** A page of a list. */
export interface Connection<Node> {
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  nodes: Node[];
}

/** What documents of lists have beside their connection: which content each page is of. */
export interface ListData {
  served: { name: string; digest: string }[];
}

export interface ClientOptions {
  /** Bearer token, asked for before each request. */
  token?: () => string | Promise<string>;
  /** Sends requests in place of the global `fetch`. */
  fetch?: typeof fetch;
  /** Time for one attempt of a request, in milliseconds. */
  timeout?: number;
}

/** The server refused a request, or something in front of it did. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(
    /** HTTP status. */
    readonly status: number,
    /** Stable code, such as `COST_ESTIMATED_TOO_EXPENSIVE`; `undefined` where a proxy has answered. */
    readonly code: string | undefined,
    message: string,
  ) {
    super(message);
  }
}

/** The content of a catalog changed while its pages were read: read them again. */
export class ContentChangedError extends Error {
  override readonly name = "ContentChangedError";
}

/** Items of a page, which is the server's limit. */
const PAGE_SIZE = 500;

/** Time for one attempt of a request, in milliseconds, unless the options say otherwise. */
const TIMEOUT = 30_000;

/** Number of times that a request is repeated while the server is busy or away. */
const MAX_RETRIES = 3;

/** Longest wait before a repetition, in milliseconds. */
const MAX_WAIT = 10_000;

/** Number of responses that are kept with their entity tags. */
const MAX_KEPT = 256;

/** Longest URL of a GET in bytes; longer requests are sent by POST, which nobody caches. */
const MAX_URL_BYTES = 8_000;

const BUSY = [429, 502, 503, 504];

/** A client of one server. */
export class Client {
  readonly #endpoint: string;
  readonly #options: ClientOptions;
  /** Responses by their URLs, those that were used last at the end. */
  readonly #kept = new Map<string, { etag: string; text: string }>();

  /** `server` is its URL, such as `https://catalogql.example.com`. Connects to nothing. */
  constructor(server: string | URL, options: ClientOptions = {}) {
    const url = new URL(server);
    url.pathname = `${url.pathname.replace(/\/+$/, "").replace(/\/graphql$/, "")}/graphql`;
    url.search = "";
    this.#endpoint = url.href;
    this.#options = options;
  }

  /**
   * Executes an operation. An error of any field is an error of the whole.
   *
   * @throws {RequestError} if the server refuses it
   * @throws {TypeError} if the server is not reached
   */
  async query<Data, Variables>(document: Document<Data, Variables>, variables: Variables, signal?: AbortSignal): Promise<Data> {
    const text = minified(document.text);
    const parameters = new URLSearchParams({ query: text });
    if (Object.keys(variables ?? {}).length > 0) parameters.set("variables", JSON.stringify(variables));
    const url = `${this.#endpoint}?${parameters}`;
    const body = url.length > MAX_URL_BYTES ? JSON.stringify({ query: text, variables }) : undefined;
    const { status, text: received } = await this.#send(body === undefined ? url : this.#endpoint, body, signal);
    return decoded<Data>(status, received);
  }

  /**
   * Reads a list to its end, page by page. `connection` finds the list in the data of a document that takes `$first` and
   * `$after`.
   *
   * @throws {ContentChangedError} if the content of one of `variables.catalogs` changes between two pages; of any, if none is named
   */
  async *pages<Data extends ListData, Variables extends { first: number; after?: string | null | undefined }, Node>(
    document: Document<Data, Variables>,
    variables: Omit<Variables, "first" | "after">,
    connection: (data: Data) => Connection<Node> | null,
    signal?: AbortSignal,
  ): AsyncGenerator<Node, void, undefined> {
    const { catalogs } = variables as { catalogs?: readonly string[] | null };
    let before: string | undefined;
    for (let after: string | null = null; ; ) {
      const data: Data = await this.query(document, { ...variables, first: PAGE_SIZE, after } as unknown as Variables, signal);
      const meant = data.served.filter(({ name }) => !catalogs?.length || catalogs.includes(name));
      const served = JSON.stringify(meant.map(({ name, digest }) => [name, digest]));
      if (before !== undefined && served !== before) throw new ContentChangedError("the content of a catalog changed while it was read");
      before = served;
      const page = connection(data);
      if (!page) return;
      yield* page.nodes;
      after = page.pageInfo.endCursor;
      if (!page.pageInfo.hasNextPage || after === null) return;
    }
  }

  async #send(url: string, body: string | undefined, signal: AbortSignal | undefined): Promise<{ status: number; text: string }> {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt === MAX_RETRIES;
      let wait = 100 * 2 ** attempt * (1 + Math.random());
      try {
        const response = await this.#attempt(url, body, signal);
        const asked = Number(response.headers.get("retry-after") ?? "0") * 1000 || 0;
        wait = Math.max(wait, asked);
        if (isLast || wait > MAX_WAIT || !BUSY.includes(response.status)) return await this.#received(url, response);
        await response.body?.cancel();
      } catch (error) {
        if (isLast || signal?.aborted) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  async #attempt(url: string, body: string | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const { token, fetch: send = fetch, timeout = TIMEOUT } = this.#options;
    const headers = new Headers({ accept: "application/graphql-response+json, application/json" });
    if (token) headers.set("authorization", `Bearer ${await token()}`);
    const etag = this.#kept.get(url)?.etag;
    if (etag !== undefined) headers.set("if-none-match", etag);
    const late = AbortSignal.timeout(timeout);
    const init: RequestInit = { headers, signal: signal ? AbortSignal.any([signal, late]) : late };
    if (body === undefined) return send(url, init);
    headers.set("content-type", "application/json");
    return send(url, { ...init, method: "POST", body });
  }

  /** Reads a response; one that confirms a kept response is that one. */
  async #received(url: string, response: Response): Promise<{ status: number; text: string }> {
    const kept = this.#kept.get(url);
    this.#kept.delete(url);
    if (response.status === 304 && kept) {
      this.#kept.set(url, kept);
      return { status: 200, text: kept.text };
    }
    const text = await response.text();
    const etag = response.headers.get("etag");
    if (response.status === 200 && etag !== null && url !== this.#endpoint) this.#kept.set(url, { etag, text });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return { status: response.status, text };
  }
}

/** The data of a response. */
function decoded<Data>(status: number, text: string): Data {
  let value: { data?: Data | null; errors?: { message: string; extensions?: { code?: string } }[] } | undefined;
  try {
    value = JSON.parse(text);
  } catch {
    // What a proxy says is no JSON.
  }
  const error = value?.errors?.[0];
  if (error) throw new RequestError(status, error.extensions?.code, error.message);
  if (status !== 200 || !value?.data) throw new RequestError(status, undefined, `the server answers with HTTP status ${status}`);
  return value.data;
}

// What a view shows while there is nothing to show: it is loading, there is nothing, or it failed.

import type { ComponentChildren } from "preact";

import type { Document } from "../client";
import type { QueryState } from "../use-query";
import { Glyph } from "./glyph";
import { OpenInPlayground } from "./playground";

/** Boxes of the size of what comes. They appear after a moment, so that what is quick does not flicker. */
export function Loading({ boxes = 6, class: name = "lines" }: { boxes?: number; class?: string }) {
  return (
    <div class={`loading ${name}`} aria-busy="true" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: boxes }, (_, at) => (
        <span key={at} class="box" />
      ))}
    </div>
  );
}

/** Nothing: what was asked, and as children the ways to ask for more. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export interface FailureProps<Data, Variables> {
  of: QueryState<Data>;
  document: Document<Data, Variables>;
  variables: Variables;
}

/** A request that failed, if it did: its message and code, to try again, and the request in the playground. */
export function Failure<Data, Variables>({ of: { error, stale, retry }, document, variables }: FailureProps<Data, Variables>) {
  if (!error) return null;
  return (
    <div class="alert danger" role="alert">
      <Glyph name="alert" />
      <div>
        <strong>{TITLES[error.kind]}</strong>
        <p class="message">
          {error.message} {error.code && <code>{error.code}</code>}
        </p>
        {error.kind === "busy" && <p>This page asks again in a moment.</p>}
        {stale && <p>What you see is what you asked for before.</p>}
        <p class="actions">
          <button type="button" onClick={retry}>
            Try again
          </button>
          {(error.kind === "refused" || error.kind === "incomplete") && <OpenInPlayground document={document} variables={variables} />}
        </p>
      </div>
    </div>
  );
}

const TITLES = {
  unreachable: "The server cannot be reached",
  unauthorized: "This needs a token",
  busy: "The server is busy",
  refused: "The server refused the request",
  incomplete: "The server could not respond in full",
} as const;

export interface ResultProps<Data, Variables> {
  of: QueryState<Data>;
  document: Document<Data, Variables>;
  variables: Variables;
  /** What is shown until there is data. */
  loading?: ComponentChildren;
  children: (data: Data) => ComponentChildren;
}

/** The result of a query in each of its states; what was there stays, paler, until the new is there. */
export function Result<Data, Variables>({ of, document, variables, loading, children }: ResultProps<Data, Variables>) {
  const { data, error, stale } = of;
  return (
    <>
      <Failure of={of} document={document} variables={variables} />
      {data ? (
        <div class={stale ? "stale" : undefined} aria-busy={of.loading}>
          {children(data)}
        </div>
      ) : (
        !error && (loading ?? <Loading />)
      )}
    </>
  );
}

// What is in the editor: from a link, and as a link or a command for others.

import { command } from "../../explorer/src/shared/command";

/** A query and the text of its variables. */
export interface Draft {
  query: string;
  variables: string;
}

/** Where GraphQL is answered: beside the folder of the page, whatever path leads to it. */
export function endpoint(): string {
  return new URL("../graphql", document.baseURI).href;
}

/** The draft of a link with `?query=`, and `&variables=` if it has some. */
export function linkedDraft(search: string): Draft | undefined {
  const parameters = new URLSearchParams(search);
  const query = parameters.get("query");
  return query ? { query, variables: parameters.get("variables") ?? "" } : undefined;
}

/** A link that opens this draft in the playground. */
export function link({ query, variables }: Draft): string {
  const url = new URL(document.baseURI);
  url.hash = "";
  url.search = new URLSearchParams({ query, ...(variables.trim() && { variables }) }).toString();
  return url.href;
}

/** A command that sends the draft from a shell. */
export function curl({ query, variables }: Draft): string {
  const values = variables.trim();
  const body = values ? `{"query":${JSON.stringify(query)},"variables":${values}}` : JSON.stringify({ query });
  return [
    command("curl", "-sS", endpoint()),
    command("-H", "content-type: application/json"),
    command("-d", body),
  ].join(" \\\n  ");
}

/** Whether a key runs the query. */
export function isRunKey(event: KeyboardEvent): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey);
}

/** Whether a key makes the query legible. */
export function isPrettifyKey(event: KeyboardEvent): boolean {
  return event.key.toLowerCase() === "p" && event.shiftKey && (event.ctrlKey || event.metaKey);
}

// Queries of one line as a reader wants to see them.

import { parse, print } from "graphql";

/** A document in lines; what is no document, or has a comment that printing would lose, is left as it is. */
export function prettified(query: string): string {
  if (query.includes("#")) return query;
  try {
    return `${print(parse(query))}\n`;
  } catch {
    return query;
  }
}

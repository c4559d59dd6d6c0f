// Documents as a reader wants to see them.

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

/** A document in lines, or with its own lines indented where printing would lose a comment. */
export function indented(query: string): string {
  if (!query.includes("#")) return prettified(query);
  let depth = 0;
  const lines = query.split("\n").map((line) => {
    const text = line.trim();
    const code = text.replace(/"(?:\\.|[^"\\])*"/g, "").replace(/#.*/, "");
    const closing = /^[})\]]+/.exec(code)?.[0].length ?? 0;
    const indent = "  ".repeat(Math.max(0, depth - closing));
    depth += (code.match(/[{([]/g)?.length ?? 0) - (code.match(/[})\]]/g)?.length ?? 0);
    return text && indent + text;
  });
  return `${lines.join("\n").trim()}\n`;
}

/** A JSON text in lines; what is none is left as it is. */
export function prettifiedJson(text: string): string {
  try {
    return text.trim() && JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

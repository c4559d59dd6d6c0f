// The operations of a document, found without a parser: a document that is being written has them, too. Pure.

export interface Operation {
  type: "query" | "mutation" | "subscription";
  /** Absent for an anonymous operation. */
  name?: string;
  /** Where it begins and ends in the text, and where its selection does. */
  from: number;
  to: number;
  selection: number;
}

const TYPES: readonly Operation["type"][] = ["query", "mutation", "subscription"];

/** Comments and strings, whose words and braces mean nothing. */
const OPAQUE = /"""[^]*?"""|"(?:\\.|[^"\\\n])*"|#.*/g;

export function operations(text: string): Operation[] {
  const plain = text.replace(OPAQUE, (part) => " ".repeat(part.length));
  const found: Operation[] = [];
  let definition: Operation | "fragment" | undefined;
  let depth = 0;
  let former = "";
  for (const { 0: token, index } of plain.matchAll(/[{}()]|[A-Za-z_]\w*/g)) {
    if (depth === 0 && definition === undefined) {
      definition = token === "fragment" ? token : begun(token, { from: index, to: text.length, selection: text.length });
      if (typeof definition === "object") found.push(definition);
    } else if (depth === 0 && typeof definition === "object" && former === definition.type && /^\w/.test(token)) {
      definition.name = token;
    }
    former = token;
    if (token === "{" && depth === 0 && typeof definition === "object") definition.selection = index;
    if (token === "{" || token === "(") depth += 1;
    if (token === "}" || token === ")") depth = Math.max(0, depth - 1);
    if (token === "}" && depth === 0) {
      if (typeof definition === "object") definition.to = index + 1;
      definition = undefined;
    }
  }
  return found;
}

/** The operation that begins with this word or brace, if one does. */
function begun(token: string, place: Pick<Operation, "from" | "to" | "selection">): Operation | undefined {
  if (token === "{") return { type: "query", ...place };
  const type = TYPES.find((each) => each === token);
  return type && { type, ...place };
}

/** The operation that is executed: the only one, the named one, or else the first. */
export function executed(found: readonly Operation[], name: string | undefined): Operation | undefined {
  return found.find((each) => each.name !== undefined && each.name === name) ?? found[0];
}

// Writes YAML that every reader understands alike: what YAML 1.1 takes for a number, a time or a truth value is quoted.

export type Yaml = string | number | boolean | null | readonly Yaml[] | { readonly [key: string]: Yaml | undefined };

/** One document. Members that are `undefined` are left out. */
export function toYaml(value: { readonly [key: string]: Yaml | undefined }): string {
  return lines(value, "").join("\n") + "\n";
}

function lines(value: Yaml, indent: string): string[] {
  if (isList(value)) {
    return value.flatMap((item) => {
      const [first = "", ...others] = nested(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...others];
    });
  }
  if (value === null || typeof value !== "object") return [indent + scalar(value)];
  return Object.entries(value).flatMap(([key, member]) => {
    if (member === undefined) return [];
    const name = `${indent}${scalar(key)}:`;
    const inner = nested(member, isList(member) ? indent : `${indent}  `);
    return typeof member === "object" && member !== null && inner[0] !== "[]" && inner[0] !== "{}"
      ? [name, ...inner]
      : [`${name} ${inner[0]!.trimStart()}`];
  });
}

function nested(value: Yaml, indent: string): string[] {
  if (typeof value === "object" && value !== null && Object.values(value).every((member) => member === undefined)) {
    return [isList(value) ? "[]" : "{}"];
  }
  return lines(value, indent);
}

function isList(value: Yaml): value is readonly Yaml[] {
  return Array.isArray(value);
}

/** Words that some reader takes for something other than a text. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** Texts that need no quotes: they begin with a letter, so that they are no number, time or range of such. */
const PLAIN = /^[A-Za-z][\w./@-]*(?::[\w./@-]+)*$/;

function scalar(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !RESERVED.test(value) ? value : quoted(value);
}

/** In double quotes; all but letters and digits beyond ASCII is escaped, since it may be invisible. */
function quoted(text: string): string {
  const escaped = text.replace(/[^\x20-\x7e]|["\\]/gu, (letter) => {
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    if (letter === "\n") return "\\n";
    if (/[\p{L}\p{N}]/u.test(letter)) return letter;
    const code = letter.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

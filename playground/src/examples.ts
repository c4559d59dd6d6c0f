// The examples: the operations of `examples/operations.graphql`, under the headings and with the words of that file.

import text from "../../examples/operations.graphql?raw";

export interface Example {
  name: string;
  /** What it asks for, in a sentence or two. */
  about: string;
  query: string;
}

export interface Group {
  title: string;
  examples: Example[];
}

/** Every example, in the order of the file. */
export const GROUPS: Group[] = groups(text);

/** Each heading `# == Title ==` begins a group; in it, each operation has its comment before it. */
function groups(text: string): Group[] {
  const [, ...parts] = text.split(/^# == (.+) ==$/m);
  const found: Group[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    found.push({ title: parts[at]!, examples: examples(parts[at + 1]!) });
  }
  return found;
}

function examples(text: string): Example[] {
  const operations = text.matchAll(/((?:^#.*\n)+)(^(?:query|subscription) (\w+)[^]*?^\}$)/gm);
  return [...operations].map(([, comment, query, name]) => ({
    name: name!,
    about: comment!.replace(/^# ?/gm, "").replaceAll("\n", " ").trim(),
    query: `${query}\n`,
  }));
}

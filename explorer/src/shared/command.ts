// Commands to copy.

/** A command line whose arguments a POSIX shell passes on as they are. */
export function command(...words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

// Version ranges in words. Pure.

const WORDS: Record<string, (version: string) => string> = {
  ">=": (version) => `${version} or newer`,
  ">": (version) => `newer than ${version}`,
  "<=": (version) => `up to ${version}`,
  "<": (version) => `before ${version}`,
  "!": (version) => `not ${version}`,
  "!=": (version) => `not ${version}`,
  "=": (version) => `exactly ${version}`,
  "==": (version) => `exactly ${version}`,
  "": (version) => `exactly ${version}`,
};

/**
 * A range of comparators in words, such as `1.0.0 or newer, before 2.0.0`; the range itself where it has more than
 * comparators of whole versions.
 */
export function rangeInWords(range: string): string {
  const alternatives = range.split("||").map((part) => {
    const comparators = part
      .trim()
      .replace(/([<>=!])\s+/g, "$1")
      .split(/[\s,]+/);
    return comparators.map((comparator) => {
      const [, sign, version] = /^([<>=!]*)v?(\d+\.\d+\.\d+(?:[-+][\w.+-]*)?)$/.exec(comparator) ?? [];
      return version === undefined ? undefined : WORDS[sign!]?.(version);
    });
  });
  if (alternatives.flat().includes(undefined)) return range;
  return alternatives.map((words) => words.join(", ")).join("; or ");
}

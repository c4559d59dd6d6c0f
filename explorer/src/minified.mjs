// The text of a document as it is sent.

/**
 * A document without the spaces that GraphQL ignores. It must have none within strings: scripts/types.mjs checks that.
 *
 * @param {string} text
 */
export function minified(text) {
  return text.replace(/[\s,]+/g, " ").replace(/ ?([{}():!|=[\]]|\.\.\.) ?/g, "$1");
}

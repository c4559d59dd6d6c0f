// What both pages say where the server wants to know who asks, and which tokens they take.

export const TOKEN_TEXTS = {
  title: "A token is needed",
  about:
    "This server shows each caller the catalogs that it may read, and wants to know who asks. The token is kept in the memory of this page, until you close or reload it.",
  refused: "The token was not accepted.",
  label: "Bearer token",
  /** The command is between backticks. */
  hint: "On a cluster, `kubectl create token NAME` makes one for a service account.",
  use: "Use the token",
} as const;

/**
 * What is wrong with a token, or an empty text: what `setCustomValidity` takes. A header cannot carry other characters, so that
 * no request with them would be sent.
 */
export function tokenFault(text: string): string {
  return /^[\x21-\x7e]*$/.test(text.trim()) ? "" : "A token has letters, digits and signs of ASCII only, and no spaces.";
}

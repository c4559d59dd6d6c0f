// Why nothing would be installed, in words. Pure.

import type { ResolutionFailureCode } from "../generated/documents";

const FAILURES: Record<ResolutionFailureCode, string> = {
  INVALID_REQUEST: "the request is not valid",
  PACKAGE_NOT_FOUND: "no catalog has this package",
  NO_MATCHING_BUNDLE: "no bundle meets the request",
  AMBIGUOUS: "several catalogs have an equally good bundle",
  HAS_DEPENDENCIES: "the best bundle has dependencies",
  CATALOG_NOT_VERIFIED: "only catalogs that are not verified have this package",
};

/** Words of a library of upstream, and what they mean. */
const FOREIGN_WORDS = "improper constraint: ";
const OWN_WORDS = "not a range of versions: ";

/** A message of the server, with what to do about it where that is known. As the commands say it. */
export interface FailureMessage {
  text: string;
  hint?: string;
}

export function failureMessage(message: string): FailureMessage {
  if (!message.includes(FOREIGN_WORDS)) return { text: message };
  return { text: message.replace(FOREIGN_WORDS, OWN_WORDS), hint: "Write a range of versions as `>=1.2.0 <2.0.0`." };
}

export function failureText(code: ResolutionFailureCode): string {
  return FAILURES[code];
}

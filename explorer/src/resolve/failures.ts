// Why nothing would be installed, in words. Pure.

import type { ResolutionFailureCode } from "../generated/documents";

const FAILURES: Record<ResolutionFailureCode, string> = {
  INVALID_REQUEST: "the request is not valid",
  PACKAGE_NOT_FOUND: "no catalog has this package",
  NO_MATCHING_BUNDLE: "no bundle meets the request",
  AMBIGUOUS: "several catalogs have an equally good bundle",
  HAS_DEPENDENCIES: "the best bundle has dependencies",
};

export function failureText(code: ResolutionFailureCode): string {
  return FAILURES[code];
}

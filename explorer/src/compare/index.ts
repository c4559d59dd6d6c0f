// What the tests of comparisons look at.

export { diffLines, MAX_DIFFERENCES } from "./lines";
export { changesOf, imageChanges } from "./lists";
export { rangeInWords } from "./range";

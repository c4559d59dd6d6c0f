// What the tests of comparisons look at.

export { diffLines, MAX_DIFFERENCES } from "./lines";
export { rangeInWords } from "./range";

// What the tests of the update graph look at.

export { layOut } from "./lanes";
export { foldedRows, restingName } from "./rest";
export { textOf } from "./texts";
export { Upgrades } from "./upgrades";

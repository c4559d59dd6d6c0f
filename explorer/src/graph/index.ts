// What the tests of the update graph look at.

export { layOut } from "./lanes";
export { textOf } from "./texts";
export { Upgrades } from "./upgrades";

// What the tests of snippets look at.

export { command } from "../shared/command";
export { platformNames } from "./platform";
export * from "./snippets";
export { toYaml } from "./yaml";

// What the tests of snippets look at.

export * from "./snippets";
export { toYaml } from "./yaml";

// What pages are made of.

export { Copy } from "./copy";
export { Deprecated, DeprecationAlert } from "./deprecated";
export { Dialog } from "./dialog";
export { FirstOf } from "./first-of";
export { Icon } from "./icon";
export { OpenInPlayground, playgroundUrl } from "./playground";
export { Day } from "./day";
export { Digest } from "./digest";
export { ProblemList } from "./problem-list";
export { Empty, Failure, Loading, Result } from "./states";
export { Table } from "./table";
export { Tabs } from "./tabs";

// What pages are made of.

export { Copy } from "./copy";
export { Deprecated, DeprecationAlert } from "./deprecated";
export { Dialog } from "./dialog";
export { FirstOf } from "./first-of";
export { Icon } from "./icon";
export { NextPage } from "./next-page";
export { OpenInPlayground } from "./playground";
export { Day } from "./day";
export { Digest } from "./digest";
export { Empty, Failure, Loading, Result } from "./states";
export { type ColumnHead, Table } from "./table";
export { Tabs } from "./tabs";
export { Words } from "../shared/words";

// Addresses: the path never changes, and the query string says which page is shown and in which state.
//
// One document works below any path that a proxy puts before it, and every state can be linked to.

import type { ComponentChildren, HTMLAttributes, PartialAnchorHTMLAttributes } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";

import { CLUSTER_KEYS, cluster, clusterOf, isEmpty } from "./cluster/cluster";
import { SITE } from "./shared/places";
import { createStore, useStore } from "./store";

/** The list of packages with the conditions on it. */
export interface ListAddress {
  page: "list";
  q?: string | undefined;
  in: readonly string[];
  category: readonly string[];
  provider: readonly string[];
  keyword: readonly string[];
  level: readonly string[];
  mode: readonly string[];
  feature: readonly string[];
  /** Architectures that its author names. The key `architecture` is that of the reader's cluster. */
  arch: readonly string[];
  /** Whether OLM v1 can install it, as the schema says it. */
  olmv1: readonly string[];
  certified?: "yes" | "no" | undefined;
  deprecated?: "no" | "only" | undefined;
  sort?: "best" | "name" | "new" | undefined;
  /** Whether a package that several catalogs have is a tile for each of them. */
  each?: "catalog" | undefined;
}

export const PACKAGE_TABS = ["overview", "updates", "versions", "contents", "permissions", "install", "problems"] as const;
export type PackageTab = (typeof PACKAGE_TABS)[number];

export interface PackageAddress {
  page: "package";
  /** Without it, the catalogs that have the package are listed. */
  catalog?: string | undefined;
  package: string;
  channel?: string | undefined;
  version?: string | undefined;
  tab?: PackageTab | undefined;
  /** Bundle that is selected in the update graph. */
  selected?: string | undefined;
  /** Bundle that the selected one is compared with. */
  marked?: string | undefined;
  /** Bundle that is installed, and the one that is wanted, for advice on the way between them. */
  installed?: string | undefined;
  wanted?: string | undefined;
}

export interface VersionAddress {
  page: "version";
  catalog: string;
  package: string;
  bundle: string;
}

export interface CompareAddress {
  page: "compare";
  catalog: string;
  package: string;
  /** Names of bundles. */
  from?: string | undefined;
  to?: string | undefined;
}

/** What would be installed: by a `ClusterExtension`, or by a `Subscription` with its dependencies. */
export interface ResolveAddress {
  page: "resolve";
  name?: string | undefined;
  /** The rules: those of OLM v1, or of v0. */
  olm?: "v0" | undefined;
  version?: string | undefined;
  channel: readonly string[];
  in: readonly string[];
  selector?: string | undefined;
  /** `[PACKAGE/]BUNDLE[@VERSION]`; for v0 several, with spaces between. */
  installed?: string | undefined;
  policy?: string | undefined;
  /** The cluster that the bundle must be compatible with. */
  kubernetes?: string | undefined;
  openshift?: string | undefined;
  architecture?: string | undefined;
}

/** What happens to what is installed when the platform is upgraded. */
export interface PlanAddress {
  page: "upgrade-plan";
  /** Versions of the platform; without `from`, that of the reader's cluster. */
  from?: string | undefined;
  to?: string | undefined;
  /** Catalogs of a version that are not those it seems to have: `VERSION=NAME,NAME`. */
  step: readonly string[];
  /** What is installed beside what the browser was told: `PACKAGE@VERSION[:CHANNEL]`. */
  installed: readonly string[];
  /** Whether what the browser was told is left out. */
  mine?: "no" | undefined;
}

/** Packages of several catalogs side by side. */
export interface MatrixAddress {
  page: "matrix";
  in: readonly string[];
  q?: string | undefined;
  /** Only packages with this mark. */
  mark?: string | undefined;
}

/** The part of a catalog that a disconnected cluster needs. */
export interface MirrorAddress {
  page: "mirror";
  catalog?: string | undefined;
  /** What is wanted of each package: see `mirror/picks.ts`. */
  pick: readonly string[];
  /** Whether all entries of the channels are wanted. */
  full?: "yes" | undefined;
  /** Whether only what runs on the reader's cluster is wanted. */
  fits?: "yes" | undefined;
  /** The registry to copy to. */
  to?: string | undefined;
}

export interface CatalogsAddress {
  page: "catalogs";
}

export interface CatalogAddress {
  page: "catalog";
  catalog: string;
  severity?: "error" | undefined;
}

/** Sides are names of catalogs, or digests of contents. */
export interface DiffAddress {
  page: "diff";
  from?: string | undefined;
  to?: string | undefined;
  /** Only packages whose name has this in it, and that changed so. */
  q?: string | undefined;
  change?: string | undefined;
}

export interface ApiAddress {
  page: "api";
  /** Empty for the core group. */
  group: string;
  kind: string;
}

export type Address =
  | ListAddress
  | PackageAddress
  | VersionAddress
  | CompareAddress
  | ResolveAddress
  | CatalogsAddress
  | CatalogAddress
  | DiffAddress
  | ApiAddress
  | PlanAddress
  | MatrixAddress
  | MirrorAddress;

/** A list of packages without any condition. */
export const EVERYTHING: ListAddress = {
  page: "list",
  in: [],
  category: [],
  provider: [],
  keyword: [],
  level: [],
  mode: [],
  feature: [],
  arch: [],
  olmv1: [],
};

/** What a query string shows. Unknown keys are ignored; what makes no sense is the list. */
export function parseAddress(search: string): Address {
  const parameters = new URLSearchParams(search);
  const one = (key: string) => parameters.get(key) || undefined;
  const all = (key: string) => parameters.getAll(key).filter(Boolean);
  const choice = <Value extends string>(key: string, values: readonly Value[]) =>
    values.find((value) => value === parameters.get(key));
  const [catalog, name] = [one("catalog"), one("package")];
  if (parameters.has("resolve")) {
    const request = { version: one("version"), selector: one("selector"), installed: one("installed"), policy: one("policy") };
    const cluster = { kubernetes: one("kubernetes"), openshift: one("openshift"), architecture: one("architecture") };
    const olm = choice("olm", ["v0"]);
    return { page: "resolve", name: one("name"), olm, channel: all("channel"), in: all("in"), ...request, ...cluster };
  }
  if (parameters.has("upgrade-plan")) {
    return { page: "upgrade-plan", from: one("from"), to: one("to"), step: all("step"), installed: all("installed"), mine: choice("mine", ["no"]) };
  }
  if (parameters.has("matrix")) return { page: "matrix", in: all("in"), q: one("q"), mark: one("mark") };
  if (parameters.has("mirror")) return { page: "mirror", catalog, pick: all("pick"), full: choice("full", ["yes"]), fits: choice("fits", ["yes"]), to: one("to") };
  if (parameters.has("diff")) return { page: "diff", from: one("from"), to: one("to"), q: one("q"), change: one("change") };
  const api = one("api");
  if (api) {
    const slash = api.lastIndexOf("/");
    return { page: "api", group: api.slice(0, Math.max(slash, 0)), kind: api.slice(slash + 1) };
  }
  if (parameters.has("catalogs")) {
    if (!catalog) return { page: "catalogs" };
    return { page: "catalog", catalog, severity: choice("severity", ["error"]) };
  }
  if (name) {
    const [from, to, bundle] = [one("from"), one("to"), one("bundle")];
    if (catalog && (from || to)) return { page: "compare", catalog, package: name, from, to };
    if (catalog && bundle) return { page: "version", catalog, package: name, bundle };
    const selection = { selected: one("selected"), marked: one("marked"), installed: one("installed"), wanted: one("wanted") };
    const rest = { channel: one("channel"), version: one("version"), tab: choice("tab", PACKAGE_TABS), ...selection };
    return { page: "package", catalog, package: name, ...rest };
  }
  return {
    page: "list",
    q: one("q"),
    in: all("in"),
    category: all("category"),
    provider: all("provider"),
    keyword: all("keyword"),
    level: all("level"),
    mode: all("mode"),
    feature: all("feature"),
    arch: all("arch"),
    olmv1: all("olmv1"),
    certified: choice("certified", ["yes", "no"]),
    deprecated: choice("deprecated", ["no", "only"]),
    sort: choice("sort", ["best", "name", "new"]),
    each: choice("each", ["catalog"]),
  };
}

/** Pages that an address names by a key of their own. */
const FLAGS: readonly string[] = ["resolve", "diff", "upgrade-plan", "matrix", "mirror"];

/** The relative URL of an address. */
export function href(address: Address): string {
  const { page, ...values } = address;
  const parameters = new URLSearchParams();
  if (FLAGS.includes(page)) parameters.append(page, "1");
  if (page === "catalogs" || page === "catalog") parameters.append("catalogs", "1");
  if (address.page === "api") {
    parameters.append("api", `${address.group}/${address.kind}`);
  } else {
    for (const [key, value] of Object.entries(values)) {
      for (const each of Array.isArray(value) ? value : [value]) if (each) parameters.append(key, each);
    }
  }
  // What is asked of the page that resolves has a cluster of its own.
  const named = page === "resolve" ? {} : cluster.get();
  for (const key of CLUSTER_KEYS) if (named[key]) parameters.append(key, named[key]);
  // A slash or a comma in a value needs no escape, and names of APIs are legible without.
  const search = parameters.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%40", "@").replaceAll("%3A", ":");
  return search ? `?${search}` : "./";
}

/** What one entry of the browser's history remembers. */
interface Remembered {
  scroll?: number;
  /** The element that had the focus: its `href` or `id`, and how many before it have the same. */
  focus?: { name: string; before: number };
  values?: Record<string, unknown>;
}

const search = createStore(location.search);

/** How the address that is shown was come to, until its page is there. */
let arrival: "forward" | "back" | undefined = "back";

history.scrollRestoration = "manual";
addEventListener("popstate", () => {
  arrival = "back";
  adoptCluster();
  search.set(location.search);
});

// A page that is opened without a cluster has that of the last visit.
nameCluster();
cluster.subscribe(nameCluster);

/** Takes the cluster that the address names, if it names one. */
function adoptCluster() {
  const parameters = new URLSearchParams(location.search);
  const named = clusterOf(parameters);
  if (!parameters.has("resolve") && !isEmpty(named)) cluster.set(named);
}

/** Names the cluster in the address that is shown. */
function nameCluster() {
  const path = pathTo(parseAddress(location.search));
  const parameters = new URLSearchParams(location.search);
  if (parameters.has("resolve") || CLUSTER_KEYS.every((key) => (parameters.get(key) ?? undefined) === cluster.get()[key])) return;
  history.replaceState(history.state, "", path);
  search.set(location.search);
}

/** How far the page is scrolled. It is noted, since `scrollY` would lay out the page anew when it goes away. */
let scrolled = 0;
addEventListener("scroll", () => (scrolled = scrollY), { passive: true });
addEventListener("pagehide", () => leave(scrolled));

/** The address that is shown. */
export function useAddress(): Address {
  return parseAddress(useStore(search));
}

/**
 * Goes to an address, as a link does. With `stay`, scroll and focus are left as they are: what is shown is another state of
 * the same page, such as a list with one more condition.
 */
export function navigate(address: Address, { stay = false } = {}) {
  leave(scrollY);
  history.pushState(stay ? { scroll: scrollY } : {}, "", pathTo(address));
  if (!stay) {
    arrival = "forward";
    scrollTo({ top: 0, behavior: "instant" });
  }
  search.set(location.search);
}

/**
 * Shows an address in the place of the one that is shown, as typing in a field does. Focus and scroll stay. With `isOther`, it
 * is that of another page, whose heading takes the focus from the one before.
 */
export function replace(address: Address, { isOther = false } = {}) {
  if (isOther && document.activeElement?.tagName === "H1") arrival = "forward";
  history.replaceState({ ...remembered(), values: {} }, "", pathTo(address));
  search.set(location.search);
}

export interface LinkProps extends Omit<PartialAnchorHTMLAttributes<HTMLAnchorElement>, "href" | "role"> {
  to: Address;
  /** Whether scroll and focus are left as they are. */
  stay?: boolean;
  children?: ComponentChildren;
}

/** A link within the explorer. */
export function Link({ to, stay = false, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!isPlain || event.defaultPrevented) return;
    event.preventDefault();
    navigate(to, { stay });
  };
  return (
    <a {...rest} href={href(to)} onClick={follow}>
      {children}
    </a>
  );
}

/** A value that comes back with this entry of the history, such as how much of a list was shown. */
export function recall<Value>(key: string): Value | undefined {
  return remembered().values?.[key] as Value | undefined;
}

/** Keeps a value for when this entry of the history is come back to. */
export function remember(key: string, value: unknown) {
  const state = remembered();
  history.replaceState({ ...state, values: { ...state.values, [key]: value } }, "");
}

/**
 * The heading of a page. It names the document, and takes the focus when the page was gone to by a link; when it was come
 * back to, scroll and focus are as they were.
 */
export function Heading({ title, children, ...rest }: { title: string; children?: ComponentChildren } & Omit<HTMLAttributes<HTMLHeadingElement>, "role">) {
  useEffect(() => {
    document.title = `${title} · ${SITE}`;
  }, [title]);
  const shown = useStore(search);
  useLayoutEffect(() => {
    if (arrival === "forward") document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    if (arrival === "back") restore(remembered());
    arrival = undefined;
  }, [title, shown]);
  return (
    <h1 tabIndex={-1} {...rest}>
      {children ?? title}
    </h1>
  );
}

/** For so long a page may grow until it is as long as it was, in milliseconds. */
const RESTORE_MILLISECONDS = 3000;

/** Scrolls to where the reader was as soon as the page is long enough, unless the reader scrolls first. */
function restore({ scroll = 0, focus }: Remembered) {
  if (!scroll && !focus) return;
  const end = new AbortController();
  const attempt = () => {
    scrollTo({ top: scroll, behavior: "instant" });
    if (focus) focusable(focus.name)[focus.before]?.focus({ preventScroll: true });
    const isThere = Math.abs(scrollY - scroll) < 2 && (!focus || document.activeElement !== document.body);
    if (isThere) end.abort();
  };
  const observer = new ResizeObserver(attempt);
  observer.observe(document.body);
  for (const event of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    addEventListener(event, () => end.abort(), { signal: end.signal, passive: true });
  }
  const timer = setTimeout(() => end.abort(), RESTORE_MILLISECONDS);
  end.signal.addEventListener("abort", () => {
    observer.disconnect();
    clearTimeout(timer);
  });
}

function focusable(name: string): HTMLElement[] {
  const elements = document.querySelectorAll<HTMLElement>("a[href], [id]");
  return [...elements].filter((element) => element.getAttribute("href") === name || element.id === name);
}

/** Notes where the reader is before another address is shown. */
function leave(scroll: number) {
  const active = document.activeElement;
  const state = remembered();
  const name = active?.getAttribute("href") ?? active?.id;
  const focus = name ? { name, before: focusable(name).indexOf(active as HTMLElement) } : state.focus;
  const isKnown = focus?.name === state.focus?.name && focus?.before === state.focus?.before;
  if (scroll === (state.scroll ?? 0) && isKnown) return;
  history.replaceState({ ...state, scroll, ...(focus && { focus }) }, "");
}

function remembered(): Remembered {
  return history.state ?? {};
}

/** Relative to the path, so that a page without conditions has no `?`. */
function pathTo(address: Address): string {
  const relative = href(address);
  return relative === "./" ? location.pathname : relative;
}

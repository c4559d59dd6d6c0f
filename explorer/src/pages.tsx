// Which page an address shows. All but the list are loaded when they are first shown.

import type { ComponentType } from "preact";
import { type Address, Heading, href } from "./address";
import { queryAhead } from "./client";
import { Packages } from "./generated/documents";
import { variablesOf } from "./list/conditions";
import { ListPage } from "./list/list-page";
import { Loading } from "./parts/states";
import { useModule } from "./use-module";

/** The pages that are loaded when they are first shown. */
const LAZY = {
  package: () => import("./package/package-page"),
  version: () => import("./package/version-page"),
  compare: () => import("./compare/compare-page"),
  resolve: () => import("./resolve/resolve-page"),
  api: () => import("./package/api-page"),
  catalogs: () => import("./catalogs/catalogs-page"),
  catalog: () => import("./catalogs/catalog-page"),
  diff: () => import("./catalogs/diff-page"),
  "upgrade-plan": () => import("./plan/plan-page"),
  matrix: () => import("./matrix/matrix-page"),
  mirror: () => import("./mirror/mirror-page"),
} as const;

type LazyPage = keyof typeof LAZY;
type AnyPage = ComponentType<{ address: Address }>;

/** Those that are loaded. */
const loaded = new Map<LazyPage, AnyPage>();

/** Asks for what the page of an address needs first, before that is rendered. */
export function prepare(address: Address) {
  if (address.page === "list") queryAhead(Packages, variablesOf(address));
  // The page says that it cannot be loaded.
  else load(address.page).catch(() => undefined);
}

async function load(name: LazyPage): Promise<AnyPage> {
  const { default: page } = await LAZY[name]();
  loaded.set(name, page as AnyPage);
  return page as AnyPage;
}

/** Loads the page that follows the list most often, so that the next click waits for its data alone. */
export function preload() {
  // A click that needs it tries again.
  load("package").catch(() => undefined);
}

export function Page({ address }: { address: Address }) {
  if (address.page === "list") return <ListPage address={address} />;
  return <Lazy key={identity(address)} name={address.page} address={address} />;
}

/** What a page is about: the same page of another package starts afresh. */
function identity(address: Address): string {
  switch (address.page) {
    case "package":
      return `package ${address.catalog} ${address.package}`;
    case "catalog":
      return `catalog ${address.catalog}`;
    case "resolve":
    case "compare":
    case "diff":
    case "upgrade-plan":
    case "matrix":
    case "mirror":
      return address.page;
    default:
      return href(address);
  }
}

function Lazy({ name, address }: { name: LazyPage; address: Address }) {
  const { module: Shown, isGone } = useModule(loaded.get(name), () => load(name));
  if (Shown) return <Shown address={address} />;
  if (!isGone) return <Loading />;
  return (
    <div class="alert danger" role="alert">
      <div>
        <Heading title="This page cannot be loaded" />
        <p>The server has been updated since this page was opened.</p>
        <p class="actions">
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </div>
    </div>
  );
}

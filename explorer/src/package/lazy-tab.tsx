// Tabs whose code is loaded when they are first shown.

import type { ComponentType } from "preact";

import { Empty, Loading } from "../parts";
import { useModule } from "../use-module";
import type { TabProps } from "./package-page";

/** A tab from a module of its own; `what` says in the plural what it shows. */
function lazyTab(load: () => Promise<ComponentType<TabProps>>, what: string) {
  let loaded: ComponentType<TabProps> | undefined;
  const loadOnce = async () => (loaded = await load());
  return function LazyTab(props: TabProps) {
    const { module: Shown, isGone } = useModule(loaded, loadOnce);
    if (Shown) return <Shown {...props} />;
    if (!isGone) return <Loading boxes={12} />;
    return (
      <Empty title={`The ${what} cannot be loaded`}>
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    );
  };
}

export const InstallTab = lazyTab(async () => (await import("../snippets/install")).InstallSnippets, "manifests");

export const PermissionsTab = lazyTab(async () => (await import("../permissions/permissions")).Permissions, "permissions");

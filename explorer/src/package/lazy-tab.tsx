// Tabs whose code is loaded when they are first shown.

import type { ComponentType } from "preact";

import { useInstalled } from "../cluster/use-installed";
import type { PermissionsProps } from "../permissions/permissions";
import { Empty, Loading } from "../parts";
import { useModule } from "../use-module";
import type { TabProps } from "./package-page";

/** A tab from a module of its own; `what` says in the plural what it shows. */
function lazyTab<Props extends TabProps>(load: () => Promise<ComponentType<Props>>, what: string) {
  let loaded: ComponentType<Props> | undefined;
  const loadOnce = async () => (loaded = await load());
  return function LazyTab(props: Props) {
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

const LazyPermissions = lazyTab<PermissionsProps>(async () => (await import("../permissions/permissions")).Permissions, "permissions");

export function PermissionsTab(props: TabProps) {
  // Asked for here: a part that is loaded later and imports it would split the first page into two files.
  const installed = useInstalled().find(({ packageName }) => packageName === props.found.name);
  return <LazyPermissions {...props} installed={installed?.name} />;
}

// The tab with manifests, whose code is loaded when it is first shown.

import { Empty, Loading } from "../parts";
import type { InstallSnippets } from "../snippets/install";
import { useModule } from "../use-module";
import type { TabProps } from "./package-page";

let loaded: typeof InstallSnippets | undefined;

async function loadInstall(): Promise<typeof InstallSnippets> {
  loaded = (await import("../snippets/install")).InstallSnippets;
  return loaded;
}

export function InstallTab(props: TabProps) {
  const { module: Shown, isGone } = useModule(loaded, loadInstall);
  if (Shown) return <Shown {...props} />;
  if (!isGone) return <Loading boxes={12} />;
  return (
    <Empty title="The manifests cannot be loaded">
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </Empty>
  );
}

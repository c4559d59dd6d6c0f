// A part of the program that is loaded when it is first shown.

import { type ComponentChildren, type ComponentType, createElement } from "preact";
import { useEffect, useState } from "preact/hooks";

import { isReachable } from "./client";
import { useStore } from "./store";

/** A module that is loaded, that is being loaded, or that another build of the server no longer has. */
export interface ModuleState<Module> {
  module?: Module | undefined;
  /** Whether loading it failed while the server was there. Only a reload of the page helps. */
  isGone: boolean;
}

/** Loads a module. If the server cannot be reached, loads it again as soon as it can. */
export function useModule<Module>(loaded: Module | undefined, load: () => Promise<Module>): ModuleState<Module> {
  const [module, setModule] = useState(() => loaded);
  const [failures, setFailures] = useState(0);
  const isThere = useStore(isReachable);
  const isGone = failures > 1 && isThere;
  const waits = failures > 0 && !isThere;
  // A server that went away again may still serve this build.
  useEffect(() => {
    if (!isThere && failures > 1) setFailures(1);
  }, [isThere, failures]);
  useEffect(() => {
    if (module || waits || isGone) return;
    if (failures > 0) reloadStyles();
    load().then(
      (module) => setModule(() => module),
      () => {
        // Whether the server is away, or serves another build, is found out by asking it.
        if (failures === 0) isReachable.set(false);
        setFailures(failures + 1);
      },
    );
  }, [waits]);
  return { module, isGone };
}

/** A component that is loaded when it is first shown. */
export function onDemand<Props extends object>(load: () => Promise<ComponentType<Props>>, meanwhile: ComponentChildren = null) {
  let loaded: ComponentType<Props> | undefined;
  return function OnDemand(props: Props) {
    const { module } = useModule(loaded, async () => (loaded = await load()));
    return module ? createElement(module, props) : meanwhile;
  };
}

/** Loads the style sheets that failed once more: the import of a module waits for its own only the first time. */
function reloadStyles() {
  for (const link of document.querySelectorAll<HTMLLinkElement>("link[rel=stylesheet]")) {
    if (!link.sheet) link.replaceWith(link.cloneNode());
  }
}

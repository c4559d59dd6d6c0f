// A component whose code is loaded when it is first shown.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

/** The component, which shows what was loaded; where that fails, showing it again tries again. */
export function lazily<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [state, setState] = useState<"loading" | "loaded" | "failed">(loaded ? "loaded" : "loading");
    useEffect(() => {
      if (loaded) return;
      load().then(
        (module) => {
          loaded = module.default;
          setState("loaded");
        },
        () => setState("failed"),
      );
    }, []);
    const Loaded = loaded;
    if (Loaded) return <Loaded {...props} />;
    return <p role="status">{state === "failed" ? "This could not be loaded. Open it again to try again." : "Loading…"}</p>;
  };
}

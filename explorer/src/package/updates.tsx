// The update graph of a package.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { UpdateGraph } from "../graph/graph";
import { PackageVersions } from "../generated/PackageVersions";
import { Loading, OpenInPlayground, Result } from "../parts";
import type { TabProps } from "./package-page";
import { useVersions } from "./use-versions";

/** The graph is loaded when it is first shown. */
let loaded: typeof UpdateGraph | undefined;

function useGraph(): typeof UpdateGraph | undefined {
  const [, render] = useState({});
  useEffect(() => {
    if (loaded) return;
    import("../graph/graph").then(
      (module) => {
        loaded = module.UpdateGraph;
        render({});
      },
      // Another build is served now, which has other files.
      () => location.reload(),
    );
  }, []);
  return loaded;
}

export function Updates({ address, found }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name };
  const { result, found: graph, versions, isPartial } = useVersions(address.catalog, found.name);
  const Graph = useGraph();
  const data = useMemo(
    () => graph && { channels: graph.channels, versions, skipRanges: graph.updateGraph.skipRanges },
    [graph, versions],
  );
  return (
    <>
      <Result of={result} document={PackageVersions} variables={variables}>
        {() =>
          data && Graph ? (
            <Graph
              catalog={address.catalog}
              packageName={found.name}
              data={data}
              channel={address.channel}
              withChannel={(channel) => ({ ...address, channel, version: undefined })}
            />
          ) : (
            <Loading boxes={12} />
          )
        }
      </Result>
      {isPartial && <p role="status">Loading more versions …</p>}
      <OpenInPlayground document={PackageVersions} variables={variables} />
    </>
  );
}

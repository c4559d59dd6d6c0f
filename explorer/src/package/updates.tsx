// The update graph of a package.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { UpdateGraph } from "../graph/graph";
import { PackageVersions } from "../generated/documents";
import { Empty, Loading, OpenInPlayground, Result } from "../parts";
import type { TabProps } from "./package-page";

let loaded: typeof UpdateGraph | undefined;
let loading: Promise<unknown> | undefined;

/** Loads the graph, which only this tab needs. */
export function loadGraph(): Promise<unknown> {
  loading ??= import("../graph/graph").then((module) => {
    loaded = module.UpdateGraph;
  });
  return loading;
}

/**
 * The graph, or whether it cannot be loaded: the server is gone, or another build is served now, which has other
 * files.
 */
function useGraph(): { Graph?: typeof UpdateGraph | undefined; failed: boolean } {
  const [failed, setFailed] = useState(false);
  const [Graph, setGraph] = useState(() => loaded);
  useEffect(() => {
    if (Graph) return;
    loadGraph().then(
      () => setGraph(() => loaded),
      () => setFailed(true),
    );
  }, []);
  return { Graph, failed };
}

export function Updates({ address, found, versions: all }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name };
  const { result, found: graph, versions, missing } = all;
  const { Graph, failed } = useGraph();
  const data = useMemo(
    () => graph && { channels: graph.channels, versions, skipRanges: graph.updateGraph.skipRanges },
    [graph, versions],
  );
  return (
    <>
      <Result of={result} document={PackageVersions} variables={variables}>
        {() =>
          missing === "failed" ? (
            // Without them, others would seem to be stranded, or not in the catalog.
            <div role="alert">
              <Empty title="Not all versions could be loaded">
                <button type="button" onClick={result.retry}>
                  Try again
                </button>
              </Empty>
            </div>
          ) : data && Graph && !missing ? (
            <Graph
              catalog={address.catalog}
              packageName={found.name}
              data={data}
              channel={address.channel}
              withChannel={(channel) => ({ ...address, channel, version: undefined })}
            />
          ) : failed ? (
            <Empty title="The picture cannot be loaded">
              <button type="button" onClick={() => location.reload()}>
                Reload
              </button>
            </Empty>
          ) : (
            <Loading boxes={12} />
          )
        }
      </Result>
      <OpenInPlayground document={PackageVersions} variables={variables} />
    </>
  );
}

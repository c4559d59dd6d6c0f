// The update graph of a package.

import { useMemo } from "preact/hooks";

import { replace } from "../address";
import { Advisor } from "../advisor/advisor";
import { useInstalled } from "../cluster/use-installed";
import type { UpdateGraph } from "../graph/graph";
import { PackageVersions } from "../generated/documents";
import { Empty, Loading, OpenInPlayground, Result } from "../parts";
import { useModule } from "../use-module";
import { compatibleNames } from "./compatible";
import type { TabProps } from "./package-page";

let loaded: typeof UpdateGraph | undefined;

/** Loads the graph, which only this tab needs. */
export async function loadGraph(): Promise<typeof UpdateGraph> {
  const module = await import("../graph/graph");
  loaded = module.UpdateGraph;
  return loaded;
}

export function Updates({ address, found, versions: all }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name };
  const { result, found: graph, versions, missing } = all;
  const installed = useInstalled().filter(({ packageName }) => packageName === found.name);
  const { module: Graph, isGone } = useModule(loaded, loadGraph);
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
            <div class="stack">
              <Advisor address={address} data={data} versions={versions} installed={installed} compatible={compatibleNames(found)} />
              <Graph
              catalog={address.catalog}
              packageName={found.name}
              data={data}
              channel={address.channel}
              withChannel={(channel) => ({ ...address, channel, version: undefined })}
              selected={{ current: address.selected, marked: address.marked }}
              onSettle={({ current, marked }) => {
                if (current !== address.selected || marked !== address.marked) replace({ ...address, selected: current, marked });
              }}
              />
            </div>
          ) : isGone ? (
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

// The update graph of a package.

import { useMemo } from "preact/hooks";

import { UpdateGraph } from "../graph/graph";
import { PackageVersions } from "../generated/PackageVersions";
import { OpenInPlayground, Result } from "../parts";
import type { TabProps } from "./package-page";
import { useVersions } from "./use-versions";

export function Updates({ address, found }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name };
  const { result, found: graph, versions, isPartial } = useVersions(address.catalog, found.name);
  const data = useMemo(
    () => graph && { channels: graph.channels, versions, skipRanges: graph.updateGraph.skipRanges },
    [graph, versions],
  );
  return (
    <>
      <Result of={result} document={PackageVersions} variables={variables}>
        {() =>
          data && (
            <UpdateGraph
              catalog={address.catalog}
              packageName={found.name}
              data={data}
              channel={address.channel}
              withChannel={(channel) => ({ ...address, channel, version: undefined })}
            />
          )
        }
      </Result>
      {isPartial && <p role="status">Loading more versions …</p>}
      <OpenInPlayground document={PackageVersions} variables={variables} />
    </>
  );
}

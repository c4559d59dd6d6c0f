// What a manifest installs with the content that is served now.

import { Link, type ResolveAddress } from "../address";
import { Resolve } from "../generated/documents";
import { Glyph } from "../parts/glyph";
import { failureText } from "../resolve/failures";
import { resolveRequest } from "../resolve/request";
import { useQuery } from "../use-query";

export interface InstallsNowProps {
  address: ResolveAddress;
  /** The version that the page shows. */
  shown: string | null | undefined;
  /** Bundles that run on the reader's cluster, if that is known. */
  compatible: ReadonlySet<string> | undefined;
  /** Keeps the manifest at a version. */
  onPin: (version: string) => void;
}

/** What OLM v1 would install, and with one click the version that is shown instead. */
export function InstallsNow({ address, shown, compatible, onPin }: InstallsNowProps) {
  const { data, stale, loading } = useQuery(Resolve, { request: resolveRequest(address, []) });
  const details = <Link to={address}>How it is chosen</Link>;
  const result = data?.resolve;
  if (!result) return <p class="installs-now" role="status" aria-busy={loading} />;
  if (result.__typename === "ResolutionFailure") {
    return (
      <p class="installs-now warning" role="status">
        <Glyph name="alert" />
        <span>
          Installs <strong>nothing</strong> now: {failureText(result.code)}. {details}
        </span>
        {shown && shown !== address.version && (
          <button type="button" onClick={() => onPin(shown)}>
            Pin {shown}
          </button>
        )}
      </p>
    );
  }
  const { version, name, channelNames, package: of } = result.bundle;
  const isOther = shown !== undefined && shown !== null && version !== shown;
  const isForOthers = compatible?.has(name) === false;
  const isWarning = isOther || isForOthers;
  return (
    <p class={`installs-now${isWarning ? " warning" : ""}${stale ? " stale" : ""}`} role="status">
      <Glyph name={isWarning ? "alert" : "done"} />
      <span>
        Installs <strong>{version ?? name}</strong> now, from <bdi>{channelNames.join(", ") || "no channel"}</bdi> of{" "}
        <bdi>{of.catalog.displayName}</bdi>
        {isOther && <>, not the {shown} shown above</>}. {isForOthers && "It does not run on your cluster, which OLM does not look at. "}
        {details}
      </span>
      {isOther && (
        <button type="button" onClick={() => onPin(shown)}>
          Pin {shown}
        </button>
      )}
      {!isOther && version && address.version !== version && (
        <button type="button" onClick={() => onPin(version)}>
          Pin {version}
        </button>
      )}
    </p>
  );
}

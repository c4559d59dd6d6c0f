// The choice of a channel and of a version.

import { navigate } from "../address";
import { isErrorOf, type ResponseError } from "../client";
import { channelLabel } from "../graph/label";
import { counted, number } from "../parts/format";
import { compatibleNames } from "./compatible";
import type { FoundPackage, TabProps } from "./package-page";

export interface ChooserProps extends Omit<TabProps, "versions"> {
  /** Why there is no list of versions. */
  error?: ResponseError | undefined;
}

export function Chooser({ address, found, bundle, error }: ChooserProps) {
  const choose = (change: { channel?: string | undefined; version?: string | undefined }) =>
    navigate({ ...address, ...change }, { stay: true });
  const versions = found.versions?.nodes ?? [];
  const compatible = compatibleNames(found);
  // An address may have a range, of which the version that is shown is the highest.
  const chosen = bundle ? bundle.version : address.version;
  const isListed = versions.some(({ version }) => version === chosen);
  return (
    <div class="chooser">
      <label class="field">
        Channel
        <select
          value={address.channel ?? ""}
          onChange={({ currentTarget }) => choose({ channel: currentTarget.value || undefined, version: undefined })}
        >
          <option value="">{found.defaultChannel ? `Default (${found.defaultChannel.name})` : "All"}</option>
          {found.channels.map((channel) => (
            <option key={channel.name} value={channel.name}>
              {channelLabel(channel)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Version
        <select
          value={chosen ?? ""}
          onChange={({ currentTarget }) => choose({ version: currentTarget.value || undefined })}
        >
          {!isListed && <option value={chosen ?? ""}>{chosen ?? "None"}</option>}
          {versions.map((each) => (
            <option key={each.name} value={each.version ?? ""} disabled={each.version === null}>
              {versionLabel(each)}
              {compatible?.has(each.name) === false && " · not for my cluster"}
            </option>
          ))}
        </select>
      </label>
      <Unlisted versions={found.versions} error={error} />
    </div>
  );
}

export interface UnlistedProps {
  versions: { nodes: readonly unknown[]; totalCount: number } | null;
  error?: ResponseError | undefined;
}

/** Says where versions cannot be chosen because they are not listed. */
export function Unlisted({ versions, error }: UnlistedProps) {
  if (error) {
    return (
      <span class="field">
        Versions cannot be listed: {error.message} {error.extensions?.code}
      </span>
    );
  }
  if (!versions || versions.nodes.length >= versions.totalCount) return null;
  return (
    <span class="field">
      The first {number(versions.nodes.length)} of {counted(versions.totalCount, "version")}
    </span>
  );
}

/** Whether an error is that of the versions to choose from, which no page is about. */
export function isUnlisted(error: ResponseError): boolean {
  return isErrorOf(error, "package", "versions");
}

/** The version in a list of choices. */
export function versionLabel(
  version: Pick<NonNullable<FoundPackage["versions"]>["nodes"][number], "name" | "version" | "deprecation">,
): string {
  return [version.version ?? version.name, version.deprecation && "deprecated"].filter(Boolean).join(" · ");
}

// Why a bundle is in a mirror set, in words. Pure.

import type { MirrorReasonKind } from "../generated/documents";

export interface Reason {
  kind: MirrorReasonKind;
  channelName: string | null;
  requiredByName: string | null;
}

export function reasonText({ kind, channelName, requiredByName }: Reason): string {
  const where = channelName ? ` of ${channelName}` : "";
  switch (kind) {
    case "HEAD":
      return `head${where}`;
    case "IN_RANGE":
      return `in the range${where}`;
    case "OUTSIDE_RANGE":
      return `outside of the range${where}, but upgrades need it`;
    case "FULL":
      return channelName ? `all of ${channelName}` : "all of the package";
    case "ON_THE_WAY":
      return channelName ? `on the way in ${channelName}` : "on the way";
    case "INSTALLED":
      return "installed";
    case "REQUIRED_BY":
      return `required by ${requiredByName}`;
  }
}

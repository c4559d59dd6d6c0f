// Names of channels in lists of choices.

import type { Channel } from "./upgrades";

/** The name of a channel, with what one should know before choosing it. */
export function channelLabel({
  name,
  isDefault,
  deprecation,
}: Pick<Channel, "name" | "isDefault" | "deprecation">): string {
  return [name, isDefault && "default", deprecation && "deprecated"].filter(Boolean).join(" · ");
}

// What happens to a package from one catalog to the next, in one word. Pure.

import type { PlatformMatrixData } from "../generated/documents";
import type { MarkStyle } from "../plan/mark";
import { minorOf, parseRelease } from "../plan/steps";

export type MatrixRow = NonNullable<PlatformMatrixData["platformMatrix"]>[number];

export const MARK_NAMES = ["same", "channels", "new", "default", "barred", "apart", "gone"] as const;
export type MarkName = (typeof MARK_NAMES)[number];

/** From what needs nothing to what ends. */
export const MARKS: Record<MarkName, MarkStyle & { meaning: string }> = {
  same: { label: "Same channels", glyph: "done", tone: "success", meaning: "Every catalog has the same channels." },
  channels: { label: "Some channels differ", glyph: "follow", tone: "info", meaning: "The default channel stays, others come or go." },
  new: { label: "New", glyph: "open", tone: "info", meaning: "An earlier catalog does not have it, the last one does." },
  default: { label: "Default changes", glyph: "switch", tone: "warning", meaning: "Another channel becomes the default one; there are channels common to all." },
  barred: { label: "Bars the next version", glyph: "alert", tone: "danger", meaning: "The head of a default channel does not support the next version of the platform." },
  apart: { label: "No common channel", glyph: "alert", tone: "warning", meaning: "No channel is in all catalogs: it must be switched." },
  gone: { label: "Gone", glyph: "close", tone: "danger", meaning: "The last catalog does not have it." },
};

/** A version of the platform. */
export type Minor = { major: number; minor: number };

/** Whether a head that supports OpenShift up to a version does not run on another one. */
export function bars(limit: string | null, next: Minor | undefined): boolean {
  const own = limit === null ? undefined : parseRelease(limit);
  return own !== undefined && next !== undefined && minorOf(own) < minorOf(next);
}

/** The mark of a package; `versions` are those of the platform for each catalog, where they are known. */
export function markOf({ commonChannels, catalogs }: MatrixRow, versions: readonly (Minor | undefined)[]): MarkName {
  const present = catalogs.map(({ defaultChannel, channels }) => defaultChannel !== null || channels.length > 0);
  if (!present.at(-1)) return "gone";
  if (commonChannels.length === 0) return "apart";
  const isBarred = catalogs.some(({ defaultChannel, channels }, at) => {
    const head = channels.find(({ name }) => name === defaultChannel);
    return head !== undefined && bars(head.maxOpenShiftVersion, versions[at + 1]);
  });
  if (isBarred) return "barred";
  if (present.includes(false)) return "new";
  if (catalogs.some(({ isDefaultChannelChanged }) => isDefaultChannelChanged)) return "default";
  return catalogs.every(({ channels }) => channels.length === commonChannels.length) ? "same" : "channels";
}

export function isMark(text: string | undefined): text is MarkName {
  return MARK_NAMES.some((name) => name === text);
}

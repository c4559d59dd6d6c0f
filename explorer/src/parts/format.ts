// Numbers, dates, digests and values of the schema as people read them.

import type { UpdateReason } from "../generated/documents";

const NUMBER = new Intl.NumberFormat();

/** Made when they are first needed: the first list shows no times. */
let longDates: Intl.DateTimeFormat | undefined;
let relativeTimes: Intl.RelativeTimeFormat | undefined;

/** A number with the separators of the reader's language. */
export function number(value: number): string {
  return NUMBER.format(value);
}

/** A number with its noun, such as `1 package` or `333 packages`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${number(value)} ${value === 1 ? singular : plural}`;
}

/** The day of a time, as `2026-08-05`. */
export function day(time: string): string {
  return time.slice(0, 10);
}

/** A time in full, in the reader's language. */
export function longDate(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  longDates ??= new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
  return longDates.format(date);
}

/** Seconds of each unit, the largest first. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** How long ago a time was, such as `3 days ago`. */
export function ago(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  if (Number.isNaN(seconds)) return time;
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? (["second", 1] as const);
  relativeTimes ??= new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  return relativeTimes.format(Math.round(seconds / length), unit);
}

/** Twelve digits of a digest, without its algorithm. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, 12);
}

const LEVELS: Record<string, string> = {
  BASIC_INSTALL: "Basic Install",
  SEAMLESS_UPGRADES: "Seamless Upgrades",
  FULL_LIFECYCLE: "Full Lifecycle",
  DEEP_INSIGHTS: "Deep Insights",
  AUTO_PILOT: "Auto Pilot",
};

/** A capability level in words. */
export function level(value: string): string {
  return LEVELS[value] ?? value;
}

const MODES: Record<string, string> = {
  OWN_NAMESPACE: "Own namespace",
  SINGLE_NAMESPACE: "Single namespace",
  MULTI_NAMESPACE: "Multiple namespaces",
  ALL_NAMESPACES: "All namespaces",
};

/** An install mode in words. */
export function installMode(value: string): string {
  return MODES[value] ?? value;
}

const OLM_V1: Record<string, string> = { YES: "Installable", TECH_PREVIEW: "Technology preview", NO: "Not installable", UNKNOWN: "Unknown" };

/** Whether OLM v1 can install a bundle, in words. */
export function olmV1(value: string): string {
  return OLM_V1[value] ?? value;
}

const REASONS: Record<UpdateReason, string> = { REPLACES: "replaces", SKIPS: "skips", SKIP_RANGE: "skip range" };

/** What in the entries of channels allows an upgrade. Between bundles of one version none is needed. */
export function reasonText(reasons: readonly UpdateReason[]): string {
  return reasons.map((reason) => REASONS[reason]).join(", ") || "same version";
}

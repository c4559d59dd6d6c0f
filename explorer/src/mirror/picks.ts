// What is wanted of packages of a mirror set, as an address names it: `NAME[:CHANNEL,CHANNEL][@LOW..HIGH|@INSTALLED>WANTED][!]`,
// with `!` for what the package requires. Pure.

import type { MirrorPackageInput, PlatformInput } from "../generated/documents";

export interface Pick {
  name: string;
  channels: readonly string[];
  /** The lowest and the highest version. */
  low?: string | undefined;
  high?: string | undefined;
  /** Bundles that are installed, by name or version, from which upgrades must lead to the wanted one. */
  from?: string | undefined;
  to?: string | undefined;
  dependencies?: boolean | undefined;
}

export function parsePick(text: string): Pick {
  const [, own = "", versions, mark] = /^(.*?)(?:@(.*?))?(!)?$/.exec(text) ?? [];
  const [name = "", channels = ""] = own.split(":");
  const [from, to] = versions?.includes(">") ? versions.split(">") : [];
  const [low, high] = versions?.includes("..") && from === undefined ? versions.split("..") : [];
  return {
    name: decoded(name),
    channels: channels.split(",").filter(Boolean).map(decoded),
    ...(low && { low }),
    ...(high && { high }),
    ...(from !== undefined && { from }),
    ...(to && { to }),
    ...(mark && { dependencies: true }),
  };
}

export function pickText({ name, channels, low, high, from, to, dependencies }: Pick): string {
  const chosen = channels.length > 0 ? `:${channels.map(encoded).join(",")}` : "";
  const versions = from !== undefined ? `@${from}>${to ?? ""}` : low || high ? `@${low ?? ""}..${high ?? ""}` : "";
  return `${encoded(name)}${chosen}${versions}${dependencies ? "!" : ""}`;
}

/** A pick as the API takes it. */
export function pickInput({ name, channels, low, high, from, to, dependencies }: Pick, platform: PlatformInput | undefined): MirrorPackageInput {
  const installed = from?.split(/[\s,]+/).filter(Boolean) ?? [];
  return {
    name,
    ...(channels.length > 0 && { channels: channels.map((channel) => ({ name: channel })) }),
    ...(low && { minVersion: low }),
    ...(high && { maxVersion: high }),
    ...(installed.length > 0 && { from: installed }),
    ...(to && { to }),
    ...(dependencies && { dependencies }),
    ...(platform && { platform }),
  };
}

/** Names of strangers may have the letters that part an address. */
function encoded(text: string): string {
  return text.replace(/[%:@,!>]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

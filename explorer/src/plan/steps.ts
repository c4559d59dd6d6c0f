// Versions of a platform on the way from one to another, and the catalogs that clusters of each read. Pure.

/** Most versions of a plan, the present one included, as the server allows. */
export const MAX_STEPS = 10;

/** A released version; what is behind its numbers does not count. */
export interface Release {
  major: number;
  minor: number;
  patch?: number;
}

/** A catalog that is served, as far as it says of which version it is. */
export interface ServedCatalog {
  name: string;
  displayName: string;
  imageReference: string | null;
}

/** A version of the platform with the names of its catalogs. */
export interface PlanStep {
  version: string;
  catalogs: readonly string[];
}

export function parseRelease(text: string): Release | undefined {
  const [, major, minor, patch] = /^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6})(?:[-+].*)?)?$/.exec(text.trim()) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), ...(patch !== undefined && { patch: Number(patch) }) };
}

function releaseText({ major, minor, patch }: Release): string {
  return [major, minor, patch].filter((part) => part !== undefined).join(".");
}

/** Versions of Kubernetes begin with 1. */
export function isKubernetes({ major }: Release): boolean {
  return major === 1;
}

export function platformName(version: string): string {
  return `${version.startsWith("1.") ? "Kubernetes" : "OpenShift"} ${version}`;
}

/** A minor version as a number to compare. 4.23 and 5.0 of OpenShift are one version. */
export function minorOf({ major, minor }: Release): number {
  return major === 4 && minor === 23 ? minorOf({ major: 5, minor: 0 }) : major * 10_000 + minor;
}

/** The minor version after another. 4.22 is followed by 4.23, or by 5.0, whichever name the way ends with. */
function following(release: Release, end: Release): Release {
  if (release.major === 4 && release.minor === 22) return end.major === 4 ? { major: 4, minor: 23 } : { major: 5, minor: 0 };
  if (release.major === 4 && release.minor === 23) return { major: 5, minor: 1 };
  return { major: release.major, minor: release.minor + 1 };
}

export type Way = { versions: string[] } | { fault: string };

/** The versions from one to another, both included, one minor version at a time. */
export function wayBetween(from: string, to: string): Way {
  const [first, last] = [parseRelease(from), parseRelease(to)];
  if (!first || !last) return { fault: `“${first ? to : from}” is not a version such as 4.18.` };
  if (isKubernetes(first) !== isKubernetes(last)) return { fault: "One version is of OpenShift, the other of Kubernetes." };
  const isPatch = minorOf(first) === minorOf(last);
  if (minorOf(last) < minorOf(first) || (isPatch && (last.patch ?? 0) < (first.patch ?? 0))) {
    return { fault: `It goes backwards from ${releaseText(first)} to ${releaseText(last)}.` };
  }
  if (isPatch && last.patch === first.patch) return { fault: `The cluster has ${releaseText(first)} already.` };
  const versions = [first];
  for (let next = following(first, last); minorOf(next) < minorOf(last); next = following(next, last)) {
    versions.push(next);
    if (versions.length >= MAX_STEPS) {
      return { fault: `More than ${MAX_STEPS} versions are on the way from ${releaseText(first)} to ${releaseText(last)}: plan it in parts.` };
    }
  }
  return { versions: [...versions, last].map(releaseText) };
}

/** Which version a catalog is of, and what it has in common with its other versions. */
export interface CatalogRelease {
  release: Release;
  family: string;
}

/** By the tag of its image; where that says nothing, by its name. */
export function catalogRelease({ name, imageReference }: ServedCatalog): CatalogRelease | undefined {
  const [, repository, tag] = /^([^@]+):v(\d+\.\d+)$/.exec(imageReference ?? "") ?? [];
  const tagged = tag && parseRelease(tag);
  if (repository && tagged) return { release: tagged, family: repository };
  const [, before = "", number, after = ""] = /^(|.*?[^\d.])v?(\d+[.]\d+)(|[^\d.].*)$/.exec(name) ?? [];
  const named = number && parseRelease(number);
  return named ? { release: named, family: `${before} ${after}` } : undefined;
}

/** The names of the catalogs of a version. Kubernetes reads the same ones in every version. */
function catalogsOf(version: string, present: readonly ServedCatalog[] | undefined, served: readonly ServedCatalog[]): readonly string[] {
  const release = parseRelease(version);
  if (!release) return [];
  const own = served.filter((each) => isKubernetes(release) || isOf(each, release));
  if (!present || isKubernetes(release)) return own.map(({ name }) => name);
  // At the same place as the version of it that the cluster has.
  return present.flatMap((each) => {
    const family = catalogRelease(each)?.family;
    const found = own.find((other) => catalogRelease(other)?.family === family);
    return found ? [found.name] : [];
  });
}

function isOf(catalog: ServedCatalog, release: Release): boolean {
  const own = catalogRelease(catalog);
  return own !== undefined && minorOf(own.release) === minorOf(release);
}

/** The versions with their catalogs: those that an address names as `VERSION=NAME,NAME`, or else those that they seem to have. */
export function planSteps(versions: readonly string[], named: readonly string[], served: readonly ServedCatalog[]): PlanStep[] {
  const chosen = new Map(named.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1).split(",").filter(Boolean)]));
  const [first = ""] = versions;
  const names = chosen.get(first) ?? catalogsOf(first, undefined, served);
  const present = names.flatMap((name) => served.find((each) => each.name === name) ?? []);
  return versions.map((version, at) => ({
    version,
    catalogs: at === 0 ? names : (chosen.get(version) ?? catalogsOf(version, present, served)),
  }));
}

/** The steps of an address with other catalogs of one version. */
export function withCatalogs(named: readonly string[], version: string, catalogs: readonly string[]): string[] {
  return [...named.filter((text) => !text.startsWith(`${version}=`)), `${version}=${catalogs.join(",")}`];
}

/** Catalogs that are versions of one another, the lowest version first: those of the largest such family. */
export function sideBySide(served: readonly ServedCatalog[]): string[] {
  const families = new Map<string, { name: string; at: number }[]>();
  for (const each of served) {
    const own = catalogRelease(each);
    if (own) families.set(own.family, [...(families.get(own.family) ?? []), { name: each.name, at: minorOf(own.release) }]);
  }
  const [largest = []] = [...families.values()].sort((one, other) => other.length - one.length);
  const ordered = largest.sort((one, other) => one.at - other.at).map(({ name }) => name);
  return ordered.length > 1 ? ordered.slice(-MAX_STEPS) : served.slice(0, 4).map(({ name }) => name);
}

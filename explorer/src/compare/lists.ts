// Which items of two lists differ. Pure.

export interface ListChanges {
  added: string[];
  removed: string[];
  same: string[];
}

/** Each list counts as a set. */
export function changesOf(from: readonly string[], to: readonly string[]): ListChanges {
  const [before, after] = [new Set(from), new Set(to)];
  return {
    added: [...after].filter((item) => !before.has(item)),
    removed: [...before].filter((item) => !after.has(item)),
    same: [...after].filter((item) => before.has(item)),
  };
}

export interface ImageChange {
  repository: string;
  /** Tags or digests in short. */
  before: string[];
  after: string[];
}

/** Images by their repository, with what follows it on each side. */
export function imageChanges(from: readonly string[], to: readonly string[]): ImageChange[] {
  const changes = new Map<string, ImageChange>();
  const add = (image: string, side: "before" | "after") => {
    const { repository, rest } = split(image);
    const change = changes.get(repository) ?? { repository, before: [], after: [] };
    if (!change[side].includes(rest)) change[side].push(rest);
    changes.set(repository, change);
  };
  for (const image of from) add(image, "before");
  for (const image of to) add(image, "after");
  for (const change of changes.values()) {
    change.before.sort();
    change.after.sort();
  }
  return [...changes.values()].sort((one, other) => (one.repository < other.repository ? -1 : 1));
}

/** The digest without most of its digits: enough to tell the images of two versions apart. */
function split(image: string): { repository: string; rest: string } {
  const [name = "", digest] = image.split("@", 2);
  const colon = name.lastIndexOf(":");
  const hasTag = colon > name.lastIndexOf("/");
  const tag = hasTag ? name.slice(colon + 1) : "";
  const short = digest?.replace(/^(\w+:\w{12})\w+$/, "$1");
  return { repository: hasTag ? name.slice(0, colon) : name, rest: [tag, short].filter(Boolean).join("@") || "latest" };
}

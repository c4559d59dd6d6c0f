// What differs between two catalogs. Written from the descriptions in schema.graphql, apart from the Rust code: texts are
// compared whole here, and hashes there.

import { compareBytes, print } from './json.mjs';

/** What a catalog holds by name: of each package, channel and bundle everything that belongs to it, as text. */
export function outline(model) {
  const blobs = new Map(model.packages.map(({ name }) => [name, []]));
  const typed = new Set(model.packages.flatMap((item) => [item, ...item.channels, ...item.bundles]).map(({ source }) => source));
  for (const { schema, name, packageName, blob } of model.metas) {
    blobs.get(schema === 'olm.package' ? name : packageName)?.push({ schema, blob, text: print(blob) });
  }
  const object = (item) => [item.name, { text: print([item.source, item.deprecation]), head: item.head?.name, entries: entries(item) }];
  const bundle = (item) => [item.name, { ...object(item)[1], parts: bundleParts(item) }];
  return new Map(
    model.packages.map((item) => {
      const { name, source, channels, bundles, deprecation, defaultChannelName } = item;
      const own = { channels: new Map(channels.map(object)), bundles: new Map(bundles.map(bundle)) };
      const texts = (objects) => [...objects].map(([of, { text }]) => [of, text]).sort(([a], [b]) => compareBytes(a, b));
      const all = blobs.get(name).map(({ text }) => text).sort(compareBytes);
      const others = blobs.get(name).filter(({ schema, blob }) => !typed.has(blob) && schema !== 'olm.deprecations');
      const parts = { ...packageParts(source), DEPRECATION: print(deprecation?.message) };
      parts.OTHER = print([parts.OTHER, others.map(({ text }) => text).sort(compareBytes)]);
      const whole = [source, all, texts(own.channels), texts(own.bundles)];
      return [name, { text: print(whole), parts, defaultChannel: defaultChannelName || undefined, ...own }];
    }),
  );
}

const like = (key, name) => key.toLowerCase() === name.toLowerCase();

/** The members of a blob by what they say; those of other names together. */
function members(blob, names) {
  const parts = { OTHER: [] };
  for (const [key, value] of blob) {
    const part = Object.keys(names).find((name) => like(key, names[name]));
    if (part) (parts[part] ??= []).push([key, value]);
    else parts.OTHER.push([key, value]);
  }
  return parts;
}

const printed = (parts) => Object.fromEntries(Object.entries(parts).map(([part, value]) => [part, print(value)]));

const packageParts = (blob) =>
  printed(members(blob, { DESCRIPTION: 'description', ICON: 'icon', DEFAULT_CHANNEL: 'defaultChannel', PROPERTIES: 'properties' }));

/** The parts of a bundle: its properties are three of them, each by type and value. */
function bundleParts({ source, properties, deprecation }) {
  const { OWN, ...parts } = members(source, { IMAGE: 'image', RELATED_IMAGES: 'relatedImages', OWN: 'properties' });
  const metadata = ['olm.csv.metadata', 'olm.bundle.object'];
  const partOf = (type) => (type === 'olm.package' ? 'VERSION' : metadata.includes(type) ? 'METADATA' : 'PROPERTIES');
  for (const { type, value } of properties) (parts[partOf(type)] ??= []).push([type, value]);
  return { ...printed(parts), DEPRECATION: print(deprecation?.message) };
}

/** The entries of a channel by name, all of one name together. */
function entries({ entries: all = [] }) {
  const texts = new Map();
  for (const { name, replaces, skips, skipRange } of all) {
    texts.set(name, [...(texts.get(name) ?? []), print([replaces, skips, skipRange])].sort(compareBytes));
  }
  return new Map([...texts].map(([name, list]) => [name, { text: print(list) }]));
}

const packageFields = ['DESCRIPTION', 'ICON', 'DEFAULT_CHANNEL', 'PROPERTIES', 'DEPRECATION', 'OTHER'];
const bundleFields = ['IMAGE', 'VERSION', 'RELATED_IMAGES', 'PROPERTIES', 'METADATA', 'DEPRECATION', 'OTHER'];

/** The parts that differ of what is on both sides. */
const fieldsOf = (all, a, b) => (a && b ? all.filter((field) => a.parts[field] !== b.parts[field]) : []);

/** What differs between two outlines, as the packages of a CatalogDiff. */
export function difference(before, after) {
  return changes(before, after, (a, b) => {
    const channels = changes(a?.channels, b?.channels, (from, to) => ({
      fromHead: from?.head,
      toHead: to?.head,
      ...entryChanges(from?.entries, to?.entries),
    }));
    const bundles = changes(a?.bundles, b?.bundles, (from, to) => {
      const fields = fieldsOf(bundleFields, from, to);
      return { fields: from && to && fields.length === 0 ? ['OTHER'] : fields };
    });
    const fields = fieldsOf(packageFields, a, b);
    const isOther = a && b && [fields, channels, bundles].every(({ length }) => length === 0);
    const defaults = { fromDefaultChannel: a?.defaultChannel, toDefaultChannel: b?.defaultChannel };
    return { fields: isOther ? ['OTHER'] : fields, ...defaults, channels, bundles };
  });
}

function entryChanges(before, after) {
  const all = changes(before, after, () => ({}));
  const names = (kind) => all.filter(({ change }) => change === kind).map(({ name }) => name);
  return { entriesAdded: names('ADDED'), entriesRemoved: names('REMOVED'), entriesChanged: names('CHANGED') };
}

/** The number of bundles of some packages of a CatalogDiff that changed in one way. */
export const bundlesOf = (packages, kind) =>
  packages.flatMap(({ bundles }) => bundles).filter(({ change }) => change === kind).length;

function changes(before = new Map(), after = new Map(), more) {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(compareBytes);
  return names.flatMap((name) => {
    const [a, b] = [before.get(name), after.get(name)];
    if (a?.text === b?.text) return [];
    const change = a === undefined ? 'ADDED' : b === undefined ? 'REMOVED' : 'CHANGED';
    return [{ name, change, ...more(a, b) }];
  });
}

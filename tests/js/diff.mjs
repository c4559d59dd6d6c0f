// What differs between two catalogs. Written from the descriptions in schema.graphql, apart from the Rust code: texts are
// compared whole here, and hashes there.

import { compareBytes, print } from './json.mjs';

/** What a catalog holds by name: of each package, channel and bundle everything that belongs to it, as text. */
export function outline(model) {
  const blobs = new Map(model.packages.map(({ name }) => [name, []]));
  for (const { schema, name, packageName, blob } of model.metas) {
    blobs.get(schema === 'olm.package' ? name : packageName)?.push(print(blob));
  }
  const object = ({ name, source, deprecation, head }) => [name, { text: print([source, deprecation]), head: head?.name }];
  return new Map(
    model.packages.map(({ name, source, channels, bundles }) => {
      const own = { channels: new Map(channels.map(object)), bundles: new Map(bundles.map(object)) };
      const texts = (objects) => [...objects].map(([of, { text }]) => [of, text]).sort(([a], [b]) => compareBytes(a, b));
      const whole = [source, blobs.get(name).sort(compareBytes), texts(own.channels), texts(own.bundles)];
      return [name, { text: print(whole), ...own }];
    }),
  );
}

/** What differs between two outlines, as the packages of a CatalogDiff. */
export function difference(before, after) {
  return changes(before, after, (a, b) => ({
    channels: changes(a?.channels, b?.channels, (from, to) => ({ fromHead: from?.head, toHead: to?.head })),
    bundles: changes(a?.bundles, b?.bundles, () => ({})),
  }));
}

function changes(before = new Map(), after = new Map(), more) {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(compareBytes);
  return names.flatMap((name) => {
    const [a, b] = [before.get(name), after.get(name)];
    if (a?.text === b?.text) return [];
    const change = a === undefined ? 'ADDED' : b === undefined ? 'REMOVED' : 'CHANGED';
    return [{ name, change, ...more(a, b) }];
  });
}

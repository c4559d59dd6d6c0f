// Blobs → the packages, channels and bundles of a catalog. Written from the descriptions in schema.graphql and the
// format's documentation, apart from the Rust code, so that the two check each other.

import { compareBytes, Num, parseAt, sorted } from './json.mjs';
import { metadataOf, valueOfManifest } from './metadata.mjs';
import { readYamlDocument } from './read.mjs';

export const lifecycleSchema = 'io.openshift.operators.lifecycles.v1alpha1';
const schemas = ['olm.package', 'olm.channel', 'olm.bundle', 'olm.deprecations', lifecycleSchema];

/** The value of a field; its key may be written in any case, and null is as good as absent. */
function field(object, name) {
  if (object.has(name)) return object.get(name) ?? undefined;
  for (const [key, value] of object) {
    if (key.toLowerCase() === name.toLowerCase()) return value ?? undefined;
  }
  return undefined;
}

class Malformed extends Error {}

const must = (condition) => {
  if (!condition) throw new Malformed();
};

function text(object, name) {
  const value = field(object, name);
  must(value === undefined || typeof value === 'string');
  return value;
}

function list(object, name) {
  const value = field(object, name);
  must(value === undefined || Array.isArray(value));
  return (value ?? []).map((item) => {
    must(item === null || item instanceof Map);
    return item ?? new Map();
  });
}

/** A value as an object of these strings, or undefined when it is none; null has none of them. */
function texts(value, ...names) {
  if (value === null) return names.map(() => undefined);
  if (!(value instanceof Map)) return undefined;
  const found = names.map((name) => field(value, name));
  return found.every((item) => item === undefined || typeof item === 'string') ? found : undefined;
}

const gvk = (value) => {
  const found = texts(value, 'group', 'version', 'kind')?.map((item) => item ?? '');
  return found && { group: found[0], version: found[1], kind: found[2] };
};

const requirement = (value) => {
  const found = texts(value, 'packageName', 'versionRange')?.map((item) => item ?? '');
  return found && { packageName: found[0], versionRange: found[1] };
};

/** A condition, or undefined when it is malformed: unknown fields, no condition, or several. */
function constraint(value) {
  if (!(value instanceof Map)) return undefined;
  const strings = (member, names) =>
    member instanceof Map && [...member.keys()].every((key) => names.includes(key)) ? texts(member, ...names) : undefined;
  const nested = (member) => {
    if (!(member instanceof Map) || [...member.keys()].some((key) => key !== 'constraints')) return undefined;
    const members = (member.get('constraints') ?? []).map(constraint);
    return members.includes(undefined) ? undefined : members;
  };
  const readers = {
    cel: (member) => strings(member, ['rule'])?.map((item) => item ?? '')[0],
    package: (member) => strings(member, ['packageName', 'versionRange']) && requirement(member),
    gvk: (member) => strings(member, ['group', 'version', 'kind']) && gvk(member),
    all: nested,
    any: nested,
    not: nested,
  };
  const failureMessage = value.get('failureMessage') ?? undefined;
  if (failureMessage !== undefined && typeof failureMessage !== 'string') return undefined;
  const found = [...value].filter(([key, member]) => key !== 'failureMessage' && member !== null);
  if (found.length !== 1 || !(found[0][0] in readers)) return undefined;
  const rule = readers[found[0][0]](found[0][1]);
  return rule === undefined ? undefined : { failureMessage, [found[0][0]]: rule };
}

/** Bytes as Go reads them: base64 that may have line breaks and leftover bits, or a list of numbers. */
function readBytes(data) {
  if (Array.isArray(data)) return Buffer.from(data.map((byte) => Number(byte.text)));
  if (typeof data !== 'string') return undefined;
  const digits = data.replace(/[\r\n]/g, '');
  const isBase64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(digits);
  return isBase64 ? Buffer.from(digits, 'base64') : undefined;
}

/**
 * A manifest in base64, which is JSON or YAML, in canonical form; null when there is no data, undefined when the value
 * is malformed.
 */
function manifest(value) {
  if (!(value instanceof Map)) return undefined;
  const data = field(value, 'data');
  if (data === undefined) return null;
  const bytes = readBytes(data);
  if (bytes === undefined) return undefined;
  const decoded = bytes.toString('utf8');
  return sorted(decoded.trimStart().startsWith('{') ? parseAt(decoded, 0)[0] : readYamlDocument(decoded));
}

function maxOpenShiftVersion(value) {
  const version = value instanceof Num ? value.text : value;
  if (typeof version !== 'string') return undefined;
  const plain = version.replace(/^"+|"+$/g, '');
  return /^v*\d+\.\d+$/.test(plain) ? plain : undefined;
}

/** What a property says, as an object of its GraphQL type. */
function property(item) {
  const type = text(item, 'type') ?? '';
  const value = item.has('value') || [...item.keys()].some((key) => key.toLowerCase() === 'value')
    ? [...item].find(([key]) => key.toLowerCase() === 'value')[1]
    : undefined;
  const typed = (name, member) => (member ? { __typename: name, type, value, ...member } : undefined);
  const known = {
    'olm.package': () => {
      const found = texts(value, 'packageName', 'version', 'release');
      return typed('PackageProperty', found && { packageName: found[0] ?? '', version: found[1] ?? '', release: found[2] });
    },
    'olm.package.required': () => {
      const found = requirement(value);
      return typed('PackageRequiredProperty', found && { requirement: found });
    },
    'olm.gvk': () => {
      const found = gvk(value);
      return typed('GvkProperty', found && { gvk: found });
    },
    'olm.gvk.required': () => {
      const found = gvk(value);
      return typed('GvkRequiredProperty', found && { gvk: found });
    },
    'olm.constraint': () => {
      const found = constraint(value);
      return typed('ConstraintProperty', found && { constraint: found });
    },
    'olm.bundle.object': () => {
      const found = manifest(value);
      return typed('BundleObjectProperty', found !== undefined && { object: found });
    },
    'olm.csv.metadata': () => typed('CsvMetadataProperty', value instanceof Map && { metadata: metadataOf(value) }),
    'olm.maxOpenShiftVersion': () => {
      const found = maxOpenShiftVersion(value);
      return typed('MaxOpenShiftVersionProperty', found && { version: found });
    },
  };
  const found = value !== undefined && Object.hasOwn(known, type) ? known[type]() : undefined;
  return found ?? { __typename: 'OpaqueProperty', type, value };
}

/** The display metadata that the properties of a bundle give. */
function metadata(own) {
  const typed = own.find((item) => item.__typename === 'CsvMetadataProperty');
  if (typed) return typed.metadata;
  const manifests = own.filter((item) => item.__typename === 'BundleObjectProperty' && item.object instanceof Map);
  const found = manifests.find((item) => valueOfManifest(item.object) !== undefined);
  return found && metadataOf(valueOfManifest(found.object), found.object);
}

const properties = (blob) => list(blob, 'properties').map(property);

/** Strict semantic version, or undefined. */
export function parseVersion(version) {
  const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
  const pattern = `^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`;
  const found = new RegExp(pattern).exec(version);
  return found && { numbers: found.slice(1, 4).map(BigInt), pre: found[4] };
}

const isRelease = (release) => release.length <= 20 && parseVersion(`0.0.0-${release}`)?.pre === release;

function compareIdentifiers(a, b) {
  const [as, bs] = [a.split('.'), b.split('.')];
  for (let at = 0; at < Math.max(as.length, bs.length); at += 1) {
    if (as[at] === undefined || bs[at] === undefined) return as.length - bs.length;
    const numbers = [as[at], bs[at]].map((item) => /^\d+$/.test(item));
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    const order = numbers[0] ? Number(BigInt(as[at]) - BigInt(bs[at])) : compareBytes(as[at], bs[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareVersions(a, b) {
  for (const at of [0, 1, 2]) {
    if (a.numbers[at] !== b.numbers[at]) return a.numbers[at] < b.numbers[at] ? -1 : 1;
  }
  if (a.pre === undefined || b.pre === undefined) return Number(a.pre === undefined) - Number(b.pre === undefined);
  return compareIdentifiers(a.pre, b.pre);
}

/** Highest version first, then highest release, then by name; what has no version comes last. */
export function compareBundles(a, b) {
  const highest = (x, y, compare) => {
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined);
    return compare(y, x);
  };
  const [va, vb] = [a, b].map((bundle) => (bundle.version === undefined ? undefined : parseVersion(bundle.version)));
  return (
    compareBytes(a.package.name, b.package.name) ||
    highest(va, vb, compareVersions) ||
    highest(a.release, b.release, compareIdentifiers) ||
    compareBytes(a.name, b.name)
  );
}

const byName = (a, b) => compareBytes(a.name, b.name);

/** Everything that is served of a catalog. */
export class Model {
  constructor(blobs) {
    this.metas = blobs.map(({ file, index, blob }) => ({
      file,
      index,
      blob,
      schema: text(blob, 'schema') ?? '',
      name: text(blob, 'name'),
      packageName: text(blob, 'package'),
    }));
    this.packages = [];
    this.byName = new Map();
    this.readPackages();
    this.readChannels();
    this.readBundles();
    this.readDeprecations();
    this.packages.sort(byName);
    this.bundles = this.packages.flatMap((of) => of.bundles);
  }

  /** Calls back with each blob of a schema; one with a field of the wrong type has no typed object. */
  each(schema, read) {
    for (const meta of this.metas.filter((item) => item.schema === schema)) {
      try {
        read(meta.blob);
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
      }
    }
  }

  /** How many blobs there are of each schema. */
  schemaCounts() {
    const names = [...new Set(this.metas.map((meta) => meta.schema))].sort(compareBytes);
    return names.map((schema) => ({
      schema,
      count: this.metas.filter((meta) => meta.schema === schema).length,
      known: schemas.includes(schema),
    }));
  }

  readPackages() {
    this.each('olm.package', (blob) => {
      const made = {
        source: blob,
        name: text(blob, 'name') ?? '',
        description: text(blob, 'description'),
        defaultChannelName: text(blob, 'defaultChannel') ?? '',
        properties: properties(blob),
        channels: [],
        bundles: [],
      };
      if (made.name === '' || this.byName.has(made.name)) return;
      this.byName.set(made.name, made);
      this.packages.push(made);
    });
  }

  readChannels() {
    this.each('olm.channel', (blob) => {
      const entries = list(blob, 'entries').map((entry) => {
        const skips = field(entry, 'skips') ?? [];
        must(Array.isArray(skips) && skips.every((skip) => skip === null || typeof skip === 'string'));
        return {
          name: text(entry, 'name') ?? '',
          replaces: text(entry, 'replaces') || undefined,
          skips: skips.map((skip) => skip ?? ''),
          skipRange: text(entry, 'skipRange') || undefined,
        };
      });
      const made = { source: blob, name: text(blob, 'name') ?? '', entries, properties: properties(blob) };
      const owner = this.byName.get(text(blob, 'package') ?? '');
      if (!owner || made.name === '' || owner.channels.some((channel) => channel.name === made.name)) return;
      made.package = owner;
      for (const entry of entries) entry.channel = made;
      const passed = new Set(entries.flatMap((entry) => [entry.replaces, ...entry.skips]));
      const heads = entries.filter((entry) => !passed.has(entry.name));
      made.head = heads.length === 1 ? heads[0] : undefined;
      owner.channels.push(made);
    });
    for (const owner of this.packages) {
      owner.channels.sort(byName);
      owner.defaultChannel = owner.channels.find((channel) => channel.name === owner.defaultChannelName);
    }
  }

  readBundles() {
    this.each('olm.bundle', (blob) => {
      const made = {
        source: blob,
        name: text(blob, 'name') ?? '',
        image: text(blob, 'image') ?? '',
        properties: properties(blob),
        relatedImages: list(blob, 'relatedImages').map((image) => ({
          name: text(image, 'name') ?? '',
          image: text(image, 'image') ?? '',
        })),
      };
      const owner = this.byName.get(text(blob, 'package') ?? '');
      if (!owner || owner.bundles.some((bundle) => bundle.name === made.name)) return;
      const identity = made.properties.find((item) => item.__typename === 'PackageProperty');
      if (identity && parseVersion(identity.version)) made.version = identity.version;
      if (identity?.release && isRelease(identity.release)) made.release = identity.release;
      made.metadata = metadata(made.properties);
      made.package = owner;
      owner.bundles.push(made);
    });
    for (const owner of this.packages) {
      owner.bundles.sort(compareBundles);
      const entries = owner.channels.flatMap((channel) => channel.entries);
      for (const entry of entries) entry.bundle = owner.bundles.find((bundle) => bundle.name === entry.name);
      owner.metadata = (owner.defaultChannel?.head?.bundle?.metadata ?? owner.bundles.find((bundle) => bundle.metadata)?.metadata);
      for (const bundle of owner.bundles) bundle.channelEntries = entries.filter((entry) => entry.bundle === bundle);
    }
  }

  readDeprecations() {
    const seen = new Set();
    this.each('olm.deprecations', (blob) => {
      const entries = list(blob, 'entries').map((entry) => {
        const reference = field(entry, 'reference') ?? new Map();
        must(reference instanceof Map);
        return { schema: text(reference, 'schema') ?? '', name: text(reference, 'name') ?? '', message: text(entry, 'message') };
      });
      const owner = this.byName.get(text(blob, 'package') ?? '');
      if (!owner || seen.has(owner)) return;
      seen.add(owner);
      for (const { schema, name, message } of entries) {
        const target = {
          'olm.package': () => (name === '' ? owner : undefined),
          'olm.channel': () => owner.channels.find((channel) => channel.name === name),
          'olm.bundle': () => owner.bundles.find((bundle) => bundle.name === name),
        }[schema]?.();
        if (target) target.deprecation ??= { schema, name: target.name, message: message ?? '' };
      }
    });
  }
}

// The catalogs as an object that graphql-js executes a document on: one class or function for each type of
// schema.graphql, written from its descriptions.
//
// Ids and cursors are opaque, so they are placeholders here: text between « and ». Whoever compares holds each
// placeholder against what stands in its place, and the same placeholder must always stand for the same text.

import { GraphQLError } from 'graphql';
import { bundlesOf, difference, outline } from './diff.mjs';
import { compareBytes } from './json.mjs';
import { lifecyclesOf, part } from './metadata.mjs';
import { compareBundles, lifecycleSchema, parseVersion } from './model.mjs';

const maximumPage = 500;
const defaultPage = 50;
const maximumIds = 100;

/** What is asked for is no part of the model. */
export class Unmodelled extends Error {}

const fail = (code, message) => {
  throw new GraphQLError(message, { extensions: { code } });
};

const id = (type, ...parts) => `«${[type, ...parts].join('|')}»`;

/** A page of a list whose order is fixed; `key` says where an item lies in it. */
function page(items, kind, key, { first, after, last, before }) {
  const cursor = (item) => id(`cursor ${kind}`, ...key(item));
  const place = (text) => {
    const at = items.all.findIndex((item) => cursor(item) === text);
    return at >= 0 ? at : fail('BAD_USER_INPUT', `bad cursor ${text}`);
  };
  if (first != null && last != null) fail('BAD_USER_INPUT', 'first and last exclude each other');
  const size = first ?? last ?? defaultPage;
  if (size < 0 || size > maximumPage) fail('BAD_USER_INPUT', `bad page size ${size}`);
  // A cursor may be of an item that the list leaves out: it counts by its place among all of its order.
  const [from, to] = [after == null ? -1 : place(after), before == null ? items.all.length : place(before)];
  const isIn = (item) => items.keep(item);
  const between = items.all.slice(from + 1, Math.max(from + 1, to)).filter(isIn);
  const start = last == null ? 0 : Math.max(0, between.length - size);
  const found = between.slice(start, last == null ? size : undefined);
  const total = items.all.filter(isIn).length;
  const skipped = items.all.slice(0, from + 1).filter(isIn).length + start;
  return {
    nodes: found,
    edges: () => found.map((node) => ({ cursor: cursor(node), node })),
    totalCount: total,
    pageInfo: {
      hasPreviousPage: skipped > 0,
      hasNextPage: skipped + found.length < total,
      startCursor: found.length > 0 ? cursor(found[0]) : null,
      endCursor: found.length > 0 ? cursor(found.at(-1)) : null,
    },
  };
}

/** The numbers of a version of a platform, or undefined when it is none. */
function platformNumbers(text) {
  const found = /^\s*v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?\s*$/s.exec(text ?? '');
  const numbers = found?.slice(1).filter((number) => number !== undefined).map(Number);
  return numbers?.some((number) => number > 0xffffffff) ? undefined : numbers;
}

const isAny = (platform) => Object.values(platform ?? {}).every((value) => value == null);

/** Whether a bundle runs on a cluster: a function, which refuses versions that are none. */
function runningOn(platform) {
  const given = (name) => {
    if (platform?.[name] == null) return undefined;
    return platformNumbers(platform[name]) ?? fail('BAD_USER_INPUT', `${platform[name]} is no version`);
  };
  const [kubernetes, openshift] = [given('kubernetes'), given('openshift')];
  const compare = (a, b) => a.slice(0, b.length).map((number, at) => number - b[at]).find((order) => order !== 0) ?? 0;
  const isWithin = (version, min, max) =>
    version === undefined || ((min === undefined || compare(version, min) >= 0) && (max === undefined || compare(version, max) <= 0));
  const isListed = (version, lifecycle) => {
    const platforms = (lifecycle?.platforms ?? []).filter(({ name }) => name === 'openshift');
    const listed = platforms.flatMap(({ versions }) => versions.map(platformNumbers)).filter((numbers) => numbers !== undefined);
    return version === undefined || listed.length === 0 || listed.some((numbers) => compare(version, dual(numbers)) === 0);
  };
  const dual = (numbers) => (numbers?.[0] === 4 && numbers[1] === 23 ? [5, 0, ...numbers.slice(2)] : numbers);
  return ({ metadata, maxOpenShiftVersion, lifecycle }) =>
    isWithin(kubernetes, platformNumbers(metadata?.minKubeVersion), platformNumbers(metadata?.maxKubeVersion)) &&
    isWithin(dual(openshift), undefined, dual(platformNumbers(maxOpenShiftVersion))) &&
    isListed(dual(openshift), lifecycle) &&
    (platform?.architecture == null || (metadata?.architectures ?? ['amd64']).includes(platform.architecture));
}

/** The query root over catalogs, each `{ name, digest, model, problems, … }`. */
export function root(catalogs) {
  const served = [...catalogs].sort((a, b) => b.priority - a.priority || compareBytes(a.name, b.name));
  // Before blobs become fields with arguments.
  const outlines = new Map(served.map((catalog) => [catalog, outline(catalog.model)]));
  const views = new Map(served.map((catalog) => [catalog, view(catalog)]));
  const all = served.map((catalog) => views.get(catalog));
  const merged = (member, compare) =>
    all.flatMap((catalog) => catalog[member]).sort((a, b) => compare(a, b) || compareBytes(a.catalog.name, b.catalog.name));
  const packages = merged('ownPackages', (a, b) => compareBytes(a.name, b.name));
  const bundles = merged('ownBundles', compareBundles);
  const metas = [...all].sort((a, b) => compareBytes(a.name, b.name)).flatMap((catalog) => catalog.ownMetas);

  const known = (filter, ...members) => {
    const other = Object.keys(filter ?? {}).find((name) => filter[name] != null && filter[name].length !== 0 && !members.includes(name));
    if (other) throw new Unmodelled(`the model has no condition ${other}`);
  };
  const ordered = (orderBy, ...fields) => {
    if (orderBy != null && !fields.includes(orderBy.field)) throw new Unmodelled(`the model has no order by ${orderBy.field}`);
  };
  const named = (filter) => (item) => !filter?.names?.length || filter.names.includes(item.name);
  const deprecated = (filter) => (item) => filter?.deprecated == null || filter.deprecated === Boolean(item.deprecation);
  const providing = ({ group, version, kind }) => (bundle) =>
    (bundle?.providedApis ?? []).some((own) => own.group === group && own.kind === kind && (version == null || own.version === version));
  const like = (filter) => (item) =>
    (filter?.schema == null || item.schema === filter.schema) && (filter?.name == null || item.name === filter.name);
  const of = (names) => (item) => names == null || names.length === 0 || names.includes(item.catalog.name);
  const ofPackages = (names) => (item) => names == null || names.length === 0 || names.includes(item.package.name);
  const pages = {
    packages(keep, args) {
      known(args.filter, 'names', 'provides', 'deprecated', 'compatibleWith');
      ordered(args.orderBy, 'NAME');
      const runs = runningOn(args.filter?.compatibleWith);
      const isBackwards = args.orderBy?.direction === 'DESC';
      const all = isBackwards ? [...packages].sort((a, b) => compareBytes(b.name, a.name)) : packages;
      const kept = (item) =>
        keep(item) &&
        named(args.filter)(item) &&
        deprecated(args.filter)(item) &&
        (isAny(args.filter?.compatibleWith) || item.ownBundles.some(runs)) &&
        (args.filter?.provides == null || providing(args.filter.provides)(item.latest));
      return page({ all, keep: kept }, isBackwards ? 'packages backwards' : 'packages', (item) => [item.name, item.catalog.name], args);
    },
    bundles(keep, args) {
      known(args.filter, 'names', 'images', 'provides', 'deprecated', 'compatibleWith');
      ordered(args.orderBy);
      const runs = runningOn(args.filter?.compatibleWith);
      const kept = (item) =>
        keep(item) &&
        named(args.filter)(item) &&
        deprecated(args.filter)(item) &&
        runs(item) &&
        (!args.filter?.images?.length || args.filter.images.includes(item.image)) &&
        (args.filter?.provides == null || providing(args.filter.provides)(item));
      return page({ all: bundles, keep: kept }, 'bundles', (item) => [item.package.name, item.name, item.catalog.name], args);
    },
    metas(keep, args) {
      known(args.filter, 'schema', 'name');
      const kept = (item) => keep(item) && like(args.filter)(item);
      return page({ all: metas, keep: kept }, 'metas', (item) => [item.catalog.name, item.file, item.index], args);
    },
  };
  for (const catalog of all) {
    const own = (item) => item.catalog === catalog;
    catalog.packages = (args) => pages.packages(own, args);
    catalog.bundles = (args) => pages.bundles((item) => own(item) && ofPackages(args.packages)(item), args);
    catalog.metas = (args) => pages.metas(own, args);
    for (const item of catalog.ownPackages) {
      item.bundles = (args) => pages.bundles((bundle) => bundle.package === item, args);
    }
  }

  const catalogNamed = (name) => all.find((catalog) => catalog.name === name);
  const nodes = new Map();
  const addMetadata = ({ ownProperties }) => {
    for (const { metadata } of ownProperties) if (metadata) nodes.set(metadata.id, metadata);
  };
  for (const catalog of all) {
    nodes.set(catalog.id, catalog);
    for (const item of catalog.ownPackages) {
      nodes.set(item.id, item);
      for (const channel of item.ownChannels) {
        nodes.set(channel.id, channel);
        for (const entry of channel.entries) nodes.set(entry.id, entry);
      }
      for (const of of [item, ...item.ownChannels]) addMetadata(of);
    }
    for (const bundle of catalog.ownBundles) {
      nodes.set(bundle.id, bundle);
      addMetadata(bundle);
      if (bundle.metadata) nodes.set(bundle.metadata.id, bundle.metadata);
    }
  }

  return {
    catalogs: all,
    catalogStatuses: [...all].sort((a, b) => compareBytes(a.name, b.name)).map(({ status }) => status),
    catalog({ name, digest }) {
      const found = catalogNamed(name);
      if (found && digest != null && found.digest !== digest) fail('CATALOG_CHANGED', `${name} is now ${found.digest}`);
      return found;
    },
    packages: (args) => pages.packages(of(args.catalogs), args),
    package: ({ catalog, name }) => catalogNamed(catalog)?.package({ name }),
    bundles(args) {
      const [inCatalogs, inPackages] = [of(args.catalogs), ofPackages(args.packages)];
      return pages.bundles((item) => inCatalogs(item) && inPackages(item), args);
    },
    channel: ({ catalog, package: of, name }) => catalogNamed(catalog)?.package({ name: of })?.channel({ name }),
    bundle: ({ catalog, package: of, name }) => catalogNamed(catalog)?.package({ name: of })?.bundle({ name }),
    metas: (args) => pages.metas(of(args.catalogs), args),
    diff({ from, to }) {
      const meant = ({ name, digest }) => served.find((catalog) => (name == null ? catalog.digest === digest : catalog.name === name));
      const [before, after] = [meant(from), meant(to)];
      if (!before || !after) return null;
      const all = difference(outlines.get(before), outlines.get(after));
      return {
        fromDigest: before.digest,
        toDigest: after.digest,
        bundlesAdded: bundlesOf(all, 'ADDED'),
        bundlesRemoved: bundlesOf(all, 'REMOVED'),
        bundlesChanged: bundlesOf(all, 'CHANGED'),
        packages: ({ names }) => all.filter(({ name }) => !names?.length || names.includes(name)),
      };
    },
    node: (args) => nodes.get(args.id),
    nodes({ ids }) {
      if (ids.length > maximumIds) fail('BAD_USER_INPUT', `${ids.length} ids`);
      return ids.map((item) => nodes.get(item));
    },
  };
}

/** The number of problems of each severity. */
const countsOf = (problems, isCounted) => () => {
  if (!problems) throw new Unmodelled('the model knows no problems');
  return ['ERROR', 'WARNING'].map((severity) => ({
    severity,
    count: problems.filter((problem) => problem.severity === severity && isCounted(problem)).length,
  }));
};

/** Names in which runs of digits are numbers, which come before other text. */
function compareNumbered(a, b) {
  const runs = (name) => name.match(/\d+|\D+/g) ?? [];
  const [as, bs] = [runs(a), runs(b)];
  for (let at = 0; at < Math.min(as.length, bs.length); at += 1) {
    const numbers = [as[at], bs[at]].map((run) => /^\d/.test(run));
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    const order = numbers[0] ? Number(BigInt(as[at]) - BigInt(bs[at])) : compareBytes(as[at], bs[at]);
    if (order !== 0) return order;
  }
  return as.length - bs.length || compareBytes(a, b);
}

const picked = (value) => ({ pointer }) => {
  if (value === undefined) return undefined;
  const found = part(value, pointer);
  return found === undefined ? fail('BAD_USER_INPUT', `bad pointer ${pointer}`) : found;
};

/** Adds type name and id of what a property says of a bundle, or of what else it belongs to. */
const withIds = (property, index, of, bundle) => {
  const { metadata } = property;
  // The first one of a bundle is that of the bundle.
  const place = bundle?.metadata && bundle.metadata === metadata ? undefined : index;
  if (metadata) Object.assign(metadata, { __typename: 'CsvMetadata', id: id('CsvMetadata', ...of, place) });
  return property;
};

const withProperties = (item, of, bundle) => {
  item.ownProperties = item.properties.map((property, index) => withIds(property, index, of, bundle));
  const own = item.properties.map((property) => ({
    ...property,
    value: picked(property.value),
    ...('object' in property ? { object: picked(property.object ?? undefined) } : {}),
  }));
  item.properties = ({ types }) => own.filter(({ type }) => types == null || types.length === 0 || types.includes(type));
};

/** Adds what only GraphQL has to the model of a catalog: type names, ids and fields with arguments. */
function view(catalog) {
  const { model } = catalog;
  const made = {
    __typename: 'Catalog',
    id: id('Catalog', catalog.name),
    name: catalog.name,
    digest: catalog.digest,
    image: catalog.image,
    imageReference: catalog.imageReference ?? null,
    priority: catalog.priority,
    displayName: catalog.displayName ?? catalog.name,
    publisher: catalog.publisher,
    labels: Object.entries(catalog.labels).sort(([a], [b]) => compareBytes(a, b)).map(([key, value]) => ({ key, value })),
    lastUnpacked: catalog.lastUnpacked,
    packageCount: model.packages.length,
    bundleCount: model.bundles.length,
    schemas: model.schemaCounts(),
    problemCounts: countsOf(catalog.problems, () => true),
    problems: ({ package: of, severity, ...args }) => {
      const keep = (item) => (of == null || item.packageName === of) && (severity !== 'ERROR' || item.severity === 'ERROR');
      return page({ all: catalog.problems, keep }, 'problems', (item) => [catalog.name, catalog.problems.indexOf(item)], args);
    },
    ownPackages: model.packages,
    ownBundles: model.bundles,
    ownMetas: model.metas,
    package: ({ name }) => model.packages.find((item) => item.name === name),
    // It has been served nothing else.
    contents: [{ digest: catalog.digest, isServed: true, image: catalog.image, unpackedAt: catalog.lastUnpacked }],
  };
  made.status = { name: made.name, catalog: made };
  for (const item of model.packages) {
    const blob = model.metas.find(({ schema, packageName }) => schema === lifecycleSchema && packageName === item.name)?.blob;
    item.lifecycle = lifecyclesOf(blob, (message) => fail('BAD_USER_INPUT', message));
    for (const bundle of item.bundles) {
      const minor = parseVersion(bundle.version)?.numbers.slice(0, 2).join('.');
      bundle.lifecycle = item.lifecycle.find(({ version }) => version === minor);
    }
  }
  for (const meta of model.metas) Object.assign(meta, { catalog: made, blob: picked(meta.blob) });
  for (const item of model.packages) {
    Object.assign(item, { __typename: 'Package', id: id('Package', made.name, item.name), catalog: made, ownBundles: item.bundles });
    item.displayName = item.metadata?.displayName ?? item.name;
    item.latest = item.defaultChannel?.head?.bundle;
    item.bundle = ({ name }) => item.ownBundles.find((bundle) => bundle.name === name);
    item.ownChannels = item.channels;
    item.channels = ({ orderBy }) => {
      if (orderBy && orderBy.field !== 'NAME') throw new Unmodelled(`the model has no order by ${orderBy.field}`);
      const sorted = [...item.ownChannels].sort((a, b) => compareNumbered(a.name, b.name));
      return orderBy?.direction === 'DESC' ? sorted.reverse() : sorted;
    };
    item.problemCounts = countsOf(catalog.problems, (problem) => problem.packageName === item.name);
    // It has been served nothing else.
    item.history = (args) => page({ all: [], keep: () => true }, 'changes', () => [], args);
    item.channel = ({ name }) => item.ownChannels.find((channel) => channel.name === name);
    withProperties(item, [made.name, item.name, undefined, undefined]);
    for (const channel of item.ownChannels) {
      const isDefault = channel === item.defaultChannel;
      Object.assign(channel, { __typename: 'Channel', id: id('Channel', made.name, item.name, channel.name), isDefault });
      channel.entryCount = channel.entries.length;
      withProperties(channel, [made.name, item.name, channel.name, undefined]);
      for (const entry of channel.entries) {
        const before = channel.entries.slice(0, channel.entries.indexOf(entry));
        const occurrence = before.filter((other) => other.name === entry.name).length;
        const place = [made.name, item.name, channel.name, entry.name, occurrence];
        Object.assign(entry, { __typename: 'ChannelEntry', id: id('ChannelEntry', ...place) });
      }
    }
    for (const bundle of item.bundles) {
      withProperties(bundle, [made.name, item.name, undefined, bundle.name], bundle);
      const of = (type, member) => bundle.ownProperties.filter((own) => own.__typename === type).map((own) => own[member]);
      Object.assign(bundle, { __typename: 'Bundle', id: id('Bundle', made.name, item.name, bundle.name), catalog: made });
      const place = [made.name, item.name, undefined, bundle.name];
      if (bundle.metadata) Object.assign(bundle.metadata, { __typename: 'CsvMetadata', id: id('CsvMetadata', ...place, undefined) });
      bundle.channelNames = [...new Set(bundle.channelEntries.map((entry) => entry.channel.name))].sort(compareBytes);
      bundle.maxOpenShiftVersion = of('MaxOpenShiftVersionProperty', 'version')[0];
      bundle.providedApis = of('GvkProperty', 'gvk');
      bundle.requiredApis = of('GvkRequiredProperty', 'gvk');
      bundle.requiredPackages = of('PackageRequiredProperty', 'requirement');
    }
  }
  return made;
}

// What graphql-js answers over a second reading of the test catalogs: the phase in which a request is refused, or data
// and errors. Ids and cursors are placeholders, as `resolvers.mjs` says.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildSchema,
  defaultFieldResolver,
  execute,
  getOperationAST,
  getVariableValues,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { Num } from './json.mjs';
import { Model } from './model.mjs';
import { digest, readCatalog } from './read.mjs';
import { root, Unmodelled } from './resolvers.mjs';

export const repository = join(import.meta.dirname, '..', '..');
export const golden = join(repository, 'tests', 'testdata', 'golden');
export const schema = buildSchema(readFileSync(join(repository, 'schema.graphql'), 'utf8'));

/** What is said of the test catalogs besides their content. */
export const settings = JSON.parse(readFileSync(join(golden, 'graphql-js-catalogs.json'), 'utf8'));

/** The test catalogs, read; `more` gives what else is known of one by its name. */
export function readCatalogs(more = () => ({})) {
  return settings.map((catalog) => {
    const blobs = readCatalog(join(repository, catalog.directory));
    return { ...catalog, ...more(catalog.name), digest: digest(blobs), model: new Model(blobs) };
  });
}

/** Catalogs as the server takes them where `gaps.mjs` says: any object for an inline manifest. */
export function asServed(catalogs) {
  for (const { model } of catalogs) {
    for (const item of model.packages) {
      const all = [item, ...item.channels, ...item.bundles].flatMap(({ properties }) => properties);
      for (const property of all) {
        const isOne = property.__typename === 'OpaqueProperty' && property.type === 'olm.bundle.object';
        if (isOne && property.value instanceof Map) Object.assign(property, { __typename: 'BundleObjectProperty', object: null });
      }
    }
  }
  return catalogs;
}

/** The case with `{digest NAME}` in its document replaced by the digest of that catalog. */
export function withDigests(one, catalogs) {
  const digestOf = (_, name) => catalogs.find((catalog) => catalog.name === name).digest;
  return { ...one, query: one.query.replace(/\{digest (\w+)\}/g, digestOf) };
}

/** A function from a request to its answer over these catalogs. */
export function oracle(catalogs) {
  const rootValue = root(catalogs);
  return (request) => {
    const { document, refused, errors } = check(request);
    if (!document) return { refused, errors: errors.map(({ message, locations }) => ({ message, locations })) };
    const unknown = new Set();
    const result = execute({
      schema,
      document,
      rootValue,
      variableValues: plain(request.variables),
      operationName: request.operationName,
      fieldResolver: noting(unknown),
    });
    return { data: result.data, errors: result.errors?.map(fieldError), unknown: [...unknown] };
  };
}

/** Fields that the model says nothing of. */
const unmodelled = new Set([
  'Query.resolve',
  'Query.solve',
  'Query.availableUpgrades',
  'Query.platformUpgrade',
  'Query.platformMatrix',
  'Query.server',
  'Query.suggest',
  'Catalog.mirrorSet',
  'PackageEdge.matched',
  'CatalogStatus.lastSuccess',
  'CatalogStatus.lastFailure',
  'CatalogStatus.nextCheck',
  'Package.icon',
  'Package.requiredBy',
  'Bundle.requirements',
  'Bundle.requiredBy',
  'Bundle.olmV1',
  'GroupVersionKind.providers',
  'PackageRequirement.package',
  'PackageRequirement.providers',
  'Package.summary',
  'Package.updateGraph',
  'Package.successors',
  'Bundle.successors',
  'Bundle.predecessors',
  'Bundle.upgradePath',
  'PackageConnection.facets',
  ...[
    'capabilityLevel',
    'certified',
    'createdAt',
    'examples',
    'infrastructureFeatures',
    'initializationResource',
    'installModes',
    'suggestedNamespace',
    'suggestedNamespaceTemplate',
  ].map(
    (name) => `CsvMetadata.${name}`,
  ),
]);

/** Resolves fields as usual, and notes those that the model has nothing for. */
function noting(unknown) {
  return (source, args, context, info) => {
    const field = `${info.parentType.name}.${info.fieldName}`;
    if (unmodelled.has(field)) unknown.add(field);
    try {
      return defaultFieldResolver(source, args, context, info);
    } catch (error) {
      if (error instanceof Unmodelled) unknown.add(field);
      throw error;
    }
  };
}

/** The parsed document, or why it is refused before it is executed. */
function check({ query, variables, operationName }) {
  let document;
  try {
    // Without the option graphql-js takes `{ }`, which the specification's grammar does not.
    document = parse(query, { allowEmptySelectionSets: false });
  } catch (error) {
    return { refused: 'parse', errors: [error] };
  }
  const errors = validate(schema, document, specifiedRules);
  if (errors.length > 0) return { refused: 'validation', errors };
  const operation = getOperationAST(document, operationName);
  // One answer is no stream, as graphql-http has it.
  if (!operation || operation.operation === 'subscription') return { refused: 'operation', errors: [] };
  const coerced = getVariableValues(schema, operation.variableDefinitions ?? [], plain(variables) ?? {});
  return coerced.errors ? { refused: 'variables', errors: coerced.errors } : { document };
}

function fieldError({ message, path, locations, extensions }) {
  // The only error of graphql-js's own: an argument, of a field or of a directive, that cannot be coerced.
  const isArgument = /^Argument ".*" has invalid value/.test(message);
  return { path, code: extensions.code ?? (isArgument ? 'BAD_USER_INPUT' : undefined), message, locations };
}

/** The value with the numbers that were written in a special way as JavaScript's own. */
export function plain(value) {
  if (value instanceof Num) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

/** Every id and cursor in a value. */
export function placeholders(value) {
  if (typeof value === 'string') return value.startsWith('«') ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(placeholders) : [];
}

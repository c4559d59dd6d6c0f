// Filters and orders: what is accepted, what is not, and conditions that are none.

const bundles = (given) => `{ bundles(${given}) { totalCount nodes { name } } }`;
const packages = (given) => `{ packages(${given}) { totalCount nodes { name } } }`;

export default {
  'no conditions': `{ a: packages(filter: {}) { totalCount } b: bundles(filter: {}) { totalCount } c: metas(filter: {}) { totalCount } }`,
  'null conditions': `{
    a: packages(filter: null, orderBy: null) { totalCount } b: bundles(filter: {names: null, provides: null, deprecated: null}) { totalCount }
    c: packages(filter: {search: null, keywords: null, provides: null}) { totalCount } d: metas(filter: {schema: null}) { totalCount }
  }`,
  'empty lists': `{
    a: packages(filter: {names: [], categories: [], capabilityLevels: []}) { totalCount }
    b: bundles(filter: {names: [], channels: [], propertyTypes: []}) { totalCount }
  }`,
  'names of packages': packages('filter: {names: ["quillstore", "none", "nightjar"]}'),
  'one name for a list': packages('filter: {names: "quillstore"}'),
  'names of bundles': bundles('filter: {names: ["quillstore.v2.0.0-rc.1"]}'),
  'blobs of a schema': `{ metas(filter: {schema: "olm.channel"}, first: 500) { totalCount nodes { packageName name } } }`,
  'blobs of a name': `{ metas(filter: {name: "stable"}, first: 500) { totalCount nodes { schema packageName } } }`,
  'in variables': {
    query: 'query ($filter: PackageFilter, $order: PackageOrder) { packages(filter: $filter, orderBy: $order) { totalCount nodes { name } } }',
    variables: { filter: { names: ['lampglow', 'relaybox'] }, order: { field: 'NAME', direction: 'DESC' } },
  },
  'parts of a filter in variables': {
    query: 'query ($names: [String!], $deprecated: Boolean) { packages(filter: {names: $names, deprecated: $deprecated}) { totalCount nodes { name } } }',
    variables: { names: ['lampglow'] },
  },
  'the order backwards': packages('orderBy: {field: NAME, direction: DESC}'),
  'the direction by default': packages('orderBy: {field: NAME}'),
  'an order without a field': packages('orderBy: {direction: DESC}'),
  'an order by nothing that there is': packages('orderBy: {field: SIZE}'),
  'an order as a string': packages('orderBy: {field: "NAME"}'),
  'a direction as a string in a variable': {
    query: 'query ($order: PackageOrder) { packages(orderBy: $order) { totalCount } }',
    variables: { order: { field: 'NAME', direction: 'up' } },
  },
  'a condition that there is not': bundles('filter: {name: "x"}'),
  'a condition that there is not, in a variable': {
    query: 'query ($filter: BundleFilter) { bundles(filter: $filter) { totalCount } }',
    variables: { filter: { name: 'x' } },
  },
  'a number for a name': bundles('filter: {names: [1]}'),
  'null among names': bundles('filter: {names: ["x", null]}'),
  'an API without its kind': bundles('filter: {provides: {group: "g"}}'),
  'an API without its group in a variable': {
    query: 'query ($api: GroupVersionKindInput) { bundles(filter: {provides: $api}) { totalCount } }',
    variables: { api: { kind: 'K' } },
  },
  'a level that there is not': packages('filter: {capabilityLevels: [SOME]}'),
  'a level in a variable': {
    query: 'query ($level: CapabilityLevel!) { packages(filter: {capabilityLevels: [$level]}) { pageInfo { hasPreviousPage } } }',
    variables: { level: 'AUTO_PILOT_PLUS' },
  },
  'the same condition twice': bundles('filter: {names: ["a"], names: ["b"]}'),
  'a filter of another type': `query ($filter: BundleFilter) { packages(filter: $filter) { totalCount } }`,
  'a nullable variable where a field must not be null': {
    query: 'query ($kind: String) { bundles(filter: {provides: {group: "", kind: $kind}}) { totalCount } }',
    variables: { kind: 'K' },
  },
  'how many values of a facet by null': `{ packages { facets { keywords(first: null) { value } } } }`,
};

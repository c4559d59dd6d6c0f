// Connections, cursors and page sizes. Cursors are opaque; those used here were given out by cases before.

const info = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';
const declared = (args) => [...args.matchAll(/\$\w+/g)].map(([name]) => `${name}: String`).join(', ');
const after = (args) => `query (${declared(args)}) { packages(${args}) { totalCount ${info} edges { cursor node { name catalog { name } } } } }`;

export default {
  'all packages with their cursors': `{ packages { edges { cursor } ${info} } }`,
  'bundles page by page': `{ bundles(packages: ["quillstore", "lampglow"], first: 4) { edges { cursor node { name } } ${info} } }`,
  'the first page': `{ packages(first: 4) { totalCount ${info} edges { cursor node { name } } nodes { name } } }`,
  'the page after it': { query: after('first: 4, after: $after'), variables: { after: '«cursor packages|oddities|nasty»' } },
  'the last page': `{ packages(last: 3) { totalCount ${info} edges { cursor node { name } } } }`,
  'the page before it': { query: after('last: 3, before: $before'), variables: { before: '«cursor packages|say "hi"|nasty»' } },
  'a page between two cursors': {
    query: after('first: 2, after: $after, before: $before'),
    variables: { after: '«cursor packages|alone|nasty»', before: '«cursor packages|relaybox|example»' },
  },
  'the end of what lies between two cursors': {
    query: after('last: 2, after: $after, before: $before'),
    variables: { after: '«cursor packages|alone|nasty»', before: '«cursor packages|relaybox|example»' },
  },
  'what lies after the last': { query: after('after: $after'), variables: { after: '«cursor packages|twisted|nasty»' } },
  'what lies before the first': { query: after('before: $before'), variables: { before: '«cursor packages|alone|nasty»' } },
  'cursors of null are none': { query: after('first: 1, after: $after, before: $before'), variables: { after: null, before: null } },
  'a cursor of every catalog in one catalog': {
    query: 'query ($after: String) { catalog(name: "example") { packages(after: $after) { nodes { name } pageInfo { hasPreviousPage } } } }',
    variables: { after: '«cursor packages|oddities|nasty»' },
  },
  'a page of nothing': `{ packages(first: 0) { totalCount nodes { name } edges { cursor } ${info} } }`,
  'a last page of nothing': `{ packages(last: 0) { totalCount nodes { name } ${info} } }`,
  'the largest page': `{ packages(first: 500) { totalCount } }`,
  'a page that is too large': `{ packages(first: 501) { totalCount } catalogs { name } }`,
  'a last page that is too large': `{ packages(last: 501) { totalCount } }`,
  'a negative page': `{ bundles(first: -1) { totalCount } }`,
  'a negative last page': `{ metas(last: -1) { totalCount } }`,
  'first with last': `{ packages(first: 1, last: 1) { totalCount } }`,
  'first with last of null': `{ packages(first: 1, last: null) { nodes { name } } }`,
  'first and last of null': `{ packages(first: null, last: null, catalogs: null) { totalCount } }`,
  'a cursor that is none': `{ packages(after: "nonsense") { totalCount } }`,
  'an empty cursor': `{ packages(before: "") { totalCount } }`,
  'a cursor of something else': {
    query: 'query ($after: String) { packages(after: $after) { totalCount } }',
    variables: { after: '«cursor bundles|lampglow|lampglow.v0.5.2|example»' },
  },
  'bundles after a cursor': {
    query: `query ($after: String) { bundles(packages: ["quillstore", "lampglow"], after: $after) { edges { cursor node { name } } ${info} } }`,
    variables: { after: '«cursor bundles|quillstore|quillstore.v1.4.0|example»' },
  },
  'bundles of a package before a cursor of all': {
    query: `query ($before: String) { package(catalog: "example", name: "quillstore") { bundles(before: $before, last: 1) { totalCount nodes { name } ${info} } } }`,
    variables: { before: '«cursor bundles|quillstore|quillstore.v1.4.0|example»' },
  },
  'blobs backwards': `{ metas(last: 2) { edges { cursor node { name } } ${info} } }`,
  'blobs before a cursor': {
    query: `query ($before: String) { metas(last: 2, before: $before) { edges { cursor node { schema name } } ${info} } }`,
    variables: { before: '«cursor metas|nasty|deep/er/50-last.json|2»' },
  },
  'blobs of one catalog after a cursor of all': {
    query: `query ($after: String) { catalog(name: "nasty") { metas(first: 2, after: $after) { nodes { name } ${info} } } }`,
    variables: { after: '«cursor metas|nasty|deep/er/50-last.json|1»' },
  },
  'problems page by page': `{ catalog(name: "nasty") { problems(first: 3) { edges { cursor node { code } } ${info} } } }`,
  'problems after a cursor': {
    query: `query ($after: String) { catalog(name: "nasty") { problems(first: 2, after: $after) { nodes { code } ${info} } } }`,
    variables: { after: '«cursor problems|nasty|2»' },
  },
  'only the count': `{ packages { totalCount } bundles { totalCount } metas { totalCount } }`,
  'only the names of types': `{ packages(first: 1) { __typename edges { __typename node { __typename } } nodes { __typename } pageInfo { __typename } } }`,
  'a first page before a cursor': {
    query: after('first: 2, before: $before'),
    variables: { before: '«cursor packages|relaybox|example»' },
  },
  'a last page after a cursor': {
    query: after('last: 2, after: $after'),
    variables: { after: '«cursor packages|relaybox|example»' },
  },
  'cursors the wrong way round': {
    query: after('after: $after, before: $before'),
    variables: { after: '«cursor packages|relaybox|example»', before: '«cursor packages|alone|nasty»' },
  },
  'the same cursor twice': {
    query: after('after: $after, before: $after'),
    variables: { after: '«cursor packages|relaybox|example»' },
  },
  'a cursor of what the list leaves out': {
    query: `query ($after: String) { bundles(packages: ["relaybox", "lampglow"], after: $after, first: 2) { totalCount nodes { name } ${info} } }`,
    variables: { after: '«cursor bundles|quillstore|quillstore.v1.4.0|example»' },
  },
  'packages out of order and twice': `{ bundles(packages: ["relaybox", "lampglow", "relaybox", "", "nothing"]) { totalCount nodes { name } } }`,
  'catalogs out of order and twice': `{ packages(catalogs: ["nasty", "example", "nasty"]) { totalCount nodes { name catalog { name } } } }`,
  'a cursor that is base64 of something else': `{ packages(after: "UA") { totalCount } }`,
  'a cursor with padding': `{ packages(after: "UA==") { totalCount } }`,
  'an id as a cursor': {
    query: 'query ($after: String) { packages(after: $after) { totalCount } }',
    variables: { after: '«Package|example|quillstore»' },
  },
  'a cursor as an id': { query: 'query ($id: ID!) { node(id: $id) { id } }', variables: { id: '«cursor packages|relaybox|example»' } },
  'bundles of the last versions': `{ bundles(last: 3) { nodes { name } ${info} } }`,
  'bundles of packages with odd versions': `{ bundles(packages: ["twisted", "oddities"], first: 5) { nodes { name version package { catalog { name } } } } }`,
};

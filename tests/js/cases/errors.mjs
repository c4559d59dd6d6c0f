// Errors of fields: where they are told of, and what becomes null.

export default {
  'a bad cursor fails its field alone': `{ packages(after: "x") { totalCount } catalogs { name } }`,
  'a bad cursor under an alias': `{ good: packages(first: 1) { nodes { name } } bad: packages(after: "x") { totalCount } }`,
  'a bad cursor deep in lists': `{
    catalogs { name packages(first: 2) { nodes { name bundles(after: "x") { totalCount } } } }
  }`,
  'a bad cursor where null is not allowed': `{ catalog(name: "example") { name packages(after: "x") { totalCount } } good: catalog(name: "nasty") { name } }`,
  'a bad cursor in a list where null is not allowed': `{ catalogs { name packages(first: -1) { totalCount } } }`,
  'two bad fields side by side': `{ a: packages(first: 501) { totalCount } b: bundles(after: "x") { totalCount } c: catalogs { name } }`,
  'two bad fields of one object': `{ catalog(name: "example") { name bundles(first: -1) { totalCount } metas(after: "") { totalCount } } }`,
  'two bad fields of which one empties the other': `{ catalog(name: "example") { bundles(first: -1) { totalCount } packages(first: -1) { totalCount } } }`,
  'a pin that does not hold': `{ catalog(name: "example", digest: "sha256:00") { name } }`,
  'pins that hold and pins that do not under aliases': `{
    held: catalog(name: "example", digest: "{digest example}") { name }
    lost: catalog(name: "example", digest: "{digest nasty}") { name }
    other: catalog(name: "nasty", digest: "") { name }
    gone: catalog(name: "nowhere", digest: "{digest nasty}") { name }
  }`,
  'a pin that does not hold in a fragment': `query { ...F } fragment F on Query { ...G } fragment G on Query { pinned: catalog(name: "nasty", digest: "x") { id } }`,
  'a pin in a variable': { query: 'query ($d: String) { catalog(name: "nasty", digest: $d) { name } }', variables: { d: 'sha256:1' } },
  'a bad argument of a field that is skipped': `{ packages(after: "x") @skip(if: true) { totalCount } catalogs { name } }`,
  'a bad argument of a field of no object': `{ catalog(name: "nowhere") { bundles(after: "x") { totalCount } } }`,
  'a bad argument of a field on another type': {
    query: 'query ($id: ID!) { node(id: $id) { id ... on Catalog { bundles(after: "x") { totalCount } } } }',
    variables: { id: '«Package|example|quillstore»' },
  },
  'a bad argument of a field of nodes': {
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Package { name bundles(first: -5) { totalCount } } ... on Catalog { packages(first: -5) { totalCount } } } }',
    variables: { ids: ['«Package|example|quillstore»', '«Catalog|example»', 'x'] },
  },
  'an error in a merged field': `{ packages(first: -1) { totalCount } ...F } fragment F on Query { packages(first: -1) { nodes { name } } }`,
  'an error on the third line': `{
    catalogs { name }
      packages(after: "x") { totalCount }
  }`,
  'an error after characters of two units': `{ catalogs { name } # 😀
  catalog(name: "😀") { name } packages(after: "x") { totalCount } }`,
};

// Fields of one key that cannot both be answered: each document is refused.

export default {
  'one text as a string and as a block string': `{ catalog(name: "example") { name } catalog(name: """example""") { __typename } }`,
  'lists of which one begins as the other': `{ packages(catalogs: ["example"]) { totalCount } packages(catalogs: ["example", "nasty"]) { totalCount } }`,
  'an empty list and another one': `{ packages(catalogs: []) { totalCount } packages(catalogs: ["example"]) { totalCount } }`,
  'lists within objects of which one begins as the other': `{ packages(filter: {names: ["a", "b"]}) { totalCount } packages(filter: {names: ["a"]}) { totalCount } }`,
  'equal lists among others': `{ a: packages(catalogs: ["nasty"]) { totalCount } packages(catalogs: ["example", "nasty"]) { totalCount } packages(catalogs: ["example" "nasty"]) { totalCount } }`,
  'different fields under one alias': `{ catalogs { x: name x: digest } }`,
  'an alias that hides a field': `{ catalogs { name: digest name } }`,
  'different arguments': `{ catalog(name: "example") { id } catalog(name: "nasty") { id } }`,
  'an argument that one of them lacks': `{ packages(first: 1) { totalCount } packages { totalCount } }`,
  'different variables as arguments': {
    query: 'query ($a: Int, $b: Int) { packages(first: $a) { totalCount } packages(first: $b) { totalCount } }',
    variables: { a: 1, b: 1 },
  },
  'a variable and its value': { query: 'query ($a: Int) { packages(first: $a) { totalCount } packages(first: 1) { totalCount } }', variables: { a: 1 } },
  'one variable as an argument twice is no conflict': {
    query: 'query ($a: Int) { packages(first: $a) { totalCount } packages(first: $a) { nodes { name } } }',
    variables: { a: 1 },
  },
  'different lists as arguments': `{ packages(catalogs: ["a", "b"]) { totalCount } packages(catalogs: ["b", "a"]) { totalCount } }`,
  'different input objects as arguments': `{ metas(filter: {name: "a"}) { totalCount } metas(filter: {name: "b"}) { totalCount } }`,
  'a conflict deep below': `{
    catalog(name: "example") { package(name: "relaybox") { channels { x: name } } }
    catalog(name: "example") { package(name: "relaybox") { channels { x: id } } }
  }`,
  'a conflict of arguments deep below': `{
    catalog(name: "example") { package(name: "relaybox") { id } }
    catalog(name: "example") { package(name: "nightjar") { id } }
  }`,
  'a conflict between a field and a fragment': `{ catalogs { x: name ...F } } fragment F on Catalog { x: digest }`,
  'a conflict between two fragments': `{ catalogs { ...F ...G } } fragment F on Catalog { x: name } fragment G on Catalog { x: digest }`,
  'a conflict between fragments of fragments': `
    { catalogs { ...A ...B } } fragment A on Catalog { ...A2 } fragment A2 on Catalog { x: name }
    fragment B on Catalog { ...B2 } fragment B2 on Catalog { x: digest }`,
  'a conflict within an unused path of a fragment': `{ catalogs { ...F } } fragment F on Catalog { x: name x: digest }`,
  'a conflict through inline fragments': `{ catalogs { ... on Catalog { x: name } ... on Node { x: id } } }`,
  'a conflict between an interface and its implementation': `{
    bundle(catalog: "x", package: "x", name: "x") { properties { ... on Property { x: type } ... on GvkProperty { x: value } } }
  }`,
  'different scalars on types that exclude each other': `{
    bundle(catalog: "x", package: "x", name: "x") { properties { ... on PackageProperty { x: packageName } ... on GvkProperty { x: value } } }
  }`,
  'a scalar and an object on types that exclude each other': `{
    bundle(catalog: "x", package: "x", name: "x") { properties { ... on PackageProperty { x: packageName } ... on GvkProperty { x: gvk { kind } } } }
  }`,
  'an object and a list on types that exclude each other': {
    query: 'query ($id: ID!) { node(id: $id) { ... on Package { x: defaultChannel { name } } ... on Channel { x: entries { name } } } }',
    variables: { id: 'x' },
  },
  'a conflict below types that exclude each other': `{
    bundle(catalog: "x", package: "x", name: "x") { properties { ... on GvkProperty { gvk { x: kind } } ... on GvkRequiredProperty { gvk { x: group } } } }
  }`,
  'a conflict below types that exclude each other with other types': `{
    bundle(catalog: "x", package: "x", name: "x") { properties {
      ... on PackageRequiredProperty { x: requirement { y: packageName } } ... on ConstraintProperty { x: constraint { y: cel } }
    } }
  }`,
  'a conflict of the name of the type': `{ catalogs { x: __typename x: name } }`,
};

// Aliases, fragments, type conditions, duplicates that merge and `__typename`.

export default {
  'an alias': `{ all: catalogs { called: name } }`,
  'aliases that swap names': `{ catalog(name: "example") { name: displayName displayName: name } }`,
  'aliases with different arguments': `{ a: catalog(name: "example") { name } b: catalog(name: "nasty") { name } c: catalog(name: "none") { name } }`,
  'keys come in the order of the document': `{ catalog(name: "example") { priority name digest: id displayName } }`,
  'a field selected twice keeps its first place': `{ catalog(name: "example") { name priority name displayName priority } }`,
  'a field and the same under its own name': `{ catalog(name: "example") { name name: name } }`,
  'selections of one field merge': `{ catalog(name: "example") { name } catalog(name: "example") { priority } catalog(name: "example") { name id } }`,
  'selections merge deeply': `{
    catalog(name: "example") { package(name: "relaybox") { channels { name } } name }
    catalog(name: "example") { package(name: "relaybox") { channels { head { name } } description } }
    catalog(name: "example") { package(name: "relaybox") { channels { head { bundle { version } } isDefault } } }
  }`,
  'selections merge through fragments': `
    { catalog(name: "example") { ...A package(name: "lampglow") { name } ...B } }
    fragment A on Catalog { name package(name: "lampglow") { deprecation { message } } }
    fragment B on Catalog { package(name: "lampglow") { deprecation { schema } name } priority }`,
  'selections merge through inline fragments': `{
    catalog(name: "example") { ... { name } ... on Catalog { name priority } ... on Node { id } ... @include(if: true) { displayName } }
  }`,
  'arguments are equal in any order': `{
    packages(first: 1, catalogs: ["example"]) { totalCount }
    packages(catalogs: ["example"], first: 1) { nodes { name } }
  }`,
  'input objects are equal in any order': `{
    metas(filter: {name: "nightjar", schema: "olm.package"}) { totalCount }
    metas(filter: {schema: "olm.package", name: "nightjar"}) { nodes { name } }
  }`,
  'a fragment': `query { catalogs { ...Named } } fragment Named on Catalog { name }`,
  'a fragment used twice': `{ a: catalog(name: "example") { ...F ...F } b: catalog(name: "nasty") { ...F } } fragment F on Catalog { name }`,
  'fragments within fragments': `
    { catalogs { ...A } } fragment A on Catalog { ...B priority } fragment B on Catalog { ...C } fragment C on Catalog { name }`,
  'fragments defined before their use': `fragment F on Query { catalogs { name } } query { ...F }`,
  'a fragment at the root': `{ ...F __typename } fragment F on Query { catalogs { name } }`,
  'a fragment on an interface': `{ catalogs { ...N } packages(first: 2) { nodes { ...N name } } } fragment N on Node { __typename id }`,
  'a fragment on an interface within a type': `{ package(catalog: "example", name: "relaybox") { ... on Node { id } name ... on Package { id } } }`,
  'fragments on the implementations of an interface': `{
    package(catalog: "example", name: "quillstore") { bundles(first: 3) { nodes { properties {
      ... on GvkProperty { gvk { kind } }
      ... on PackageProperty { version }
      ... on MaxOpenShiftVersionProperty { version }
      ... on OpaqueProperty { value }
    } } } }
  }`,
  'keys come in the order of each type': `{
    package(catalog: "example", name: "quillstore") { bundles(first: 2) { nodes { properties {
      ... on PackageProperty { version packageName }
      type
      ... on Property { value }
      ... on GvkProperty { type gvk { version } }
    } } } }
  }`,
  'an interface within an interface fragment': `{
    bundle(catalog: "example", package: "nightjar", name: "nightjar.v1.0.0-beta.1") { properties {
      ... on Property { ... on ConstraintProperty { constraint { failureMessage any { gvk { kind } } } } ... on Property { type } }
    } }
  }`,
  'one key of different fields on types that exclude each other': `{
    package(catalog: "example", name: "nightjar") { bundles { nodes { properties {
      ... on PackageProperty { what: packageName } ... on GvkProperty { what: type } ... on OpaqueProperty { what: type }
    } } } }
  }`,
  'one key of different sub-selections on types that exclude each other': `{
    bundle(catalog: "example", package: "nightjar", name: "nightjar.v0.9.0") { properties {
      ... on GvkProperty { gvk { kind } } ... on GvkRequiredProperty { gvk { group version } }
    } }
  }`,
  'one key of different nullability on types that exclude each other is refused': `{
    bundle(catalog: "x", package: "x", name: "x") { properties { ... on PackageProperty { v: version } ... on OpaqueProperty { v: value } } }
  }`,
  'an object without a field is empty': `{
    package(catalog: "example", name: "lampglow") { bundles { nodes { properties { ... on ConstraintProperty { type } } } } }
  }`,
  'the name of the type everywhere': `{
    __typename
    catalogs { __typename labels { __typename } schemas { __typename } problems { __typename pageInfo { __typename } } }
    package(catalog: "example", name: "quillstore") {
      __typename channels { __typename head { __typename } entries { __typename } }
      deprecation { __typename }
      bundles(last: 1) { __typename nodes { __typename relatedImages { __typename } providedApis { __typename } properties { __typename } } }
    }
  }`,
  'the name of the type under aliases': `{ a: __typename b: __typename catalogs { type: __typename name } }`,
  'the name of the type of an interface': {
    query: 'query ($id: ID!) { node(id: $id) { __typename kind: __typename } }',
    variables: { id: '«Channel|example|quillstore|stable»' },
  },
  'only the name of the type': `{ __typename }`,
  'a field within itself': `{ package(catalog: "example", name: "nightjar") { defaultChannel { package { defaultChannel { package { name catalog { package(name: "nightjar") { name } } } } } } } }`,
  'three ways to one object': `{
    a: package(catalog: "example", name: "nightjar") { id }
    b: catalog(name: "example") { package(name: "nightjar") { id } }
    c: bundle(catalog: "example", package: "nightjar", name: "nightjar.v0.8.0") { package { id } }
  }`,
  'fragments of several types on one list of nodes': {
    query: `query ($ids: [ID!]!) { nodes(ids: $ids) {
      ... on Package { b: bundles(first: 1) { totalCount } }
      ... on Catalog { b: bundles(first: 2) { totalCount nodes { name } } }
      ... on Node { ... on Package { b: bundles(first: 1) { nodes { name } } } id }
    } }`,
    variables: { ids: ['«Package|example|quillstore»', '«Catalog|example»', 'x'] },
  },
  'one fragment on two types that implement': {
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { ...A ...B } } fragment A on Node { id ...B } fragment B on Bundle { version ...C } fragment C on Node { __typename }',
    variables: { ids: ['«Package|example|quillstore»', '«Bundle|example|quillstore|quillstore.v2.0.0-rc.1»'] },
  },
  'nothing is left at the root': `{ __typename @skip(if: true) }`,
  'keys that differ by case': `{ catalog(name: "example") { Name: name name NAME: name } }`,
  'a long alias and one that begins with underscores': `{ ${'a'.repeat(200)}: __typename _: __typename ___: __typename }`,
};

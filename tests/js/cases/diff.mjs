// What differs between contents, and which subscriptions there are.

const everything = `fromDigest toDigest bundlesAdded bundlesRemoved bundlesChanged packages {
  name change fields fromDefaultChannel toDefaultChannel
  channels { name change fromHead toHead entriesAdded entriesRemoved entriesChanged }
  bundles { name change fields }
}`;

export default {
  'two catalogs': `{ diff(from: {name: "example"}, to: {name: "nasty"}) { ${everything} } }`,
  'two catalogs the other way around': `{ diff(from: {name: "nasty"}, to: {name: "example"}) { ${everything} } }`,
  'a catalog and itself': `{ diff(from: {name: "nasty"}, to: {name: "nasty"}) { ${everything} } }`,
  'some packages of two catalogs': {
    query: `query ($names: [String!]) { diff(from: {name: "example"}, to: {name: "nasty"}) {
      bundlesAdded all: packages { name } none: packages(names: []) { name } packages(names: $names) { name }
    } }`,
    variables: { names: ['etcd', 'nowhere', 'broken'] },
  },
  'a digest and a name': `{ diff(from: {digest: "{digest nasty}"}, to: {name: "example"}) { fromDigest packages { change name } } }`,
  'two digests': `{ diff(from: {digest: "{digest example}"}, to: {digest: "{digest nasty}"}) { toDigest } }`,
  'a digest that nobody has': `{ diff(from: {digest: "sha256:00"}, to: {name: "example"}) { fromDigest } }`,
  'a name that nobody has': `{ diff(from: {name: "nowhere"}, to: {name: "example"}) { fromDigest } }`,
  'one side by variable': {
    query: 'query ($to: CatalogRef!) { diff(from: {name: "example"}, to: $to) { packages { name } } }',
    variables: { to: { name: 'nasty' } },
  },
  'both of a side': `{ diff(from: {name: "example", digest: "x"}, to: {name: "nasty"}) { fromDigest } }`,
  'neither of a side': `{ diff(from: {}, to: {name: "nasty"}) { fromDigest } }`,
  'a side that is null': `{ diff(from: {name: null}, to: {name: "nasty"}) { fromDigest } }`,
  'only one side': `{ diff(from: {name: "nasty"}) { fromDigest } }`,
  'a subscription to two fields': `subscription { catalogChanged { name } other: catalogChanged { name } }`,
  'a subscription to one field twice': `subscription { catalogChanged { name } ...Again } fragment Again on Subscription { ... { catalogChanged { catalog { name } } } }`,
  'a subscription to two fields by a fragment': `subscription { ...Two } fragment Two on Subscription { catalogChanged { name } other: catalogChanged { name } }`,
  'a subscription to introspection': `subscription { __typename }`,
  'a subscription that may be skipped': `subscription ($no: Boolean!) { catalogChanged @skip(if: $no) { name } }`,
  'a subscription to what there is not': `subscription { packageChanged { name } }`,
  'a field of queries in a subscription': `subscription { catalogs { name } }`,
  'a list of names with null in it': `subscription { catalogChanged(names: ["a", null]) { name } }`,
};

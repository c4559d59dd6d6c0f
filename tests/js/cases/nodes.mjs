// Global ids. The ids themselves are opaque; those used here were given out by cases before.

export default {
  'ids of one object of each type': `{
    catalog(name: "example") { id package(name: "quillstore") { id channel(name: "stable") { id } bundles(first: 1) { nodes { id } } } }
    odd: package(catalog: "nasty", name: "say \\"hi\\"") { id channels { id } bundles { nodes { id } } }
  }`,
  'a node of each type': {
    query: `query ($catalog: ID!, $package: ID!, $channel: ID!, $bundle: ID!) {
      a: node(id: $catalog) { ...N } b: node(id: $package) { ...N } c: node(id: $channel) { ...N } d: node(id: $bundle) { ...N }
    }
    fragment N on Node {
      __typename id ... on Catalog { name } ... on Package { name } ... on Channel { name } ... on Bundle { name version }
    }`,
    variables: {
      catalog: '«Catalog|example»',
      package: '«Package|example|quillstore»',
      channel: '«Channel|example|quillstore|stable»',
      bundle: '«Bundle|example|quillstore|quillstore.v2.0.0-rc.1»',
    },
  },
  'ids of entries, also of two for one bundle': `{
    package(catalog: "nasty", name: "twisted") { channels { name entries { id name replaces channel { id } } } }
    channel(catalog: "example", package: "quillstore", name: "stable") { id name entries { id name bundle { id } } }
  }`,
  'ids of metadata, that of a bundle and that of its property': `{
    package(catalog: "example", name: "quillstore") { metadata { id displayName } }
    bundle(catalog: "nasty", package: "oddities", name: "oddities.bad") {
      metadata { id displayName } properties { ... on CsvMetadataProperty { metadata { id displayName } } }
    }
    inline: bundle(catalog: "example", package: "lampglow", name: "lampglow.v0.5.2") { metadata { id displayName } }
  }`,
  'nodes within others': {
    query: `query ($ids: [ID!]!) {
      nodes(ids: $ids) { __typename id ... on ChannelEntry { name replaces } ... on CsvMetadata { displayName } }
    }`,
    variables: {
      ids: [
        '«ChannelEntry|example|quillstore|stable|quillstore.v1.0.0|0»',
        '«CsvMetadata|nasty|oddities||oddities.bad|»',
        '«CsvMetadata|example|lampglow||lampglow.v0.5.2|»',
      ],
    },
  },
  'a channel by its names': `{
    channel(catalog: "nasty", package: "say \\"hi\\"", name: "none") { id }
    other: channel(catalog: "none", package: "quillstore", name: "stable") { id }
  }`,
  'nodes in the order asked with what is unknown as null': {
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }',
    variables: {
      ids: ['«Package|nasty|say "hi"»', 'no id', '«Catalog|nasty»', '', '«Bundle|nasty|say "hi"|a\\b/"c"»', '«Catalog|nasty»'],
    },
  },
  'an id that is a number is a string': `{ node(id: 12) { id } nodes(ids: [1, "2"]) { id } }`,
  'one id for a list of ids': { query: 'query ($id: ID!) { nodes(ids: [$id]) { id } }', variables: { id: '«Catalog|example»' } },
  'a single value becomes a list of ids': { query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', variables: { ids: '«Catalog|example»' } },
  'no ids at all': `{ nodes(ids: []) { id } }`,
  'a hundred ids': { query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', variables: { ids: Array(100).fill('x') } },
  'one id too many leaves no data': { query: 'query ($ids: [ID!]!) { catalogs { name } nodes(ids: $ids) { id } }', variables: { ids: Array(101).fill('x') } },
  'a float is no id': `{ node(id: 1.5) { id } }`,
  'an id as a number in a variable': { query: 'query ($id: ID!) { node(id: $id) { id } }', variables: { id: 12 } },
  'an id as a boolean in a variable': { query: 'query ($id: ID!) { node(id: $id) { id } }', variables: { id: true } },
  'null among ids': { query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', variables: { ids: ['x', null] } },
  'fields of a type on a node of another': {
    query: 'query ($id: ID!) { node(id: $id) { id ... on Bundle { version } ... on Package { name } } }',
    variables: { id: '«Package|example|quillstore»' },
  },
  'a field that a node does not have': `{ node(id: "x") { name } }`,
};

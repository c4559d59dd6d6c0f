// What the catalogs hold: every type and every field, over sound and over wrong content.

const property = `
fragment Value on Property {
  __typename type value
  ... on PackageProperty { packageName version release }
  ... on PackageRequiredProperty { requirement { packageName versionRange } }
  ... on GvkProperty { gvk { group version kind } }
  ... on GvkRequiredProperty { gvk { group version kind } }
  ... on BundleObjectProperty { object }
  ... on MaxOpenShiftVersionProperty { maximum: version }
  ... on ConstraintProperty { constraint { ...Condition all { ...Condition any { ...Condition } all { ...Condition } not { ...Condition } } } }
}
fragment Condition on Constraint {
  failureMessage cel package { packageName versionRange } gvk { group version kind }
}`;

const name = (catalog, pkg, bundle) => ({ catalog, package: pkg, name: bundle });
const byName = `query ($catalog: String!, $package: String!, $name: String!) { bundle(catalog: $catalog, package: $package, name: $name) { name version release image properties { ...Value } } } ${property}`;

export default {
  'every catalog with what is known of it': `{
    catalogs {
      id name digest image imageReference priority displayName publisher labels { key value } lastUnpacked
      schemas { schema count known }
    }
  }`,
  'what is known of catalogs beside what they serve': `{
    catalogStatuses { name catalog { id name } }
    catalogs { status { name catalog { id } } contents { digest isServed image unpackedAt } }
  }`,
  'packages of every catalog by name then by catalog': `{
    packages { totalCount nodes { id name description catalog { name } } }
  }`,
  'channels and their heads': `{
    packages { nodes { name defaultChannel { id } channels { id name isDefault package { name } head { name bundle { version } } } } }
  }`,
  'entries of channels': `{
    catalog(name: "nasty") { packages(first: 10) { nodes { name channels { name entries {
      name replaces skips skipRange channel { name } bundle { id version }
    } } } } }
  }`,
  'bundles of every catalog by package then highest version first': `{
    bundles(first: 100) { totalCount nodes { id name version release image package { name catalog { name } } } }
  }`,
  'bundles of one package in both catalogs': `{
    bundles(packages: ["oddities", "quillstore", "nothing"]) { totalCount nodes { name version release } }
  }`,
  'an empty list of packages is no condition': `{ bundles(packages: [], first: 3) { totalCount nodes { name } } }`,
  'an empty list of catalogs is no condition': `{ packages(catalogs: []) { totalCount } }`,
  'unknown catalogs and packages select nothing': `{
    packages(catalogs: ["nowhere"]) { totalCount nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }
    bundles(catalogs: ["example", "nowhere"], packages: ["nothing"]) { totalCount edges { cursor } }
    metas(catalogs: ["nowhere"]) { totalCount }
    catalog(name: "nowhere") { name }
    package(catalog: "example", name: "nothing") { name }
    other: package(catalog: "nowhere", name: "quillstore") { name }
  }`,
  'where bundles are placed': `{
    bundles(catalogs: ["example"], first: 100) { nodes { name channelEntries { channel { name } name replaces skips skipRange } } }
  }`,
  'where wrong bundles are placed': `{
    bundles(catalogs: "nasty", first: 100) { nodes { name channelEntries { channel { name } replaces skips } } }
  }`,
  'apis and packages that bundles provide and need': `{
    bundles(first: 100) { nodes { name
      providedApis { group version kind } requiredApis { group version kind } requiredPackages { packageName versionRange }
    } }
  }`,
  'images that bundles need': `{ bundles(first: 100) { nodes { name relatedImages { name image } } } }`,
  'deprecations of packages channels and bundles': `{
    packages { nodes { name deprecation { schema name message }
      channels { name deprecation { schema name message } }
      bundles(first: 10) { nodes { name deprecation { schema name message } } } } }
  }`,
  'properties of packages': {
    query: `{ a: package(catalog: "nasty", name: "oddities") { properties { ...Value } } b: package(catalog: "example", name: "quillstore") { properties { ...Value } } } ${property}`,
  },
  'properties of channels': `{ packages(first: 12) { nodes { name channels { name properties { __typename type value ... on MaxOpenShiftVersionProperty { version } } } } } }`,
  'properties of a bundle of a channel': {
    query: `{ catalog(name: "example") { package(name: "nightjar") { channel(name: "preview") { head { bundle { properties { ...Value } } } } } } } ${property}`,
  },
  'properties by type': `{
    bundle(catalog: "example", package: "quillstore", name: "quillstore.v1.4.0") {
      one: properties(types: ["olm.gvk"]) { type value }
      two: properties(types: ["olm.maxOpenShiftVersion", "olm.package"]) { type value }
      none: properties(types: ["nothing"]) { type }
      all: properties(types: []) { type }
      absent: properties(types: null) { type }
    }
  }`,
  'an inline manifest': { query: byName, variables: name('example', 'lampglow', 'lampglow.v0.5.2') },
  'a bundle with a release': { query: byName, variables: name('example', 'sealwright', 'sealwright-v1.4.0-2') },
  'properties with values of wrong types': { query: byName, variables: name('nasty', 'oddities', 'oddities.v3.0.0') },
  'a package property that comes three times': { query: byName, variables: name('nasty', 'oddities', 'oddities.two') },
  'a bundle without properties': { query: byName, variables: name('nasty', 'oddities', 'oddities.none') },
  'openshift versions in every spelling and unknown types': { query: byName, variables: name('nasty', 'oddities', 'oddities.bad') },
  'constraints that nest and constraints that are refused': { query: byName, variables: name('nasty', 'oddities', 'oddities.constraints') },
  'inline manifests in yaml and in json': { query: byName, variables: name('nasty', 'oddities', 'oddities.objects') },
  'inline manifests in base64 as Go takes it': {
    query: 'query ($catalog: String!, $package: String!, $name: String!) { bundle(catalog: $catalog, package: $package, name: $name) { properties(types: ["olm.bundle.object"]) { ... on BundleObjectProperty { object } } } }',
    variables: name('nasty', 'oddities', 'oddities.base64'),
  },
  'inline manifests that are none': {
    query: 'query ($catalog: String!, $package: String!, $name: String!) { bundle(catalog: $catalog, package: $package, name: $name) { properties(types: ["olm.bundle.object"]) { __typename ... on BundleObjectProperty { object } } } }',
    variables: name('nasty', 'oddities', 'oddities.broken'),
  },
  'names with quotes backslashes and line feeds': { query: byName, variables: name('nasty', 'say "hi"', 'a\\b/"c"') },
  'keys in any case': { query: byName, variables: name('nasty', 'shouty', 'shouty.v1.0.0') },
  'the first of two bundles of a name is served': { query: byName, variables: name('nasty', 'twisted', 'twisted.v1.2.0') },
  'a bundle of a package that does not exist is none': { query: byName, variables: name('nasty', 'nowhere', 'nowhere.v1.0.0') },
  'a bundle by its image in the catalog of the highest priority': {
    query: '{ catalog(name: "example") { package(name: "quillstore") { bundles { nodes { name image } } } } }',
  },
  'a bundle by an image that two catalogs have': {
    query: 'query ($image: String!) { bundles(filter: {images: [$image]}) { nodes { id name } } }',
    variables: { image: 'registry.example.com/quillstore/bundle@sha256:62eb856b75323b15d798bc6599fc9814ca4dd4122edc2b8231d9b95a5ccb6000' },
  },
  'the last openshift version of each bundle': `{ bundles(catalogs: ["nasty"], first: 100) { nodes { name maxOpenShiftVersion } } }`,
  'a bundle by an image that nobody has': `{ bundles(filter: {images: ["registry.example.com/none:1"]}) { nodes { id } } }`,
  'a bundle by an image with a quote in it': `{ bundles(filter: {images: ["\\"\\\\"]}) { nodes { id } } }`,
  'bundles and packages that run on a cluster': {
    query: `query ($old: PlatformInput, $new: PlatformInput = {kubernetes: "v1.31.4+k3s1", openshift: "4.18"}) {
      old: bundles(filter: {compatibleWith: $old}, first: 100) { totalCount nodes { name } }
      new: bundles(filter: {compatibleWith: $new}, first: 100) { totalCount nodes { name } }
      packages(filter: {compatibleWith: $old}) { totalCount nodes { name } }
      other: packages(filter: {compatibleWith: {architecture: "s390x"}}) { totalCount }
      any: packages(filter: {compatibleWith: {}}) { totalCount }
    }`,
    variables: { old: { kubernetes: '1.30', openshift: '4.9.1', architecture: 'amd64' } },
  },
  'a cluster without a version': `{
    packages(filter: {compatibleWith: {kubernetes: "1"}}) { totalCount }
    bundles(filter: {compatibleWith: {openshift: "4.x"}}) { totalCount }
    known: bundles(filter: {compatibleWith: {kubernetes: " v1.20 "}}, first: 1) { nodes { name } }
  }`,
  'blobs of every schema in catalog order': `{ metas(first: 200) { totalCount nodes { catalog { name } schema name packageName } } }`,
  'blobs of the sound catalog': `{ metas(catalogs: ["example"], first: 100) { nodes { blob } } }`,
  'blobs of the nasty catalog': `{ catalog(name: "nasty") { metas(first: 100) { nodes { schema name packageName blob } } } }`,
  'problems of a catalog': `{
    catalogs { name problems(first: 200) { totalCount nodes { severity code message packageName channelName bundleName file line } } }
  }`,
  'problems of one package': `{ catalog(name: "nasty") { problems(package: "oddities") { totalCount nodes { code bundleName } } } }`,
  'problems at least this bad': `{ catalog(name: "nasty") {
    errors: problems(severity: ERROR, first: 1) { totalCount }
    warnings: problems(severity: WARNING, first: 1) { totalCount }
    both: problems(severity: ERROR, package: "twisted", first: 1) { totalCount }
    none: problems(package: "nothing") { totalCount nodes { code } }
  } }`,
  'a catalog pinned to its content': `{ catalog(name: "example", digest: "{digest example}") { name digest } }`,
  'a pin of null is no pin': `{ catalog(name: "example", digest: null) { name } }`,
  'a pin of a catalog that is not served': `{ catalog(name: "nowhere", digest: "sha256:00") { name } }`,
  'one package with one channel of it': `{
    catalog(name: "example") { package(name: "relaybox") { channel(name: "fast-v3") { name isDefault } none: channel(name: "slow") { name } } }
  }`,
  'names in unicode as arguments': {
    query: 'query ($channel: String!) { package(catalog: "nasty", name: "say \\"hi\\"") { channel(name: $channel) { name isDefault head { name } } } }',
    variables: { channel: 'größe ☃' },
  },
};

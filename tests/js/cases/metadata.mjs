// What bundles say of themselves, and parts of raw values.

const FIELDS = `fragment M on CsvMetadata {
  displayName description provider { name url } maintainers { name email } links { name url } keywords categories maturity
  minKubeVersion containerImage repository support ownedCrds { name version kind displayName description }
  requiredCrds { name version kind displayName description } nativeApis { group version kind }
  labels { key value } annotations { key value }
}`;

export default {
  'metadata of every bundle of the example': `{ catalog(name: "example") { bundles { nodes { name metadata { ...M } } } } } ${FIELDS}`,
  'metadata of every odd bundle': `{ catalog(name: "nasty") { bundles { nodes { name metadata { ...M } } } } } ${FIELDS}`,
  'metadata of every package': `{ packages { nodes { name metadata { displayName provider { name } categories } } } }`,
  'how custom resources are shown': `{
    bundles(first: 30) { nodes { name metadata { ownedCrds { ...C } requiredCrds { ...C } } } }
  }
  fragment C on CrdDescription { name isInternal resources { name version kind } specDescriptors { ...D } statusDescriptors { ...D } }
  fragment D on FieldDescriptor { path displayName description xDescriptors }`,
  'aggregated APIs': `{
    bundles(first: 500) { nodes { name metadata { ownedApiServices { ...A } requiredApiServices { ...A } } } }
  }
  fragment A on ApiServiceDescription { name group version kind displayName description deploymentName }`,
  'permissions and webhooks of manifests': `{
    bundles(first: 100) { nodes { name metadata {
      permissions { ...P } clusterPermissions { ...P }
      webhooks { name type deploymentName path failurePolicy rules { apiGroups apiVersions resources operations } conversionCrds }
    } } }
  }
  fragment P on ServiceAccountPermissions { serviceAccountName rules { apiGroups resources resourceNames verbs nonResourceUrls } }`,
  'life cycles of packages and bundles': {
    query: `query ($day: String!) {
    packages(first: 20) { nodes { name lifecycle { ...L } bundles(first: 20) { nodes { name lifecycle { ...L phase(on: $day) { name } } } } } }
  }
  fragment L on VersionLifecycle { version phases { name startDate endDate } supportEndDate platforms { name versions } }`,
    variables: { day: '2025-05-26' },
  },
  'life cycles on a day that is none': `{
    package(catalog: "nasty", name: "twisted") { lifecycle { version phase(on: "2026-02-30") { name } late: phase(on: "2026-04-02") { name } } }
  }`,
  'what a life cycle says is compatible': `{
    bundles(packages: ["twisted"], filter: {compatibleWith: {openshift: "4.18.9"}}) { nodes { name } }
    other: bundles(packages: ["twisted"], filter: {compatibleWith: {openshift: "4.19"}}) { nodes { name } }
  }`,
  'metadata as a property': `{
    bundles(first: 500) { nodes { properties(types: ["olm.csv.metadata"]) { __typename type ... on CsvMetadataProperty { value metadata { displayName } } } } }
  }`,
  'some annotations': `{ bundles(first: 500) { nodes { metadata { annotations(keys: ["capabilities", "none", "a"]) { key value } } } } }`,
  'annotations of an empty list of keys are all': `{ bundles(first: 500) { nodes { metadata { annotations(keys: []) { key } } } } }`,
  'annotations of null keys are all': `{ bundles(first: 500) { nodes { metadata { annotations(keys: null) { key } } } } }`,
  'parts of blobs': {
    query: `query ($a: String, $b: String = "/properties/0/value") { metas(first: 500) { nodes { name all: blob(pointer: $a) b: blob(pointer: $b) c: blob(pointer: "/entries/0") } } }`,
  },
  'the whole by the empty pointer': `{ metas(first: 5) { nodes { blob(pointer: "") } } }`,
  'parts of property values': `{ bundles(first: 500) { nodes { properties { value(pointer: "/version") a: value(pointer: "/nested/2/0") b: value(pointer: "/x~1y~0") } } } }`,
  'parts of manifests': `{ bundles(catalogs: ["example"], first: 500) { nodes { properties(types: ["olm.bundle.object"]) { ... on BundleObjectProperty { object(pointer: "/kind") data: object(pointer: "/data/count") } } } } }`,
  'a pointer without a slash': `{ metas(first: 2) { nodes { name blob(pointer: "x") } } }`,
  'a pointer with a bad escape': `{ package(catalog: "nasty", name: "oddities") { bundles { nodes { properties { value(pointer: "/~2") } } } } }`,
};

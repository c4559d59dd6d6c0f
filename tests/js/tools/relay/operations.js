// What an application on Relay asks for: a list, a page of it at a time, and an object again by its id.

graphql`
  query operationsListQuery($search: String) {
    catalogs {
      name
      ...operationsPackages_catalog
    }
    packages(filter: { search: $search }, first: 10) {
      totalCount
      nodes {
        name
      }
    }
  }
`;

graphql`
  fragment operationsPackages_catalog on Catalog
  @refetchable(queryName: "operationsPackagesPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
    packages(first: $count, after: $cursor) @connection(key: "operationsPackages_packages") {
      edges {
        node {
          id
          ...operationsPackage_package
        }
      }
    }
  }
`;

graphql`
  fragment operationsBundles_query on Query
  @refetchable(queryName: "operationsBundlesPaginationQuery")
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    bundles(first: $first, after: $after, last: $last, before: $before) @connection(key: "operationsBundles_bundles") {
      edges {
        node {
          name
          properties {
            __typename
            type
            ... on GvkProperty {
              gvk {
                group
                kind
              }
            }
          }
        }
      }
    }
  }
`;

graphql`
  fragment operationsPackage_package on Package
  @refetchable(queryName: "operationsPackageRefetchQuery")
  @argumentDefinitions(withChannels: { type: "Boolean", defaultValue: false }) {
    name
    metadata {
      displayName
    }
    channels @include(if: $withChannels) {
      id
      name
    }
  }
`;

graphql`
  query operationsResolveQuery($request: ResolveRequest!) {
    resolve(request: $request) {
      __typename
      ... on Resolution {
        bundle {
          id
          version
        }
      }
      ... on ResolutionFailure {
        code
        message
      }
    }
  }
`;

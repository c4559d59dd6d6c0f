// What an application asks for, with the types that codegen makes of the schema: `tsc` refuses this file where a field
// is another than the schema says.

import { graphql } from './gql/index.js';

export const Page = graphql(`
  query Page($first: Int!, $after: String) {
    packages(catalogs: ["example"], first: $first, after: $after) {
      totalCount
      pageInfo {
        hasNextPage
        endCursor
      }
      nodes {
        id
        name
        metadata {
          displayName
          capabilityLevel
        }
      }
    }
  }
`);

export const Resolve = graphql(`
  query Resolve($request: ResolveRequest!) {
    resolve(request: $request) {
      ... on Resolution {
        bundle {
          id
          version
        }
      }
      ... on ResolutionFailure {
        code
      }
    }
  }
`);

type ResultOf<Document> = Document extends { __apiType?: (variables: never) => infer Result } ? Result : never;

/** The names of a page. */
export function names(page: ResultOf<typeof Page>): string[] {
  return page.packages?.nodes.map(({ name }) => name) ?? [];
}

/** Where the next page begins, if there is one. */
export function next(page: ResultOf<typeof Page>): string | undefined {
  const info = page.packages?.pageInfo;
  return info?.hasNextPage ? (info.endCursor ?? undefined) : undefined;
}

/** What is resolved is one of two, and only one has a bundle. */
export function version(result: ResultOf<typeof Resolve>): string | null | undefined {
  return result.resolve && 'bundle' in result.resolve ? result.resolve.bundle.version : undefined;
}

// What both peers serve: the packages of a catalog as plain objects in memory, page by page. They were read from a file
// that has them as catalogql answers them, so that all servers say the same.

import { readFileSync } from 'node:fs';

export const [schemaFile, packagesFile, port] = process.argv.slice(2);
export const typeDefs = readFileSync(schemaFile, 'utf8');

const edges = JSON.parse(readFileSync(packagesFile, 'utf8'));
const places = new Map(edges.map(({ cursor }, at) => [cursor, at]));

/** A page of packages. */
export function packages({ first = 50, after }) {
  const start = after == null ? 0 : places.get(after) + 1;
  const page = edges.slice(start, start + first);
  return {
    totalCount: edges.length,
    pageInfo: {
      hasNextPage: start + page.length < edges.length,
      hasPreviousPage: start > 0,
      startCursor: page[0]?.cursor ?? null,
      endCursor: page.at(-1)?.cursor ?? null,
    },
    edges: page,
    nodes: page.map(({ node }) => node),
  };
}

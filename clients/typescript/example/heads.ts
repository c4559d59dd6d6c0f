// Lists the heads of a package, packages that a search finds, and what the server is.

import { Client, Heads, Packages, RequestError } from "catalogql-client";
import { Server } from "catalogql-client/explorer";

const client = new Client(process.env.CATALOGQL_SERVER ?? "http://127.0.0.1:8080");

const { packages } = await client.query(Heads, { packageName: "quillstore" });
for (const { catalog, channels } of packages?.nodes ?? []) {
  for (const { name, head } of channels) console.log(catalog.name, name, head?.name);
}

for await (const found of client.pages(Packages, { filter: { search: "database" } }, (data) => data.packages)) {
  console.log(found.name, found.displayName);
}

// The server confirms what the client has.
const again = await client.query(Heads, { packageName: "quillstore" });
console.log(again.packages?.nodes.length === packages?.nodes.length);

const { server } = await client.query(Server, {});
console.log(typeof server?.version);

try {
  await client.query(Packages, { first: 501 });
} catch (error) {
  if (!(error instanceof RequestError)) throw error;
  console.log(error.code);
}

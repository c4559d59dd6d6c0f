// A client for catalogql, with the documents of the clients for Rust and Go. Those of the explorer are in
// `catalogql-client/explorer`.

export * from "./client.js";
export * from "./documents/documents.js";

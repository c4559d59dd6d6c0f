//! Questions about catalogs as tools of the [Model Context Protocol], which assistants call: over
//! the standard streams of a process, and over HTTP.
//!
//! Each tool is one document in `clients/apollo-mcp/operations`, whose variables are its arguments,
//! and no tool takes a document. The GraphQL engine executes them with its limits, on the catalogs
//! that the caller may see. Answers are small: lists and texts are cut, with the number of items
//! that there are. `rmcp` speaks the protocol.
//!
//! | module | purpose |
//! |---|---|
//! | `tool` | the tools: names, documents, arguments |
//! | `arguments` | the arguments, as types with their JSON schemas |
//! | `execution` | executing a document for a caller |
//! | `outcome` | a response → an answer, or an error that says what to do |
//! | `summary` | the first sentence of an answer |
//! | `answer` | the maximum size of an answer |
//! | `server` | tools in the protocol |
//! | `http`, `stdio` | the transports |
//!
//! [Model Context Protocol]: https://modelcontextprotocol.io/specification

mod answer;
mod arguments;
mod error;
mod execution;
mod http;
mod outcome;
mod server;
mod stdio;
mod summary;
mod tool;

#[cfg(test)]
mod fixture;

pub use answer::{MAX_ANSWER_BYTES, MAX_LIST_ITEMS, MAX_TEXT_BYTES};
pub use execution::MAX_RESPONSE_BYTES;
pub use http::{
    MAX_REQUEST_BYTES, MAX_REQUESTS, MCP, READING_REQUESTS, UNCOUNTED_REQUEST_BYTES, router,
};
pub use server::ToolServer;
pub use stdio::{MAX_LINE_BYTES, StdioError, serve_stdio};
pub use tool::trusted_documents;

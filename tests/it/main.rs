//! Tests of what users see, in one binary; a module is named for what it is about.

mod bad_input;
mod corpus;
mod fuzz;
mod graphql_js;
mod json;
mod metadata;
mod operations;
mod plan;
mod readme;
mod serve;
mod served;
mod support;
mod upstream_links;
mod validate;
mod walks;

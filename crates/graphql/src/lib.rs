//! GraphQL over the catalogs that are served.
//!
//! [`Engine::prepare`] finds or validates the document of a request and computes the key of its
//! response, and [`PreparedRequest::respond`] takes the response from the cache or executes the
//! operation: with its variables the document becomes a plan, and the plan writes JSON text
//! straight from one snapshot into one buffer. This crate does not know HTTP; `graphql-http` serves
//! it.
//!
//! | module | purpose |
//! |---|---|
//! | `engine`, `request`, `response` | the state of an engine; what it receives and returns |
//! | `prepared` | a request with its document and the key of its response; look-up in the response cache |
//! | `budget` | the work and the time of one execution |
//! | `bundle_manifests` | manifests from the images of bundles, fetched between executions |
//! | `execute`, `executor` | executing one operation; the permits for long executions |
//! | `schema`, `document`, [`documents`] | the schema; text → a validated document; cached and trusted documents |
//! | `dependencies` | the catalogs that a response depends on |
//! | [`limits`] | limits of a request |
//! | `coercion` | variables and arguments → values |
//! | `plan` | selection sets → a plan; its estimated cost |
//! | `write` | a plan → JSON text of the response; one file per family of types |
//! | `fields` | the fields of every type: names, cost, list sizes, cache scopes |
//! | `input` | the input types of the schema as Rust types |
//! | `filter` | arguments → conditions on the content of a catalog |
//! | `connection`, `opaque_key` | pages, cursors, ids |
//! | [`metrics`] | counters of requests, phases and the cache |
//! | `server_info` | the type `Server`: version, features, limits |
//! | `introspection` | `__schema` and `__type`, cached |
//! | [`errors`] | error codes and messages |
//! | `suggestion` | names that may have been meant where a field is `null` |
//! | `subscription`, `streams` | events of subscriptions; the state that streams share |
//! | [`runtime_schema`] | documents against schemas that are made when the program runs |
//! | `dialect` | responses of other dialects in the response cache |
//! | `response_key` | validators: keys of responses that are known before execution, also by URL |
//! | `response_cache` | cached responses |
//! | [`search_index`] | one search index of all catalogs, for searches over many of them |

pub mod budget;
mod bundle_manifests;
mod coercion;
mod connection;
mod dependencies;
mod dialect;
mod document;
pub mod documents;
mod engine;
pub mod errors;
mod execute;
mod executor;
mod fields;
mod filter;
mod input;
mod introspection;
pub mod limits;
pub mod metrics;
mod opaque_key;
mod output;
mod plan;
mod prepared;
mod request;
mod response;
mod response_cache;
mod response_key;
pub mod runtime_schema;
mod schema;
pub mod search_index;
mod server_info;
mod streams;
mod subscription;
mod suggestion;
mod write;

pub use bundle_manifests::{
    BundleManifestSource, MAX_BUNDLE_IMAGES, MAX_FETCH_ROUNDS, ManifestFetch, ManifestFetchError,
};
pub use coercion::{MAX_SHOWN_BYTES, MAX_VARIABLE_ERRORS};
pub use dialect::DialectKey;
pub use engine::Engine;
pub use executor::{MAX_WAIT, MAX_WAITING, MAX_WAITING_OF_PEER};
pub use limits::StreamLimits;
pub use prepared::{EncodedResponse, PreparedRequest};
pub use request::Request;
pub use response::Response;
pub use response_key::Validator;
pub use schema::SDL;
pub use server_info::ServerInfo;
pub use subscription::{RENEWAL_TIMEOUT, Subscription, SubscriptionEvent};
pub use suggestion::{MAX_COMPARED_NAMES, MAX_SUGGESTED_FIELDS};

#[cfg(test)]
mod tests;

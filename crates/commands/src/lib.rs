//! Operations over catalogs that two command lines have: `catalogql` over an engine in its own
//! process, and `kubectl catalog` over a server.
//!
//! An operation is a module: the arguments that users write ([`args`]), a GraphQL document with
//! variables, and what is printed of the response. It reaches catalogs through a
//! [`GraphqlTransport`] and knows neither HTTP nor how catalogs are read. What only one program has
//! (sources on the command line, a kubeconfig file) stays in that program.
//!
//! Responses are decoded leniently: a server may be older or newer than the program, so that absent
//! fields are `None` and unknown values of enums are printed as they are.

pub mod age;
pub mod args;
pub mod describe;
pub mod diff;
pub mod document_argument;
pub mod documents;
mod error;
pub mod file_argument;
#[cfg(test)]
mod fixture;
pub mod graph;
mod jsonpath;
pub mod list;
pub mod manual;
pub mod migration;
pub mod mirror;
pub mod output;
pub mod preview;
pub mod resolve;
mod session;
pub mod similar;
pub mod solve;
mod sorting;
mod transport;
pub mod upgrade_plan;

pub use error::{CommandError, ExitStatus};
pub use session::{ChosenPackage, CommandSession, HelpCommands, no_channel};
pub use sorting::ListOrder;
pub use transport::{ChannelName, GraphqlTransport, ListRequest};

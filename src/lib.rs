//! catalogql: one GraphQL endpoint over file-based catalogs of the Operator Lifecycle Manager.
//!
//! The rooms are crates below `crates`; here they are composed. ARCHITECTURE.md says which crate
//! may depend on which.

pub mod args;
pub mod run;
pub mod telemetry;

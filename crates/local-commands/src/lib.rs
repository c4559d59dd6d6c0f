//! The commands of `catalogql` that work on catalogs in directories and images, without a server:
//! their arguments and what they do.
//!
//! The crate knows no listener, and stores nothing but what a command is told to write. The program
//! takes the catalogs of a server from the same names of sources and the same settings for
//! registries.

pub mod args;
pub mod run;

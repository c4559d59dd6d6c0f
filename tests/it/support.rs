//! What several modules need: catalogs from one string, the program as a child process, and a client for it.

#[expect(dead_code, reason = "the tests of the room itself use more of it")]
mod archive;
#[path = "../../crates/fbc/tests/support/fixture.rs"]
#[expect(dead_code, reason = "the tests of fbc use more of it, and from another place")]
mod fixture;
mod folders;
mod http;
#[expect(dead_code, reason = "the tests of loading use more of it")]
mod layout;
mod process;
mod proxy;
mod registry;
mod seeded;

pub(crate) use archive::Archive;
pub(crate) use fixture::lines;
pub(crate) use folders::Folders;
pub(crate) use http::{Answer, ask, exchange};
pub(crate) use layout::{CONFIGS, Layout, digest};
pub(crate) use process::{Output, Server, catalogql, eventually, get, graphql, run};
pub(crate) use proxy::{Act, Asked, Proxy, answer};
pub(crate) use registry::{CONFIGS_LABEL, Pushed, Registry, Types, program, tar};
pub(crate) use seeded::Seeded;

/// Asks which packages each catalog has.
pub(crate) const PACKAGES: &str = "{ catalogs { packages { nodes { name } } } }";

/// The answer to [`PACKAGES`] when there is one catalog, with these.
pub(crate) fn packages(names: &[&str]) -> String {
    let nodes: Vec<_> = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    format!(r#"{{"data":{{"catalogs":[{{"packages":{{"nodes":[{}]}}}}]}}}}"#, nodes.join(","))
}

/// A catalog without a fault.
pub(crate) const ETCD: &str = "
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1";

/// Another one.
pub(crate) const ARGO: &str = "
    package argo default=alpha
    channel alpha: v1.0.0";

//! What several modules need: catalogs from one string, the program as a child process, and a
//! client for it.

mod collector;
mod git;
mod process;

pub(crate) use collector::{Collector, ReceivedSpan};
pub(crate) use git::{GitRepository, http_backend};
pub(crate) use process::{Output, Server, catalogql, get, graphql, graphql_at, graphql_path, run};
pub(crate) use testing::fixture::lines;
pub(crate) use testing::{
    Archive, CONFIGS, CONFIGS_LABEL, Folders, HttpResponse, Layout, MediaTypes, Proxy, ProxyAction,
    RecordedRequest, Registry, RegistryImage, SeededRandom, digest, eventually, exchange,
    report_skipped, respond, send_request, tar_archive, tool_command,
};

/// Asks which packages each catalog has.
pub(crate) const PACKAGES: &str = "{ catalogs { packages { nodes { name } } } }";

/// The answer to [`PACKAGES`] when there is one catalog, with these.
pub(crate) fn packages(names: &[&str]) -> String {
    let nodes: Vec<_> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}"}}"#))
        .collect();
    format!(
        r#"{{"data":{{"catalogs":[{{"packages":{{"nodes":[{}]}}}}]}}}}"#,
        nodes.join(",")
    )
}

/// A catalog without a fault.
pub(crate) const ETCD: &str = "
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1";

/// Another one.
pub(crate) const ARGO: &str = "
    package argo default=alpha
    channel alpha: v1.0.0";

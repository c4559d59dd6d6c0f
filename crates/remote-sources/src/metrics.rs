//! Counters of requests, for the whole process: clients are replaced when settings change.

use std::sync::LazyLock;

use metrics::{Counter, Family, labels};

labels! {
    /// Kind of a remote source.
    pub enum RemoteKind {
        /// A file on an HTTP server.
        Http = "http",
        /// A catalog of a catalogd.
        Catalogd = "catalogd",
        /// A catalog of a catalogql, and its list of catalogs.
        Catalogql = "catalogql",
        /// A folder of a git repository.
        Git = "git",
    }
}

labels! {
    /// Result of a request.
    pub enum RequestResult {
        /// The server sent a file.
        Downloaded = "downloaded",
        /// The server confirmed that the file is unchanged.
        NotModified = "not_modified",
        /// The request failed.
        Failed = "failed",
    }
}

/// Counters of requests by kind and result.
static REQUESTS: LazyLock<Family<RemoteKind, Family<RequestResult, Counter>>> =
    LazyLock::new(|| Family::new(|| Family::new(Counter::default)));

/// Returns the counters of all requests of this process to remote sources.
pub fn remote_requests() -> &'static Family<RemoteKind, Family<RequestResult, Counter>> {
    &REQUESTS
}

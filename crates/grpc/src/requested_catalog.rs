//! The catalog of a call: the listener's, or by metadata or host name.

use std::sync::Arc;

use http::{HeaderMap, Uri};
use serving::{Served, Snapshot};
use tonic::Status;

/// Name of the metadata in which a call names its catalog.
pub const CATALOG_METADATA: &str = "catalog";

/// Names by which a call may request its catalog.
#[derive(Clone)]
pub(crate) struct RequestedCatalog {
    /// The catalog of the listener, or that of the metadata.
    named: Option<String>,
    /// The first label of the host that the client connected to.
    label: Option<String>,
}

impl RequestedCatalog {
    /// Reads the names from a request to a listener, which may have a catalog of its own.
    pub(crate) fn new(own: Option<&str>, headers: &HeaderMap, uri: &Uri) -> Self {
        let metadata = headers
            .get(CATALOG_METADATA)
            .and_then(|value| value.to_str().ok());
        let host = uri
            .host()
            .or_else(|| headers.get(http::header::HOST)?.to_str().ok());
        // A Service that is named like the catalog makes `NAME.NAMESPACE.svc` its host, which is
        // all that a CatalogSource can say.
        let label = host.and_then(|host| host.split(['.', ':']).next());
        Self {
            named: own.or(metadata).map(ToOwned::to_owned),
            label: label.map(ToOwned::to_owned),
        }
    }

    /// Returns whether the listener or the metadata names a catalog.
    pub(crate) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Finds the catalog: the one that the listener or the metadata names, or else the one of the
    /// host's first label, or else the only one that is configured. While that one is not loaded
    /// yet, the call is `UNAVAILABLE`, which clients repeat, rather than about another catalog.
    pub(crate) fn find(&self, snapshot: &Snapshot) -> Result<Arc<Served>, Status> {
        if let Some(name) = &self.named {
            return match snapshot.get(name) {
                Some(served) => Ok(Arc::clone(served)),
                None if snapshot.awaits(name) => Err(not_loaded(name)),
                None => Err(refused(
                    &format!("the catalog `{name}` is not served"),
                    snapshot,
                )),
            };
        }
        let configured = snapshot.statuses();
        if let Some(label) = &self.label {
            match snapshot.get(label) {
                Some(served) => return Ok(Arc::clone(served)),
                None if configured.contains_key(label) => return Err(not_loaded(label)),
                None => (),
            }
        }
        let mut all = snapshot.by_name();
        match (all.next(), configured.len()) {
            (None, _) => Err(Status::unavailable("no catalog is served")),
            (Some(only), 1) => Ok(Arc::clone(only)),
            (Some(_), _) => Err(refused(
                "the call does not say which catalog it is about",
                snapshot,
            )),
        }
    }
}

fn not_loaded(name: &str) -> Status {
    Status::unavailable(format!("the catalog `{name}` is not loaded yet"))
}

fn refused(why: &str, snapshot: &Snapshot) -> Status {
    let names: Vec<_> = snapshot.statuses().into_keys().collect();
    let names = names.join(", ");
    Status::failed_precondition(format!(
        "{why}: name one in the metadata `{CATALOG_METADATA}`, or connect to a host whose name begins with it ({names})"
    ))
}

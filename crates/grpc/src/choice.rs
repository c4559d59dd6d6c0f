//! Which catalog a call is about.

use std::sync::Arc;

use http::{HeaderMap, Uri};
use serving::{Served, Snapshot};
use tonic::Status;

/// Metadata of a call that names its catalog.
pub const CATALOG_METADATA: &str = "catalog";

/// What a call says about its catalog.
pub(crate) struct Choice {
    /// The catalog of the listener, or that of the metadata.
    named: Option<String>,
    /// The first label of the host that the client connected to.
    label: Option<String>,
}

impl Choice {
    pub(crate) fn new(own: Option<&str>, headers: &HeaderMap, uri: &Uri) -> Self {
        let metadata = headers
            .get(CATALOG_METADATA)
            .and_then(|value| value.to_str().ok());
        let host = uri
            .host()
            .or_else(|| headers.get(http::header::HOST)?.to_str().ok());
        let label = host.and_then(|host| host.split(['.', ':']).next());
        Self {
            named: own.or(metadata).map(ToOwned::to_owned),
            label: label.map(ToOwned::to_owned),
        }
    }

    /// Returns whether neither the listener nor the metadata names a catalog.
    pub(crate) fn is_open(&self) -> bool {
        self.named.is_none()
    }

    /// Returns the catalog: the one that the listener or the metadata names, or else the one that
    /// the host is named after, or else the only one there is.
    pub(crate) fn find(&self, snapshot: &Snapshot) -> Result<Arc<Served>, Status> {
        if let Some(name) = &self.named {
            let served = snapshot.get(name).map(Arc::clone);
            return served
                .ok_or_else(|| refused(&format!("the catalog `{name}` is not served"), snapshot));
        }
        if let Some(served) = self.label.as_deref().and_then(|label| snapshot.get(label)) {
            return Ok(Arc::clone(served));
        }
        let mut all = snapshot.by_name();
        match (all.next(), all.next()) {
            (Some(only), None) => Ok(Arc::clone(only)),
            (None, _) => Err(Status::unavailable("no catalog is served")),
            (Some(_), Some(_)) => Err(refused(
                "the call does not say which catalog it is about",
                snapshot,
            )),
        }
    }
}

fn refused(why: &str, snapshot: &Snapshot) -> Status {
    let names: Vec<_> = snapshot
        .by_name()
        .map(|served| served.name.as_str())
        .collect();
    let names = names.join(", ");
    Status::failed_precondition(format!(
        "{why}: name one in the metadata `{CATALOG_METADATA}`, or connect to a host whose name begins with it ({names})"
    ))
}

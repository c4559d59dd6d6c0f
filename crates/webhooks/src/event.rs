//! Events, in the structured JSON mode of [`CloudEvents`](https://cloudevents.io) 1.0.

use serde::Serialize;
use serving::{ChangeSet, PackageChanges};
use sha2::{Digest as _, Sha256};

/// Type of the events about new contents.
pub(crate) const CATALOG_CHANGED: &str = "io.catalogql.catalog.changed";

/// Media type of events.
pub(crate) const MEDIA_TYPE: &str = "application/cloudevents+json; charset=utf-8";

/// An event that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: &'a str,
    source: String,
    r#type: &'static str,
    subject: &'a str,
    time: String,
    datacontenttype: &'static str,
    data: CatalogChanged<'a>,
}

/// Data of an event: the differences between two contents of a catalog.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogChanged<'a> {
    catalog: &'a str,
    from_digest: Option<&'a str>,
    to_digest: &'a str,
    packages: &'a [PackageChanges],
    /// Number of changes that are not listed.
    unlisted: usize,
}

impl Event {
    /// Makes the event of a change set.
    pub(crate) fn new(catalog: &str, set: &ChangeSet) -> Self {
        let id = id(catalog, set);
        let event = CloudEvent {
            specversion: "1.0",
            id: &id,
            source: format!("/catalogs/{catalog}"),
            r#type: CATALOG_CHANGED,
            subject: catalog,
            time: format!("{:.3}", set.at),
            datacontenttype: "application/json",
            data: CatalogChanged {
                catalog,
                from_digest: set.from.as_deref(),
                to_digest: &set.to,
                packages: &set.packages,
                unlisted: set.unlisted,
            },
        };
        let body = serde_json::to_vec(&event).expect("texts and numbers are JSON");
        Self { id, body }
    }
}

/// Returns the id of an event. It depends on the catalog and the contents alone, so that it is the
/// same on each replica and after each restart.
fn id(catalog: &str, set: &ChangeSet) -> String {
    let mut hash = Sha256::new();
    let from = set.from.as_deref().unwrap_or_default();
    let repeat = set.repeat.to_string();
    for part in [CATALOG_CHANGED, catalog, from, &set.to, &repeat] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let hex = fbc_grammar::Digest::new(hash.finalize().into()).hex();
    hex[..32].to_owned()
}

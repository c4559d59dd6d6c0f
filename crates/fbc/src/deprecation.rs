//! Deprecations of packages, channels and bundles.

use fbc_read::json::JsonText;

use crate::catalog::Catalog;
use crate::ids::NONE;
use crate::record::DeprecationRecord;

/// A deprecation of a package, channel or bundle: an entry of an `olm.deprecations`.
#[derive(Clone, Copy)]
pub struct Deprecation<'a> {
    catalog: &'a Catalog,
    id: u32,
}

impl<'a> Deprecation<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Option<Self> {
        (id != NONE).then_some(Self { catalog, id })
    }

    /// Returns the schema of the deprecated object: `olm.package`, `olm.channel` or `olm.bundle`.
    pub fn schema(self) -> &'a str {
        self.catalog.index.names.get(self.record().schema)
    }

    /// Returns the name of the deprecated object; for a package its own, although the blob omits
    /// it.
    pub fn name(self) -> &'a str {
        self.catalog.index.names.get(self.record().name)
    }

    /// Returns the message to the user; `None` when it is missing.
    pub fn message(self) -> Option<JsonText<'a>> {
        let span = self.record().message;
        (!span.is_none()).then(|| JsonText::new(self.catalog.index.slice(self.record().meta, span)))
    }

    fn record(self) -> &'a DeprecationRecord {
        &self.catalog.index.deprecations[self.id as usize]
    }
}

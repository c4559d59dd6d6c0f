//! One object, written in the projections that clients ask for.

use fbc::Package;
use jiff::Timestamp;

use crate::age::age;
use crate::catalog::{CatalogObjects, PublishedCatalog};
use crate::json::JsonWriter;
use crate::kind::ResourceKind;
use crate::negotiation::Projection;
use crate::object::{ObjectEntry, ObjectMeta, hash_parts};
use crate::options::IncludeObject;
use crate::reader;
use crate::response::CHUNK_BYTES;
use crate::version::ResourceVersion;

/// An object as a request sees it.
#[derive(Clone, Copy)]
pub(crate) struct Item<'p> {
    pub(crate) kind: ResourceKind,
    pub(crate) objects: &'p CatalogObjects,
    pub(crate) entry: &'p ObjectEntry,
    /// Namespace in which the request sees the object; `None` for kinds without namespaces.
    pub(crate) namespace: Option<&'p str>,
    pub(crate) version: ResourceVersion,
    /// Catalog with the text of the object; `None` if the object is deleted.
    pub(crate) catalog: Option<&'p PublishedCatalog>,
}

/// The parameters of a row of a table.
#[derive(Clone, Copy)]
pub(crate) struct RowOptions {
    pub(crate) include: IncludeObject,
    /// The time that ages refer to.
    pub(crate) now: Timestamp,
}

impl<'p> Item<'p> {
    /// Returns the package that a manifest is made from; `None` if it is deleted.
    pub(crate) fn package(&self) -> Option<Package<'p>> {
        let catalog = &self.catalog?.served.content.catalog;
        Some(catalog.package_at(self.entry.index))
    }

    /// Returns whether writing the object copies less than a chunk, which takes less than a tenth
    /// of a millisecond.
    pub(crate) fn is_short(&self) -> bool {
        let length = self.catalog.map_or(Some(0), |catalog| {
            catalog.reader().copied_bytes(self.kind, self.entry.index)
        });
        length.is_some_and(|length| length < CHUNK_BYTES)
    }

    /// Writes the object in a projection. Whole objects have their kind and API version if
    /// `has_type`; as upstream does, those in lists have not.
    pub(crate) fn write(
        &self,
        projection: Projection,
        has_type: bool,
        row: RowOptions,
        out: &mut JsonWriter,
    ) {
        match projection {
            Projection::Whole => self.write_whole(has_type, out),
            Projection::Metadata(version) => self.write_partial(version, out),
            Projection::Table(version) => self.write_row(version, row, out),
        }
    }

    fn write_whole(&self, has_type: bool, out: &mut JsonWriter) {
        out.open(b'{');
        if has_type {
            out.text_member("kind", self.kind.name());
            out.text_member("apiVersion", &self.kind.api_version());
        }
        self.write_metadata(out);
        match self.catalog {
            Some(catalog) => catalog.reader().write(self.kind, self.entry.index, out),
            None => reader::write_deleted(self.kind, &self.objects.source, &self.entry.meta, out),
        }
        out.close(b'}');
    }

    /// Writes the `PartialObjectMetadata` of the object.
    fn write_partial(&self, version: &str, out: &mut JsonWriter) {
        out.open(b'{');
        out.text_member("kind", "PartialObjectMetadata");
        out.text_member("apiVersion", &format!("meta.k8s.io/{version}"));
        self.write_metadata(out);
        out.close(b'}');
    }

    fn write_row(&self, version: &str, row: RowOptions, out: &mut JsonWriter) {
        let source = &self.objects.source;
        let reader = self.catalog.map(PublishedCatalog::reader);
        let cells = reader::cells(self.kind, source, self.entry, reader);
        out.open(b'{');
        out.key("cells");
        out.open(b'[');
        out.text(&self.entry.meta.name);
        for cell in &cells {
            out.text(cell);
        }
        out.text(&age(source.created, row.now));
        out.close(b']');

        out.key("object");
        match row.include {
            IncludeObject::None => out.raw(b"null"),
            IncludeObject::Metadata => self.write_partial(version, out),
            IncludeObject::Object => self.write_whole(true, out),
        }
        out.close(b'}');
    }

    fn write_metadata(&self, out: &mut JsonWriter) {
        let ObjectMeta {
            name,
            labels,
            annotations,
            ..
        } = &*self.entry.meta;
        out.key("metadata");
        out.open(b'{');
        out.text_member("name", name);
        if let Some(namespace) = self.namespace {
            out.text_member("namespace", namespace);
        }
        out.text_member("uid", &self.uid());
        out.text_member("resourceVersion", &self.version.to_string());
        out.key("creationTimestamp");
        match self.objects.source.created {
            Some(created) => out.text(&created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            None => out.raw(b"null"),
        }
        for (key, pairs) in [("labels", labels), ("annotations", annotations)] {
            if !pairs.is_empty() {
                out.map_member(
                    key,
                    pairs
                        .iter()
                        .map(|(key, value)| (key.as_str(), value.as_str())),
                );
            }
        }
        out.close(b'}');
    }

    /// Returns a UUID (RFC 9562, version 8) of the object's identity, the same in every replica.
    fn uid(&self) -> String {
        let namespace = self.namespace.unwrap_or_default();
        let parts = [
            self.kind.group(),
            self.kind.plural(),
            namespace,
            &self.objects.catalog,
            &self.entry.meta.name,
        ];
        // Clients of several replicas would take a random one for that of another object.
        let mut bytes = hash_parts(parts.map(str::as_bytes));
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let whole = u128::from_be_bytes(bytes);
        let digits = format!("{whole:032x}");
        let part = |from: usize, to: usize| &digits[from..to];
        [
            part(0, 8),
            part(8, 12),
            part(12, 16),
            part(16, 20),
            part(20, 32),
        ]
        .join("-")
    }
}

//! One object, written in the shapes that clients ask for.

use jiff::Timestamp;

use crate::age::age;
use crate::chunks::CHUNK_BYTES;
use crate::json::JsonWriter;
use crate::kind::Kind;
use crate::options::IncludeObject;
use crate::published::{CatalogObjects, Listed, Object, PublishedCatalog, hash_parts};

/// An object as a request sees it.
#[derive(Clone, Copy)]
pub(crate) struct Item<'p> {
    pub(crate) kind: Kind,
    pub(crate) objects: &'p CatalogObjects,
    pub(crate) object: &'p Object,
    /// Namespace in which the request sees it; `None` for kinds without namespaces.
    pub(crate) namespace: Option<&'p str>,
    /// Resource version that it shows.
    pub(crate) revision: u64,
    /// Where its text is; `None` for an object that is gone.
    pub(crate) published: Option<(&'p PublishedCatalog, &'p Listed)>,
}

impl Item<'_> {
    /// Returns whether its text is copied, and has less than a chunk: that takes less than a tenth
    /// of a millisecond.
    pub(crate) fn is_short(&self) -> bool {
        let length = self.published.map_or(Some(0), |(catalog, listed)| {
            self.kind.copied_bytes(catalog, listed)
        });
        length.is_some_and(|length| length < CHUNK_BYTES)
    }

    /// Writes the whole object. Those in lists do not say what they are.
    pub(crate) fn write(&self, has_type: bool, out: &mut JsonWriter) {
        out.open(b'{');
        if has_type {
            out.text_member("kind", self.kind.name());
            out.text_member("apiVersion", &self.kind.api_version());
        }
        self.write_metadata(out);
        match self.published {
            Some((catalog, listed)) => self.kind.write(catalog, listed, out),
            None => self.kind.write_deleted(self.objects, self.object, out),
        }
        out.close(b'}');
    }

    /// Writes its `PartialObjectMetadata`.
    pub(crate) fn write_partial(&self, version: &str, out: &mut JsonWriter) {
        out.open(b'{');
        out.text_member("kind", "PartialObjectMetadata");
        out.text_member("apiVersion", &format!("meta.k8s.io/{version}"));
        self.write_metadata(out);
        out.close(b'}');
    }

    /// Writes its row of a table.
    pub(crate) fn write_row(
        &self,
        version: &str,
        include: IncludeObject,
        now: Timestamp,
        out: &mut JsonWriter,
    ) {
        out.open(b'{');
        out.key("cells");
        out.open(b'[');
        out.text(&self.object.name);
        self.kind.cells(self).iter().for_each(|cell| out.text(cell));
        out.text(&age(self.objects.source.created, now));
        out.close(b']');
        out.key("object");
        match include {
            IncludeObject::None => out.raw(b"null"),
            IncludeObject::Metadata => self.write_partial(version, out),
            IncludeObject::Object => self.write(true, out),
        }
        out.close(b'}');
    }

    fn write_metadata(&self, out: &mut JsonWriter) {
        let Object {
            name,
            labels,
            annotations,
            ..
        } = self.object;
        out.key("metadata");
        out.open(b'{');
        out.text_member("name", name);
        if let Some(namespace) = self.namespace {
            out.text_member("namespace", namespace);
        }
        out.text_member("uid", &self.uid());
        out.text_member("resourceVersion", &self.revision.to_string());
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

    /// Returns a UUID (RFC 9562, version 8) of what identifies the object, which another process
    /// gives it too.
    fn uid(&self) -> String {
        let namespace = self.namespace.unwrap_or_default();
        let parts = [
            self.kind.group(),
            self.kind.plural(),
            namespace,
            &self.objects.catalog,
            &self.object.name,
        ];
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

//! `CatalogStatus`, `LoadFailure` and `CatalogContent`: facts about a catalog besides the
//! snapshot.

use std::sync::Arc;

use fbc_grammar::Digest;
use jiff::Timestamp;
use serving::{
    CatalogSourceKind, FailureReason, LoadFailure, LoadStatus, Served, SourceDescription,
};

use super::catalog::CatalogObject;
use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{
    CatalogContentField, CatalogSourceField, CatalogStatusField, LoadFailureField,
};

/// The type `CatalogStatus`.
#[derive(Clone, Copy)]
struct StatusObject<'a, 's> {
    name: &'s str,
    served: Option<&'a Served>,
    status: &'s LoadStatus,
}

/// The type `CatalogSource`.
struct SourceObject<'a> {
    source: &'a SourceDescription,
    checked_at: Option<Timestamp>,
    changed_at: Option<Timestamp>,
}

/// The type `CatalogContent`.
struct CatalogContent {
    digest: Digest,
    is_served: bool,
    image: Option<Arc<str>>,
    last_unpacked: Option<Timestamp>,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.catalogStatuses`.
    pub(super) fn catalog_statuses(&mut self, field: &'a PlannedField<'a>) -> WriteResult {
        let snapshot = self.context.snapshot;
        let statuses = snapshot.statuses();
        let objects = statuses.iter().map(|(name, status)| StatusObject {
            name,
            served: snapshot.get(name).map(|served| &**served),
            status,
        });
        self.object_list(objects, field)
    }

    /// `Catalog.status`.
    pub(super) fn catalog_status(
        &mut self,
        served: &'a Served,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let status = self.context.snapshot.status(&served.name);
        self.object(
            StatusObject {
                name: &served.name,
                served: Some(served),
                status: &status,
            },
            field,
        )
    }

    /// `Catalog.source`.
    pub(super) fn catalog_source(
        &mut self,
        served: &'a Served,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let status = self.context.snapshot.status(&served.name);
        let object = status.source.as_ref().map(|source| SourceObject {
            source,
            checked_at: status.last_success,
            changed_at: served.content.last_unpacked,
        });
        self.optional_object(object.as_ref(), field)
    }

    /// `Catalog.contents`.
    pub(super) fn catalog_contents(
        &mut self,
        served: &'a Served,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let content = &served.content;
        let mut contents = vec![CatalogContent {
            digest: content.digest,
            is_served: true,
            image: content.image.clone(),
            last_unpacked: content.last_unpacked,
        }];
        let former = self.context.snapshot.former_contents(served).into_iter();
        contents.extend(former.map(|content| CatalogContent {
            digest: content.digest,
            is_served: false,
            image: content.image,
            last_unpacked: content.last_unpacked,
        }));
        self.object_list(&contents, field)
    }

    pub(super) fn optional_time(&mut self, time: Option<Timestamp>) {
        self.optional_string(time.map(|at| at.to_string()).as_deref());
    }
}

impl<'a> Object<'a> for StatusObject<'a, '_> {
    type Field = CatalogStatusField;

    fn write(
        self,
        name: CatalogStatusField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let status = self.status;
        match name {
            CatalogStatusField::Name => writer.string(self.name),
            CatalogStatusField::Catalog => {
                return writer.optional_object(self.served.map(CatalogObject), field);
            }
            CatalogStatusField::LastSuccess => writer.optional_time(status.last_success),
            CatalogStatusField::LastFailure => {
                return writer.optional_object(status.last_failure.as_ref(), field);
            }
            CatalogStatusField::NextCheck => writer.optional_time(status.next_check),
            CatalogStatusField::Verification => {
                return writer.verification(status.verification.as_deref(), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &SourceObject<'_> {
    type Field = CatalogSourceField;

    fn write(
        self,
        name: CatalogSourceField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            CatalogSourceField::Kind => writer.static_string(kind(self.source.kind)),
            CatalogSourceField::Reference => {
                writer.optional_string(self.source.reference.as_deref());
            }
            CatalogSourceField::Revision => writer.optional_string(self.source.revision.as_deref()),
            CatalogSourceField::CheckedAt => writer.optional_time(self.checked_at),
            CatalogSourceField::ChangedAt => writer.optional_time(self.changed_at),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &LoadFailure {
    type Field = LoadFailureField;

    fn write(
        self,
        name: LoadFailureField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            LoadFailureField::At => writer.string(&self.at.to_string()),
            LoadFailureField::Reason => writer.static_string(reason(self.reason)),
            LoadFailureField::Message => writer.string(&self.message),
            LoadFailureField::Attempts => writer.integer(self.attempts),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &CatalogContent {
    type Field = CatalogContentField;

    fn write(
        self,
        name: CatalogContentField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            CatalogContentField::Digest => writer.string(&self.digest.to_string()),
            CatalogContentField::IsServed => writer.boolean(self.is_served),
            CatalogContentField::Image => writer.optional_string(self.image.as_deref()),
            CatalogContentField::UnpackedAt => writer.optional_time(self.last_unpacked),
        }
        Ok(())
    }
}

fn kind(kind: CatalogSourceKind) -> &'static str {
    match kind {
        CatalogSourceKind::Directory => "DIRECTORY",
        CatalogSourceKind::Registry => "REGISTRY",
        CatalogSourceKind::Layout => "LAYOUT",
        CatalogSourceKind::Http => "HTTP",
        CatalogSourceKind::Catalogd => "CATALOGD",
        CatalogSourceKind::Git => "GIT",
    }
}

fn reason(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::SourceUnreadable => "SOURCE_UNREADABLE",
        FailureReason::SourceUnstable => "SOURCE_UNSTABLE",
        FailureReason::RegistryUnavailable => "REGISTRY_UNAVAILABLE",
        FailureReason::Unauthorized => "UNAUTHORIZED",
        FailureReason::ImageNotFound => "IMAGE_NOT_FOUND",
        FailureReason::InvalidImage => "INVALID_IMAGE",
        FailureReason::NoCatalog => "NO_CATALOG",
        FailureReason::InvalidCatalog => "INVALID_CATALOG",
        FailureReason::StorageFailed => "STORAGE_FAILED",
        FailureReason::Damaged => "DAMAGED",
        FailureReason::Internal => "INTERNAL",
    }
}

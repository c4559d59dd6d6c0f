//! `CatalogDiff` and its parts, `Subscription` and `CatalogChange`.

use fbc::outline::{BundleDiff, Change, ChannelDiff, Diff, PackageDiff};
use fbc::{Digest, Outline};
use serde_json::Value;
use serving::{Served, Snapshot};

use super::catalog::CatalogObject;
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    BundleDiffField, CatalogChangeField, CatalogDiffField, ChannelDiffField, PackageDiffField, SubscriptionField,
};

/// A catalog before and after a change; `None` where it is not served.
#[derive(Clone, Copy)]
pub(crate) struct CatalogChange<'a> {
    pub(crate) before: Option<&'a Served>,
    pub(crate) after: Option<&'a Served>,
}

/// The type `Subscription`, for one event.
#[derive(Clone, Copy)]
pub(super) struct SubscriptionObject<'a>(pub(super) CatalogChange<'a>);

/// The type `CatalogDiff`.
#[derive(Clone, Copy)]
struct CatalogDiff<'d> {
    from: Digest,
    to: Digest,
    diff: &'d Diff<'d>,
}

impl CatalogChange<'_> {
    /// Name of the catalog.
    pub(crate) fn name(&self) -> &str {
        self.after.or(self.before).map_or("", |served| served.name.as_str())
    }

    /// Returns the kind of change; `None` if the content is the same.
    pub(crate) fn change(&self) -> Option<Change> {
        Change::between(self.before.map(|served| served.content.digest), self.after.map(|served| served.content.digest))
    }
}

impl<'a> ResponseWriter<'a> {
    /// `Query.diff`.
    pub(super) fn diff(&mut self, snapshot: &'a Snapshot, field: &'a PlannedField<'a>) -> WriteResult {
        let [from, to] = ["from", "to"].map(|side| outline(snapshot, arguments(field).get(side)));
        let Some(((from, before), (to, after))) = from.zip(to) else {
            self.null();
            return Ok(());
        };
        self.object(CatalogDiff { from, to, diff: &before.diff(&after, self.work)? }, field)
    }
}

/// Returns the digest and outline of the content that a `CatalogRef` names; `None` if its outline is unknown.
fn outline(snapshot: &Snapshot, by: &Value) -> Option<(Digest, Outline)> {
    let digest = match by["name"].as_str() {
        Some(name) => snapshot.get(name)?.content.digest,
        None => Digest::parse(by["digest"].as_str()?)?,
    };
    Some((digest, snapshot.outline(&digest)?))
}

impl<'a> Object<'a> for SubscriptionObject<'a> {
    type Field = SubscriptionField;

    fn write(
        self,
        name: SubscriptionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SubscriptionField::CatalogChanged => writer.object(self.0, field),
        }
    }
}

impl<'a> Object<'a> for CatalogChange<'a> {
    type Field = CatalogChangeField;

    fn write(
        self,
        name: CatalogChangeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { before, after } = self;
        match name {
            CatalogChangeField::Name => writer.string(self.name()),
            CatalogChangeField::Change => writer.static_string(self.change().unwrap_or(Change::Changed).as_str()),
            CatalogChangeField::Catalog => return writer.optional_object(after.map(CatalogObject), field),
            CatalogChangeField::FromDigest => {
                writer.optional_string(before.map(|served| served.content.digest.to_string()).as_deref());
            }
            CatalogChangeField::Diff => {
                let Some((before, after)) = before.zip(after) else {
                    writer.null();
                    return Ok(());
                };
                let diff = before.content.catalog.outline().diff(after.content.catalog.outline(), writer.work)?;
                return writer
                    .object(CatalogDiff { from: before.content.digest, to: after.content.digest, diff: &diff }, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for CatalogDiff<'_> {
    type Field = CatalogDiffField;

    fn write(
        self,
        name: CatalogDiffField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            CatalogDiffField::FromDigest => writer.string(&self.from.to_string()),
            CatalogDiffField::ToDigest => writer.string(&self.to.to_string()),
            CatalogDiffField::Packages => return writer.object_list(&self.diff.packages, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &PackageDiff<'_> {
    type Field = PackageDiffField;

    fn write(
        self,
        name: PackageDiffField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageDiffField::Name => writer.string(self.name),
            PackageDiffField::Change => writer.static_string(self.change.as_str()),
            PackageDiffField::Channels => return writer.object_list(&self.channels, field),
            PackageDiffField::Bundles => return writer.object_list(&self.bundles, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &ChannelDiff<'_> {
    type Field = ChannelDiffField;

    fn write(self, name: ChannelDiffField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name {
            ChannelDiffField::Name => writer.string(self.name),
            ChannelDiffField::Change => writer.static_string(self.change.as_str()),
            ChannelDiffField::FromHead => writer.optional_string(self.from_head),
            ChannelDiffField::ToHead => writer.optional_string(self.to_head),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &BundleDiff<'_> {
    type Field = BundleDiffField;

    fn write(self, name: BundleDiffField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name {
            BundleDiffField::Name => writer.string(self.name),
            BundleDiffField::Change => writer.static_string(self.change.as_str()),
        }
        Ok(())
    }
}

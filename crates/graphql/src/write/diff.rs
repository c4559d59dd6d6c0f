//! `CatalogDiff` and its parts, `Subscription` and `CatalogChange`.

use fbc::Outline;
use fbc::outline::{BundleDiff, Change, ChannelDiff, Diff, PackageDiff};
use fbc_grammar::Digest;
use serving::{Served, Snapshot};

use super::catalog::CatalogObject;
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    BundleDiffField, CatalogChangeField, CatalogDiffField, ChannelDiffField, PackageDiffField,
    SubscriptionField,
};
use crate::input::{self, CatalogRefInput};

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
        self.after
            .or(self.before)
            .map_or("", |served| served.name.as_str())
    }

    /// Returns the kind of change; `None` if the content is the same.
    pub(crate) fn change(&self) -> Option<Change> {
        Change::between(
            self.before.map(|served| served.content.digest),
            self.after.map(|served| served.content.digest),
        )
    }
}

impl<'a> ResponseWriter<'a> {
    /// `Query.diff`.
    pub(super) fn diff(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let sides = ["from", "to"];
        let [from, to] =
            sides.map(|side| outline(snapshot, &input::read(arguments(field).get(side))?));
        let Some(((from, before), (to, after))) = from.zip(to) else {
            for side in sides {
                let by: Option<CatalogRefInput<'_>> = input::read(arguments(field).get(side));
                let unknown = by
                    .and_then(|by| by.name)
                    .filter(|name| snapshot.get(name).is_none());
                if let Some(name) = unknown {
                    let served = snapshot.by_name().map(|served| served.name.as_str());
                    self.suggest_similar(field, side, name, served)?;
                }
            }
            self.null();
            return Ok(());
        };
        self.object(
            CatalogDiff {
                from,
                to,
                diff: &before.diff(&after, self.work)?,
            },
            field,
        )
    }
}

/// Returns the digest and outline of the content that a `CatalogRef` names; `None` if its outline
/// is unknown.
fn outline(snapshot: &Snapshot, by: &CatalogRefInput<'_>) -> Option<(Digest, Outline)> {
    let digest = match by.name {
        Some(name) => snapshot.get(name)?.content.digest,
        None => Digest::parse(by.digest?)?,
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
            CatalogChangeField::Change => {
                writer.static_string(self.change().unwrap_or(Change::Changed).as_str());
            }
            CatalogChangeField::Catalog => {
                return writer.optional_object(after.map(CatalogObject), field);
            }
            CatalogChangeField::FromDigest => {
                writer.optional_string(
                    before
                        .map(|served| served.content.digest.to_string())
                        .as_deref(),
                );
            }
            CatalogChangeField::Diff => {
                let Some((before, after)) = before.zip(after) else {
                    writer.null();
                    return Ok(());
                };
                let diff = before
                    .content
                    .catalog
                    .outline()
                    .diff(after.content.catalog.outline(), writer.work)?;
                return writer.object(
                    CatalogDiff {
                        from: before.content.digest,
                        to: after.content.digest,
                        diff: &diff,
                    },
                    field,
                );
            }
        }
        Ok(())
    }
}

impl CatalogDiff<'_> {
    /// Number of bundles that changed in one way. The work for each of them was drawn when they
    /// were compared.
    fn bundles(self, change: Change) -> usize {
        let bundles = self
            .diff
            .packages
            .iter()
            .flat_map(|package| &package.bundles);
        bundles.filter(|bundle| bundle.change == change).count()
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
            CatalogDiffField::BundlesAdded => writer.count(self.bundles(Change::Added)),
            CatalogDiffField::BundlesRemoved => writer.count(self.bundles(Change::Removed)),
            CatalogDiffField::BundlesChanged => writer.count(self.bundles(Change::Changed)),
            CatalogDiffField::Packages => {
                let names = arguments(field).strings("names");
                let packages = self.diff.packages.iter();
                let packages = packages
                    .filter(|package| names.is_none_or(|names| names.contains(package.name)));
                return writer.object_list(packages, field);
            }
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
            PackageDiffField::Fields => writer.strings(self.parts.iter().map(|part| part.as_str())),
            PackageDiffField::FromDefaultChannel => {
                writer.optional_string(self.from_default_channel);
            }
            PackageDiffField::ToDefaultChannel => writer.optional_string(self.to_default_channel),
            PackageDiffField::Channels => return writer.object_list(&self.channels, field),
            PackageDiffField::Bundles => return writer.object_list(&self.bundles, field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &ChannelDiff<'_> {
    type Field = ChannelDiffField;

    fn write(
        self,
        name: ChannelDiffField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ChannelDiffField::Name => writer.string(self.name),
            ChannelDiffField::Change => writer.static_string(self.change.as_str()),
            ChannelDiffField::FromHead => writer.optional_string(self.from_head),
            ChannelDiffField::ToHead => writer.optional_string(self.to_head),
            ChannelDiffField::EntriesAdded => writer.strings(entries(self, Change::Added)),
            ChannelDiffField::EntriesRemoved => writer.strings(entries(self, Change::Removed)),
            ChannelDiffField::EntriesChanged => writer.strings(entries(self, Change::Changed)),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &BundleDiff<'_> {
    type Field = BundleDiffField;

    fn write(
        self,
        name: BundleDiffField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            BundleDiffField::Name => writer.string(self.name),
            BundleDiffField::Change => writer.static_string(self.change.as_str()),
            BundleDiffField::Fields => writer.strings(self.parts.iter().map(|part| part.as_str())),
        }
        Ok(())
    }
}

/// Names of the entries of a channel that changed in one way.
fn entries<'d>(channel: &'d ChannelDiff<'_>, change: Change) -> impl Iterator<Item = &'d str> {
    channel
        .entries
        .iter()
        .filter(move |entry| entry.change == change)
        .map(|entry| entry.name)
}

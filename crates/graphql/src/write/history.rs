//! `PackageChange` and its connection.

use std::cmp::Ordering;

use fbc::Package;
use fbc::outline::Change;
use fbc::work::{Step, Work, WorkStopped};
use jiff::Timestamp;
use serving::{ChangeSet, PackageChanges, Served};

use super::connection::ConnectionNode;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::connection::{ConnectionItem, ConnectionSource, Places, RankedPlace};
use crate::fields::{PackageChangeConnectionField, PackageChangeEdgeField, PackageChangeField};
use crate::opaque_key::{KeyTag, OpaqueKey};

/// A bundle or channel head that came, went or changed.
#[derive(Clone, Debug)]
struct HistoryItem<'s> {
    set: &'s ChangeSet,
    /// Index among the changes of the package in the set.
    index: usize,
    kind: HistoryItemKind,
    name: &'s str,
    change: Change,
    from_head: Option<&'s str>,
    to_head: Option<&'s str>,
}

/// The enum `PackageChangeKind`.
#[derive(Clone, Copy, Debug)]
enum HistoryItemKind {
    Bundle,
    ChannelHead,
}

/// The changes of a package, latest first: the order of their connection.
#[derive(Clone, Copy)]
struct HistoryOrder<'h, 's>(&'h [HistoryItem<'s>]);

/// A change of a package as an item of a connection.
#[derive(Clone, Copy)]
struct HistoryNode<'h, 's>(&'h HistoryItem<'s>);

/// Sort key of a change: its time, and its index among the changes of that time.
struct HistoryKey {
    at: Timestamp,
    index: usize,
}

impl<'a> ResponseWriter<'a> {
    /// `Package.history`.
    pub(super) fn package_history(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let log = self.context.snapshot.change_log(package.served);
        let sets = log.sets_of_package(package.item.name(), self.work)?;
        let items = items(&sets, self.work)?;
        let source = ConnectionSource {
            served: package.served,
            places: Places::all(items.len()),
        };
        self.connection::<HistoryNode<'_, '_>>(&[source], HistoryOrder(&items), field)
    }
}

/// Returns the changes of sets, each with the changes of one package.
fn items<'s>(sets: &'s [ChangeSet], work: &Work<'_>) -> Result<Vec<HistoryItem<'s>>, WorkStopped> {
    let mut all = Vec::new();
    for set in sets {
        for PackageChanges {
            added,
            removed,
            changed,
            heads,
            ..
        } in &set.packages
        {
            let bundles = [
                (added, Change::Added),
                (removed, Change::Removed),
                (changed, Change::Changed),
            ];
            let bundles = bundles
                .into_iter()
                .flat_map(|(names, change)| names.iter().map(move |name| (name, change)));
            let first = all.len();
            let bundles = bundles.map(|(name, change)| HistoryItem {
                set,
                index: 0,
                kind: HistoryItemKind::Bundle,
                name,
                change,
                from_head: None,
                to_head: None,
            });
            all.extend(bundles);
            all.extend(heads.iter().map(|head| HistoryItem {
                set,
                index: 0,
                kind: HistoryItemKind::ChannelHead,
                name: &head.channel,
                change: head.change(),
                from_head: head.from.as_deref(),
                to_head: head.to.as_deref(),
            }));
            for (index, item) in all[first..].iter_mut().enumerate() {
                item.index = index;
            }
            work.draw(Step::Bundle, all.len() - first)?;
        }
    }
    Ok(all)
}

impl<'a> Object<'a> for HistoryNode<'_, '_> {
    type Field = PackageChangeField;

    fn write(
        self,
        name: PackageChangeField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(item) = self;
        match name {
            PackageChangeField::At => writer.string(&item.set.at.to_string()),
            PackageChangeField::Kind => writer.static_string(match item.kind {
                HistoryItemKind::Bundle => "BUNDLE",
                HistoryItemKind::ChannelHead => "CHANNEL_HEAD",
            }),
            PackageChangeField::Name => writer.string(item.name),
            PackageChangeField::Change => writer.static_string(item.change.as_str()),
            PackageChangeField::FromHead => writer.optional_string(item.from_head),
            PackageChangeField::ToHead => writer.optional_string(item.to_head),
            // Only a set that begins a log has no content before, and it lists no changes.
            PackageChangeField::FromDigest => {
                writer.string(item.set.from.as_deref().unwrap_or_default());
            }
            PackageChangeField::ToDigest => writer.string(&item.set.to),
        }
        Ok(())
    }
}

impl<'a, 'h, 's> ConnectionItem<'a> for HistoryNode<'h, 's> {
    type Order = HistoryOrder<'h, 's>;
    type Key<'k> = HistoryKey;

    fn from_place(
        _: &'a Served,
        ranked: RankedPlace,
        HistoryOrder(items): HistoryOrder<'h, 's>,
    ) -> Self {
        Self(&items[ranked.place as usize])
    }

    fn key(self) -> HistoryKey {
        HistoryKey {
            at: self.0.set.at,
            index: self.0.index,
        }
    }

    fn key_from_cursor(_: Self::Order, cursor: &OpaqueKey) -> Option<HistoryKey> {
        let [at, index] = cursor.parts(KeyTag::PACKAGE_CHANGES)?;
        Some(HistoryKey {
            at: at?.parse().ok()?,
            index: index?.parse().ok()?,
        })
    }

    fn compare(_: Self::Order, a: &HistoryKey, b: &HistoryKey) -> Ordering {
        b.at.cmp(&a.at).then(a.index.cmp(&b.index))
    }
}

impl<'a> ConnectionNode<'a> for HistoryNode<'_, '_> {
    type ConnectionField = PackageChangeConnectionField;
    type EdgeField = PackageChangeEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let HistoryKey { at, index } = self.key();
        writer.opaque_key(
            KeyTag::PACKAGE_CHANGES,
            [Some(&*at.to_string()), Some(&index.to_string())],
        );
    }
}

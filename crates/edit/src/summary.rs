//! Summary of an edit: changed blobs, new problems and notices, for people and programs.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::blob::CatalogBlob;
use crate::catalog::{BlobChange, CatalogBlobs};
use crate::draft::{DraftBlob, DraftChannel};
use crate::notice::EditNotice;
use crate::problem::NewProblem;

/// Summary of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditSummary {
    /// The blobs that differ.
    pub changes: Vec<ChangedBlob>,
    /// Problems that the former catalog did not have. They are warnings, because an edit that makes
    /// a catalog invalid is refused.
    pub problems: Vec<NewProblem>,
    /// Effects that the author may not have intended.
    pub notices: Vec<EditNotice>,
}

/// A blob that an edit adds, changes or removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedBlob {
    /// Kind of the change.
    pub change: ChangeKind,
    /// Its schema.
    pub schema: String,
    /// Its package; empty for none.
    pub package: String,
    /// Its name; empty for none.
    pub name: String,
    /// Changes of the heads and edges of a channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphChange>,
}

/// Kind of change of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is removed.
    Removed,
    /// Its members change.
    Changed,
}

/// Changes of the upgrade graph of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphChange {
    /// Heads before; one in a valid channel.
    pub from_heads: Vec<String>,
    /// Heads afterwards.
    pub to_heads: Vec<String>,
    /// New edges, such as `etcd.v0.9.2 replaces etcd.v0.9.0`.
    pub added_edges: Vec<String>,
    /// Removed edges.
    pub removed_edges: Vec<String>,
    /// Bundles that are added to the channel.
    pub added_entries: Vec<String>,
    /// Bundles that are removed from the channel.
    pub removed_entries: Vec<String>,
}

impl ChangeKind {
    /// Returns its name in tables, such as `added`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Lists the blobs in which two catalogs differ.
pub fn summarize(from: &CatalogBlobs, to: &CatalogBlobs) -> Vec<ChangedBlob> {
    from.changes(to).iter().filter_map(changed_blob).collect()
}

fn changed_blob(change: &BlobChange) -> Option<ChangedBlob> {
    let (kind, blob) = match (&change.before, &change.after) {
        (None, after) => (ChangeKind::Added, after.as_ref()?),
        (Some(before), None) => (ChangeKind::Removed, before),
        (Some(_), Some(after)) => (ChangeKind::Changed, after),
    };
    let [schema, package, name] =
        [&blob.schema, &blob.package, &blob.name].map(ToString::to_string);
    let graph =
        (schema == "olm.channel").then(|| graph(change.before.as_ref(), change.after.as_ref()));
    Some(ChangedBlob {
        change: kind,
        schema,
        package,
        name,
        graph,
    })
}

fn graph(before: Option<&CatalogBlob>, after: Option<&CatalogBlob>) -> GraphChange {
    let channel = |blob: Option<&CatalogBlob>| {
        let members = blob
            .and_then(|blob| blob.members().ok())
            .unwrap_or_default();
        DraftChannel::from_blob(DraftBlob::new(members))
    };
    let before = channel(before);
    let after = channel(after);
    let heads = |channel: &DraftChannel| {
        channel
            .heads()
            .into_iter()
            .map(|head| head.name.clone())
            .collect()
    };
    let names = |channel: &DraftChannel| {
        channel
            .entries
            .iter()
            .map(|entry| entry.name.clone())
            .collect::<BTreeSet<_>>()
    };
    // Sets, so that an entry which only moved is no change.
    let edges = [edges(&before), edges(&after)];
    let entries = [names(&before), names(&after)];
    GraphChange {
        from_heads: heads(&before),
        to_heads: heads(&after),
        added_edges: edges[1].difference(&edges[0]).cloned().collect(),
        removed_edges: edges[0].difference(&edges[1]).cloned().collect(),
        added_entries: entries[1].difference(&entries[0]).cloned().collect(),
        removed_entries: entries[0].difference(&entries[1]).cloned().collect(),
    }
}

fn edges(channel: &DraftChannel) -> BTreeSet<String> {
    let mut edges = BTreeSet::new();
    for entry in &channel.entries {
        let name = &entry.name;
        edges.extend(
            entry
                .skips
                .iter()
                .map(|skip| format!("{name} skips {skip}")),
        );
        if !entry.replaces.is_empty() {
            edges.insert(format!("{name} replaces {}", entry.replaces));
        }
        if !entry.skip_range.is_empty() {
            edges.insert(format!("{name} skips versions {}", entry.skip_range));
        }
    }
    edges
}

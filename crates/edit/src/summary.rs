//! What an edit changes, for people and programs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use fbc_read::problem::{Problem, ProblemCode};
use serde::Serialize;

use crate::content::{BlobChange, Content};
use crate::meta::Meta;
use crate::notice::Notice;
use crate::state::{Blob, Channel};

/// What an edit changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditSummary {
    /// The blobs that differ.
    pub changes: Vec<ChangedBlob>,
    /// Problems that there were not before. They are warnings, because an edit that makes a catalog
    /// invalid is refused.
    pub problems: Vec<NewProblem>,
    /// What the author may not have meant.
    pub notices: Vec<Notice>,
}

/// A problem that an edit makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NewProblem {
    /// Code, which `docs/reference/problems.md` explains.
    pub code: ProblemCode,
    /// Package that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<Arc<str>>,
    /// Channel that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Arc<str>>,
    /// Bundle that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Arc<str>>,
    /// What is wrong.
    pub message: String,
}

/// A blob that an edit adds, changes or removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedBlob {
    /// What happens to it.
    pub change: ChangeKind,
    /// Its schema.
    pub schema: String,
    /// Its package; empty for none.
    pub package: String,
    /// Its name; empty for none.
    pub name: String,
    /// Of a channel, its heads and edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphChange>,
}

/// What happens to a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It goes.
    Removed,
    /// It stays with other members.
    Changed,
}

/// How the graph of a channel changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphChange {
    /// Heads before; one in a valid channel.
    pub from_heads: Vec<String>,
    /// Heads afterwards.
    pub to_heads: Vec<String>,
    /// New edges, such as `etcd.v0.9.2 replaces etcd.v0.9.0`.
    pub added_edges: Vec<String>,
    /// Edges that go.
    pub removed_edges: Vec<String>,
    /// Bundles that come into the channel.
    pub added_entries: Vec<String>,
    /// Bundles that leave the channel.
    pub removed_entries: Vec<String>,
}

impl ChangeKind {
    /// Returns the word for it, such as `added`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl From<Problem> for NewProblem {
    fn from(problem: Problem) -> Self {
        let Problem {
            code,
            message,
            package,
            channel,
            bundle,
            ..
        } = problem;
        Self {
            code,
            package,
            channel,
            bundle,
            message,
        }
    }
}

impl NewProblem {
    /// Returns why the edit of a content that makes this problem is refused. For a default channel
    /// that is not there, the text of `opm` says neither what happened nor what to do.
    pub(crate) fn refusal(&self, before: &Content) -> String {
        let (ProblemCode::PackageDefaultChannelUnknown, Some(package), Some(channel)) =
            (self.code, &self.package, &self.channel)
        else {
            return self.to_string();
        };
        let is_it = |meta: &Meta| {
            &*meta.schema == "olm.channel" && meta.package == *package && meta.name == *channel
        };
        if before.metas().iter().any(is_it) {
            format!(
                "package {package}: cannot remove channel {channel}: it is the default channel: choose another one with \
                 `set-package --default-channel` (`defaultChannel` in JSON), or remove the package with `rm`"
            )
        } else {
            format!(
                "package {package}: cannot make {channel} the default channel: there is no such channel"
            )
        }
    }
}

impl fmt::Display for NewProblem {
    /// Writes the problem with what it is about in front, as in `package etcd: channel alpha: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = [
            ("package", &self.package),
            ("channel", &self.channel),
            ("bundle", &self.bundle),
        ];
        for (kind, name) in places
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, name.as_ref()?)))
        {
            write!(f, "{kind} {name}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Lists the blobs in which two contents differ.
pub fn summarize(from: &Content, to: &Content) -> Vec<ChangedBlob> {
    from.changes(to).iter().filter_map(changed_blob).collect()
}

fn changed_blob(change: &BlobChange) -> Option<ChangedBlob> {
    let (kind, meta) = match (&change.before, &change.after) {
        (None, after) => (ChangeKind::Added, after.as_ref()?),
        (Some(before), None) => (ChangeKind::Removed, before),
        (Some(_), Some(after)) => (ChangeKind::Changed, after),
    };
    let [schema, package, name] =
        [&meta.schema, &meta.package, &meta.name].map(ToString::to_string);
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

fn graph(before: Option<&Meta>, after: Option<&Meta>) -> GraphChange {
    let channel = |meta: Option<&Meta>| {
        let members = meta
            .and_then(|meta| meta.members().ok())
            .unwrap_or_default();
        Channel::read(Blob::new(members))
    };
    let before = channel(before);
    let after = channel(after);
    let heads = |channel: &Channel| {
        channel
            .heads()
            .into_iter()
            .map(|head| head.name.clone())
            .collect()
    };
    let names = |channel: &Channel| {
        channel
            .entries
            .iter()
            .map(|entry| entry.name.clone())
            .collect::<BTreeSet<_>>()
    };
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

fn edges(channel: &Channel) -> BTreeSet<String> {
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

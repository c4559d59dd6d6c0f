//! What can be done to a content, and doing it: a batch is done as a whole or not at all.

use std::collections::{BTreeSet, HashSet};

use fbc_read::problem::Severity;
use serde::Deserialize;

use crate::bundle::RenderedBundle;
use crate::content::Content;
use crate::draft::Draft;
use crate::error::{EditError, Refusal};
use crate::notice::Notice;
use crate::summary::{EditSummary, NewProblem, summarize};
use crate::{add, deprecate, package, remove};

/// Maximum number of operations of a batch.
pub const MAX_OPERATIONS: usize = 1_000;

/// Limits of what a batch may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditLimits {
    /// Maximum number of entries, and of what they skip, in the channels of all packages that are
    /// changed. Each is written to the content, to its file and to the summary.
    pub edges: usize,
    /// Maximum length in bytes of the blobs of all packages that are changed, before the batch.
    /// They are checked with it.
    pub bytes: usize,
}

impl EditLimits {
    /// No limits, for authors on their own machine.
    pub const NONE: Self = Self {
        edges: usize::MAX,
        bytes: usize::MAX,
    };
}

/// An operation. `B` is a bundle that is added: where it is to be read from, or the rendered one.
/// None has a member that it does not know: what a client meant to say by it could narrow the
/// operation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation<B> {
    /// Creates a package.
    CreatePackage(PackageFields),
    /// Changes fields of a package.
    SetPackage(PackageFields),
    /// Adds bundles.
    Add(Add<B>),
    /// Removes packages.
    Rm(Packages),
    /// Removes every package but these.
    Prune(Packages),
    /// Removes bundles that are in no channel, in all packages. The braces make serde look at
    /// members.
    PruneStranded {},
    /// Deprecates bundles and removes what they replace.
    #[serde(alias = "deprecatetruncate")]
    DeprecateTruncate(DeprecateTruncate),
    /// Sets messages of deprecation.
    Deprecate(Deprecate),
    /// Removes messages of deprecation.
    Undeprecate(Undeprecate),
    /// Creates a channel.
    AddChannel(ChannelEntries),
    /// Removes a channel.
    #[serde(rename_all = "camelCase")]
    RemoveChannel {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
        /// Remove bundles that are in no other channel.
        #[serde(default)]
        prune_stranded: bool,
    },
    /// Replaces entries of a channel, or adds them.
    SetEntry(ChannelEntries),
    /// Makes a bundle the head of another channel.
    Promote {
        /// The package.
        package: String,
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
    },
    /// Removes the head of the default channel.
    #[serde(rename_all = "camelCase")]
    DeleteLatest {
        /// The package.
        package: String,
        /// Remove channels that would have no entry.
        #[serde(default)]
        drop_empty_channels: bool,
    },
    /// Removes a bundle.
    DeleteBundle {
        /// The package.
        package: String,
        /// The bundle.
        bundle: String,
        /// What becomes of entries that replace it.
        #[serde(default)]
        policy: ReplacedPolicy,
    },
}

/// Fields of a package; those that are not given stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageFields {
    /// Name of the package.
    pub package: String,
    /// Default channel.
    pub default_channel: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Icon.
    pub icon: Option<Icon>,
}

/// An icon of a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icon {
    /// Image in base64.
    pub base64data: String,
    /// Media type of the image.
    pub mediatype: String,
}

/// Bundles to add.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Add<B> {
    /// The bundles; their order does not count.
    pub bundles: Vec<B>,
    /// How the bundles get their edges: `replaces`, `semver` or `semver-skippatch`.
    #[serde(default = "replaces")]
    pub mode: String,
    /// Replace a bundle of the same name that is the head of its channels.
    #[serde(default)]
    pub overwrite_latest: bool,
    /// Let bundles stand in for others (`olm.substitutesFor`).
    #[serde(default)]
    pub enable_alpha: bool,
    /// Remove bundles that are in no channel afterwards.
    #[serde(default)]
    pub prune_stranded: bool,
}

/// Packages by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Packages {
    /// The names; one may hold several, separated by commas.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Ignore packages that there are not.
    #[serde(default)]
    pub permissive: bool,
    /// Allow to remove every package.
    #[serde(default)]
    pub allow_empty: bool,
}

/// Bundles where their packages are truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeprecateTruncate {
    /// Images of the bundles.
    pub images: Vec<String>,
    /// Remove a package whose heads are all listed.
    #[serde(default)]
    pub allow_package_removal: bool,
    /// Ignore images that there are not.
    #[serde(default)]
    pub permissive: bool,
    /// Remove the deprecated bundles too, as `opm render` leaves them out.
    #[serde(default)]
    pub drop_truncated: bool,
}

/// Messages for what is deprecated in a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecate {
    /// The package.
    pub package: String,
    /// What is deprecated; an entry of the same reference is replaced.
    pub entries: Vec<Deprecation>,
}

/// A message for what is deprecated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// What is deprecated.
    pub reference: Reference,
    /// Message for users.
    pub message: String,
}

/// What a message of deprecation is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// Name of the channel or bundle; empty for the package.
    #[serde(default)]
    pub name: String,
}

/// References whose messages are removed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undeprecate {
    /// The package.
    pub package: String,
    /// The references.
    pub references: Vec<Reference>,
}

/// Entries of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelEntries {
    /// The package.
    pub package: String,
    /// The channel.
    pub channel: String,
    /// The entries.
    pub entries: Vec<EntryFields>,
}

/// An entry of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntryFields {
    /// The bundle.
    pub name: String,
    /// The bundle that it replaces.
    #[serde(default)]
    pub replaces: String,
    /// Bundles that it skips.
    #[serde(default)]
    pub skips: Vec<String>,
    /// Range of versions that it skips.
    #[serde(default)]
    pub skip_range: String,
}

/// What becomes of entries that replace a bundle which is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacedPolicy {
    /// The bundle is not removed.
    #[default]
    Refuse,
    /// They replace what the bundle replaced, and skip it.
    Reconnect,
    /// They replace a bundle that is not there any more.
    Dangle,
}

fn replaces() -> String {
    "replaces".to_owned()
}

impl Operation<RenderedBundle> {
    /// Counts the names that the operation lists: of packages, channels, bundles and what they
    /// skip, images and references.
    pub fn names(&self) -> usize {
        match self {
            Self::Add(add) => {
                let of_bundle = |bundle: &RenderedBundle| {
                    bundle.placement.channels.len() + bundle.placement.skips.len()
                };
                add.bundles.iter().map(of_bundle).sum()
            }
            // One may hold several, separated by commas.
            Self::Rm(request) | Self::Prune(request) => request
                .packages
                .iter()
                .map(|names| names.split(',').count())
                .sum(),
            Self::DeprecateTruncate(request) => request.images.len(),
            Self::Deprecate(request) => request.entries.len(),
            Self::Undeprecate(request) => request.references.len(),
            Self::AddChannel(request) | Self::SetEntry(request) => request
                .entries
                .iter()
                .map(|entry| 1 + entry.skips.len())
                .sum(),
            Self::CreatePackage(_)
            | Self::SetPackage(_)
            | Self::PruneStranded {}
            | Self::RemoveChannel { .. }
            | Self::Promote { .. }
            | Self::DeleteLatest { .. }
            | Self::DeleteBundle { .. } => 0,
        }
    }
}

impl<B> Operation<B> {
    /// Replaces the bundles that are added, such as by what they are rendered to.
    pub fn try_map<C, E>(
        self,
        mut bundle: impl FnMut(B) -> Result<C, E>,
    ) -> Result<Operation<C>, E> {
        Ok(match self {
            Self::Add(Add {
                bundles,
                mode,
                overwrite_latest,
                enable_alpha,
                prune_stranded,
            }) => {
                let bundles = bundles
                    .into_iter()
                    .map(&mut bundle)
                    .collect::<Result<_, E>>()?;
                Operation::Add(Add {
                    bundles,
                    mode,
                    overwrite_latest,
                    enable_alpha,
                    prune_stranded,
                })
            }
            Self::CreatePackage(fields) => Operation::CreatePackage(fields),
            Self::SetPackage(fields) => Operation::SetPackage(fields),
            Self::Rm(packages) => Operation::Rm(packages),
            Self::Prune(packages) => Operation::Prune(packages),
            Self::PruneStranded {} => Operation::PruneStranded {},
            Self::DeprecateTruncate(deprecate) => Operation::DeprecateTruncate(deprecate),
            Self::Deprecate(deprecate) => Operation::Deprecate(deprecate),
            Self::Undeprecate(undeprecate) => Operation::Undeprecate(undeprecate),
            Self::AddChannel(entries) => Operation::AddChannel(entries),
            Self::SetEntry(entries) => Operation::SetEntry(entries),
            Self::RemoveChannel {
                package,
                channel,
                prune_stranded,
            } => Operation::RemoveChannel {
                package,
                channel,
                prune_stranded,
            },
            Self::Promote {
                package,
                bundle,
                channel,
            } => Operation::Promote {
                package,
                bundle,
                channel,
            },
            Self::DeleteLatest {
                package,
                drop_empty_channels,
            } => Operation::DeleteLatest {
                package,
                drop_empty_channels,
            },
            Self::DeleteBundle {
                package,
                bundle,
                policy,
            } => Operation::DeleteBundle {
                package,
                bundle,
                policy,
            },
        })
    }
}

/// Does a batch: returns the new content, or every reason of the first operation that is refused.
/// The result has no error that the content did not have before.
pub fn apply(content: &Content, batch: &[Operation<RenderedBundle>]) -> Result<Content, Refusal> {
    apply_and_check(content, batch).map(|(edited, _)| edited)
}

/// Does a batch as [`apply`] does it, and also says what it changes.
pub fn apply_and_check(
    content: &Content,
    batch: &[Operation<RenderedBundle>],
) -> Result<(Content, EditSummary), Refusal> {
    apply_within(content, batch, EditLimits::NONE)
}

/// Does a batch as [`apply_and_check`] does it, unless it would change more than it may.
pub fn apply_within(
    content: &Content,
    batch: &[Operation<RenderedBundle>],
    limits: EditLimits,
) -> Result<(Content, EditSummary), Refusal> {
    let mut draft = Draft::new(content, limits);
    let mut notices = Vec::new();
    for operation in batch {
        do_one(&mut draft, operation, &mut notices)?;
    }
    let edited = draft.finish();
    let problems = check(content, &edited)?;
    let summary = EditSummary {
        changes: summarize(content, &edited),
        problems,
        notices,
    };
    Ok((edited, summary))
}

/// Finds the problems that a content has and the former one did not have. Those that make it
/// invalid are an error.
fn check(former: &Content, edited: &Content) -> Result<Vec<NewProblem>, EditError> {
    let changes = former.changes(edited);
    let metas = changes
        .iter()
        .filter_map(|change| change.after.as_ref().or(change.before.as_ref()));
    let all = edited.packages();
    // A package that was removed has no problems.
    let touched = metas
        .map(|meta| &meta.package)
        .filter(|package| package.is_empty() || all.contains(*package));
    let touched: BTreeSet<String> = touched.map(ToString::to_string).collect();
    let problems = edited
        .problems(&touched)
        .map_err(|error| EditError::WouldInvalidate(vec![error.to_string()]))?;
    if problems.is_empty() {
        return Ok(Vec::new());
    }
    let known: HashSet<_> = former
        .problems(&touched)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    let new = problems
        .into_iter()
        .filter(|(_, problem)| !known.contains(problem));
    let (errors, warnings): (Vec<_>, Vec<_>) =
        new.partition(|(severity, _)| *severity == Severity::Error);
    if errors.is_empty() {
        return Ok(warnings.into_iter().map(|(_, problem)| problem).collect());
    }
    let texts = errors
        .into_iter()
        .map(|(_, problem)| problem.refusal(former))
        .collect();
    Err(EditError::WouldInvalidate(texts))
}

fn do_one(
    draft: &mut Draft<'_>,
    operation: &Operation<RenderedBundle>,
    notices: &mut Vec<Notice>,
) -> Result<(), Refusal> {
    match operation {
        Operation::Add(add) => add::add(draft, add, notices),
        Operation::Rm(packages) => remove::packages(draft, packages),
        Operation::Prune(packages) => remove::all_but(draft, packages, notices),
        Operation::PruneStranded {} => remove::prune_stranded(draft),
        Operation::RemoveChannel {
            package,
            channel,
            prune_stranded,
        } => remove::channel(draft, package, channel, *prune_stranded),
        Operation::DeleteLatest {
            package,
            drop_empty_channels,
        } => remove::latest(draft, package, *drop_empty_channels),
        Operation::DeleteBundle {
            package,
            bundle,
            policy,
        } => remove::bundle(draft, package, bundle, *policy),
        Operation::DeprecateTruncate(request) => deprecate::truncate(draft, request),
        Operation::Deprecate(request) => deprecate::deprecate(draft, request),
        Operation::Undeprecate(request) => deprecate::undeprecate(draft, request),
        Operation::CreatePackage(fields) => package::create(draft, fields),
        Operation::SetPackage(fields) => package::set(draft, fields),
        Operation::AddChannel(entries) => package::add_channel(draft, entries),
        Operation::SetEntry(entries) => package::set_entry(draft, entries),
        Operation::Promote {
            package,
            bundle,
            channel,
        } => package::promote(draft, package, bundle, channel),
    }
}

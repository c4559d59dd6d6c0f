//! Operations on a catalog: data only. [`batch`](crate::batch) applies them.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use crate::bundle::RenderedBundle;

/// Maximum number of operations of a batch.
pub const MAX_OPERATIONS: usize = 1_000;

/// An operation. `B` is the type of bundles to add: a reference to one, or the rendered bundle.
// Unknown members are errors: a client may have meant one to narrow the operation, such as a
// `dryRun` at the wrong level.
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
    /// Removes bundles that are in no channel, in all packages.
    // serde refuses unknown members only of variants with braces.
    PruneStranded {},
    /// Deprecates bundles and removes what they replace.
    #[serde(alias = "deprecatetruncate")]
    DeprecateTruncate(DeprecateTruncate),
    /// Sets deprecation messages.
    Deprecate(Deprecate),
    /// Removes deprecation messages.
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
        /// Treatment of entries that replace it.
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
    pub icon: Option<PackageIcon>,
}

/// An icon of a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageIcon {
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
    /// Source of the upgrade edges.
    #[serde(default)]
    pub mode: AddMode,
    /// Replace a bundle of the same name that is the head of its channels.
    #[serde(default)]
    pub overwrite_latest: bool,
    /// Allow bundles that substitute others (`olm.substitutesFor`).
    #[serde(default)]
    pub enable_alpha: bool,
    /// Remove bundles that are in no channel afterwards.
    #[serde(default)]
    pub prune_stranded: bool,
}

/// Source of the upgrade edges of bundles that are added: `replaces`, `semver` or
/// `semver-skippatch`, the modes of `opm registry add`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddMode {
    /// `replaces` and `skips` of their CSVs.
    #[default]
    Replaces,
    /// The order of versions.
    Semver {
        /// A bundle skips the lower patches of its minor version.
        skips_patches: bool,
    },
}

/// A mode that `opm` does not have either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid channel update mode {0} specified")]
pub struct AddModeError(String);

/// Packages by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Packages {
    /// The names; one may hold several, separated by commas.
    pub packages: Vec<String>,
    /// Ignore names of packages that do not exist.
    #[serde(default)]
    pub permissive: bool,
    /// Allow removing every package.
    #[serde(default)]
    pub allow_empty: bool,
}

/// Bundles at which their packages are truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeprecateTruncate {
    /// Images of the bundles.
    pub images: Vec<String>,
    /// Remove a package whose heads are all listed.
    #[serde(default)]
    pub allow_package_removal: bool,
    /// Ignore images that no bundle has.
    #[serde(default)]
    pub permissive: bool,
    /// Remove the deprecated bundles too, as `opm render` leaves them out.
    #[serde(default)]
    pub drop_truncated: bool,
}

/// Deprecation messages of a package.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecate {
    /// The package.
    pub package: String,
    /// The messages. One replaces the former message for the same reference.
    pub entries: Vec<DeprecationMessage>,
}

/// A deprecation message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeprecationMessage {
    /// The deprecated package, channel or bundle.
    pub reference: Reference,
    /// Message for users.
    pub message: String,
}

/// Reference to the package, channel or bundle of a deprecation message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
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

/// Treatment of entries that replace a bundle which is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacedPolicy {
    /// The bundle is not removed.
    #[default]
    Refuse,
    /// They replace what the bundle replaced, and skip it.
    Reconnect,
    /// They keep naming the removed bundle.
    Dangle,
}

impl FromStr for AddMode {
    type Err = AddModeError;

    fn from_str(name: &str) -> Result<Self, AddModeError> {
        match name {
            "replaces" => Ok(Self::Replaces),
            "semver" => Ok(Self::Semver {
                skips_patches: false,
            }),
            "semver-skippatch" => Ok(Self::Semver {
                skips_patches: true,
            }),
            other => Err(AddModeError(other.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for AddMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(de::Error::custom)
    }
}

impl<B> Add<B> {
    /// Tells whether a bundle may overwrite another one. Only CSVs say what the channels of an
    /// overwritten bundle fall back to.
    pub(crate) fn overwrites(&self) -> bool {
        self.overwrite_latest && self.mode == AddMode::Replaces
    }
}

impl Operation<RenderedBundle> {
    /// Counts the names that the operation lists: of packages, channels, bundles and what they
    /// skip, images and references.
    pub fn names(&self) -> usize {
        match self {
            Self::Add(add) => {
                let count = |bundle: &RenderedBundle| {
                    bundle.placement.channels.len() + bundle.placement.skips.len()
                };
                add.bundles.iter().map(count).sum()
            }
            // One may hold several, separated by commas.
            Self::Rm(request) | Self::Prune(request) => request
                .packages
                .iter()
                .map(|names| names.split(',').count())
                .sum(),
            // Each name is looked up in the catalog, so that each counts.
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
    /// Converts the bundles to add, for example from references to rendered bundles.
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

//! Errors of edits. Where `opm` has the same error, its message is used, so that authors find it by
//! the words that they know.

use std::fmt;

use fbc_grammar::version::VersionError;

use crate::value::BlobValueError;

/// Maximum number of reasons that the message of a [`BatchError`] lists.
pub const MAX_REASONS: usize = 100;

/// An operation cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The image is in the package already.
    #[error("Bundle {0} already exists")]
    ImageExists(String),
    /// The package has a bundle of this name already.
    #[error("Bundle already added that provides package and csv")]
    NameExists,
    /// Bundles of several packages in one batch have, replace or skip the same bundle.
    #[error("bundle {bundle} must belong to exactly one package, found on: [{}]", packages.join(" "))]
    SeveralPackages {
        /// Name of the bundle.
        bundle: String,
        /// The packages, sorted.
        packages: Vec<String>,
    },
    /// A bundle replaces or skips a bundle of another package.
    #[error(
        "bundle {bundle} belongs to package {owner} on index, cannot be added as an edge for package {package}"
    )]
    ForeignEdge {
        /// The bundle that is replaced or skipped.
        bundle: String,
        /// Its package.
        owner: String,
        /// The package of the bundle that is added.
        package: String,
    },
    /// The version of a bundle does not parse.
    #[error("error parsing bundle {bundle} version {version}: {reason}")]
    Version {
        /// Name of the bundle.
        bundle: String,
        /// The version.
        version: String,
        /// Reason for which it does not parse.
        reason: VersionError,
    },
    /// The bundle substitutes another one, which is an alpha feature.
    #[error(
        "SubstitutesFor is an alpha-only feature. You must enable alpha features with the flag --enable-alpha in order to \
         use this feature."
    )]
    SubstitutesFor,
    /// The bundle names no channel.
    #[error(
        "cannot add bundle {0}: it names no channel: set the annotation operators.operatorframework.io.bundle.channels.v1"
    )]
    NoChannels(String),
    /// A bundle names a channel with an empty name.
    #[error(
        "cannot add bundle {0}: one of its channels has no name: correct the annotation \
         operators.operatorframework.io.bundle.channels.v1"
    )]
    UnnamedChannel(String),
    /// Two bundles of a channel have its highest version.
    #[error("more than one potential channel head for {0}")]
    SeveralHeads(String),
    /// Two bundles of the package have its highest version.
    #[error("more than one bundle with maximum version {0}")]
    SeveralMaximums(String),
    /// The default channel is none of the channels.
    #[error("unable to determine default channel among channel heads: [{}]", channels.join(" "))]
    DefaultChannel {
        /// The channels, sorted.
        channels: Vec<String>,
    },
    /// The default channel would be removed.
    #[error("no default channel specified for {0}")]
    NoDefaultChannel(String),
    /// The chain of a channel leads to a bundle that was there already.
    #[error("Cycle detected, {bundle} replaces {replaces}")]
    Cycle {
        /// A bundle of the chain.
        bundle: String,
        /// The bundle that it replaces.
        replaces: String,
    },
    /// The chain of a channel leads to a bundle that does not exist.
    #[error("Invalid bundle {head}, replaces nonexistent bundle {replaces}")]
    ReplacesUnknown {
        /// The head of the channel.
        head: String,
        /// The bundle that does not exist.
        replaces: String,
    },
    /// The chain of a channel does not reach a bundle that is added to it.
    #[error(transparent)]
    Pruned(Box<PrunedBundle>),
    /// Every bundle of a channel is replaced or skipped.
    #[error(
        "unable to verify added bundles for package {package}: no channel head found for {channel}"
    )]
    NoHead {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
    },
    /// Bundles would be stranded: in no channel.
    #[error(
        "cannot change package {package}: {} would be in no channel: replace or skip {}, or remove {} with \
         `--prune-stranded` (`pruneStranded` in JSON)",
        bundles.join(", "), them(bundles), them(bundles)
    )]
    WouldStrand {
        /// The package.
        package: String,
        /// The bundles, sorted.
        bundles: Vec<String>,
    },
    /// A head skips a bundle through which its own chain passes.
    #[error(
        "cannot add {head} to channel {channel}: it skips {skipped}, below which its chain goes on to {}: skip {} too, or do \
         not skip {skipped}", below.join(", "), them(below)
    )]
    SkipsOwnChain {
        /// The channel.
        channel: String,
        /// Its head.
        head: String,
        /// The bundle that it skips.
        skipped: String,
        /// Bundles that the chain would lose.
        below: Vec<String>,
    },
    /// Entries of one bundle in several channels have different edges.
    #[error("cannot take the edges of {bundle} from another channel: its entries in {} differ", channels.join(", "))]
    EdgesDiffer {
        /// The bundle.
        bundle: String,
        /// The channels that have it.
        channels: Vec<String>,
    },
    /// A bundle without a version cannot be placed by versions.
    #[error("Bundle version {0} is not valid")]
    InvalidVersion(String),
    /// The version of an entry of the channel does not parse.
    #[error("Unable to parse existing bundle version stored in index {bundle} {version}")]
    InvalidExistingVersion {
        /// The bundle.
        bundle: String,
        /// Its version.
        version: String,
    },
    /// The channel has the version already.
    #[error("Bundle version {0} already added to index")]
    VersionExists(String),
    /// The version is below one where the channel was truncated.
    #[error(
        "cannot add {bundle} to channel {channel}: its version is below {deprecated}, where the channel was truncated"
    )]
    BelowTruncation {
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
        /// The deprecated bundle.
        deprecated: String,
    },
    /// The default channel names no channel.
    #[error(
        "error loading bundle {bundle} into db: the default channel ({channel}) does not exist: failed to set default channel \
         ({channel}) for package ({package}): FOREIGN KEY constraint failed"
    )]
    DefaultChannelUnknown {
        /// The bundle that names it.
        bundle: String,
        /// The channel.
        channel: String,
        /// The package.
        package: String,
    },
    /// The bundle to overwrite is not the head everywhere.
    #[error(
        "Cannot overwrite a bundle that is not at the head of a channel using --overwrite-latest"
    )]
    OverwriteNotHead,
    /// Two bundles of one package are to be overwritten.
    #[error(
        "Cannot overwrite more than one bundle at a time for a given package using --overwrite-latest"
    )]
    OverwriteSeveral,
    /// The package to remove does not exist.
    #[error(
        "error deleting packages from database: error removing operator package {0}: no package found for packagename {0}"
    )]
    NothingToRemove(String),
    /// The package does not exist.
    #[error("no package found for packagename {0}")]
    UnknownPackage(String),
    /// The package to create exists.
    #[error("cannot create package {0}: it exists")]
    PackageExists(String),
    /// The channel does not exist.
    #[error("cannot find channel {channel} in package {package}")]
    UnknownChannel {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
    },
    /// The bundle to promote is in the channel, and another one is its head.
    #[error(
        "cannot make bundle {bundle} the head of channel {channel}: it is already in the channel, below its head {head}"
    )]
    BelowHead {
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
        /// The head of the channel.
        head: String,
    },
    /// The channel to create exists.
    #[error("cannot add channel {channel} to package {package}: it exists")]
    ChannelExists {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
    },
    /// The bundle does not exist.
    #[error("cannot find bundle {bundle} in package {package}")]
    UnknownBundle {
        /// The package.
        package: String,
        /// The bundle.
        bundle: String,
    },
    /// All packages would be removed.
    #[error(
        "cannot keep no package at all: name one that exists, or allow an empty catalog with `--allow-empty` (`allowEmpty` \
         in JSON)"
    )]
    WouldEmpty,
    /// Images to deprecate are in no package.
    #[error("target bundlepaths for deprecation missing from registry: [{}]", .0.join(" "))]
    UnknownImages(Vec<String>),
    /// The default channel's head would be deprecated.
    #[error("error deprecating bundle {0}: Bundle deprecation causing default channel removal")]
    DeprecatesDefaultChannel(String),
    /// A package would be removed, but not all heads of its channels are listed.
    #[error(
        "cannot deprecate default channel head from package without removing all other channel heads in package {package}: \
         must deprecate {image}, head of channel {channel}"
    )]
    OtherHeads {
        /// The package.
        package: String,
        /// Image of the head that is missing.
        image: String,
        /// Its channel.
        channel: String,
    },
    /// A deprecation has no message.
    #[error("cannot deprecate {schema} `{name}`: the message is empty")]
    NoMessage {
        /// Schema of the deprecated object.
        schema: String,
        /// Its name.
        name: String,
    },
    /// Other bundles replace the one to remove.
    #[error(
        "cannot remove bundle {bundle}: {} in channel {channel}: choose a policy, `reconnect` or `dangle`",
        replace(by)
    )]
    IsReplaced {
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
        /// Bundles that replace it.
        by: Vec<String>,
    },
    /// A channel would have no entry.
    #[error(
        "cannot remove {bundle}: channel {channel} would be empty: allow it with `--drop-empty-channels` \
         (`dropEmptyChannels` in JSON)"
    )]
    WouldEmptyChannel {
        /// The bundle.
        bundle: String,
        /// The channel.
        channel: String,
    },
    /// The result has problems that the former catalog did not have.
    #[error("the catalog would be invalid: {}", join_first(.0, "; "))]
    WouldInvalidate(Vec<String>),
    /// The packages that are changed have too many entries and skips.
    #[error(
        "cannot change so much at once: the packages that change have more than {0} entries and skips: send fewer"
    )]
    TooManyEdges(usize),
    /// The packages that are changed are too large.
    #[error(
        "cannot change so much at once: the packages that change have more than {0} bytes: change fewer at a time"
    )]
    TooManyBytes(usize),
    /// A blob is nested too deeply to be edited.
    #[error("cannot edit {schema} `{name}`: {reason}")]
    Unreadable {
        /// Schema of the blob.
        schema: String,
        /// Its name.
        name: String,
        /// Reason for which it cannot be read.
        reason: BlobValueError,
    },
}

/// A bundle that the chain of a channel does not reach.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
        "add prunes bundle {bundle} ({image}) from package {package}, channel {channel}: this may be due to incorrect \
         channel head ({head}, skips/replaces [{}]). Be aware that the head of the channel {channel} where you are trying \
         to add the {bundle} is {head}. Upgrade graphs follows the Semantic Versioning 2.0.0 (https://semver.org/) which \
         means that is not possible add new versions lower then the head of the channel", edges.join(" ")
    )]
pub struct PrunedBundle {
    /// The bundle that is added.
    pub bundle: String,
    /// Its image.
    pub image: String,
    /// Its package.
    pub package: String,
    /// The channel.
    pub channel: String,
    /// The head of the channel.
    pub head: String,
    /// Bundles that the head skips and replaces.
    pub edges: Vec<String>,
}

/// A batch cannot be applied: all reasons, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchError(pub Vec<EditError>);

impl std::error::Error for BatchError {}

impl fmt::Display for BatchError {
    /// Writes one reason as it is, and several in brackets, as `opm` does; at most
    /// [`MAX_REASONS`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [error] = &self.0[..] {
            return error.fmt(f);
        }
        write!(f, "[{}]", join_first(&self.0, ", "))
    }
}

impl BatchError {
    /// Fails with errors, if there are any.
    pub(crate) fn unless_empty(errors: Vec<EditError>) -> Result<(), Self> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self(errors))
        }
    }
}

impl From<EditError> for BatchError {
    fn from(error: EditError) -> Self {
        Self(vec![error])
    }
}

/// Joins the first reasons, and counts the others.
fn join_first(reasons: &[impl ToString], separator: &str) -> String {
    let mut texts: Vec<_> = reasons
        .iter()
        .take(MAX_REASONS)
        .map(ToString::to_string)
        .collect();
    // A batch can have thousands, which would make a response of megabytes.
    if reasons.len() > MAX_REASONS {
        texts.push(format!("and {} more", reasons.len() - MAX_REASONS));
    }
    texts.join(separator)
}

fn them(names: &[String]) -> &'static str {
    if names.len() == 1 { "it" } else { "them" }
}

fn replace(by: &[String]) -> String {
    format!(
        "{} {} it",
        by.join(", "),
        if by.len() == 1 { "replaces" } else { "replace" }
    )
}

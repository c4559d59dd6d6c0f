//! Flags of `render` and `edit`, which make catalogs.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueEnum, ValueHint};
use edit::bundle::Migration;
use edit::operation::ReplacedPolicy;
use edit::template::TemplateKind;

use super::{ImageArgs, RegistryArgs, SummaryFormat};

/// Flags of `render`.
#[derive(Debug, clap::Args)]
pub struct RenderArgs {
    /// Bundles (images, oci:PATH, and directories with `manifests` and `metadata`) and catalogs
    /// (images, oci:PATH, dir:PATH or PATH)
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath, required = true, num_args = 1..)]
    pub sources: Vec<String>,
    /// Image of the bundle, where one bundle directory is rendered
    #[arg(long, value_name = "REF")]
    pub image: Option<String>,
    /// Migration of the manifests of bundles that have an image
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub migrate_level: MigrateLevel,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: BlobFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Flags of `push`.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// Directory of the catalog
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Reference to push the image to, such as quay.io/me/catalog:latest
    #[arg(value_name = "IMAGE")]
    pub image: String,
    /// Push a catalog that `opm validate` would refuse, as long as its files can be read
    #[arg(long)]
    pub skip_validation: bool,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Flags of `render-template`.
#[derive(Debug, clap::Args)]
#[command(allow_missing_positional = true)]
pub struct RenderTemplateArgs {
    /// Kind of template, as --type
    #[arg(value_enum, value_name = "TYPE", conflicts_with = "type")]
    pub kind: Option<TemplateType>,
    /// File of the template, JSON or YAML; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub template: PathBuf,
    /// Kind of template [default: by its schema]
    #[arg(long, value_enum)]
    pub r#type: Option<TemplateType>,
    /// Directory of a bundle that the template names by its image, which is then not pulled. May be
    /// repeated
    #[arg(long, value_name = "IMAGE=DIR")]
    pub bundle: Vec<String>,
    /// Migration of the manifests of bundles
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub migrate_level: MigrateLevel,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: BlobFormat,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Flags of `convert-template`.
#[derive(Debug, clap::Args)]
pub struct ConvertTemplateArgs {
    /// Kind of template
    #[arg(value_enum)]
    pub r#type: TemplateType,
    /// File of the catalog, JSON or YAML; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub catalog: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: BlobFormat,
}

/// Kind of template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TemplateType {
    /// A catalog whose bundles are named by their images
    Basic,
    /// Bundles whose channels and edges follow from their versions
    Semver,
    /// A catalog with substitutes for some of its bundles
    Substitutes,
}

impl From<TemplateType> for TemplateKind {
    fn from(kind: TemplateType) -> Self {
        match kind {
            TemplateType::Basic => Self::Basic,
            TemplateType::Semver => Self::Semver,
            TemplateType::Substitutes => Self::Substitutes,
        }
    }
}

/// Flags of `init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// Name of the package
    pub package: String,
    /// The default channel
    #[arg(short = 'c', long, value_name = "NAME", default_value = "")]
    pub default_channel: String,
    /// File of the description, in Markdown
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub description: Option<PathBuf>,
    /// File of the icon
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub icon: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: BlobFormat,
}

/// Flags of `migrate`.
#[derive(Debug, clap::Args)]
pub struct MigrateArgs {
    /// The catalog: an image (such as quay.io/operatorhubio/catalog:latest), oci:PATH, dir:PATH or
    /// PATH
    #[arg(value_hint = ValueHint::AnyPath)]
    pub source: String,
    /// Directory to write to; it must be empty or not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Migration of the manifests of bundles that have an image
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub migrate_level: MigrateLevel,
    /// Format of the files
    #[arg(short, long, value_enum, default_value_t)]
    pub output: BlobFormat,
    #[command(flatten)]
    pub images: ImageArgs,
}

/// Migration of the manifests of bundles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MigrateLevel {
    /// They stay `olm.bundle.object`
    #[default]
    None,
    /// They become one `olm.csv.metadata`
    BundleObjectToCsvMetadata,
    /// All migrations
    All,
}

impl MigrateLevel {
    /// Returns the migration.
    pub fn migration(self) -> Migration {
        if self == Self::None {
            Migration::None
        } else {
            Migration::CsvMetadata
        }
    }
}

/// Format of blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BlobFormat {
    /// JSON objects one after the other
    #[default]
    Json,
    /// YAML documents
    Yaml,
}

impl From<BlobFormat> for edit::FileFormat {
    fn from(format: BlobFormat) -> Self {
        match format {
            BlobFormat::Json => Self::Json,
            BlobFormat::Yaml => Self::Yaml,
        }
    }
}

/// Flags of `edit`.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_value_name = "OPERATION",
    subcommand_help_heading = "Operations"
)]
pub struct EditArgs {
    /// Directory of the catalog
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// JSON array of operations, applied atomically; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ops: Option<PathBuf>,
    /// Show the changes without writing them
    #[arg(long, global = true)]
    pub dry_run: bool,
    /// Print the changed lines of files as a patch, instead of a table. They are written too, unless
    /// with --dry-run
    #[arg(long, global = true, conflicts_with = "output")]
    pub patch: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t, global = true)]
    pub output: SummaryFormat,
    #[command(flatten)]
    pub registries: RegistryArgs,
    #[command(subcommand)]
    pub operation: Option<EditOperation>,
}

/// An operation of the command line. `--ops` has more of them.
#[derive(Debug, Subcommand)]
pub enum EditOperation {
    /// Add bundles; their order does not count
    Add {
        /// Images of bundles, which are pulled, or whose directories with `manifests` and
        /// `metadata` are read
        #[arg(value_name = "IMAGE[=DIR]", required = true)]
        bundles: Vec<String>,
        /// Source of upgrade edges: `replaces` (the CSVs of the bundles), `semver` or
        /// `semver-skippatch` (the order of versions)
        #[arg(long, value_name = "MODE", default_value = "replaces")]
        mode: String,
        /// Replace a bundle of the same name that is the head of its channels
        #[arg(long)]
        overwrite_latest: bool,
        /// Allow bundles that substitute others (`olm.substitutesFor`)
        #[arg(long)]
        enable_alpha: bool,
        /// Remove bundles that are in no channel afterwards
        #[arg(long)]
        prune_stranded: bool,
    },
    /// Remove packages
    Rm {
        /// Names of packages
        #[arg(required = true)]
        packages: Vec<String>,
        /// Ignore names of packages that do not exist
        #[arg(long)]
        permissive: bool,
    },
    /// Remove every package but these
    Prune {
        /// Names of packages
        #[arg(required = true)]
        packages: Vec<String>,
        /// Allow removing every package
        #[arg(long)]
        allow_empty: bool,
    },
    /// Remove bundles that are in no channel
    PruneStranded,
    /// Remove a channel
    RemoveChannel {
        /// Name of the package
        package: String,
        /// Name of the channel
        channel: String,
        /// Remove bundles that are in no other channel
        #[arg(long)]
        prune_stranded: bool,
    },
    /// Remove the head of the default channel
    DeleteLatest {
        /// Name of the package
        package: String,
        /// Remove channels that would have no entry
        #[arg(long)]
        drop_empty_channels: bool,
    },
    /// Remove a bundle
    DeleteBundle {
        /// Name of the package
        package: String,
        /// Name of the bundle
        bundle: String,
        /// Treatment of entries that replace it
        #[arg(long, value_enum, default_value_t)]
        policy: Policy,
    },
    /// Deprecate bundles and remove what they replace
    DeprecateTruncate {
        /// Images of the bundles
        #[arg(required = true)]
        images: Vec<String>,
        /// Remove a package whose heads are all listed
        #[arg(long)]
        allow_package_removal: bool,
        /// Ignore images that no bundle has
        #[arg(long)]
        permissive: bool,
    },
    /// Set a deprecation message
    Deprecate {
        #[command(flatten)]
        target: DeprecationTarget,
        /// The message for users; an empty one removes it
        #[arg(long)]
        message: String,
    },
    /// Remove a deprecation message
    Undeprecate(DeprecationTarget),
    /// Change the default channel or the description of a package
    #[command(group = ArgGroup::new("fields").required(true).multiple(true))]
    SetPackage {
        /// Name of the package
        package: String,
        /// The default channel
        #[arg(long, value_name = "NAME", group = "fields")]
        default_channel: Option<String>,
        /// The description
        #[arg(long, value_name = "TEXT", group = "fields")]
        description: Option<String>,
    },
    /// Make a bundle the head of another channel
    Promote {
        /// Name of the package
        package: String,
        /// Name of the bundle
        bundle: String,
        /// Name of the channel, which may be new
        channel: String,
    },
    /// Create a channel with one entry; `set-entry` adds others
    AddChannel(EntryArgs),
    /// Set an entry of a channel
    SetEntry(EntryArgs),
}

/// The package, channel or bundle of a deprecation message.
#[derive(Debug, clap::Args)]
pub struct DeprecationTarget {
    /// Name of the package
    pub package: String,
    /// The message of this channel instead of the package
    #[arg(long, value_name = "NAME", conflicts_with = "bundle")]
    pub channel: Option<String>,
    /// The message of this bundle instead of the package
    #[arg(long, value_name = "NAME")]
    pub bundle: Option<String>,
}

/// An entry of a channel.
#[derive(Debug, clap::Args)]
pub struct EntryArgs {
    /// Name of the package
    pub package: String,
    /// Name of the channel
    pub channel: String,
    /// Name of the bundle
    pub bundle: String,
    /// The bundle that it replaces
    #[arg(long, value_name = "NAME", default_value = "")]
    pub replaces: String,
    /// A bundle that it skips. May be repeated
    #[arg(long, value_name = "NAME")]
    pub skips: Vec<String>,
    /// Range of versions that it skips
    #[arg(long, value_name = "RANGE", default_value = "")]
    pub skip_range: String,
}

/// Treatment of entries that replace a bundle which is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// The bundle is not removed
    #[default]
    Refuse,
    /// They replace what the bundle replaced, and skip it
    Reconnect,
    /// They keep naming the removed bundle
    Dangle,
}

impl From<Policy> for ReplacedPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Refuse => Self::Refuse,
            Policy::Reconnect => Self::Reconnect,
            Policy::Dangle => Self::Dangle,
        }
    }
}

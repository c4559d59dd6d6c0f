//! Commands, flags and their help texts. This module checks the form of values only; it opens no
//! file.

mod edit;
mod export;
mod images;
mod mirror;
mod preview;
mod queries;
mod sbom;
mod support_bundle;
mod validate;
mod verify;

use clap::Subcommand;

pub use self::edit::{
    BlobFormat, ConvertTemplateArgs, DeprecationTarget, EditArgs, EditOperation, EntryArgs,
    InitArgs, MigrateArgs, MigrateLevel, Policy, PushArgs, RenderArgs, RenderTemplateArgs,
    TemplateType,
};
pub use self::export::{ExportArgs, ExportFormat};
pub use images::{HttpArgs, ImageArgs, RegistryArgs, SignatureArgs};
pub use mirror::{
    MirrorCatalogArgs, MirrorCommand, MirrorDestinationArgs, MirrorLoadArgs, MirrorPlanArgs,
    MirrorRunArgs, MirrorSelectionArgs, MirrorVerifyArgs,
};
pub use preview::{PreviewArgs, PreviewOutput};
pub use queries::{
    CatalogArgs, LocalDiffArgs, LocalGraphArgs, LocalListArgs, LocalQueryArgs, LocalResolveArgs,
    LocalSearchArgs, LocalShowArgs, LocalSolveArgs, LocalUpgradePlanArgs, StepArg, StepSourceArg,
    SummaryFormat, name_missing,
};
pub use sbom::{SbomCommand, SbomImagesArgs};
pub use support_bundle::SupportBundleArgs;
pub use validate::{ValidateArgs, ValidateOutput};
pub use verify::{VerifyArgs, VerifyOutput};

/// A command that needs no server.
#[derive(Debug, Subcommand)]
pub enum LocalCommand {
    /// List the problems of a catalog
    ///
    /// The exit status is 1 if `opm validate` would reject the catalog, and 2 if the catalog cannot
    /// be read.
    Validate(ValidateArgs),
    /// Execute a GraphQL request over catalogs, without a server
    ///
    /// The exit status is 1 if the response has errors.
    Query(LocalQueryArgs),
    /// List the catalogs, packages, channels or bundles of sources
    List(LocalListArgs),
    /// Show a package or a bundle
    Show(LocalShowArgs),
    /// Find packages by words in their names, descriptions and keywords
    Search(LocalSearchArgs),
    /// Show which packages, channels and bundles differ between two catalogs
    Diff(LocalDiffArgs),
    /// Print the blobs of bundles and catalogs, as `opm render` does
    Render(RenderArgs),
    /// Change the files of a catalog: add, remove and deprecate bundles, channels and packages
    ///
    /// Unchanged blobs keep their formatting. The exit status is 1 if the edit is rejected, and 2
    /// if the catalog or the operations cannot be read; in both cases nothing is written.
    Edit(EditArgs),
    /// Push the files of a catalog to a registry, as an image that catalogd and OLM v0 read
    ///
    /// Prints the image reference with its digest, which depends only on the files. A catalog that
    /// `opm validate` would reject is not pushed unless `--skip-validation` is given.
    Push(PushArgs),
    /// Print the blobs of a template (`olm.template.basic`, `olm.semver`,
    /// `olm.template.substitutes`)
    RenderTemplate(RenderTemplateArgs),
    /// Convert a catalog to a template
    ConvertTemplate(ConvertTemplateArgs),
    /// Print the `olm.package` blob of a new package
    Init(InitArgs),
    /// Write a catalog to a directory, with one folder for each package
    Migrate(MigrateArgs),
    /// Show the update graph of a package
    ///
    /// Channel heads, deprecated bundles and stranded bundles are marked. A bundle is stranded if
    /// no sequence of upgrades leads from it to the head of its channel.
    Graph(LocalGraphArgs),
    /// Show which bundle an install or an upgrade of a package selects, and why
    ///
    /// The rules are those of the OLM v1 controller. The exit status is 1 if no bundle is selected.
    Resolve(LocalResolveArgs),
    /// Show the objects that an install of a bundle creates, and what they may do
    ///
    /// The rules are those of the OLM v1 controller. The exit status is 1 if the install is refused,
    /// or if it has a flag of `--fail-on`.
    Preview(PreviewArgs),
    /// Resolve packages with their dependencies, or explain why there is no solution
    ///
    /// The rules are those of OLM v0. The exit status is 1 if there is no solution, and 6 if the
    /// request is rejected.
    Solve(LocalSolveArgs),
    /// Select the part of catalogs that a disconnected cluster needs
    #[command(subcommand)]
    Mirror(MirrorCommand),
    /// Show what happens to what is installed when the platform is upgraded, step by step
    ///
    /// Each --step is a version of `OpenShift` (or of Kubernetes, if it begins with `1.`) with the
    /// catalogs that clusters of that version read; the first is where the cluster is. The exit
    /// status is 0 if everything stays or follows by itself, 1 if something must be switched by
    /// hand or is blocked, and 2 if something is unknown or the input cannot be read.
    UpgradePlan(LocalUpgradePlanArgs),
    /// Write catalogs as tables in Parquet files, for analytical databases
    ///
    /// Each content of a catalog is written once: what the directory has already is left as it is,
    /// so that exports of years can share it. The exit status is 2 if a catalog cannot be read or
    /// written; the others are exported.
    Export(ExportArgs),
    /// Print documents about what catalogs ship, for scanners
    #[command(subcommand)]
    Sbom(SbomCommand),
    /// Write what a server says of itself, its metrics and its last log lines to one archive
    ///
    /// It is for those who help with a fault. Secrets are removed; read it before you send it. What
    /// cannot be collected is listed in the archive and on standard error, with status 1.
    SupportBundle(SupportBundleArgs),
    /// Show whether the signature policy accepts an image, and why
    ///
    /// The exit status is 1 if the image is refused, and 2 if this cannot be decided.
    Verify(VerifyArgs),
}

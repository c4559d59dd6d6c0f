//! Selects the part of a catalog that a disconnected cluster needs, as oc-mirror selects it, and
//! says why each bundle and each image is in it.
//!
//! A [`MirrorConfiguration`] is an `ImageSetConfiguration` of oc-mirror. [`select`] applies one of
//! its items to a catalog. With [`MirrorRules::OcMirror`] the result is that of oc-mirror, with its
//! faults. [`MirrorRules::Catalogql`] never makes an invalid catalog, and lists each difference as a
//! [`MirrorProblem`].
//!
//! | module | contents |
//! |---|---|
//! | [`configuration`], `node`, `pattern`, `range`, [`need`] | reads a configuration and refuses invalid ones |
//! | `channel` | the update graph of a channel as oc-mirror sees it, and the part within a range |
//! | [`select`](mod@select) with `upgrade` and `dependencies`, `validity` | applies an item of a configuration to a catalog |
//! | [`image`] | images of the selected bundles |
//! | [`plan`](mod@plan) | a whole configuration, as names |
//! | [`filtered`] | blobs of the catalog that has only the selected part |
//! | [`imageset`] | the configuration with which oc-mirror selects a set |
//! | [`output`] | a plan as files of other tools |
//! | [`problem`] | reasons for a refusal, and differences from oc-mirror |
//!
//! The crate is pure: it opens no file or socket, reads no clock and starts no thread.

#![deny(missing_docs)]
// clippy.toml of this crate lists the disallowed items: IO and clocks.
#![deny(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod channel;
pub mod configuration;
pub mod filtered;
pub mod image;
pub mod imageset;
pub mod mirror_set;
pub mod need;
mod node;
pub mod output;
mod pattern;
pub mod plan;
pub mod problem;
mod range;
pub mod select;
mod validity;

pub use configuration::{
    CatalogSelection, ChannelSelection, MirrorConfiguration, PackageSelection,
};
pub use image::{MirroredImage, MirroredImageKind, images};
pub use mirror_set::{
    MirrorReason, MirrorSet, MirroredBundle, MirroredChannel, MirroredDeprecation, MirroredPackage,
    ReasonKind,
};
pub use need::{InstalledText, MAX_INSTALLED_BUNDLES, MirrorPlatform, PackageNeed};
pub use pattern::MAX_PATTERN_BYTES;
pub use plan::{MirrorPlan, PlannedImage, plan};
pub use problem::{MirrorProblem, MirrorProblemCode, MirrorSeverity};
pub use range::MirrorRange;
pub use select::{MAX_DEPENDENCY_WORK, MAX_SOLVED_BUNDLES, MirrorRules, select};

//! Computes the outline of a catalog, in one pass over its blobs.

use sha2::{Digest as _, Sha256};

use fbc_read::json::JsonText;

use super::hashes::{bundle_parts, entry_hashes, package_parts};
use super::layout::{HASH_BYTES, OutlineBuilder, TruncatedHash};
use crate::catalog::{Catalog, Meta};
use crate::deprecation::Deprecation;
use crate::outline::layout::Outline;
use crate::package::{Channel, Head, Package};

/// Schema of the blobs that list deprecations.
const DEPRECATIONS: &str = "olm.deprecations";

impl Catalog {
    /// Returns the outline of its content: names and hashes.
    pub fn outline(&self) -> &Outline {
        self.tables
            .outline
            .get_or_init(|| Outline::from_catalog(self))
    }

    /// Returns the outline if it has already been computed.
    pub fn known_outline(&self) -> Option<&Outline> {
        self.tables.outline.get()
    }
}

impl Outline {
    /// Computes the outline of a catalog, in one pass over its blobs.
    pub fn from_catalog(catalog: &Catalog) -> Self {
        let untyped = untyped_blobs(catalog);
        let mut builder = OutlineBuilder::default();
        for package in catalog.packages() {
            add_package(&mut builder, package, &untyped);
        }
        builder.finish()
    }
}

/// A blob that belongs to a package and is none of its typed objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UntypedBlob {
    /// Index of the package.
    package: usize,
    hash: TruncatedHash,
    is_deprecations: bool,
}

/// Returns the blobs that belong to a package but are not among its typed objects, sorted.
fn untyped_blobs(catalog: &Catalog) -> Vec<UntypedBlob> {
    let mut typed: Vec<usize> = catalog
        .packages()
        .flat_map(|package| {
            let channels = package.channels().map(|channel| start(channel.meta()));
            let bundles = package.bundles().map(|bundle| start(bundle.meta()));
            channels.chain(bundles).chain([start(package.meta())])
        })
        .collect();
    typed.sort_unstable();
    let metas = (0..catalog.meta_count()).map(|at| catalog.meta_at(at));
    let mut untyped: Vec<_> = metas
        .filter(|meta| typed.binary_search(&start(*meta)).is_err())
        .filter_map(|meta| {
            let owner = if meta.schema() == "olm.package" {
                meta.name()
            } else {
                meta.package_name()
            };
            let hash = truncate(&Sha256::new_with_prefix(meta.blob().raw()));
            Some(UntypedBlob {
                package: catalog.package_position(owner?).ok()?,
                hash,
                is_deprecations: meta.schema() == DEPRECATIONS,
            })
        })
        .collect();
    untyped.sort_unstable();
    untyped
}

/// Returns the offset of a blob's line, which identifies the blob.
fn start(meta: Meta<'_>) -> usize {
    meta.line_span().start
}

fn add_package<'a>(
    builder: &mut OutlineBuilder<'a>,
    package: Package<'a>,
    untyped: &[UntypedBlob],
) {
    let mut whole = Sha256::new_with_prefix(package.meta().blob().raw());
    let from = untyped.partition_point(|blob| blob.package < package.place());
    let own = untyped[from..]
        .iter()
        .take_while(|blob| blob.package == package.place());
    own.clone().for_each(|blob| whole.update(blob.hash));
    // Deprecations are parts of the objects that they deprecate, not of the package.
    let others = own
        .filter(|blob| !blob.is_deprecations)
        .map(|blob| &blob.hash[..]);
    let parts = package_parts(package, others);
    for channel in package.channels() {
        whole.update(add_channel(builder, channel));
    }
    let mut bundles: Vec<_> = package.bundles().collect();
    bundles.sort_unstable_by_key(|bundle| bundle.name());
    for bundle in bundles {
        let hash = hash_object(bundle.meta(), bundle.deprecation());
        whole.update(hash);
        builder.bundle(bundle.name(), hash, &bundle_parts(bundle));
    }
    let default_channel = Some(package.default_channel_name()).filter(|name| !name.is_empty());
    builder.package(package.name(), truncate(&whole), default_channel, &parts);
}

/// Returns the hash of the channel.
fn add_channel<'a>(builder: &mut OutlineBuilder<'a>, channel: Channel<'a>) -> TruncatedHash {
    let head = match channel.head() {
        Head::One(entry) => Some(entry.name()),
        Head::None | Head::Several => None,
    };
    for (name, hash) in entry_hashes(channel) {
        builder.entry(name, hash);
    }
    let hash = hash_object(channel.meta(), channel.deprecation());
    builder.channel(channel.name(), head, hash);
    hash
}

/// Hashes a channel or a bundle with its deprecation.
fn hash_object(meta: Meta<'_>, deprecation: Option<Deprecation<'_>>) -> TruncatedHash {
    let mut hash = Sha256::new_with_prefix(meta.blob().raw());
    if let Some(deprecation) = deprecation {
        // Blobs have no line feed, so it separates the parts unambiguously.
        hash.update(b"\n");
        hash.update(deprecation.message().map_or(&b""[..], JsonText::raw));
    }
    truncate(&hash)
}

/// Truncates a hash to 128 bits, which are enough against collisions.
fn truncate(hash: &Sha256) -> TruncatedHash {
    let whole = hash.clone().finalize();
    let mut truncated = [0; HASH_BYTES];
    truncated.copy_from_slice(&whole[..HASH_BYTES]);
    truncated
}

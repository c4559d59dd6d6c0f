//! Outlines: what a catalog holds, by name and hash, so that two contents can be compared when only one is there.
//!
//! An outline is a text of bytes that is read in place, from memory or from a map of a file. What it knows of an object
//! is a hash of every blob that belongs to it: two objects of one name are equal when their hashes are. To a package
//! belongs each blob that names it, to a channel or a bundle its own blob and why it is deprecated. In which order or
//! in which file blobs stand makes no difference.

mod diff;
mod layout;

use std::fmt;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::catalog::{Catalog, Deprecation, Head, JsonText, Meta, Package};
use layout::{Builder, HASH_BYTES, Hash};

pub use diff::{BundleDiff, Change, ChannelDiff, Diff, PackageDiff};

/// How many contents of a catalog before the one that is served are remembered by their outlines: who looks at a catalog
/// once a day finds what changed since, where it changes every few hours.
pub const REMEMBERED: usize = 8;

/// What a catalog holds, by name and hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Outline(Bytes);

impl Outline {
    /// The outline of a catalog. It reads every blob once.
    pub fn of(catalog: &Catalog) -> Self {
        let others = others(catalog);
        let mut builder = Builder::default();
        for package in catalog.packages() {
            add(&mut builder, package, &others);
        }
        Self(builder.finish())
    }

    /// Reads the bytes of an outline; nothing when they are damaged or of another version.
    pub fn read(bytes: Bytes) -> Option<Self> {
        layout::is_whole(&bytes).then_some(Self(bytes))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outline").field("bytes", &self.0.len()).finish_non_exhaustive()
    }
}

/// The hashes of blobs that belong to a package and are none of its typed objects, by the place of the package, sorted.
fn others(catalog: &Catalog) -> Vec<(usize, Hash)> {
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
    let mut others: Vec<_> = metas
        .filter(|meta| typed.binary_search(&start(*meta)).is_err())
        .filter_map(|meta| {
            let owner = if meta.schema() == "olm.package" { meta.name() } else { meta.package_name() };
            Some((catalog.package_position(owner?).ok()?, short(&Sha256::new_with_prefix(meta.blob().raw()))))
        })
        .collect();
    others.sort_unstable();
    others
}

/// Where the line of a blob begins: no other begins there.
fn start(meta: Meta<'_>) -> usize {
    meta.line_span().start
}

fn add(builder: &mut Builder, package: Package<'_>, others: &[(usize, Hash)]) {
    let mut whole = Sha256::new_with_prefix(package.meta().blob().raw());
    let from = others.partition_point(|(place, _)| *place < package.place());
    others[from..].iter().take_while(|(place, _)| *place == package.place()).for_each(|(_, hash)| whole.update(hash));
    for channel in package.channels() {
        let hash = object(channel.meta(), channel.deprecation());
        let head = match channel.head() {
            Head::One(entry) => Some(entry.name()),
            Head::None | Head::Several => None,
        };
        whole.update(hash);
        builder.channel(channel.name(), head, hash);
    }
    let mut bundles: Vec<_> = package.bundles().collect();
    bundles.sort_unstable_by_key(|bundle| bundle.name());
    for bundle in bundles {
        let hash = object(bundle.meta(), bundle.deprecation());
        whole.update(hash);
        builder.bundle(bundle.name(), hash);
    }
    builder.package(package.name(), short(&whole));
}

/// The hash of a channel or a bundle.
fn object(meta: Meta<'_>, deprecation: Option<Deprecation<'_>>) -> Hash {
    let mut hash = Sha256::new_with_prefix(meta.blob().raw());
    if let Some(deprecation) = deprecation {
        // No blob has a line feed, so nothing can be taken for a part of it.
        hash.update(b"\n");
        hash.update(deprecation.message().map_or(&b""[..], JsonText::raw));
    }
    short(&hash)
}

/// The beginning of a hash: enough that no two of a catalog's objects share it, nor can be made to.
fn short(hash: &Sha256) -> Hash {
    let whole = hash.clone().finalize();
    let mut short = [0; HASH_BYTES];
    short.copy_from_slice(&whole[..HASH_BYTES]);
    short
}

//! Hashes of the parts of packages and bundles, and of the entries of channels.

use sha2::{Digest as _, Sha256};

use fbc_read::json::{JsonCursor, JsonError, JsonText, JsonValue, is_field};

use super::parts::{
    BundleHashes, BundlePart, PART_HASH_BYTES, PackageHashes, PackagePart, PartHash,
};
use crate::bundle::Bundle;
use crate::catalog::Meta;
use crate::deprecation::Deprecation;
use crate::package::{Channel, Package};
use crate::property::Property;

/// Hashes the parts of a package. `others` are hashes of blobs that belong to it and are no typed
/// objects.
pub(super) fn package_parts<'h>(
    package: Package<'_>,
    others: impl Iterator<Item = &'h [u8]>,
) -> PackageHashes {
    let mut hashes = Hashes::<{ PackagePart::ALL.len() }>::new();
    each_member(package.meta(), |key, value| {
        let part = package_part_of_member(key) as usize;
        hashes.add(part, key.raw());
        hashes.add(part, value.raw());
    });
    hashes.add_deprecation(PackagePart::Deprecation as usize, package.deprecation());
    others.for_each(|hash| hashes.add(PackagePart::Other as usize, hash));
    hashes.finish()
}

/// Hashes the parts of a bundle.
pub(super) fn bundle_parts(bundle: Bundle<'_>) -> BundleHashes {
    let mut hashes = Hashes::<{ BundlePart::ALL.len() }>::new();
    each_member(bundle.meta(), |key, value| {
        if let Some(part) = bundle_part_of_member(key) {
            hashes.add(part as usize, key.raw());
            hashes.add(part as usize, value.raw());
        }
    });
    for property in bundle.properties() {
        let part = bundle_part_of_property(property) as usize;
        hashes.add(part, property.type_name().as_bytes());
        hashes.add(part, property.value().map_or(&b""[..], |value| value.raw()));
    }
    hashes.add_deprecation(BundlePart::Deprecation as usize, bundle.deprecation());
    hashes.finish()
}

/// Hashes the entries of a channel, by name. Entries of one name are one.
pub(super) fn entry_hashes(channel: Channel<'_>) -> Vec<(&str, PartHash)> {
    let entries = channel.entries().map(|entry| {
        let mut hashes = Hashes::<1>::new();
        hashes.add(0, entry.replaces().unwrap_or_default().as_bytes());
        hashes.add(0, entry.skip_range().unwrap_or_default().as_bytes());
        entry
            .skips()
            .for_each(|skip| hashes.add(0, skip.as_bytes()));
        let [hash] = hashes.finish();
        (entry.name(), hash)
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    let groups = entries.chunk_by(|(one, _), (other, _)| one == other);
    let merged = groups.map(|group| match group {
        [only] => *only,
        several => {
            let mut hashes = Hashes::<1>::new();
            for (_, hash) in several {
                hashes.add(0, hash);
            }
            let [hash] = hashes.finish();
            (several[0].0, hash)
        }
    });
    merged.collect()
}

/// Calls back with each member of a blob.
fn each_member<'a>(meta: Meta<'a>, mut member: impl FnMut(JsonText<'a>, JsonValue<'a>)) {
    // Building the catalog rejects blobs that are not objects, so reading cannot fail.
    let _: Result<(), JsonError> = JsonCursor::new(meta.blob().raw()).object(|cursor, key| {
        member(key, cursor.value()?);
        Ok(())
    });
}

/// Hashes of several parts while they are computed.
struct Hashes<const N: usize>([Sha256; N]);

impl<const N: usize> Hashes<N> {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Sha256::new()))
    }

    /// Adds bytes to a part, with their length, so that no two lists of bytes are the same.
    fn add(&mut self, part: usize, bytes: &[u8]) {
        self.0[part].update(bytes.len().to_le_bytes());
        self.0[part].update(bytes);
    }

    fn add_deprecation(&mut self, part: usize, deprecation: Option<Deprecation<'_>>) {
        if let Some(deprecation) = deprecation {
            self.add(part, deprecation.message().map_or(&b""[..], JsonText::raw));
        }
    }

    fn finish(self) -> [PartHash; N] {
        self.0.map(|hash| {
            let mut truncated = [0; PART_HASH_BYTES];
            truncated.copy_from_slice(&hash.finalize()[..PART_HASH_BYTES]);
            truncated
        })
    }
}

/// Returns the part that a member of the blob of a package belongs to.
fn package_part_of_member(key: JsonText<'_>) -> PackagePart {
    let fields = [
        ("description", PackagePart::Description),
        ("icon", PackagePart::Icon),
        ("defaultChannel", PackagePart::DefaultChannel),
        ("properties", PackagePart::Properties),
    ];
    fields
        .into_iter()
        .find(|(name, _)| is_field(key, name))
        .map_or(PackagePart::Other, |(_, part)| part)
}

/// Returns the part that a member of the blob of a bundle belongs to; `None` for the properties, which are several parts.
fn bundle_part_of_member(key: JsonText<'_>) -> Option<BundlePart> {
    if is_field(key, "properties") {
        None
    } else if is_field(key, "image") {
        Some(BundlePart::Image)
    } else if is_field(key, "relatedImages") {
        Some(BundlePart::RelatedImages)
    } else {
        Some(BundlePart::Other)
    }
}

/// Returns the part that a property of a bundle belongs to.
fn bundle_part_of_property(property: Property<'_>) -> BundlePart {
    match property.type_name() {
        "olm.package" => BundlePart::Version,
        "olm.csv.metadata" | "olm.bundle.object" => BundlePart::Metadata,
        _ => BundlePart::Properties,
    }
}

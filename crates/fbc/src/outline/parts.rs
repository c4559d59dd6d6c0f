//! Parts of packages and bundles: what of them differs, each as a short hash.
//!
//! They are compared only where the hashes of the whole objects differ, so 64 bits are enough: who
//! makes two parts of equal hashes hides which part differs, and not that the object does.

use sha2::{Digest as _, Sha256};

use crate::catalog::{Bundle, Channel, Deprecation, JsonText, Meta, Package, Property};
use crate::json::{JsonCursor, JsonError, RawText, RawValue, is_field};

/// The first 64 bits of a SHA-256 hash.
pub(super) type PartHash = [u8; PART_HASH_BYTES];

pub(super) const PART_HASH_BYTES: usize = 8;

/// A part of a package that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackagePart {
    /// Its description.
    Description,
    /// Its icon.
    Icon,
    /// Its default channel.
    DefaultChannel,
    /// Its properties.
    Properties,
    /// The deprecation of the package itself.
    Deprecation,
    /// Other members of its blob, and its blobs that are no channels, bundles or deprecations.
    Other,
}

/// A part of a bundle that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundlePart {
    /// Its image reference.
    Image,
    /// Its version or release: `olm.package`.
    Version,
    /// Its related images.
    RelatedImages,
    /// Properties that are neither its version nor its metadata.
    Properties,
    /// Display metadata and inline manifests: `olm.csv.metadata` and `olm.bundle.object`.
    Metadata,
    /// Its deprecation.
    Deprecation,
    /// Other members of its blob.
    Other,
}

/// Hashes of the parts of a package, in the order of [`PackagePart::ALL`].
pub(super) type PackageHashes = [PartHash; PackagePart::ALL.len()];

/// Hashes of the parts of a bundle, in the order of [`BundlePart::ALL`].
pub(super) type BundleHashes = [PartHash; BundlePart::ALL.len()];

impl PackagePart {
    /// Every part.
    pub const ALL: [Self; 6] = [
        Self::Description,
        Self::Icon,
        Self::DefaultChannel,
        Self::Properties,
        Self::Deprecation,
        Self::Other,
    ];

    /// Returns the name in the GraphQL schema, such as `DEFAULT_CHANNEL`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Description => "DESCRIPTION",
            Self::Icon => "ICON",
            Self::DefaultChannel => "DEFAULT_CHANNEL",
            Self::Properties => "PROPERTIES",
            Self::Deprecation => "DEPRECATION",
            Self::Other => "OTHER",
        }
    }

    fn of_member(key: RawText<'_>) -> Self {
        let fields = [
            ("description", Self::Description),
            ("icon", Self::Icon),
            ("defaultChannel", Self::DefaultChannel),
            ("properties", Self::Properties),
        ];
        fields
            .into_iter()
            .find(|(name, _)| is_field(key, name))
            .map_or(Self::Other, |(_, part)| part)
    }
}

impl BundlePart {
    /// Every part.
    pub const ALL: [Self; 7] = [
        Self::Image,
        Self::Version,
        Self::RelatedImages,
        Self::Properties,
        Self::Metadata,
        Self::Deprecation,
        Self::Other,
    ];

    /// Returns the name in the GraphQL schema, such as `RELATED_IMAGES`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "IMAGE",
            Self::Version => "VERSION",
            Self::RelatedImages => "RELATED_IMAGES",
            Self::Properties => "PROPERTIES",
            Self::Metadata => "METADATA",
            Self::Deprecation => "DEPRECATION",
            Self::Other => "OTHER",
        }
    }

    /// The part of a member of the blob; `None` for the properties, which are several parts.
    fn of_member(key: RawText<'_>) -> Option<Self> {
        if is_field(key, "properties") {
            None
        } else if is_field(key, "image") {
            Some(Self::Image)
        } else if is_field(key, "relatedImages") {
            Some(Self::RelatedImages)
        } else {
            Some(Self::Other)
        }
    }

    fn of_property(property: Property<'_>) -> Self {
        match property.type_name() {
            "olm.package" => Self::Version,
            "olm.csv.metadata" | "olm.bundle.object" => Self::Metadata,
            _ => Self::Properties,
        }
    }
}

/// Hashes the parts of a package. `others` are hashes of blobs that belong to it and are no typed
/// objects.
pub(super) fn package_parts<'h>(
    package: Package<'_>,
    others: impl Iterator<Item = &'h [u8]>,
) -> PackageHashes {
    let mut hashes = Hashes::<{ PackagePart::ALL.len() }>::new();
    each_member(package.meta(), |key, value| {
        let part = PackagePart::of_member(key) as usize;
        hashes.add(part, key.0);
        hashes.add(part, value.0);
    });
    hashes.add_deprecation(PackagePart::Deprecation as usize, package.deprecation());
    others.for_each(|hash| hashes.add(PackagePart::Other as usize, hash));
    hashes.finish()
}

/// Hashes the parts of a bundle.
pub(super) fn bundle_parts(bundle: Bundle<'_>) -> BundleHashes {
    let mut hashes = Hashes::<{ BundlePart::ALL.len() }>::new();
    each_member(bundle.meta(), |key, value| {
        if let Some(part) = BundlePart::of_member(key) {
            hashes.add(part as usize, key.0);
            hashes.add(part as usize, value.0);
        }
    });
    for property in bundle.properties() {
        let part = BundlePart::of_property(property) as usize;
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
fn each_member<'a>(meta: Meta<'a>, mut member: impl FnMut(RawText<'a>, RawValue<'a>)) {
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

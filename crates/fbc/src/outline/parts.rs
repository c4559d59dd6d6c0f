//! Parts of packages and bundles: what of them differs, each as a short hash.
//!
//! They are compared only where the hashes of the whole objects differ, so 64 bits are enough: who
//! makes two parts of equal hashes hides which part differs, and not that the object does.

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

    /// Returns the canonical spelling, such as `DEFAULT_CHANNEL`.
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

    /// Returns the canonical spelling, such as `RELATED_IMAGES`.
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
}

//! A bundle of a draft. Most are only read, and keep their line.

use std::borrow::Cow;
use std::cmp::Ordering;

use fbc_grammar::version::Version;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blob::DraftBlob;
use crate::blob::CatalogBlob;
use crate::bundle::Placement;
use crate::error::EditError;
use crate::value::{BlobValue, Members};

/// An `olm.bundle`.
#[derive(Clone, Debug)]
pub(crate) struct DraftBundle {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) version: String,
    pub(crate) release: String,
    /// The bundle has the property `olm.deprecated`: its package was truncated at it.
    pub(crate) is_deprecated: bool,
    pub(crate) blob: BundleBlob,
    /// Channels and edges of a new bundle; `None` for one that the package had before.
    pub(crate) placement: Option<Placement>,
}

/// The blob of a bundle. It is parsed when it is changed: bundles are nearly all bytes of a
/// catalog, and a batch changes few of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BundleBlob {
    Unparsed(CatalogBlob),
    Parsed(DraftBlob),
}

/// Fields that are read of the line of a bundle.
#[derive(Deserialize)]
struct BundleLine<'l> {
    #[serde(borrow)]
    name: Cow<'l, str>,
    #[serde(borrow)]
    image: Cow<'l, str>,
    #[serde(borrow)]
    properties: Vec<PropertyLine<'l>>,
}

/// A property in the line of a bundle.
#[derive(Deserialize)]
struct PropertyLine<'l> {
    #[serde(borrow)]
    r#type: Cow<'l, str>,
    #[serde(borrow)]
    value: &'l RawValue,
}

impl BundleBlob {
    /// Returns the members to change them.
    pub(crate) fn members_mut(&mut self) -> Result<&mut Members, EditError> {
        if let Self::Unparsed(blob) = self {
            *self = Self::Parsed(DraftBlob::with_id(blob.id, blob.members()?));
        }
        match self {
            Self::Parsed(blob) => Ok(blob.members_mut()),
            Self::Unparsed(_) => unreachable!("it was parsed just now"),
        }
    }
}

impl DraftBundle {
    /// Reads an `olm.bundle` of a catalog.
    pub(super) fn from_blob(blob: &CatalogBlob) -> Result<Self, EditError> {
        match Self::from_line(blob) {
            Some(bundle) => Ok(bundle),
            None => Ok(Self::from_members(DraftBlob::with_id(
                blob.id,
                blob.members()?,
            ))),
        }
    }

    /// Reads the line of a bundle without parsing it to members; `None` where its keys are unusual
    /// or a field is missing.
    fn from_line(blob: &CatalogBlob) -> Option<Self> {
        // Values of properties stay text: the manifests of a bundle are most of its bytes.
        let line: BundleLine<'_> = serde_json::from_str(&blob.line).ok()?;
        let of_type = |kind: &str| {
            line.properties
                .iter()
                .find(|property| property.r#type == kind)
        };
        let package = match of_type("olm.package") {
            Some(property) => BlobValue::parse(property.value.get()).ok()?,
            None => BlobValue::Null,
        };
        Some(Self {
            version: package.str("version").to_owned(),
            release: package.str("release").to_owned(),
            is_deprecated: of_type("olm.deprecated").is_some(),
            name: line.name.into_owned(),
            image: line.image.into_owned(),
            blob: BundleBlob::Unparsed(blob.clone()),
            placement: None,
        })
    }

    /// Reads an `olm.bundle` from its members.
    pub(crate) fn from_members(blob: DraftBlob) -> Self {
        let properties = match blob.members.get("properties") {
            Some(BlobValue::Array(properties)) => &properties[..],
            _ => &[],
        };
        let of_type = |kind: &str| {
            properties
                .iter()
                .find(|property| property.str("type") == kind)
        };
        let package = of_type("olm.package").and_then(|property| property.get("value"));
        let package_text = |key: &str| {
            let text = package.map(|package| package.str(key));
            text.unwrap_or_default().to_owned()
        };
        Self {
            name: blob.text("name"),
            image: blob.text("image"),
            version: package_text("version"),
            release: package_text("release"),
            is_deprecated: of_type("olm.deprecated").is_some(),
            blob: BundleBlob::Parsed(blob),
            placement: None,
        }
    }

    /// Orders bundles by version, build metadata and release.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (
            Version::parse(&self.version),
            Version::parse(&other.version),
        ) {
            (Ok(version), Ok(other_version)) => version
                .precedence(&other_version)
                .then_with(|| compare_identifiers(version.build(), other_version.build()))
                .then_with(|| compare_identifiers(&self.release, &other.release)),
            // Bundles without a valid version come first.
            (version, other_version) => version.is_ok().cmp(&other_version.is_ok()),
        }
    }
}

/// Orders lists of identifiers as prereleases are ordered; no list comes first.
fn compare_identifiers(a: &str, b: &str) -> Ordering {
    // Build metadata and releases are compared as `opm` does, like prereleases.
    let x = format!("0.0.0-{a}");
    let y = format!("0.0.0-{b}");
    match (Version::parse(&x), Version::parse(&y)) {
        (Ok(x), Ok(y)) => x.precedence(&y),
        _ => a.cmp(b),
    }
}

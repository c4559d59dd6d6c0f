//! A bundle while it is edited: most are only looked at, and keep their line.

use std::borrow::Cow;
use std::cmp::Ordering;

use fbc_grammar::version::Version;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Blob, text_of};
use crate::bundle::Placement;
use crate::error::EditError;
use crate::meta::Meta;
use crate::value::{Members, Value};

/// An `olm.bundle`.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) version: String,
    pub(crate) release: String,
    /// Whether the package was truncated at this bundle.
    pub(crate) is_truncated: bool,
    pub(crate) blob: BundleBlob,
    /// Where it is to go; `None` for a bundle that was there before.
    pub(crate) placement: Option<Placement>,
}

/// The blob of a bundle, which is parsed when it is changed: few are, and they are nearly all of a
/// catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BundleBlob {
    Unparsed(Meta),
    Parsed(Blob),
}

/// What is read of the line of a bundle.
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
        if let Self::Unparsed(meta) = self {
            *self = Self::Parsed(Blob::of(meta.id, meta.members()?));
        }
        match self {
            Self::Parsed(blob) => Ok(blob.members_mut()),
            Self::Unparsed(_) => unreachable!("it was parsed just now"),
        }
    }
}

impl Bundle {
    /// Reads an `olm.bundle` of a content, without parsing it to its members unless it is an
    /// unusual one.
    pub(super) fn of(meta: &Meta) -> Result<Self, EditError> {
        let unusual = || Ok(Self::read(Blob::of(meta.id, meta.members()?)));
        let Ok(BundleLine {
            name,
            image,
            properties,
        }) = serde_json::from_str(&meta.line)
        else {
            return unusual();
        };
        let package = properties
            .iter()
            .find(|property| property.r#type == "olm.package");
        let Ok(package) = package
            .map(|property| Value::parse(property.value.get()))
            .transpose()
        else {
            return unusual();
        };
        let of_package = |key: &str| {
            package
                .as_ref()
                .map(|value| value.str(key))
                .unwrap_or_default()
                .to_owned()
        };
        Ok(Self {
            name: name.into_owned(),
            image: image.into_owned(),
            version: of_package("version"),
            release: of_package("release"),
            is_truncated: properties
                .iter()
                .any(|property| property.r#type == "olm.deprecated"),
            blob: BundleBlob::Unparsed(meta.clone()),
            placement: None,
        })
    }

    /// Reads an `olm.bundle` from its members.
    pub(crate) fn read(blob: Blob) -> Self {
        let empty = Vec::new();
        let properties = if let Some(Value::Array(items)) = blob.members.get("properties") {
            items
        } else {
            &empty
        };
        let package = properties
            .iter()
            .find(|property| property.str("type") == "olm.package");
        let of_package = |key: &str| {
            package
                .and_then(|property| property.get("value"))
                .map(|value| value.str(key).to_owned())
        };
        let is_truncated = properties
            .iter()
            .any(|property| property.str("type") == "olm.deprecated");
        Self {
            name: text_of(&blob.members, "name"),
            image: text_of(&blob.members, "image"),
            version: of_package("version").unwrap_or_default(),
            release: of_package("release").unwrap_or_default(),
            is_truncated,
            blob: BundleBlob::Parsed(blob),
            placement: None,
        }
    }

    /// Orders bundles by version, build metadata and release.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let versions = (
            Version::parse(&self.version),
            Version::parse(&other.version),
        );
        let (Ok(version), Ok(other_version)) = versions else {
            return versions.0.is_ok().cmp(&versions.1.is_ok());
        };
        let builds = || compare_identifiers(version.build(), other_version.build());
        let releases = || compare_identifiers(&self.release, &other.release);
        version
            .precedence(&other_version)
            .then_with(builds)
            .then_with(releases)
    }
}

/// Orders lists of identifiers as prereleases are ordered; no list comes first.
fn compare_identifiers(a: &str, b: &str) -> Ordering {
    let x = format!("0.0.0-{a}");
    let y = format!("0.0.0-{b}");
    match (Version::parse(&x), Version::parse(&y)) {
        (Ok(x), Ok(y)) => x.precedence(&y),
        _ => a.cmp(b),
    }
}

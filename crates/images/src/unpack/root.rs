//! The directory of an image that is its catalog, according to the image labels or to the user.

use std::collections::BTreeMap;
use std::fmt;

use super::UnpackError;

/// The label that names the directory of a file-based catalog.
pub(crate) const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// The label that names the database of an `SQLite` index.
const DATABASE_LABEL: &str = "operators.operatorframework.io.index.database.v1";

/// Prefix of the labels of a bundle image, and the label with its package.
const BUNDLE_LABELS: &str = "operators.operatorframework.io.bundle.";
const BUNDLE_PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";

/// Maximum length in bytes of the path of the directory.
const MAX_ROOT_BYTES: usize = 1024;

/// The directory of an image that is its catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CatalogRoot {
    /// Names of the path from the top of the image; empty for the top itself.
    parts: Vec<String>,
}

/// The position of a path in an image relative to the root.
pub(super) enum Relation {
    /// The root, or one of its parents.
    Above,
    /// Below the root.
    Below,
    Elsewhere,
}

impl CatalogRoot {
    /// Returns the directory that the user named, or else the one that the labels of an image name.
    pub fn from_labels(
        labels: &BTreeMap<String, String>,
        given: Option<&str>,
    ) -> Result<Self, UnpackError> {
        let label = |name: &str| labels.get(name).filter(|value| !value.is_empty());
        if let Some(path) = given.or(label(CONFIGS_LABEL).map(String::as_str)) {
            return Self::parse(path);
        }
        if let Some(database) = label(DATABASE_LABEL) {
            return Err(UnpackError::SqliteIndex {
                database: database.clone(),
            });
        }
        if labels.keys().any(|name| name.starts_with(BUNDLE_LABELS)) {
            return Err(UnpackError::Bundle {
                package: label(BUNDLE_PACKAGE_LABEL).cloned(),
            });
        }
        Err(UnpackError::NoRoot)
    }

    /// Returns the directory that the user named, or else the top of an artifact, which has no
    /// labels and contains nothing but a catalog.
    pub fn for_artifact(given: Option<&str>) -> Result<Self, UnpackError> {
        Self::parse(given.unwrap_or("/"))
    }

    /// Returns the names of the path from the top of the image.
    pub(super) fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Returns the position of a path, given by its names.
    pub(super) fn relation(&self, path: &[&[u8]]) -> Relation {
        if path
            .iter()
            .zip(&self.parts)
            .any(|(one, other)| *one != other.as_bytes())
        {
            Relation::Elsewhere
        } else if path.len() > self.parts.len() {
            Relation::Below
        } else {
            Relation::Above
        }
    }

    /// Parses a path without `..`.
    fn parse(path: &str) -> Result<Self, UnpackError> {
        let parts: Vec<_> = path
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
            .map(str::to_owned)
            .collect();
        if path.is_empty()
            || path.len() > MAX_ROOT_BYTES
            || path.contains('\0')
            || parts.iter().any(|part| part == "..")
        {
            return Err(UnpackError::BadRoot(path.to_owned()));
        }
        Ok(Self { parts })
    }
}

impl fmt::Display for CatalogRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.parts.join("/"))
    }
}

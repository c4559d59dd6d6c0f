//! Blobs of a catalog with the fields that place them in it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::EditError;
use crate::format;
use crate::value::{BlobValue, Members};

/// A blob of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogBlob {
    /// Number of the blob in its catalog; blobs keep theirs when they are changed.
    pub id: usize,
    /// Its schema.
    pub schema: Arc<str>,
    /// The package that it belongs to; an `olm.package` belongs to itself. Empty for none.
    pub package: Arc<str>,
    /// Its name; empty for none.
    pub name: Arc<str>,
    /// Its canonical JSON, without a line feed.
    pub line: Arc<str>,
}

impl CatalogBlob {
    /// Creates a blob of its canonical line, without the line feed.
    pub fn from_line(id: usize, line: impl Into<Arc<str>>) -> Self {
        let line = line.into();
        let key = BlobKey::from_line(&line);
        Self {
            id,
            schema: key.schema.into(),
            package: key.package.into(),
            name: key.name.into(),
            line,
        }
    }

    /// Creates a blob of its value.
    pub fn from_value(id: usize, value: &BlobValue) -> Self {
        Self::from_line(id, value.to_json())
    }

    /// Parses the blob; keys of known fields get their usual case.
    pub fn value(&self) -> Result<BlobValue, EditError> {
        match BlobValue::parse(&self.line) {
            Ok(value) => Ok(format::with_usual_keys(value)),
            Err(reason) => Err(EditError::Unreadable {
                schema: self.schema.to_string(),
                name: self.name.to_string(),
                reason,
            }),
        }
    }

    fn sort_key(&self) -> SortKey<'_> {
        SortKey::new(&self.schema, &self.package, &self.name)
    }

    /// Parses the blob to its members.
    pub(crate) fn members(&self) -> Result<Members, EditError> {
        Ok(self.value()?.into_members())
    }
}

/// Schema, package and name of a blob, which decide where it stands among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobKey<'l> {
    schema: Cow<'l, str>,
    package: Cow<'l, str>,
    name: Cow<'l, str>,
}

/// Members of a line whose keys have their usual case.
#[derive(Deserialize)]
struct UsualKeys<'l> {
    #[serde(borrow)]
    schema: Cow<'l, str>,
    #[serde(borrow)]
    package: Option<Cow<'l, str>>,
    #[serde(borrow)]
    name: Cow<'l, str>,
}

impl<'l> BlobKey<'l> {
    /// Reads the key of a canonical line.
    pub fn from_line(line: &'l str) -> Self {
        // Nearly all lines have these members, and need no map of all the others.
        let Ok(members) = serde_json::from_str::<UsualKeys<'_>>(line) else {
            return Self::from_unusual_line(line);
        };
        let package = if members.schema == "olm.package" {
            Some(members.name.clone())
        } else {
            members.package
        };
        match package {
            Some(package) => Self {
                schema: members.schema,
                package,
                name: members.name,
            },
            // The key may have another case, or there is no package.
            None => Self::from_unusual_line(line),
        }
    }

    /// Reads a line in which members may be missing, or have keys in another case: Go reads them
    /// all the same.
    fn from_unusual_line(line: &str) -> Self {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap_or_default();
        let text = |name: &str| {
            let exact = members.get(name);
            let raw = exact.or_else(|| {
                members
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name))
                    .map(|(_, raw)| raw)
            });
            let text: Option<String> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
            Cow::Owned(text.unwrap_or_default())
        };

        let schema = text("schema");
        let name = text("name");
        let package = if schema == "olm.package" {
            name.clone()
        } else {
            text("package")
        };
        Self {
            schema,
            package,
            name,
        }
    }

    /// Compares keys in the order of [`sort`].
    pub fn compare(&self, other: &Self) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }

    fn sort_key(&self) -> SortKey<'_> {
        SortKey::new(&self.schema, &self.package, &self.name)
    }
}

/// Order of blobs in a catalog that `opm render` writes; fields are compared one after the other.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SortKey<'k> {
    has_no_package: bool,
    package: &'k str,
    rank: usize,
    /// The name of a channel or bundle; the schema of a blob that is not one of `opm`'s.
    name: &'k str,
}

impl<'k> SortKey<'k> {
    fn new(schema: &'k str, package: &'k str, name: &'k str) -> Self {
        let (rank, name) = match schema {
            "olm.package" => (0, ""),
            "olm.channel" => (1, name),
            "olm.bundle" => (2, name),
            "olm.deprecations" => (4, ""),
            other => (3, other),
        };
        Self {
            has_no_package: package.is_empty(),
            package,
            rank,
            name,
        }
    }
}

/// Sorts blobs as `opm render` does: packages by name, in each the package, channels by name,
/// bundles by name, others by schema, deprecations; blobs without a package come last.
pub fn sort(blobs: &mut [CatalogBlob]) {
    blobs.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
}

//! Blobs with the fields that place them in a catalog.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::error::EditError;
use crate::format::{self, Line};
use crate::value::{Members, Value};

/// A blob of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Number of the blob in its content; blobs keep theirs when they are changed.
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

impl Meta {
    /// Reads a canonical line, without its line feed.
    pub fn read(id: usize, line: impl Into<Arc<str>>) -> Self {
        let line = line.into();
        let Place {
            schema,
            package,
            name,
        } = Place::of(&line, Line::new(&line).as_ref());
        let [schema, package, name] = [schema, package, name].map(Arc::from);
        Self {
            id,
            schema,
            package,
            name,
            line,
        }
    }

    /// Makes a blob of a value.
    pub fn of(id: usize, value: &Value) -> Self {
        Self::read(id, value.to_json())
    }

    /// Parses the blob; keys of known fields have their usual case.
    pub fn value(&self) -> Result<Value, EditError> {
        let unreadable = |fault| {
            let schema = self.schema.to_string();
            let name = self.name.to_string();
            EditError::Unreadable {
                schema,
                name,
                fault,
            }
        };
        Value::parse(&self.line)
            .map(|value| format::with_usual_keys(&value))
            .map_err(unreadable)
    }

    /// Parses the blob to its members.
    pub(crate) fn members(&self) -> Result<Members, EditError> {
        Ok(if let Value::Object(members) = self.value()? {
            members
        } else {
            Members::new()
        })
    }
}

/// What places a blob among others, without the blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'l> {
    schema: Cow<'l, str>,
    package: Cow<'l, str>,
    name: Cow<'l, str>,
}

impl<'l> Place<'l> {
    /// Finds the place of a line, given its members if they are known.
    pub fn of(text: &'l str, line: Option<&Line<'l>>) -> Self {
        let member = |key: &str| line.and_then(|line| line.str(key)).map(Cow::Borrowed);
        // Anything else is rare: other cases of keys, escapes, and blobs without a name or a
        // package.
        let (Some(schema), Some(name)) = (member("schema"), member("name")) else {
            return Self::read(text);
        };
        let package = if schema == "olm.package" {
            Some(name.clone())
        } else {
            member("package")
        };
        package.map_or_else(
            || Self::read(text),
            |package| Self {
                schema,
                package,
                name,
            },
        )
    }

    /// Parses a line. The case of its keys does not count.
    fn read(text: &str) -> Self {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
        let find = |name: &str| {
            let exact = members.get(name);
            let found = exact.or_else(|| {
                members
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name))
                    .map(|(_, raw)| raw)
            });
            Cow::Owned(
                found
                    .and_then(|raw| serde_json::from_str(raw.get()).ok())
                    .unwrap_or_default(),
            )
        };
        let schema = find("schema");
        let name = find("name");
        let package = if schema == "olm.package" {
            name.clone()
        } else {
            find("package")
        };
        Self {
            schema,
            package,
            name,
        }
    }

    /// Compares places as [`sort`] does.
    pub fn compare(&self, other: &Self) -> Ordering {
        order_of(&self.schema, &self.package, &self.name).cmp(&order_of(
            &other.schema,
            &other.package,
            &other.name,
        ))
    }
}

/// Sorts blobs as `opm render` does: packages by name, in each the package, channels by name,
/// bundles by name, others by schema, deprecations; blobs without a package come last.
pub fn sort(metas: &mut [Meta]) {
    metas.sort_by(|a, b| order(a).cmp(&order(b)));
}

fn order(meta: &Meta) -> (bool, &str, usize, &str) {
    order_of(&meta.schema, &meta.package, &meta.name)
}

fn order_of<'a>(
    schema: &'a str,
    package: &'a str,
    name: &'a str,
) -> (bool, &'a str, usize, &'a str) {
    let (rank, name) = match schema {
        "olm.package" => (0, ""),
        "olm.channel" => (1, name),
        "olm.bundle" => (2, name),
        "olm.deprecations" => (4, ""),
        other => (3, other),
    };
    (package.is_empty(), package, rank, name)
}

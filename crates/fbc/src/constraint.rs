//! Reads the value of an `olm.constraint`: a condition on the other installed bundles.

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText};

use crate::gvk::RawGroupVersionKind;

/// A condition on the other installed bundles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint<'a> {
    /// Message to the user when the condition fails.
    pub failure_message: Option<JsonText<'a>>,
    /// The condition.
    pub rule: ConstraintRule<'a>,
}

/// The rule of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintRule<'a> {
    /// A CEL expression over the properties of a bundle.
    Cel(JsonText<'a>),
    /// A package that must be installed.
    Package {
        /// Name of the package.
        package: JsonText<'a>,
        /// Range of acceptable versions.
        version_range: JsonText<'a>,
    },
    /// An API that must be provided.
    Gvk(RawGroupVersionKind<'a>),
    /// Every one of these must hold.
    All(Vec<Constraint<'a>>),
    /// At least one of these must hold.
    Any(Vec<Constraint<'a>>),
    /// None of these may hold.
    Not(Vec<Constraint<'a>>),
}

/// Maximum size of a constraint, in bytes: upstream's limit.
pub const MAX_CONSTRAINT_BYTES: usize = 131_072;

/// Maximum nesting depth of constraints. Upstream has no limit; real catalogs do not nest even
/// three.
pub const MAX_CONSTRAINT_DEPTH: usize = 16;

const EMPTY: JsonText<'static> = JsonText::new(b"\"\"");

/// Decodes a constraint; `None` when it is malformed: unknown fields, no rule or several, which
/// fail closed.
pub(super) fn decode(text: &[u8]) -> Option<Constraint<'_>> {
    if text.len() > MAX_CONSTRAINT_BYTES {
        return None;
    }
    constraint(&mut JsonCursor::new(text), MAX_CONSTRAINT_DEPTH).ok()
}

fn constraint<'a>(cursor: &mut JsonCursor<'a>, depth: usize) -> Result<Constraint<'a>, JsonError> {
    let depth = depth.checked_sub(1).ok_or(JsonError::WrongType)?;
    let mut failure_message = None;
    let mut rule = None;
    cursor.object(|cursor, key| {
        if key.is("failureMessage") {
            failure_message = cursor.optional_text()?;
            return Ok(());
        }
        if cursor.null()? {
            return Ok(());
        }
        let found = match key {
            key if key.is("cel") => {
                string_fields(cursor, ["rule"]).map(|[cel]| ConstraintRule::Cel(cel))
            }
            key if key.is("package") => string_fields(cursor, ["packageName", "versionRange"]).map(
                |[package, version_range]| ConstraintRule::Package {
                    package,
                    version_range,
                },
            ),
            key if key.is("gvk") => {
                string_fields(cursor, ["group", "version", "kind"]).map(|[group, version, kind]| {
                    ConstraintRule::Gvk(RawGroupVersionKind {
                        group,
                        version,
                        kind,
                    })
                })
            }
            key if key.is("all") => constraints(cursor, depth).map(ConstraintRule::All),
            key if key.is("any") => constraints(cursor, depth).map(ConstraintRule::Any),
            key if key.is("not") => constraints(cursor, depth).map(ConstraintRule::Not),
            _ => Err(JsonError::WrongType),
        }?;
        if rule.replace(found).is_some() {
            Err(JsonError::WrongType)
        } else {
            Ok(())
        }
    })?;
    Ok(Constraint {
        failure_message,
        rule: rule.ok_or(JsonError::WrongType)?,
    })
}

/// Reads an object that may only have the given string fields.
fn string_fields<'a, const N: usize>(
    cursor: &mut JsonCursor<'a>,
    names: [&str; N],
) -> Result<[JsonText<'a>; N], JsonError> {
    let mut texts = [EMPTY; N];
    cursor.object(|cursor, key: JsonText<'_>| {
        let at = names
            .iter()
            .position(|name| key.is(name))
            .ok_or(JsonError::WrongType)?;
        if let Some(text) = cursor.optional_text()? {
            texts[at] = text;
        }
        Ok::<_, JsonError>(())
    })?;
    Ok(texts)
}

fn constraints<'a>(
    cursor: &mut JsonCursor<'a>,
    depth: usize,
) -> Result<Vec<Constraint<'a>>, JsonError> {
    let mut list = Vec::new();
    cursor.object(|cursor, key| {
        if !key.is("constraints") {
            return Err(JsonError::WrongType);
        }
        if cursor.kind()? == JsonKind::Null {
            return cursor.value().map(drop);
        }
        cursor.array(|cursor| {
            list.push(constraint(cursor, depth)?);
            Ok(())
        })
    })?;
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_nest() {
        let text = br#"{"any":{"constraints":[{"gvk":{"group":"g","kind":"K","version":"v1"}},{"package":{"packageName":"p","versionRange":">=1.0.0"}}]},"failureMessage":"need one"}"#;
        let expected = Constraint {
            failure_message: Some(JsonText::new(b"\"need one\"")),
            rule: ConstraintRule::Any(vec![
                Constraint {
                    failure_message: None,
                    rule: ConstraintRule::Gvk(RawGroupVersionKind {
                        group: JsonText::new(b"\"g\""),
                        version: JsonText::new(b"\"v1\""),
                        kind: JsonText::new(b"\"K\""),
                    }),
                },
                Constraint {
                    failure_message: None,
                    rule: ConstraintRule::Package {
                        package: JsonText::new(b"\"p\""),
                        version_range: JsonText::new(b"\">=1.0.0\""),
                    },
                },
            ]),
        };
        assert_eq!(decode(text), Some(expected));
    }

    #[test]
    fn what_is_unknown_empty_or_ambiguous_is_refused() {
        for text in [
            "{}",
            "[]",
            "1",
            r#"{"failureMessage":"x"}"#,
            r#"{"cel":{"rule":"true"},"future":{}}"#,
            r#"{"cel":{"rule":"true"},"gvk":{"group":"","kind":"","version":""}}"#,
            r#"{"cel":{"rule":1}}"#,
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_depth_of_constraints_is_bounded() {
        let nested = |levels: usize| {
            let open = r#"{"all":{"constraints":["#.repeat(levels - 1);
            format!(
                "{open}{}{}",
                r#"{"cel":{"rule":"x"}}"#,
                "]}}".repeat(levels - 1)
            )
        };
        assert!(decode(nested(MAX_CONSTRAINT_DEPTH).as_bytes()).is_some());
        assert!(decode(nested(MAX_CONSTRAINT_DEPTH + 1).as_bytes()).is_none());
    }

    #[test]
    fn the_size_of_a_constraint_is_bounded() {
        let sized = |bytes: usize| format!(r#"{{"cel":{{"rule":"{}"}}}}"#, "x".repeat(bytes - 19));
        assert_eq!(sized(100).len(), 100);
        assert!(decode(sized(MAX_CONSTRAINT_BYTES).as_bytes()).is_some());
        assert!(decode(sized(MAX_CONSTRAINT_BYTES + 1).as_bytes()).is_none());
    }
}

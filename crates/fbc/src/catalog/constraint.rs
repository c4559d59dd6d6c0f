//! The value of an `olm.constraint`: a condition on what else is installed.

use super::JsonText;
use crate::json::{Cursor, Fault, Kind, Text};

/// A condition on what else is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint<'a> {
    /// What to tell the user when the condition fails.
    pub failure_message: Option<JsonText<'a>>,
    /// The condition.
    pub rule: Rule<'a>,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule<'a> {
    /// A CEL expression over the properties of a bundle.
    Cel(JsonText<'a>),
    /// A package that must be installed.
    Package {
        /// Its name.
        package: JsonText<'a>,
        /// Range of the versions that will do.
        version_range: JsonText<'a>,
    },
    /// An API that must be provided.
    Gvk {
        /// API group.
        group: JsonText<'a>,
        /// API version.
        version: JsonText<'a>,
        /// Kind.
        kind: JsonText<'a>,
    },
    /// Every one of these must hold.
    All(Vec<Constraint<'a>>),
    /// At least one of these must hold.
    Any(Vec<Constraint<'a>>),
    /// None of these may hold.
    Not(Vec<Constraint<'a>>),
}

/// Bytes of a constraint beyond which upstream refuses it.
pub const MAX_CONSTRAINT_BYTES: usize = 131_072;

/// How deep constraints may lie within one another; upstream has no bound, and no one nests even three.
pub const MAX_CONSTRAINT_DEPTH: usize = 16;

const EMPTY: JsonText<'static> = JsonText(b"\"\"");

/// Reads a constraint; `None` when it is malformed, which fails closed: unknown fields, no condition or several.
pub(super) fn decode(text: &[u8]) -> Option<Constraint<'_>> {
    if text.len() > MAX_CONSTRAINT_BYTES {
        return None;
    }
    constraint(&mut Cursor::new(text), MAX_CONSTRAINT_DEPTH).ok()
}

fn constraint<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Result<Constraint<'a>, Fault> {
    let depth = depth.checked_sub(1).ok_or(Fault::Mismatch)?;
    let (mut failure_message, mut rule) = (None, None);
    cursor.object(|cursor, key| {
        if key.is("failureMessage") {
            failure_message = cursor.optional_text()?.map(|text| JsonText(text.0));
            return Ok(());
        }
        if cursor.null()? {
            return Ok(());
        }
        let found = match key {
            key if key.is("cel") => members(cursor, ["rule"]).map(|[cel]| Rule::Cel(cel)),
            key if key.is("package") => members(cursor, ["packageName", "versionRange"])
                .map(|[package, version_range]| Rule::Package { package, version_range }),
            key if key.is("gvk") => members(cursor, ["group", "version", "kind"])
                .map(|[group, version, kind]| Rule::Gvk { group, version, kind }),
            key if key.is("all") => constraints(cursor, depth).map(Rule::All),
            key if key.is("any") => constraints(cursor, depth).map(Rule::Any),
            key if key.is("not") => constraints(cursor, depth).map(Rule::Not),
            _ => Err(Fault::Mismatch),
        }?;
        if rule.replace(found).is_some() { Err(Fault::Mismatch) } else { Ok(()) }
    })?;
    Ok(Constraint { failure_message, rule: rule.ok_or(Fault::Mismatch)? })
}

/// Reads an object of just these strings.
fn members<'a, const N: usize>(cursor: &mut Cursor<'a>, names: [&str; N]) -> Result<[JsonText<'a>; N], Fault> {
    let mut texts = [EMPTY; N];
    cursor.object(|cursor, key: Text<'_>| {
        let at = names.iter().position(|name| key.is(name)).ok_or(Fault::Mismatch)?;
        if let Some(text) = cursor.optional_text()? {
            texts[at] = JsonText(text.0);
        }
        Ok::<_, Fault>(())
    })?;
    Ok(texts)
}

fn constraints<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Result<Vec<Constraint<'a>>, Fault> {
    let mut list = Vec::new();
    cursor.object(|cursor, key| {
        if !key.is("constraints") {
            return Err(Fault::Mismatch);
        }
        if cursor.kind()? == Kind::Null {
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
            failure_message: Some(JsonText(b"\"need one\"")),
            rule: Rule::Any(vec![
                Constraint {
                    failure_message: None,
                    rule: Rule::Gvk {
                        group: JsonText(b"\"g\""),
                        version: JsonText(b"\"v1\""),
                        kind: JsonText(b"\"K\""),
                    },
                },
                Constraint {
                    failure_message: None,
                    rule: Rule::Package { package: JsonText(b"\"p\""), version_range: JsonText(b"\">=1.0.0\"") },
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
            format!("{open}{}{}", r#"{"cel":{"rule":"x"}}"#, "]}}".repeat(levels - 1))
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

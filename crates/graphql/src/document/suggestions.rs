//! "Did you mean": names of the schema that are spelled like an unknown one, in the words of
//! graphql-js.
//!
//! The distance is at most two fifths of the letters of the unknown name, as in graphql-js. Where
//! clients may not read the schema nothing is suggested: it would reveal the schema name by name.

use apollo_compiler::Name;
use apollo_compiler::schema::ExtendedType;

use crate::schema::Schema;

/// Maximum number of names that are suggested.
const SUGGESTIONS: usize = 5;

/// Maximum number of bytes of a name that is compared: comparing takes time in proportion to it.
const NAME_BYTES: usize = 64;

/// Returns the text to append to the message of a validation error; empty if no name is similar.
pub(super) fn did_you_mean(schema: &Schema, message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let second = quoted.next().unwrap_or_default();
    if message.contains(" does not have a field ") {
        return for_missing_field(schema, first, second);
    }
    let similar =
        if message.starts_with("the argument ") && message.contains(" is not supported by ") {
            let (type_name, field) = second.split_once('.').unwrap_or_default();
            let arguments = schema
                .field_definition(type_name, field)
                .map_or(&[][..], |field| &field.arguments);
            similar(
                first,
                arguments.iter().map(|argument| argument.name.as_str()),
            )
        } else if message.starts_with("value `") || message.starts_with("field `") {
            match schema.type_definition(second) {
                Some(ExtendedType::Enum(values)) => {
                    similar(first, values.values.keys().map(Name::as_str))
                }
                Some(ExtendedType::InputObject(input)) => {
                    similar(first, input.fields.keys().map(Name::as_str))
                }
                _ => Vec::new(),
            }
        } else if message.starts_with("cannot find type ")
            || message.ends_with(" is not a type defined in the schema")
        {
            similar(first, schema.valid.types.keys().map(Name::as_str))
        } else {
            Vec::new()
        };
    sentence(
        if message.starts_with("value `") {
            "the enum value "
        } else {
            ""
        },
        &similar,
    )
}

/// Returns the text to append for a field that a type does not have.
fn for_missing_field(schema: &Schema, type_name: &str, field: &str) -> String {
    let has_field = |name: &str| schema.field_definition(name, field).is_some();
    let mut types: Vec<_> = schema
        .possible_types(type_name)
        .iter()
        .map(Name::as_str)
        .filter(|name| has_field(name))
        .collect();
    types.sort_unstable();
    if !types.is_empty() {
        return sentence(
            "to use an inline fragment on ",
            &types[..types.len().min(SUGGESTIONS)],
        );
    }
    let fields = match schema.type_definition(type_name) {
        Some(ExtendedType::Object(object)) => &object.fields,
        Some(ExtendedType::Interface(interface)) => &interface.fields,
        _ => return String::new(),
    };
    sentence("", &similar(field, fields.keys().map(Name::as_str)))
}

/// Returns `. Did you mean "a"?` for names that are similar to what was written; empty if none is.
pub(crate) fn question<'n>(
    what: &str,
    written: &str,
    names: impl Iterator<Item = &'n str>,
) -> String {
    sentence(what, &similar(written, names))
}

/// Returns the names that are similar to what was written, best first.
fn similar<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    if written.len() > NAME_BYTES {
        return Vec::new();
    }
    let most = written.len() * 2 / 5 + 1;
    let mut found: Vec<_> = names
        .map(|name| (distance(written, name), name))
        .filter(|(by, _)| *by <= most)
        .collect();
    found.sort_unstable();
    found
        .into_iter()
        .map(|(_, name)| name)
        .take(SUGGESTIONS)
        .collect()
}

/// Returns the number of edits between two names; a difference in letter case alone is one.
fn distance(a: &str, b: &str) -> usize {
    let [lower_a, lower_b] = [a, b].map(str::to_ascii_lowercase);
    if lower_a == lower_b {
        usize::from(a != b)
    } else {
        strsim::osa_distance(&lower_a, &lower_b)
    }
}

/// Returns the question, with the end of the sentence before it: `. Did you mean "a", "b", or
/// "c"?`.
fn sentence(what: &str, names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => format!(". Did you mean {what}{one}?"),
        [one, other] => format!(". Did you mean {what}{one} or {other}?"),
        [most @ .., last] => format!(". Did you mean {what}{}, or {last}?", most.join(", ")),
    }
}

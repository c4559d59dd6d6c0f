//! Names of the dialect: schemas and keys of blobs as names of GraphQL, by upstream's rules.
//!
//! Different schemas or keys may have one name here; `types` decides which keeps it.

/// Returns the field of the root for a schema: its ASCII letters and digits in lower case, and an
/// `s`.
pub(crate) fn root_field(schema: &str) -> String {
    let kept = schema.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|letter| letter.to_ascii_lowercase())
        .chain(['s'])
        .collect()
}

/// Returns the type for a schema, and the second part of the name of a nested type for the name of
/// its field.
pub(crate) fn type_name(schema: &str) -> String {
    let is_separator = |letter: char| !letter.is_ascii_alphanumeric();
    let name: String = schema
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .split(is_separator)
        .map(capitalized)
        .collect();
    if name.is_empty() {
        "Unknown".to_owned()
    } else {
        name
    }
}

/// Returns the field for a key.
pub(crate) fn field_name(key: &str) -> String {
    if key.is_empty() {
        return "value".to_owned();
    }
    let mut parts = key
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    let mut name = match first.chars().next() {
        Some(letter) if first.contains(|letter: char| letter.is_ascii_lowercase()) => {
            letter.to_ascii_lowercase().to_string() + &first[1..]
        }
        _ => first.to_ascii_lowercase(),
    };
    name.extend(parts.map(capitalized));
    if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        name
    } else {
        format!("field_{name}")
    }
}

/// Returns whether the root field of a schema is a valid name, which begins with a letter.
pub(crate) fn is_valid(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// The first letter in upper case and the others in lower case, of a text in ASCII.
fn capitalized(part: &str) -> String {
    let mut lower = part.to_ascii_lowercase();
    if let Some(first) = lower.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_schema_are_those_that_upstream_gives_it() {
        for (schema, root, ty) in [
            ("olm.bundle", "olmbundles", "OlmBundle"),
            ("olm.deprecations", "olmdeprecationss", "OlmDeprecations"),
            ("a1.b2", "a1b2s", "A1B2"),
            ("...", "s", "Unknown"),
            (
                "com.example.camelCase",
                "comexamplecamelcases",
                "ComExampleCamelcase",
            ),
            ("Olm.Semver", "olmsemvers", "OlmSemver"),
            ("1.foo", "1foos", "Foo"),
            ("__schema", "schemas", "Schema"),
            ("é", "s", "Unknown"),
        ] {
            assert_eq!(
                [root_field(schema), type_name(schema)],
                [root, ty],
                "{schema}"
            );
        }
        assert!(!is_valid(&root_field("1.foo")) && is_valid(&root_field("...")));
    }

    #[test]
    fn the_field_of_a_key_is_the_one_that_upstream_gives_it() {
        for (key, field) in [
            ("", "value"),
            ("HTTPServer", "hTTPServer"),
            ("URL", "url"),
            ("snake_case", "snakeCase"),
            ("SNAKE_CASE", "snakeCase"),
            ("abc_dEF", "abcDef"),
            ("aBC_x", "aBCX"),
            ("123abc", "field_123abc"),
            ("12_ab", "field_12Ab"),
            ("é", "field_"),
            ("___", "field_"),
            ("$ref", "ref"),
            ("x-descriptors", "xDescriptors"),
            ("tab\there", "tabHere"),
            ("a--b", "aB"),
            ("trailing__", "trailing"),
        ] {
            assert_eq!(field_name(key), field, "{key}");
        }
        assert_eq!(type_name("relatedImages"), "Relatedimages");
    }
}

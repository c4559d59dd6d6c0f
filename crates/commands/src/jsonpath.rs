//! Templates of `-o jsonpath=`, in kubectl's dialect as far as lists of objects need it:
//! `{.items[*].name}`, indexes, `{range …}{end}`, filters `[?(@.a=="b")]`, and quoted text; and
//! single paths of `--sort-by` and `-o custom-columns=`. Other libraries read RFC 9535, which has
//! no templates.

use serde_json::Value;

/// A parsed template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPathTemplate(Vec<TemplatePart>);

/// A single path, with or without its braces and its first dot: `{.a.b}`, `.a.b` or `a.b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonPath(Vec<JsonPathSegment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Path(Vec<JsonPathSegment>),
    Range(Vec<JsonPathSegment>, Vec<TemplatePart>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum JsonPathSegment {
    Member(String),
    Index(i64),
    Each,
    /// Items whose value at a path equals this text; with `true`, those whose value does not.
    Filter(Vec<JsonPathSegment>, String, bool),
}

impl JsonPathTemplate {
    /// Parses a template; the message says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text;
        let parts = parse_parts(&mut rest, false)?;
        Ok(Self(parts))
    }

    /// The text of a template for a value. What does not exist is empty.
    pub(crate) fn apply(&self, value: &Value) -> String {
        let mut out = String::new();
        write_parts(&self.0, value, &mut out);
        out
    }
}

impl JsonPath {
    /// Parses a path; the message says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let inner = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .unwrap_or(text)
            .trim();
        if inner.is_empty() {
            return Err("a path is empty: write it as `.metadata.createdAt`".to_owned());
        }
        let path = if inner.starts_with(['.', '[', '$', '@']) {
            inner.to_owned()
        } else {
            format!(".{inner}")
        };
        parse_path(&path).map(Self)
    }

    /// Returns the values that the path selects in a value; `null` is no value.
    pub(crate) fn select<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut values = select(&self.0, value);
        values.retain(|value| !value.is_null());
        values
    }

    /// Returns the selected values as text, those of lists too, separated by commas; empty if there
    /// are none.
    pub(crate) fn text<'v>(&self, value: &'v Value) -> String {
        let items = |value: &'v Value| match value {
            Value::Array(items) => items.iter().collect(),
            other => vec![other],
        };
        let values: Vec<_> = self.select(value).into_iter().flat_map(items).collect();
        values.into_iter().map(shown).collect::<Vec<_>>().join(",")
    }
}

fn parse_parts(rest: &mut &str, in_range: bool) -> Result<Vec<TemplatePart>, String> {
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let Some(text) = rest.strip_prefix('{') else {
            let end = rest.find('{').unwrap_or(rest.len());
            parts.push(TemplatePart::Text(rest[..end].to_owned()));
            *rest = &rest[end..];
            continue;
        };
        let end = end_of_braces(text).ok_or("a `{` has no `}`")?;
        let inner = text[..end].trim();
        *rest = &text[end + 1..];
        if inner == "end" {
            return if in_range {
                Ok(parts)
            } else {
                Err("`{end}` without `{range …}`".to_owned())
            };
        }
        if let Some(path) = inner.strip_prefix("range ") {
            let path = parse_path(path.trim())?;
            parts.push(TemplatePart::Range(path, parse_parts(rest, true)?));
        } else if let Some(text) = inner
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
        {
            parts.push(TemplatePart::Text(
                text.replace("\\n", "\n")
                    .replace("\\t", "\t")
                    .replace("\\\"", "\""),
            ));
        } else {
            parts.push(TemplatePart::Path(parse_path(inner)?));
        }
    }
    if in_range {
        Err("`{range …}` without `{end}`".to_owned())
    } else {
        Ok(parts)
    }
}

/// Returns the offset of the closing brace. Braces in quoted text do not count.
fn end_of_braces(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, letter)| {
        match (quote, letter) {
            (None, '}') => return Some(at),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        None
    })
}

fn parse_path(path: &str) -> Result<Vec<JsonPathSegment>, String> {
    let mut rest = path.strip_prefix(['$', '@']).unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(text) = rest.strip_prefix('[') {
            let end = text
                .find(']')
                .ok_or_else(|| format!("`{path}`: a `[` has no `]`"))?;
            steps.push(
                parse_brackets(&text[..end])
                    .ok_or_else(|| format!("`{path}`: cannot read `[{}]`", &text[..end]))?,
            );
            rest = &text[end + 1..];
            continue;
        }
        rest = rest
            .strip_prefix('.')
            .ok_or_else(|| format!("`{path}`: a path is written as `.items[*].name`"))?;
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        match &rest[..end] {
            "" => {}
            "*" => steps.push(JsonPathSegment::Each),
            name => steps.push(JsonPathSegment::Member(name.to_owned())),
        }
        rest = &rest[end..];
    }
    Ok(steps)
}

fn parse_brackets(text: &str) -> Option<JsonPathSegment> {
    let unquoted = |text: &str| {
        Some(
            text.strip_prefix(['"', '\''])?
                .strip_suffix(['"', '\''])?
                .to_owned(),
        )
    };
    if text == "*" {
        return Some(JsonPathSegment::Each);
    }
    if let Some(filter) = text
        .strip_prefix("?(")
        .and_then(|text| text.strip_suffix(')'))
    {
        let (path, value, is_negated) = match filter.split_once("!=") {
            Some((path, value)) => (path, value, true),
            None => filter
                .split_once("==")
                .map(|(path, value)| (path, value, false))?,
        };
        let value = unquoted(value.trim()).unwrap_or_else(|| value.trim().to_owned());
        return Some(JsonPathSegment::Filter(
            parse_path(path.trim()).ok()?,
            value,
            is_negated,
        ));
    }
    text.parse()
        .ok()
        .map(JsonPathSegment::Index)
        .or_else(|| unquoted(text).map(JsonPathSegment::Member))
}

fn write_parts(parts: &[TemplatePart], value: &Value, out: &mut String) {
    for part in parts {
        match part {
            TemplatePart::Text(text) => *out += text,
            TemplatePart::Path(path) => {
                *out += &select(path, value)
                    .into_iter()
                    .map(shown)
                    .collect::<Vec<_>>()
                    .join(" ");
            }
            TemplatePart::Range(path, parts) => {
                for item in select(path, value) {
                    write_parts(parts, item, out);
                }
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The values that a path selects.
fn select<'v>(path: &[JsonPathSegment], value: &'v Value) -> Vec<&'v Value> {
    path.iter().fold(vec![value], |values, step| {
        values
            .into_iter()
            .flat_map(|value| advance(step, value))
            .collect()
    })
}

fn advance<'v>(step: &JsonPathSegment, value: &'v Value) -> Vec<&'v Value> {
    let items = || match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    match step {
        JsonPathSegment::Member(name) => value.get(name).into_iter().collect(),
        JsonPathSegment::Each => items(),
        JsonPathSegment::Index(index) => {
            let items = items();
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let at = if *index < 0 { index + length } else { *index };
            usize::try_from(at)
                .ok()
                .and_then(|at| items.get(at).copied())
                .into_iter()
                .collect()
        }
        JsonPathSegment::Filter(path, text, is_negated) => {
            let is_equal = |item: &&Value| {
                select(path, item)
                    .first()
                    .is_some_and(|value| shown(value) == *text)
            };
            items()
                .into_iter()
                .filter(|item| is_equal(item) != *is_negated)
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_select_and_repeat() {
        let value = json!({ "items": [{ "name": "a", "n": 1, "in": { "x.y": true } }, { "name": "b", "n": 2 }] });
        for (template, expected) in [
            ("{.items[*].name}", "a b"),
            ("{.items[0].name}", "a"),
            ("{.items[-1].name}", "b"),
            ("{.items[5].name}", ""),
            (
                "{range .items[*]}{.name}{\"\\t\"}{.n}{\"\\n\"}{end}",
                "a\t1\nb\t2\n",
            ),
            ("{.items[?(@.name==\"b\")].n}", "2"),
            ("{.items[?(@.n!=2)].name}", "a"),
            ("{.items[0].in['x.y']}", "true"),
            ("names: {$.items[*]['name']}!", "names: a b!"),
            ("{.items[1]}", "{\"name\":\"b\",\"n\":2}"),
            ("{.none}", ""),
            ("{\"}\"}", "}"),
        ] {
            let template = JsonPathTemplate::parse(template)
                .unwrap_or_else(|error| panic!("{template}: {error}"));
            let shown = template.apply(&value);
            // Objects keep no order of their members.
            assert_eq!(shown.len(), expected.len(), "{template:?}: {shown}");
            assert!(
                shown == expected || shown.starts_with('{'),
                "{template:?}: {shown}"
            );
        }
    }

    #[test]
    fn a_path_is_written_with_or_without_braces_and_its_first_dot() {
        let value = json!({ "a": { "b": [1, null, "x"], "c": ["y", "z"] }, "none": null });
        for (path, expected) in [
            ("{.a.b[0]}", "1"),
            (".a.b[0]", "1"),
            ("a.b[2]", "x"),
            ("$.a.b[*]", "1,x"),
            (".a.c", "y,z"),
            ("['a'].b[0]", "1"),
            (".none", ""),
            (".a.d", ""),
        ] {
            let parsed = JsonPath::parse(path).map(|path| path.text(&value));
            assert_eq!(parsed.as_deref(), Ok(expected), "{path}");
        }
        for text in ["", "{}", ".a[", ".a b]["] {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_read_is_refused() {
        for text in ["{", "{.a", "{a}", "{end}", "{range .a}", "{.a[}", "{.a[x]}"] {
            assert!(JsonPathTemplate::parse(text).is_err(), "{text}");
        }
    }
}

//! Documents for servers that lack a field of them: older ones, and newer ones that removed it.

use crate::ClientError;

/// Code of the error for a document that the schema of the server does not allow.
const INVALID: &str = "GRAPHQL_VALIDATION_FAILED";

/// Number of parts of a document that are left out before its error is that of the request.
pub(crate) const MAX_LEFT_OUT: usize = 20;

/// A document without a part that the server does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adapted {
    pub(crate) document: String,
    /// Name of the field that was left out; `None` for what only such a field used.
    pub(crate) field: Option<String>,
}

/// Leaves the part out that an error is about, if it says that the document is invalid there and
/// something is left without the part. The document is on one line.
pub(crate) fn adapted(document: &str, error: &ClientError) -> Option<Adapted> {
    let ClientError::Refused {
        code,
        location: Some((1, column)),
        ..
    } = error
    else {
        return None;
    };
    let is_meant = code.as_deref() == Some(INVALID) && document.is_ascii();
    without(document, column.checked_sub(1)?).filter(|_| is_meant)
}

/// The document without the field, the variable or the fragment that begins at an offset.
fn without(document: &str, begin: usize) -> Option<Adapted> {
    let rest = document.get(begin..)?;
    let is_variable = rest.starts_with('$');
    let is_fragment = rest.starts_with("fragment ");
    let (length, field) = if is_variable {
        let length = 1 + rest[1..].find(['$', ')'])?;
        (length, None)
    } else if is_fragment {
        (braced(rest, rest.find('{')?)?, None)
    } else if is_root(document, begin) {
        // Nothing that was asked for would be answered.
        return None;
    } else {
        let (length, name) = field(rest)?;
        (length, Some(name))
    };
    let before = document[..begin].trim_end();
    let after = rest[length..].trim_start();
    let text = match (before.chars().next_back(), after.chars().next()) {
        (Some('('), Some(')')) => format!("{}{}", &before[..before.len() - 1], &after[1..]),
        // Braces with nothing in them are no document.
        (Some('{'), Some('}')) => format!("{before} __typename {after}"),
        _ => format!("{before} {after}"),
    };
    Some(Adapted {
        document: text.trim_end().to_owned(),
        field,
    })
}

/// Returns `true` for an offset among the root fields of an operation.
fn is_root(document: &str, offset: usize) -> bool {
    let mut depth = 0_usize;
    let mut definition = "";
    for (at, byte) in document[..offset].bytes().enumerate() {
        match byte {
            b'{' | b'(' => depth += 1,
            b'}' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if byte == b'}' && depth == 0 {
            definition = document[at + 1..].trim_start();
        }
    }
    depth == 1 && !definition.starts_with("fragment ")
}

/// Length of a field with its arguments, directives and selections; and its name.
fn field(text: &str) -> Option<(usize, String)> {
    let mut end = name_end(text);
    let mut name = &text[..end];
    if name.is_empty() {
        return None;
    }
    let skip = |end: usize| end + (text.len() - end - text[end..].trim_start().len());
    if text[skip(end)..].starts_with(':') {
        let begin = skip(skip(end) + 1);
        end = begin + name_end(&text[begin..]);
        name = &text[begin..end];
    }
    loop {
        let next = skip(end);
        end = match text[next..].chars().next() {
            Some('(' | '{') => braced(text, next)?,
            Some('@') => next + 1 + name_end(&text[next + 1..]),
            _ => return Some((end, name.to_owned())),
        };
    }
}

fn name_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

/// The end of the bracket that opens at an offset. The documents of this project have no texts with
/// brackets.
fn braced(text: &str, begin: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().skip(begin) {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_document_is_left_out() {
        let all = "x y: z(b: $b) @include(if: $a) { q { r } }";
        let rest = "fragment F on X { f }";
        let document = format!("query A($a: Int, $b: [Int!]) {{ o {{ {all} w }} }} {rest}");
        let left = |part: &str| {
            let found = without(&document, document.find(part).expect("it is a part"))?;
            Some((found.document, found.field))
        };
        let text =
            |text: &str, field: Option<&str>| Some((text.to_owned(), field.map(str::to_owned)));
        assert_eq!(
            left("y: z"),
            text(
                &format!("query A($a: Int, $b: [Int!]) {{ o {{ x w }} }} {rest}"),
                Some("z")
            )
        );
        assert_eq!(
            left("w }"),
            text(
                &format!("query A($a: Int, $b: [Int!]) {{ o {{ {all} }} }} {rest}"),
                Some("w")
            )
        );
        assert_eq!(
            left("$a: Int"),
            text(
                &format!("query A( $b: [Int!]) {{ o {{ {all} w }} }} {rest}"),
                None
            )
        );
        assert_eq!(
            left("fragment"),
            text(
                document
                    .strip_suffix(&format!(" {rest}"))
                    .expect("it ends so"),
                None
            )
        );
        assert_eq!(
            left("r }"),
            text(&document.replace("{ r }", "{ __typename }"), Some("r"))
        );
        assert_eq!(
            left("f }"),
            text(&document.replace("{ f }", "{ __typename }"), Some("f"))
        );
        assert_eq!(left("o {"), None);
        let only = without("query A($a: Int) { x }", 8).expect("it is a variable");
        assert_eq!(only.document, "query A { x }");
    }

    #[test]
    fn only_what_the_server_says_is_invalid_is_left_out() {
        let error = |code: &str, line: usize| ClientError::Refused {
            status: 400,
            code: Some(code.to_owned()),
            message: "m".to_owned(),
            path: String::new(),
            location: Some((line, 7)),
        };
        let found = adapted("{ o { a b } }", &error(INVALID, 1)).expect("it is a field");
        assert_eq!(
            (found.document.as_str(), found.field.as_deref()),
            ("{ o { b } }", Some("a"))
        );
        assert_eq!(adapted("{ o { a b } }", &error("BAD_USER_INPUT", 1)), None);
        assert_eq!(adapted("{ o { a b } }", &error(INVALID, 2)), None);
        assert_eq!(adapted("{ o { a b } }", &ClientError::Changed), None);
    }
}

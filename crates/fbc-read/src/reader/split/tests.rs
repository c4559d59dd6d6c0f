//! Where YAML documents begin and end in a file.

use super::*;

/// The documents of a text that comes in pieces of this size.
fn documents(text: &str, piece: usize) -> Result<Vec<&str>, TextError> {
    let mut from = 0;
    let mut known = 0;
    let mut cut = DocumentSplitter::default();
    let mut documents = Vec::new();
    loop {
        match cut.next_document(&text.as_bytes()[from..known], known == text.len())? {
            DocumentBoundary::Incomplete => known = text.len().min(known + piece),
            DocumentBoundary::End => return Ok(documents),
            DocumentBoundary::Document { len, next } => {
                documents.push(&text[from..from + len]);
                from += next;
                cut = DocumentSplitter::default();
            }
        }
    }
}

#[test]
fn documents_end_where_a_line_begins_with_three_dashes() {
    let table: [(&str, &[&str]); 14] = [
        ("", &[]),
        ("a", &["a"]),
        ("a\n", &["a\n"]),
        ("---\na\n---\nb\n", &["---\na\n", "b\n"]),
        ("a\n---\n", &["a\n"]),
        ("a\n---", &["a\n"]),
        ("a\r\n---  # c\r\nb", &["a\r\n", "b"]),
        ("---", &["---"]),
        ("---\n---\na", &["---\n", "a"]),
        ("a\n---\n---\nb", &["a\n", "---\nb"]),
        ("a\n---\n---\n---\nb", &["a\n", "---\n", "b"]),
        ("\n---\na", &["\n", "a"]),
        ("a ---\n --- b\n--\n", &["a ---\n --- b\n--\n"]),
        ("a: |\n  x\n---\nb", &["a: |\n  x\n", "b"]),
    ];
    for (text, expected) in table {
        for piece in 1..=text.len() + 1 {
            assert_eq!(
                documents(text, piece).as_deref(),
                Ok(expected),
                "{text:?} {piece}"
            );
        }
    }
}

#[test]
fn a_separator_that_goes_on_is_an_error() {
    let table = [
        ("--- a", 0, "a"),
        ("---a\n", 0, "a"),
        ("b\nc\n---- \nd", 2, "-"),
    ];
    for (text, line, rest) in table {
        for piece in 1..=text.len() {
            let kind = ReadErrorKind::Separator(rest.to_owned());
            assert_eq!(
                documents(text, piece),
                Err(TextError { line, kind }),
                "{text:?} {piece}"
            );
        }
    }
}

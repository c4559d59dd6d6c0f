//! The document of `query`: the argument itself, a file, or the standard input.

use std::path::Path;
use std::{fs, io};

use crate::file_argument::{STDIN, read_text};
use crate::{CommandError, ExitStatus};

/// Endings of the names of files with documents.
const ENDINGS: [&str; 2] = ["graphql", "gql"];

/// Parts of the messages about a name that no operation of a document has, or that is missing.
const UNKNOWN_OPERATION: [&str; 2] = ["Must provide operation name", "Unknown operation named"];

/// Returns the document that an argument is or names: `-` is the standard input, `@FILE` a file,
/// and so is the name of a file without `@`. No document is such a name: each has a brace.
pub fn read_document(argument: &str) -> Result<String, CommandError> {
    if argument == STDIN {
        return read_text(Path::new(STDIN))
            .map_err(|error| unreadable("the document from standard input", &error));
    }
    if let Some(path) = argument.strip_prefix('@') {
        return read_file(Path::new(path));
    }
    let path = Path::new(argument);
    let has_ending = path
        .extension()
        .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    if !argument.contains('{') && (has_ending || path.is_file()) {
        return read_file(path);
    }
    Ok(argument.to_owned())
}

/// Reads a file with a document.
pub fn read_file(path: &Path) -> Result<String, CommandError> {
    let named = format!("the document `{}`", path.display());
    fs::read_to_string(path).map_err(|error| unreadable(&named, &error))
}

/// Returns a hint with the names of the operations of a document, for a response that does not tell
/// which of them is meant.
pub fn operation_hint(document: &str, message: &str) -> Option<String> {
    let is_meant = UNKNOWN_OPERATION.iter().any(|part| message.contains(part));
    let names = operation_names(document);
    (is_meant && !names.is_empty())
        .then(|| format!("--operation names one of {}", names.join(", ")))
}

/// Returns the names of the operations of a document, in their order. A document that is not valid
/// may have others.
fn operation_names(document: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut before = "";
    let mut rest = document;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => string_length(rest),
            '_' | 'a'..='z' | 'A'..='Z' => {
                let is_other = |letter: char| letter != '_' && !letter.is_ascii_alphanumeric();
                let word = &rest[..rest.find(is_other).unwrap_or(rest.len())];
                if depth == 0 && ["query", "mutation", "subscription"].contains(&before) {
                    names.push(word);
                }
                // A fragment may have the name of a keyword.
                before = if before == "fragment" { "" } else { word };
                rest = &rest[word.len()..];
                continue;
            }
            letter => letter.len_utf8(),
        };
        match first {
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // Between the keyword and the name are blanks and comments alone.
        if !matches!(first, '#' | ' ' | '\t' | '\r' | '\n' | ',') {
            before = "";
        }
        rest = &rest[length..];
    }
    names
}

/// Returns the length of the string that a text begins with.
fn string_length(text: &str) -> usize {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        return block.find("\"\"\"").map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let is_end = *letter == '"' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

fn unreadable(what: &str, error: &io::Error) -> CommandError {
    CommandError::new(ExitStatus::Usage, format!("cannot read {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_a_document_or_the_name_of_a_file() {
        let read = |argument: &str| read_document(argument).map_err(|error| error.message);
        let manifest = fs::read_to_string("Cargo.toml").expect("tests run in the crate");
        assert_eq!(read("Cargo.toml"), Ok(manifest.clone()));
        assert_eq!(read("@Cargo.toml"), Ok(manifest));
        assert_eq!(read("{ a }").as_deref(), Ok("{ a }"));
        // The engine says what is wrong with it.
        assert_eq!(read("packages").as_deref(), Ok("packages"));
        for argument in ["q.graphql", "@q.graphql", "@q"] {
            let name = argument.trim_start_matches('@');
            let expected = format!(
                "cannot read the document `{name}`: No such file or directory (os error 2)"
            );
            assert_eq!(read(argument), Err(expected));
        }
    }

    #[test]
    fn operations_of_a_document_are_named_where_it_is_open_which_is_meant() {
        let document = "# query A { a }\nquery B($x: T = {query: \"query C\"}) { query query_d }\n\
                        fragment query on T { a }\nsubscription #\n E { a }\n\"\"\"query F \" \"\"\" mutation G { a }";
        let several = "Must provide operation name if query contains multiple operations.";
        let expected = "--operation names one of B, E, G";
        assert_eq!(operation_hint(document, several).as_deref(), Some(expected));
        let unknown = "Unknown operation named \"X\".";
        assert_eq!(operation_hint(document, unknown).as_deref(), Some(expected));
        assert_eq!(operation_hint(document, "too expensive"), None);
        assert_eq!(operation_hint("{ a }", unknown), None);
        assert_eq!(operation_names("query \""), [""; 0]);
    }
}

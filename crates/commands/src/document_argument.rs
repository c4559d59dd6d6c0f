//! The document of `query`: the argument itself, a file, or the standard input.

use std::path::Path;
use std::{fs, io};

use crate::file_argument::{STDIN, read_text};
use crate::{CommandError, ExitStatus};

/// Endings of the names of files with documents.
const ENDINGS: [&str; 2] = ["graphql", "gql"];

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
}

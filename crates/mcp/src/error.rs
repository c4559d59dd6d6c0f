//! Errors of tools, for the assistant that called one: each says what to do.

use crate::arguments::MAX_PAGE;

/// Maximum number of names in an error.
const SHOWN_NAMES: usize = 20;

/// A tool has no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ToolError {
    /// An argument is missing, unknown, or of another type.
    #[error(
        "the arguments are invalid: {0}; the input schema of the tool has their names and types"
    )]
    Arguments(String),
    /// A catalog is not served, or the caller may not see it.
    #[error("no catalog `{name}` is served; {}", names("the served catalogs are", .served, "no catalog is served"))]
    Catalog {
        /// Name in the arguments.
        name: String,
        /// Names of the catalogs that the caller may see.
        served: Vec<String>,
    },
    /// No catalog has the package.
    #[error("no catalog has a package `{name}`; {}search_packages finds packages by words", similar_names(.similar))]
    Package {
        /// Name in the arguments.
        name: String,
        /// Names with a similar spelling.
        similar: Vec<String>,
    },
    /// The package has no such bundle.
    #[error("package `{package}` has no bundle `{name}`; {}", names("its newest bundles are", .known, "it has no bundles"))]
    Bundle {
        /// Name of the package.
        package: String,
        /// Name in the arguments.
        name: String,
        /// Names of its newest bundles.
        known: Vec<String>,
    },
    /// The engine refused the request, or a field has an error.
    #[error("{0}")]
    Refused(String),
    /// The response is larger than an answer may be.
    #[error(
        "the answer is too large: ask for fewer packages, channels or versions (a search returns at most {MAX_PAGE} packages)"
    )]
    TooLarge,
}

/// Returns the first names behind their introduction, or another text if there are none.
fn names(introduction: &str, names: &[String], none: &str) -> String {
    if names.is_empty() {
        return none.to_owned();
    }
    let shown = names.iter().take(SHOWN_NAMES).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN_NAMES) {
        Some(more @ 1..) => format!("{introduction} {shown} and {more} more"),
        _ => format!("{introduction} {shown}"),
    }
}

/// Returns similar names for the middle of a sentence; nothing if there are none.
fn similar_names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("similar names are {}; ", names.join(", ")),
    }
}

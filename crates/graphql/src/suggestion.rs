//! Names that may have been meant where a field is `null`: `extensions.suggestions` of a response.

use super::errors::{self, Segment};
use super::output;

/// Maximum number of fields of a response with suggestions.
pub const MAX_SUGGESTED_FIELDS: usize = 5;

/// Maximum number of names that a response compares with names that nothing has. A field that is
/// selected of each item of a list is often `null`, and a suggestion must not be what exceeds the
/// budget of a request.
pub const MAX_COMPARED_NAMES: usize = 5_000;

/// Names that are similar to the value of an argument that names nothing.
#[derive(Debug)]
pub(super) struct Suggestion {
    /// Path of the field, which is `null`.
    pub(super) path: Vec<Segment>,
    /// Name of the argument.
    pub(super) argument: &'static str,
    /// Value of the argument.
    pub(super) value: String,
    /// The names, best first.
    pub(super) similar: Vec<String>,
}

/// Returns the member of `extensions`.
pub(super) fn to_json(suggestions: &[Suggestion]) -> Vec<u8> {
    let mut out = b"\"suggestions\":[".to_vec();
    for (
        at,
        Suggestion {
            path,
            argument,
            value,
            similar,
        },
    ) in suggestions.iter().enumerate()
    {
        out.extend_from_slice(if at == 0 {
            b"{\"path\":"
        } else {
            b",{\"path\":"
        });
        errors::write_path(path, &mut out);
        out.extend_from_slice(b",\"argument\":");
        output::string(&mut out, argument);
        out.extend_from_slice(b",\"value\":");
        output::string(&mut out, value);
        out.extend_from_slice(b",\"similar\":[");
        for (at, name) in similar.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            output::string(&mut out, name);
        }
        out.extend_from_slice(b"]}");
    }
    out.push(b']');
    out
}

//! Names that may have been meant where a field is `null`: `extensions.suggestions` of a response.

use super::output;

/// Maximum number of fields of a response with suggestions.
pub const MAX_SUGGESTED_FIELDS: usize = 5;

/// Names that are similar to the value of an argument that names nothing.
#[derive(Debug)]
pub(super) struct Suggestion {
    /// Response key of the field, which is one of the root.
    pub(super) key: String,
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
    for (at, Suggestion { key, argument, value, similar }) in suggestions.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"path\":[" } else { b",{\"path\":[" });
        output::string(&mut out, key);
        out.extend_from_slice(b"],\"argument\":");
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

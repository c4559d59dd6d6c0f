//! Errors of requests: codes, messages, locations, and their JSON.
//!
//! Every error has a code. This module knows neither catalogs nor HTTP.

use std::io::Write as _;

use metrics::{Label as _, labels};

use super::output;

labels! {
    /// Machine-readable kind of an error, which clients see in `extensions.code`.
    pub enum Code {
        /// The document is not GraphQL.
        ParseFailed = "GRAPHQL_PARSE_FAILED",
        /// The document is not valid against the schema, or not executable.
        ValidationFailed = "GRAPHQL_VALIDATION_FAILED",
        /// A variable or an argument has a value that cannot be used.
        BadUserInput = "BAD_USER_INPUT",
        /// The document has no operation of the requested name, or has several and the request
        /// names none.
        OperationResolutionFailure = "OPERATION_RESOLUTION_FAILURE",
        /// Fields are nested too deeply.
        MaxDepth = "MAX_DEPTH_LIMIT",
        /// Too many fields have aliases.
        MaxAliases = "MAX_ALIASES_LIMIT",
        /// Too many fields at the root.
        MaxRootFields = "MAX_ROOT_FIELDS_LIMIT",
        /// Too many directives.
        MaxDirectives = "MAX_DIRECTIVES_LIMIT",
        /// Too many tokens.
        MaxTokens = "MAX_TOKENS_LIMIT",
        /// No cached document has the digest that the request names.
        PersistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND",
        /// The digest of the document differs from the one that the request names.
        PersistedQueryHashMismatch = "PERSISTED_QUERY_HASH_MISMATCH",
        /// The server executes only trusted documents, and this document is not trusted.
        QueryNotInSafelist = "QUERY_NOT_IN_SAFELIST",
        /// The operation is estimated to produce more objects than the limit.
        CostEstimated = "COST_ESTIMATED_TOO_EXPENSIVE",
        /// The operation produced more objects than the limit.
        CostActual = "COST_ACTUAL_TOO_EXPENSIVE",
        /// The response is larger than the limit.
        ResponseTooLarge = "RESPONSE_TOO_LARGE",
        /// Writing the response took longer than the limit.
        Timeout = "TIMEOUT",
        /// The catalog no longer serves the requested content.
        CatalogChanged = "CATALOG_CHANGED",
        /// The manifests of a bundle are only in its image, which is not fetched for this request.
        ManifestsNotFetched = "MANIFESTS_NOT_FETCHED",
        /// The image of a bundle cannot be fetched now; the request may be retried.
        ManifestsUnreachable = "MANIFESTS_UNREACHABLE",
        /// The image of a bundle has no manifests that can be read.
        ManifestsRefused = "MANIFESTS_REFUSED",
        /// The maximum number of streams is open.
        MaxStreams = "MAX_STREAMS_LIMIT",
        /// The body or the URL is larger than the limit.
        RequestTooLarge = "REQUEST_TOO_LARGE",
        /// Too many bytes of requests or of unread responses are held; the request may be retried.
        Overloaded = "SERVER_OVERLOADED",
        /// The caller may not read any more.
        Forbidden = "FORBIDDEN",
        /// It cannot be found out what the caller may read; the request may be retried.
        AuthorizationUnavailable = "AUTHORIZATION_UNAVAILABLE",
        /// An error of the server, not of the request.
        Internal = "INTERNAL_SERVER_ERROR",
    }
}

/// Position in the source text of a document, as GraphQL counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in UTF-16 code units as graphql-js counts them.
    pub column: usize,
}

/// Segment of the path from the root of a response to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The response key of a field.
    Key(Box<str>),
    /// An element of a list, from 0.
    Index(usize),
}

/// One error of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Machine-readable kind.
    pub code: Code,
    /// Human-readable message.
    pub message: String,
    /// Position in the document; `None` for an error of the whole request.
    pub location: Option<Location>,
    /// Path of the field; empty for a request error.
    pub path: Vec<Segment>,
    /// The cost and its limit, for errors about costs.
    pub cost: Option<Cost>,
}

/// A cost with its limit, in objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Cost of the request.
    pub cost: u64,
    /// Limit.
    pub maximum: u64,
}

/// Result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Data without errors.
    Complete,
    /// Data in which some field is `null` because of an error.
    Partial,
    /// The request was refused before anything was executed: no data.
    Refused,
    /// The execution was abandoned: no data.
    Abandoned,
}

impl Location {
    /// Converts a byte offset to a location. Lines end with `\n`, `\r` or both.
    pub fn from_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let mut line = 1;
        let mut start = 0;
        for (at, byte) in before.bytes().enumerate() {
            let ends =
                byte == b'\n' || (byte == b'\r' && text.as_bytes().get(at + 1) != Some(&b'\n'));
            if ends {
                line += 1;
                start = at + 1;
            }
        }
        Self {
            line,
            column: before[start..].encode_utf16().count() + 1,
        }
    }
}

impl Error {
    /// Creates a request error, which has neither location nor path.
    pub fn request(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            location: None,
            path: Vec::new(),
            cost: None,
        }
    }

    /// Sets the location.
    #[must_use]
    pub fn at(self, location: Option<Location>) -> Self {
        Self { location, ..self }
    }

    /// Appends the JSON object of the error.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"message\":");
        output::string(out, &self.message);
        if let Some(Location { line, column }) = self.location {
            write_text(
                out,
                format_args!(",\"locations\":[{{\"line\":{line},\"column\":{column}}}]"),
            );
        }
        if !self.path.is_empty() {
            out.extend_from_slice(b",\"path\":");
            write_path(&self.path, out);
        }
        write_text(
            out,
            format_args!(",\"extensions\":{{\"code\":\"{}\"", self.code.as_str()),
        );
        if let Some(Cost { cost, maximum }) = self.cost {
            write_text(out, format_args!(",\"cost\":{cost},\"maximum\":{maximum}"));
        }
        out.extend_from_slice(b"}}");
    }
}

/// Returns the JSON text of a response with errors and without `data`.
pub(super) fn body(errors: &[Error]) -> Vec<u8> {
    let mut body = b"{".to_vec();
    write_all(errors, &mut body);
    body.push(b'}');
    body
}

/// Appends the member `"errors":[…]`.
pub(super) fn write_all(errors: &[Error], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"errors\":");
    write_list(errors, out);
}

/// Appends the JSON array of some errors, which must not be empty.
pub fn write_list(errors: &[Error], out: &mut Vec<u8>) {
    for (at, error) in errors.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        error.write(out);
    }
    out.push(b']');
}

/// Appends the JSON array of a path, which must not be empty.
pub(super) fn write_path(path: &[Segment], out: &mut Vec<u8>) {
    for (at, segment) in path.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        match segment {
            Segment::Key(key) => output::string(out, key),
            Segment::Index(index) => write_text(out, format_args!("{index}")),
        }
    }
    out.push(b']');
}

fn write_text(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_written_with_its_place_path_code_and_cost() {
        let error = Error {
            code: Code::CostEstimated,
            message: "too \"much\"".into(),
            location: Some(Location { line: 2, column: 3 }),
            path: vec![Segment::Key("a".into()), Segment::Index(4)],
            cost: Some(Cost {
                cost: 7,
                maximum: 5,
            }),
        };
        let mut out = Vec::new();
        write_all(&[error], &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#""errors":[{"message":"too \"much\"","locations":[{"line":2,"column":3}],"path":["a",4],"#.to_owned()
                + r#""extensions":{"code":"COST_ESTIMATED_TOO_EXPENSIVE","cost":7,"maximum":5}}]"#
        );
    }

    #[test]
    fn an_error_of_a_request_has_neither_place_nor_path() {
        let mut out = Vec::new();
        Error::request(Code::ParseFailed, "no").write(&mut out);
        assert_eq!(
            out,
            br#"{"message":"no","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}"#
        );
    }

    #[test]
    fn a_place_counts_lines_and_utf16_units_from_one() {
        let text = "{\n  a\r\n😀b\rc}";
        for (needle, line, column) in [("{", 1, 1), ("a", 2, 3), ("b", 3, 3), ("c", 4, 1)] {
            let offset = text.find(needle).unwrap();
            assert_eq!(
                Location::from_offset(text, offset),
                Location { line, column },
                "{needle}"
            );
        }
    }
}

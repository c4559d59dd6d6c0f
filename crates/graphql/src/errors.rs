//! What can go wrong with a request, and how it is told: codes, places, texts, and the status of an answer.
//!
//! Every error has a code, and [`status`] alone maps outcomes to HTTP. It knows nothing of catalogs.

use std::io::Write as _;

use super::output;

/// What went wrong, as clients see it in `extensions.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The document is no GraphQL.
    ParseFailed,
    /// The document does not fit the schema.
    ValidationFailed,
    /// A variable or an argument has a value that cannot be used.
    BadUserInput,
    /// The document has no operation of the name asked for, or several and no name was given.
    OperationResolutionFailure,
    /// Fields lie too deep within one another.
    MaxDepth,
    /// Too many fields have aliases.
    MaxAliases,
    /// Too many fields at the root.
    MaxRootFields,
    /// Too many directives.
    MaxDirectives,
    /// Too many tokens.
    MaxTokens,
    /// No document of the digest that was named is kept.
    PersistedQueryNotFound,
    /// The document that was sent has another digest than the one that was named.
    PersistedQueryHashMismatch,
    /// The server executes only documents that it was given, and this is none of them.
    QueryNotInSafelist,
    /// The document may produce too many objects.
    CostEstimated,
    /// The document did produce too many objects.
    CostActual,
    /// The answer became too large.
    ResponseTooLarge,
    /// Writing the answer took too long.
    Timeout,
    /// The catalog no longer serves the content that was asked for.
    CatalogChanged,
    /// As many streams are open as may be.
    MaxStreams,
    /// A fault of the server.
    Internal,
}

/// A place in a document, as people count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// From 1.
    pub line: usize,
    /// From 1, in UTF-16 units, as graphql-js counts them.
    pub column: usize,
}

/// A step of the way to a field of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The response key of a field.
    Key(Box<str>),
    /// An element of a list, from 0.
    Index(usize),
}

/// One error of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What went wrong, for programs.
    pub code: Code,
    /// What went wrong, for people.
    pub message: String,
    /// Where in the document, when it is about a place.
    pub location: Option<Location>,
    /// The field it is about; empty for an error of the whole request.
    pub path: Vec<Segment>,
    /// What was counted and how much is allowed, for costs.
    pub cost: Option<Cost>,
}

/// A cost and the most it may be, in objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// What was counted.
    pub cost: u64,
    /// What is allowed.
    pub maximum: u64,
}

/// What became of a request.
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

/// The form in which an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`, where whatever was understood is a 200.
    Json,
    /// `application/graphql-response+json`, whose status says more.
    GraphqlResponse,
}

/// The HTTP status of an answer.
pub fn status(outcome: Outcome, media: Media) -> u16 {
    match (outcome, media) {
        (Outcome::Refused, Media::GraphqlResponse) => 400,
        (Outcome::Complete | Outcome::Partial | Outcome::Refused | Outcome::Abandoned, _) => 200,
    }
}

impl Code {
    /// The name in `extensions.code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::ParseFailed => "GRAPHQL_PARSE_FAILED",
            Code::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Code::BadUserInput => "BAD_USER_INPUT",
            Code::OperationResolutionFailure => "OPERATION_RESOLUTION_FAILURE",
            Code::MaxDepth => "MAX_DEPTH_LIMIT",
            Code::MaxAliases => "MAX_ALIASES_LIMIT",
            Code::MaxRootFields => "MAX_ROOT_FIELDS_LIMIT",
            Code::MaxDirectives => "MAX_DIRECTIVES_LIMIT",
            Code::MaxTokens => "MAX_TOKENS_LIMIT",
            Code::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Code::PersistedQueryHashMismatch => "PERSISTED_QUERY_HASH_MISMATCH",
            Code::QueryNotInSafelist => "QUERY_NOT_IN_SAFELIST",
            Code::CostEstimated => "COST_ESTIMATED_TOO_EXPENSIVE",
            Code::CostActual => "COST_ACTUAL_TOO_EXPENSIVE",
            Code::ResponseTooLarge => "RESPONSE_TOO_LARGE",
            Code::Timeout => "TIMEOUT",
            Code::CatalogChanged => "CATALOG_CHANGED",
            Code::MaxStreams => "MAX_STREAMS_LIMIT",
            Code::Internal => "INTERNAL_SERVER_ERROR",
        }
    }
}

impl Location {
    /// The place of a byte of a text. Lines end with `\n`, `\r` or both.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let mut line = 1;
        let mut start = 0;
        for (at, byte) in before.bytes().enumerate() {
            let ends = byte == b'\n' || (byte == b'\r' && text.as_bytes().get(at + 1) != Some(&b'\n'));
            if ends {
                line += 1;
                start = at + 1;
            }
        }
        Self { line, column: before[start..].encode_utf16().count() + 1 }
    }
}

impl Error {
    /// An error of the whole request, about no place of the document.
    pub fn request(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), location: None, path: Vec::new(), cost: None }
    }

    /// The same error, about a place of the document.
    #[must_use]
    pub fn at(self, location: Option<Location>) -> Self {
        Self { location, ..self }
    }

    /// Writes it as JSON.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"message\":");
        output::string(out, &self.message);
        if let Some(Location { line, column }) = self.location {
            write_text(out, format_args!(",\"locations\":[{{\"line\":{line},\"column\":{column}}}]"));
        }
        if !self.path.is_empty() {
            out.extend_from_slice(b",\"path\":");
            for (at, segment) in self.path.iter().enumerate() {
                out.push(if at == 0 { b'[' } else { b',' });
                match segment {
                    Segment::Key(key) => output::string(out, key),
                    Segment::Index(index) => write_text(out, format_args!("{index}")),
                }
            }
            out.push(b']');
        }
        write_text(out, format_args!(",\"extensions\":{{\"code\":\"{}\"", self.code.as_str()));
        if let Some(Cost { cost, maximum }) = self.cost {
            write_text(out, format_args!(",\"cost\":{cost},\"maximum\":{maximum}"));
        }
        out.extend_from_slice(b"}}");
    }
}

/// The text of an answer that has nothing but errors.
pub(super) fn body(errors: &[Error]) -> Vec<u8> {
    let mut body = b"{".to_vec();
    write_all(errors, &mut body);
    body.push(b'}');
    body
}

/// Writes `"errors":[…]`.
pub(super) fn write_all(errors: &[Error], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"errors\":");
    write_list(errors, out);
}

/// Writes `[…]`.
pub(super) fn write_list(errors: &[Error], out: &mut Vec<u8>) {
    for (at, error) in errors.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        error.write(out);
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
            cost: Some(Cost { cost: 7, maximum: 5 }),
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
        assert_eq!(out, br#"{"message":"no","extensions":{"code":"GRAPHQL_PARSE_FAILED"}}"#);
    }

    #[test]
    fn a_place_counts_lines_and_utf16_units_from_one() {
        let text = "{\n  a\r\n😀b\rc}";
        for (needle, line, column) in [("{", 1, 1), ("a", 2, 3), ("b", 3, 3), ("c", 4, 1)] {
            let offset = text.find(needle).unwrap();
            assert_eq!(Location::of(text, offset), Location { line, column }, "{needle}");
        }
    }

    #[test]
    fn only_a_refused_request_has_another_status_and_only_in_the_newer_media_type() {
        for outcome in [Outcome::Complete, Outcome::Partial, Outcome::Refused, Outcome::Abandoned] {
            assert_eq!(status(outcome, Media::Json), 200);
            let expected = if outcome == Outcome::Refused { 400 } else { 200 };
            assert_eq!(status(outcome, Media::GraphqlResponse), expected);
        }
    }
}

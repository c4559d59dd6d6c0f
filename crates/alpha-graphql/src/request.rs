//! Bodies of requests: JSON as upstream reads it, up to the end of the first value.

use std::fmt;

use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Maximum size of a body in bytes, up to the end of its first JSON value.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// Maximum size of a document in bytes.
pub const MAX_QUERY_BYTES: usize = 100_000;

/// Maximum size in bytes of the variables of a request.
pub const MAX_VARIABLES_BYTES: usize = 100_000;

/// Length in bytes of a document from which parsing and validating it may take longer than half a
/// millisecond.
const LONG_QUERY_BYTES: usize = 1 << 10;

/// A request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AlphaRequest {
    pub(crate) query: String,
    pub(crate) operation_name: Option<String>,
    pub(crate) variables: Map<String, Value>,
}

impl AlphaRequest {
    /// Returns whether parsing and validating the document may take long.
    pub(crate) fn is_long(&self) -> bool {
        self.query.len() > LONG_QUERY_BYTES
    }
}

/// Error in the body of a request, with upstream's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AlphaRequestError {
    #[error("Invalid request body")]
    Body,
    #[error("Query cannot be empty")]
    Empty,
    #[error("Query too large")]
    TooLarge,
}

/// Reads a body up to [`MAX_BODY_BYTES`]; `None` if the client does not send all of it.
pub(crate) async fn read(body: Body) -> Option<Bytes> {
    let mut stream = body.into_data_stream();
    let Some(first) = stream.next().await else {
        return Some(Bytes::new());
    };
    let first = first.ok()?;
    let Some(next) = stream.next().await else {
        return Some(first);
    };
    let mut all = [first, next.ok()?].concat();
    while all.len() < MAX_BODY_BYTES
        && let Some(next) = stream.next().await
    {
        all.extend_from_slice(&next.ok()?);
    }
    Some(all.into())
}

/// Parses a body.
pub(crate) fn parse(body: &[u8]) -> Result<AlphaRequest, AlphaRequestError> {
    let body = &body[..body.len().min(MAX_BODY_BYTES)];
    // Go's decoder ignores what follows the first value.
    let members =
        Option::<BodyMembers>::deserialize(&mut serde_json::Deserializer::from_slice(body));
    let BodyMembers {
        query,
        operation_name,
        variables,
    } = members
        .map_err(|_| AlphaRequestError::Body)?
        .unwrap_or_default();
    match query.len() {
        0 => Err(AlphaRequestError::Empty),
        1..=MAX_QUERY_BYTES => Ok(AlphaRequest {
            query,
            operation_name,
            variables,
        }),
        _ => Err(AlphaRequestError::TooLarge),
    }
}

/// Members of a body. Of several with one name, the last counts.
#[derive(Default)]
struct BodyMembers {
    query: String,
    operation_name: Option<String>,
    variables: Map<String, Value>,
}

impl<'de> Deserialize<'de> for BodyMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;

        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = BodyMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BodyMembers, A::Error> {
                let mut members = BodyMembers::default();
                while let Some(mut key) = map.next_key::<String>()? {
                    // Go's decoder ignores letter case, which is why serde's derive does not do.
                    key.make_ascii_lowercase();
                    match &*key {
                        "query" => {
                            members.query = map.next_value::<Option<String>>()?.unwrap_or_default();
                        }
                        "operationname" => members.operation_name = text(map.next_value()?),
                        "variables" => {
                            members.variables =
                                variables(map.next_value()?).map_err(A::Error::custom)?;
                        }
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(BodyVisitor)
    }
}

/// Returns the name of an operation. Upstream ignores the member, so that other types are no error.
fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(raw.get())
        .ok()
        .filter(|name| !name.is_empty())
}

/// Returns the variables. Upstream ignores the member, so that other types are no error.
fn variables(raw: &RawValue) -> Result<Map<String, Value>, String> {
    if raw.get().len() > MAX_VARIABLES_BYTES {
        return Err(format!(
            "the variables have more than {MAX_VARIABLES_BYTES} bytes"
        ));
    }
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_as_go_reads_it_up_to_the_end_of_the_first_value() {
        for body in [
            r#"{"query":"{a}"}"#,
            " \r\n\t{\"query\":\"{a}\"} garbage",
            r#"{"query":"{a}"}{"query":"{"}"#,
            r#"{"QUERY":"{a}","foo":[1,{}]}"#,
            r#"{"query":"x","query":"{a}","variables":5,"operationName":""}"#,
        ] {
            let expected = AlphaRequest {
                query: "{a}".to_owned(),
                ..AlphaRequest::default()
            };
            assert_eq!(parse(body.as_bytes()), Ok(expected), "{body}");
        }
        for body in ["null", "{}", r#"{"query":null}"#, r#"{"query":""}"#] {
            assert_eq!(
                parse(body.as_bytes()),
                Err(AlphaRequestError::Empty),
                "{body}"
            );
        }
        for body in [
            "",
            "{",
            "\"{a}\"",
            "[]",
            r#"{"query":5}"#,
            "{a}",
            "\u{feff}{\"query\":\"{a}\"}",
        ] {
            assert_eq!(
                parse(body.as_bytes()),
                Err(AlphaRequestError::Body),
                "{body}"
            );
        }
    }

    #[test]
    fn a_document_has_up_to_its_limit() {
        let parsed = |length: usize| {
            parse(format!("{{\"query\":\"{}\"}}", "a".repeat(length)).as_bytes()).map(drop)
        };
        assert_eq!(
            [parsed(MAX_QUERY_BYTES), parsed(MAX_QUERY_BYTES + 1)],
            [Ok(()), Err(AlphaRequestError::TooLarge)]
        );
    }

    #[test]
    fn variables_have_up_to_their_limit() {
        let variables = |length: usize| {
            let text = "a".repeat(length - r#"{"a":""}"#.len());
            parse(format!(r#"{{"query":"{{a}}","variables":{{"a":"{text}"}}}}"#).as_bytes())
                .map(drop)
        };
        let parsed = [
            variables(MAX_VARIABLES_BYTES),
            variables(MAX_VARIABLES_BYTES + 1),
        ];
        assert_eq!(parsed, [Ok(()), Err(AlphaRequestError::Body)]);
    }

    #[tokio::test]
    async fn what_follows_the_longest_body_is_not_read() {
        let chunk = Bytes::from(vec![b' '; 1 << 16]);
        let endless =
            futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
        let read = read(Body::from_stream(endless)).await.unwrap();
        assert_eq!(read.len(), MAX_BODY_BYTES);
    }
}

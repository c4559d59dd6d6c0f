//! Lists that are written while they are sent: a response holds one chunk, however long the list is.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream;
use http_facts::coding::{Coding, CompressionLevel, StreamEncoder};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::negotiation::Format;
use crate::response;
use crate::status::Status;

/// Number of bytes of a list that are written at a time. As with upstream, shorter responses are never compressed.
pub const CHUNK_BYTES: usize = 128 * 1024;

/// Maximum number of lists that are sent in several chunks at a time; a further one is refused with 429, and clients
/// repeat it.
pub const MAX_STREAMED_LISTS: usize = 64;

/// Writes a list in a format: an object whose last member is an array.
struct ListWriter {
    format: Format,
    /// Name of the array.
    member: &'static str,
    is_empty: bool,
}

/// Returns the response with a list: `head` has the other members of the object, `items` are JSON texts.
pub(crate) fn respond(
    (head, member): (&Value, &'static str),
    items: impl Iterator<Item = Vec<u8>> + Send + 'static,
    format: Format,
    headers: &HeaderMap,
    permits: &Arc<Semaphore>,
) -> Result<Response, Status> {
    let mut chunks = chunks(head, member, items, format);
    let first = chunks.next().unwrap_or_default();
    let Some(second) = chunks.next() else { return Ok(response::typed(first, format.media_type())) };
    let permit = Arc::clone(permits).try_acquire_owned().map_err(|_| overloaded())?;
    let chunks = [first, second].into_iter().chain(chunks);
    if !response::accepts_gzip(headers) {
        return Ok(response::typed(body(chunks, permit), format.media_type()));
    }
    let encoder = StreamEncoder::new(Coding::Gzip, CompressionLevel::Fast);
    let encoder = encoder.map_err(|error| Status::internal(format!("cannot compress the list: {error}")))?;
    let mut response = response::typed(body(compressed(chunks, encoder), permit), format.media_type());
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    Ok(response)
}

/// The error of a request that is one too many.
pub(crate) fn overloaded() -> Status {
    Status::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "too many requests at a time: try again later")
}

fn body(chunks: impl Iterator<Item = Vec<u8>> + Send + 'static, permit: OwnedSemaphorePermit) -> Body {
    let chunks = chunks.map(move |chunk| {
        let _held = &permit;
        Ok::<_, std::convert::Infallible>(Bytes::from(chunk))
    });
    Body::from_stream(stream::iter(chunks))
}

fn compressed(mut chunks: impl Iterator<Item = Vec<u8>>, encoder: StreamEncoder) -> impl Iterator<Item = Vec<u8>> {
    let mut encoder = Some(encoder);
    std::iter::from_fn(move || {
        loop {
            // Writing to memory does not fail.
            let Some(chunk) = chunks.next() else { return encoder.take()?.finish().ok() };
            let encoder = encoder.as_mut()?;
            encoder.write(&chunk).ok()?;
            let output = encoder.take_output();
            if !output.is_empty() {
                return Some(output);
            }
        }
    })
}

/// Returns a list in chunks of at least [`CHUNK_BYTES`], except for the last.
fn chunks<I: Iterator<Item = Vec<u8>>>(
    head: &Value,
    member: &'static str,
    mut items: I,
    format: Format,
) -> impl Iterator<Item = Vec<u8>> + use<I> {
    let mut writer = ListWriter { format, member, is_empty: true };
    let mut buffer = writer.head(head);
    let mut has_ended = false;
    std::iter::from_fn(move || {
        while !has_ended && buffer.len() < CHUNK_BYTES {
            if let Some(item) = items.next() {
                writer.push(&item, &mut buffer);
            } else {
                writer.end(&mut buffer);
                has_ended = true;
            }
        }
        (!buffer.is_empty()).then(|| std::mem::take(&mut buffer))
    })
}

impl ListWriter {
    fn head(&self, head: &Value) -> Vec<u8> {
        let (text, member) = (response::value_text(head, self.format), self.member);
        let open = match self.format {
            Format::Json => format!("{},\"{member}\":[", text.strip_suffix('}').unwrap_or(&text)),
            Format::PrettyJson => format!("{},\n  \"{member}\": [", text.strip_suffix("\n}").unwrap_or(&text)),
            Format::Yaml => format!("{text}{member}:"),
        };
        open.into_bytes()
    }

    fn push(&mut self, item: &[u8], out: &mut Vec<u8>) {
        let is_first = std::mem::replace(&mut self.is_empty, false);
        if self.format == Format::Json {
            if !is_first {
                out.push(b',');
            }
            return out.extend_from_slice(item);
        }
        let text = response::convert(item.to_vec(), self.format);
        let text = String::from_utf8_lossy(&text);
        let mut separator = match (self.format, is_first) {
            (Format::Yaml, true) => "\n- ",
            (Format::Yaml, false) => "- ",
            (_, true) => "\n    ",
            (_, false) => ",\n    ",
        };
        for line in text.trim_end_matches('\n').split('\n') {
            out.extend_from_slice(separator.as_bytes());
            out.extend_from_slice(line.as_bytes());
            if self.format == Format::Yaml {
                out.push(b'\n');
            }
            separator = if self.format == Format::Yaml { "  " } else { "\n    " };
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match (self.format, self.is_empty) {
            (Format::Json, _) => b"]}".as_slice(),
            (Format::Yaml, true) => b" []\n",
            (Format::Yaml, false) => b"",
            (_, true) => b"]\n}",
            (_, false) => b"\n  ]\n}",
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(items: &[Value], format: Format) -> String {
        let items: Vec<_> = items.iter().map(|item| item.to_string().into_bytes()).collect();
        let chunks: Vec<_> = chunks(&json!({ "kind": "L" }), "items", items.into_iter(), format).collect();
        String::from_utf8(chunks.concat()).unwrap()
    }

    #[test]
    fn a_list_is_the_same_in_every_format() {
        for items in [vec![], vec![json!({ "a": "x\ny\n" })], vec![json!({ "a": [1, {}] }), json!({ "b": "\n\n # x" })]]
        {
            let expected = json!({ "kind": "L", "items": items });
            assert_eq!(list(&items, Format::Json).parse::<Value>().unwrap(), expected);
            let pretty = list(&items, Format::PrettyJson);
            assert_eq!(pretty.parse::<Value>().unwrap(), expected);
            let is_indented = pretty.lines().skip(1).all(|line| line.starts_with("  ") || line == "}");
            assert!(is_indented, "{pretty}");
            let yaml: Value = serde_saphyr::from_str(&list(&items, Format::Yaml)).unwrap();
            assert_eq!(yaml, expected, "{}", list(&items, Format::Yaml));
        }
    }

    #[test]
    fn a_long_list_comes_in_chunks() {
        let items = (0..100).map(|at| format!("\"{}\"", at.to_string().repeat(10_000)).into_bytes());
        let chunks: Vec<_> = chunks(&json!({ "kind": "L" }), "items", items, Format::Json).collect();
        assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.len() < 2 * CHUNK_BYTES), "{}", chunks.len());
        let all: Value = serde_json::from_slice(&chunks.concat()).unwrap();
        assert_eq!(all["items"].as_array().unwrap().len(), 100);
    }
}

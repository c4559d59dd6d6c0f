//! Lists that are written while they are sent: a response holds one chunk, however long the list
//! is, and each chunk is written in a turn of its own. Texts that are kept elsewhere are sent from
//! there, and compressed ones as they are.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use admission::FairPermit;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream::{self, Stream, StreamExt as _};
use http_content::joined_gzip::JoinedGzip;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::json::JsonText;
use crate::negotiation::Format;
use crate::response;
use crate::status::Status;
use crate::texts::KeptText;
use crate::work::Work;

/// Number of bytes of a list that are written at a time. As with upstream, shorter responses are
/// never compressed.
pub const CHUNK_BYTES: usize = 128 * 1024;

/// Maximum number of lists that are sent in several chunks at a time; a further one is refused with
/// 429, and clients repeat it.
pub const MAX_STREAMED_LISTS: usize = 64;

/// Longest time that such a list takes: until then the client has read it, or the connection is
/// closed.
pub const LIST_TIME: Duration = Duration::from_mins(10);

/// Maximum number of bytes of one list that are compressed while it is sent, besides texts that are
/// kept compressed: about a tenth of a second of a processor. What follows is sent in the same gzip
/// stream as it is.
pub const MAX_COMPRESSED_BYTES: usize = 16 << 20;

/// Shortest text that is sent from where it is kept. Copying a shorter one costs less than a write
/// of its own.
const SHARED_BYTES: usize = 4 * 1024;

/// Longest part that is not compressed in lists that are: what stands between kept texts.
const STORED_BYTES: usize = 4 * 1024;

/// Writes a list in a format: an object whose last member is an array.
struct ListWriter {
    format: Format,
    /// Name of the array.
    member: &'static str,
    is_empty: bool,
}

/// A task that ends when it is dropped.
struct Timer(JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A part of a list.
enum Part {
    Written(Vec<u8>),
    Kept(KeptText),
}

/// Makes the chunks of a list: the frames of about [`CHUNK_BYTES`].
struct Chunks<P> {
    parts: P,
    /// `None` for a list that is not compressed, and behind the end of one that is.
    gzip: Option<JoinedGzip>,
    /// Bytes that may still be compressed.
    compressible: usize,
}

/// What of a list was not sent yet.
type Rest = (
    Pin<Box<dyn Stream<Item = Result<Bytes, axum::Error>> + Send>>,
    FairPermit,
);

/// The rest of a list, which is dropped when its time is over, whether the client reads or not.
#[derive(Clone)]
struct TimedRest(Arc<Mutex<Option<Rest>>>);

/// Returns the response with a list: `head` has the other members of the object.
pub(crate) fn respond(
    (head, member): (&Value, &'static str),
    items: impl Iterator<Item = JsonText> + Send + 'static,
    format: Format,
    headers: &HeaderMap,
    (turn, work): (impl FnOnce() -> Option<FairPermit>, &Work),
) -> Result<Response, Status> {
    let mut parts = parts(head, member, items, format);
    let mut first = Vec::new();
    let mut length = 0;
    while length <= CHUNK_BYTES {
        let Some(part) = parts.next() else {
            let whole: Vec<Bytes> = first.into_iter().map(Part::into_bytes).collect();
            return Ok(response::typed(whole.concat(), format.media_type()));
        };
        length += part.len();
        first.push(part);
    }
    let turn = turn().ok_or_else(overloaded)?;
    let gzip = response::accepts_gzip(headers).then(JoinedGzip::new);
    let is_compressed = gzip.is_some();
    let chunks = Chunks {
        parts: first.into_iter().chain(parts),
        gzip,
        compressible: MAX_COMPRESSED_BYTES,
    };
    let mut response = response::typed(body(chunks, turn, work), format.media_type());
    if is_compressed {
        response
            .headers_mut()
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
            .headers_mut()
            .insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    Ok(response)
}

/// The error of a request that is one too many.
pub(crate) fn overloaded() -> Status {
    Status::new(
        StatusCode::TOO_MANY_REQUESTS,
        "TooManyRequests",
        "too many requests at a time: try again later",
    )
}

/// Returns the body of these chunks. After [`LIST_TIME`] the rest is dropped with the turn, whether
/// the client reads or not.
fn body(
    chunks: impl Iterator<Item = Vec<Bytes>> + Send + 'static,
    turn: FairPermit,
    work: &Work,
) -> Body {
    let frames = work.stream(chunks).flat_map(|chunk| {
        let frames: Vec<_> = match chunk {
            Ok(frames) => frames.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(axum::Error::new(error))],
        };
        stream::iter(frames)
    });
    let rest = TimedRest(Arc::new(Mutex::new(Some((Box::pin(frames), turn)))));
    let end = Instant::now() + LIST_TIME;
    let unsent = Arc::downgrade(&rest.0);
    let timer = Timer(tokio::spawn(async move {
        sleep_until(end).await;
        if let Some(unsent) = unsent.upgrade() {
            drop(TimedRest(unsent).lock().take());
        }
    }));
    Body::from_stream(stream::unfold(
        (rest, timer, end),
        async |(rest, timer, end)| {
            let frame = timeout_at(end, poll_fn(|context| rest.poll(context))).await;
            Some((
                frame.unwrap_or_else(|_| Some(Err(late())))?,
                (rest, timer, end),
            ))
        },
    ))
}

fn late() -> axum::Error {
    axum::Error::new("the client takes too long to read the list")
}

impl TimedRest {
    fn lock(&self) -> MutexGuard<'_, Option<Rest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls for the next frame.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        match &mut *self.lock() {
            Some((frames, _)) => frames.as_mut().poll_next(context),
            None => Poll::Ready(Some(Err(late()))),
        }
    }
}

impl<P: Iterator<Item = Part>> Iterator for Chunks<P> {
    type Item = Vec<Bytes>;

    fn next(&mut self) -> Option<Vec<Bytes>> {
        let mut frames = Vec::new();
        let mut length = 0;
        while length < CHUNK_BYTES {
            let Some(part) = self.parts.next() else {
                frames.extend(self.gzip.take().map(|gzip| gzip.finish().into()));
                break;
            };
            length += part.len();
            match &mut self.gzip {
                Some(gzip) => compress(part, gzip, &mut self.compressible, &mut frames),
                None => frames.push(part.into_bytes()),
            }
        }
        frames.extend(self.gzip.as_mut().map(|gzip| gzip.take_output().into()));
        frames.retain(|frame: &Bytes| !frame.is_empty());
        (!frames.is_empty()).then_some(frames)
    }
}

/// Adds a part to a compressed list. Texts that are kept compressed are frames of their own.
fn compress(part: Part, gzip: &mut JoinedGzip, compressible: &mut usize, frames: &mut Vec<Bytes>) {
    if let Part::Kept(kept) = &part
        && let Some((bytes, checksum)) = kept.deflated()
    {
        return frames.extend([gzip.follow(checksum).into(), bytes]);
    }
    let bytes = part.into_bytes();
    if bytes.len() <= STORED_BYTES || *compressible < bytes.len() {
        return gzip.store(&bytes);
    }
    *compressible -= bytes.len();
    // Writing to memory does not fail.
    gzip.compress(&bytes).expect("a level is valid");
}

/// Returns the parts of a list. What is written for it has at least [`CHUNK_BYTES`], except before
/// kept texts and at the end.
fn parts<I: Iterator<Item = JsonText>>(
    head: &Value,
    member: &'static str,
    mut items: I,
    format: Format,
) -> impl Iterator<Item = Part> + use<I> {
    let mut writer = ListWriter {
        format,
        member,
        is_empty: true,
    };
    let mut buffer = writer.head(head);
    let mut kept = None;
    let mut has_ended = false;
    std::iter::from_fn(move || {
        if let Some(kept) = kept.take() {
            return Some(Part::Kept(kept));
        }
        while !has_ended && buffer.len() < CHUNK_BYTES {
            let Some(item) = items.next() else {
                writer.end(&mut buffer);
                has_ended = true;
                continue;
            };
            if let Some(shared) = writer.push(item, &mut buffer) {
                let (at, text) = shared;
                let behind = buffer.split_off(at);
                kept = Some(text);
                return Some(Part::Written(std::mem::replace(&mut buffer, behind)));
            }
        }
        (!buffer.is_empty()).then(|| Part::Written(std::mem::take(&mut buffer)))
    })
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Written(bytes) => bytes.len(),
            Self::Kept(text) => text.plain.len(),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Written(bytes) => bytes.into(),
            Self::Kept(text) => text.plain,
        }
    }
}

impl ListWriter {
    fn head(&self, head: &Value) -> Vec<u8> {
        let text = response::value_text(head, self.format);
        let member = self.member;
        let open = match self.format {
            Format::Json => format!("{},\"{member}\":[", text.strip_suffix('}').unwrap_or(&text)),
            Format::PrettyJson => format!(
                "{},\n  \"{member}\": [",
                text.strip_suffix("\n}").unwrap_or(&text)
            ),
            Format::Yaml => format!("{text}{member}:"),
        };
        open.into_bytes()
    }

    /// Writes an item. Returns the part of it that was not copied, and where it belongs.
    fn push(&mut self, item: JsonText, out: &mut Vec<u8>) -> Option<(usize, KeptText)> {
        let is_first = std::mem::replace(&mut self.is_empty, false);
        if self.format == Format::Json {
            if !is_first {
                out.push(b',');
            }
            let before = out.len();
            let JsonText { bytes, kept } = item;
            let (at, kept) = match kept {
                Some((at, kept)) if kept.plain.len() < SHARED_BYTES => {
                    out.extend_from_slice(&bytes[..at]);
                    out.extend_from_slice(&kept.plain);
                    (at, None)
                }
                Some((at, kept)) => (0, Some((before + at, kept))),
                None => (0, None),
            };
            out.extend_from_slice(&bytes[at..]);
            return kept;
        }
        self.push_converted(item.into_bytes(), is_first, out);
        None
    }

    /// Writes an item in a format for people.
    fn push_converted(&self, item: Vec<u8>, is_first: bool, out: &mut Vec<u8>) {
        let text = response::convert(item, self.format);
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
            separator = if self.format == Format::Yaml {
                "  "
            } else {
                "\n    "
            };
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
    use std::io::Read as _;

    use serde_json::json;

    use super::*;

    fn text(item: String) -> JsonText {
        JsonText {
            bytes: item.into_bytes(),
            kept: None,
        }
    }

    fn list(items: &[Value], format: Format) -> String {
        let items: Vec<_> = items.iter().map(|item| text(item.to_string())).collect();
        let parts = parts(&json!({ "kind": "L" }), "items", items.into_iter(), format);
        String::from_utf8(parts.map(Part::into_bytes).collect::<Vec<_>>().concat()).unwrap()
    }

    #[test]
    fn a_list_is_the_same_in_every_format() {
        for items in [
            vec![],
            vec![json!({ "a": "x\ny\n" })],
            vec![json!({ "a": [1, {}] }), json!({ "b": "\n\n # x" })],
        ] {
            let expected = json!({ "kind": "L", "items": items });
            assert_eq!(
                list(&items, Format::Json).parse::<Value>().unwrap(),
                expected
            );
            let pretty = list(&items, Format::PrettyJson);
            assert_eq!(pretty.parse::<Value>().unwrap(), expected);
            let is_indented = pretty
                .lines()
                .skip(1)
                .all(|line| line.starts_with("  ") || line == "}");
            assert!(is_indented, "{pretty}");
            let yaml: Value = serde_saphyr::from_str(&list(&items, Format::Yaml)).unwrap();
            assert_eq!(yaml, expected, "{}", list(&items, Format::Yaml));
        }
    }

    #[test]
    fn a_long_list_comes_in_chunks() {
        let items = || (0..100).map(|at| text(format!("\"{}\"", at.to_string().repeat(10_000))));
        let parts = || parts(&json!({ "kind": "L" }), "items", items(), Format::Json);
        let chunks: Vec<_> = parts().map(Part::into_bytes).collect();
        assert!(
            chunks.len() > 5 && chunks.iter().all(|chunk| chunk.len() < 2 * CHUNK_BYTES),
            "{}",
            chunks.len()
        );
        let all = chunks.concat();
        assert_eq!(
            serde_json::from_slice::<Value>(&all).unwrap()["items"]
                .as_array()
                .unwrap()
                .len(),
            100
        );
        let packed = |compressible| {
            let chunks = Chunks {
                parts: parts(),
                gzip: Some(JoinedGzip::new()),
                compressible,
            };
            let chunks: Vec<_> = chunks.map(|frames| frames.concat()).collect();
            assert!(chunks.len() > 5, "{}", chunks.len());
            let packed = chunks.concat();
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&packed[..])
                .read_to_end(&mut unpacked)
                .unwrap();
            assert!(unpacked == all);
            packed.len()
        };
        assert!(packed(all.len()) < all.len() / 10);
        let half = packed(all.len() / 2);
        assert!(
            (all.len() / 2..all.len() * 2 / 3).contains(&half),
            "what is too much is sent as it is: {half}"
        );
    }
}

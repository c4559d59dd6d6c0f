//! Bodies of lists. A list is written while it is sent: a response holds one chunk, however long
//! the list is, and each chunk is written with a permit of its own. Cached manifests are sent from
//! the cache, and compressed ones unchanged.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use admission::{FairPermit, FairSemaphore};
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::stream::{self, Stream, StreamExt as _};
use http_content::joined_gzip::JoinedGzip;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::executor::{RequestExecutor, Requester};
use crate::json::{Splice, SplicedJson};
use crate::manifest_cache::CachedManifest;
use crate::negotiation::Serialization;
use crate::response::{self, CHUNK_BYTES};
use crate::status::Status;

/// Maximum number of lists that are sent in several chunks at a time; a further one is refused with
/// 429, and clients repeat it.
pub const MAX_STREAMED_LISTS: usize = 64;

/// Maximum time for sending such a list. The connection is closed if the client has not read it
/// until then.
pub const LIST_TIME: Duration = Duration::from_mins(10);

/// Maximum number of bytes of one list that are compressed while it is sent, in addition to cached
/// manifests: about a tenth of a second of a processor. The rest is stored uncompressed in the same
/// gzip stream.
pub const MAX_COMPRESSED_BYTES: usize = 16 << 20;

/// Minimum size of a cached manifest that is sent without copying it. Copying a shorter one costs
/// less than a write of its own.
const SPLICED_BYTES: usize = 4 * 1024;

/// Maximum size of a part that is stored uncompressed in a compressed list: the metadata between two
/// cached manifests, for which a gzip block of its own would gain little.
const STORED_BYTES: usize = 4 * 1024;

/// A list without its objects.
pub(crate) struct ListHead {
    /// The members of the list, except the array of objects.
    pub(crate) members: Value,
    /// Name of the array.
    pub(crate) array: &'static str,
}

/// The bounds of a list that is sent in several chunks.
#[derive(Clone, Copy)]
pub(crate) struct ListPermits<'p> {
    /// Bounds the lists that are sent in several chunks.
    pub(crate) lists: &'p FairSemaphore<Requester>,
    pub(crate) requester: &'p Requester,
    /// Writes the chunks.
    pub(crate) executor: &'p RequestExecutor,
}

/// Writes a list: an object whose last member is an array.
struct ListWriter {
    serialization: Serialization,
    /// Name of the array.
    array: &'static str,
    is_empty: bool,
}

/// Aborts a task when it is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A part of a list.
enum ListPart {
    Written(Vec<u8>),
    Cached(CachedManifest),
}

/// Makes the chunks of a list, each as frames of about [`CHUNK_BYTES`] together.
struct ListChunks<P> {
    parts: P,
    /// `None` for a list that is not compressed, and after the end of one that is.
    gzip: Option<JoinedGzip>,
    /// Number of bytes that may still be compressed.
    compressible: usize,
}

/// The part of a list that was not sent yet.
struct UnsentList {
    frames: Pin<Box<dyn Stream<Item = Result<Bytes, axum::Error>> + Send>>,
    _permit: FairPermit,
}

/// The unsent part of a list, which the timer drops at its deadline.
#[derive(Clone)]
struct TimedList(Arc<Mutex<Option<UnsentList>>>);

/// Responds with a list. It is sent in one piece if it has at most one chunk.
pub(crate) fn respond(
    head: &ListHead,
    items: impl Iterator<Item = SplicedJson> + Send + 'static,
    serialization: Serialization,
    headers: &HeaderMap,
    permits: ListPermits<'_>,
) -> Result<Response, Status> {
    let mut parts = parts(head, items, serialization);
    let mut first = Vec::new();
    let mut length = 0;
    while length <= CHUNK_BYTES {
        // A short list needs no permit, and its length is known.
        let Some(part) = parts.next() else {
            let whole: Vec<Bytes> = first.into_iter().map(ListPart::into_bytes).collect();
            return Ok(response::typed(whole.concat(), serialization.media_type()));
        };
        length += part.len();
        first.push(part);
    }

    let permit = permits
        .lists
        .try_acquire(permits.requester)
        .ok_or_else(Status::too_many_requests)?;
    let gzip = response::accepts_gzip(headers).then(JoinedGzip::new);
    let is_compressed = gzip.is_some();
    let chunks = ListChunks {
        parts: first.into_iter().chain(parts),
        gzip,
        compressible: MAX_COMPRESSED_BYTES,
    };
    let body = body(chunks, permit, permits.executor);
    let mut response = response::typed(body, serialization.media_type());
    if is_compressed {
        let headers = response.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    Ok(response)
}

/// Returns the body of these chunks.
fn body(
    chunks: impl Iterator<Item = Vec<Bytes>> + Send + 'static,
    permit: FairPermit,
    executor: &RequestExecutor,
) -> Body {
    let frames = executor.stream(chunks).flat_map(|chunk| {
        let frames: Vec<_> = match chunk {
            Ok(frames) => frames.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(axum::Error::new(error))],
        };
        stream::iter(frames)
    });
    let unsent = UnsentList {
        frames: Box::pin(frames),
        _permit: permit,
    };
    let list = TimedList(Arc::new(Mutex::new(Some(unsent))));
    let end = Instant::now() + LIST_TIME;
    let unsent = Arc::downgrade(&list.0);
    // A client that reads nothing never polls the body: only a task of its own returns the permit.
    let timer = AbortOnDrop(tokio::spawn(async move {
        sleep_until(end).await;
        if let Some(unsent) = unsent.upgrade() {
            drop(TimedList(unsent).lock().take());
        }
    }));
    Body::from_stream(stream::unfold(
        (list, timer, end),
        async |(list, timer, end)| {
            let frame = timeout_at(end, poll_fn(|context| list.poll(context))).await;
            Some((
                frame.unwrap_or_else(|_| Some(Err(late())))?,
                (list, timer, end),
            ))
        },
    ))
}

fn late() -> axum::Error {
    axum::Error::new("the client takes too long to read the list")
}

impl TimedList {
    fn lock(&self) -> MutexGuard<'_, Option<UnsentList>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls for the next frame.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        match &mut *self.lock() {
            Some(unsent) => unsent.frames.as_mut().poll_next(context),
            None => Poll::Ready(Some(Err(late()))),
        }
    }
}

impl<P: Iterator<Item = ListPart>> Iterator for ListChunks<P> {
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

/// Adds a part to a compressed list. Manifests that are cached compressed are frames of their own.
fn compress(
    part: ListPart,
    gzip: &mut JoinedGzip,
    compressible: &mut usize,
    frames: &mut Vec<Bytes>,
) {
    if let ListPart::Cached(manifest) = &part
        && let Some((bytes, checksum)) = manifest.deflated()
    {
        return frames.extend([gzip.follow(checksum).into(), bytes]);
    }
    let bytes = part.into_bytes();
    if bytes.len() <= STORED_BYTES || *compressible < bytes.len() {
        return gzip.store(&bytes);
    }
    *compressible -= bytes.len();
    // The encoder writes to memory, which does not fail.
    gzip.compress(&bytes).expect("a level is valid");
}

/// Returns the parts of a list. Written parts have at least [`CHUNK_BYTES`], except before cached
/// manifests and at the end.
fn parts<I: Iterator<Item = SplicedJson>>(
    head: &ListHead,
    mut items: I,
    serialization: Serialization,
) -> impl Iterator<Item = ListPart> + use<I> {
    let mut writer = ListWriter {
        serialization,
        array: head.array,
        is_empty: true,
    };
    let mut buffer = writer.head(&head.members);
    let mut cached = None;
    let mut has_ended = false;
    std::iter::from_fn(move || {
        if let Some(manifest) = cached.take() {
            return Some(ListPart::Cached(manifest));
        }
        while !has_ended && buffer.len() < CHUNK_BYTES {
            let Some(item) = items.next() else {
                writer.end(&mut buffer);
                has_ended = true;
                continue;
            };
            if let Some(splice) = writer.push(item, &mut buffer) {
                let after = buffer.split_off(splice.position);
                cached = Some(splice.manifest);
                return Some(ListPart::Written(std::mem::replace(&mut buffer, after)));
            }
        }
        (!buffer.is_empty()).then(|| ListPart::Written(std::mem::take(&mut buffer)))
    })
}

impl ListPart {
    fn len(&self) -> usize {
        match self {
            Self::Written(bytes) => bytes.len(),
            Self::Cached(manifest) => manifest.plain.len(),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Written(bytes) => bytes.into(),
            Self::Cached(manifest) => manifest.plain,
        }
    }
}

impl ListWriter {
    fn head(&self, members: &Value) -> Vec<u8> {
        let text = response::value_text(members, self.serialization);
        let array = self.array;
        let open = match self.serialization {
            Serialization::Json => {
                format!("{},\"{array}\":[", text.strip_suffix('}').unwrap_or(&text))
            }
            Serialization::PrettyJson => format!(
                "{},\n  \"{array}\": [",
                text.strip_suffix("\n}").unwrap_or(&text)
            ),
            Serialization::Yaml => format!("{text}{array}:"),
        };
        open.into_bytes()
    }

    /// Writes an item. Returns the manifest that was not copied, with its position in `out`.
    fn push(&mut self, item: SplicedJson, out: &mut Vec<u8>) -> Option<Splice> {
        let is_first = std::mem::replace(&mut self.is_empty, false);
        if self.serialization != Serialization::Json {
            self.push_converted(item.into_bytes(), is_first, out);
            return None;
        }
        if !is_first {
            out.push(b',');
        }
        let start = out.len();
        let SplicedJson { bytes, splice } = item;
        match splice {
            Some(Splice { position, manifest }) if manifest.plain.len() < SPLICED_BYTES => {
                let (before, after) = bytes.split_at(position);
                out.extend_from_slice(before);
                out.extend_from_slice(&manifest.plain);
                out.extend_from_slice(after);
                None
            }
            splice => {
                out.extend_from_slice(&bytes);
                splice.map(|splice| Splice {
                    position: start + splice.position,
                    ..splice
                })
            }
        }
    }

    /// Writes an item in a serialization for people.
    fn push_converted(&self, item: Vec<u8>, is_first: bool, out: &mut Vec<u8>) {
        let is_yaml = self.serialization == Serialization::Yaml;
        let text = response::convert(item, self.serialization);
        let text = String::from_utf8_lossy(&text);
        let mut separator = match (is_yaml, is_first) {
            (true, true) => "\n- ",
            (true, false) => "- ",
            (false, true) => "\n    ",
            (false, false) => ",\n    ",
        };
        for line in text.trim_end_matches('\n').split('\n') {
            out.extend_from_slice(separator.as_bytes());
            out.extend_from_slice(line.as_bytes());
            if is_yaml {
                out.push(b'\n');
            }
            separator = if is_yaml { "  " } else { "\n    " };
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match (self.serialization, self.is_empty) {
            (Serialization::Json, _) => b"]}".as_slice(),
            (Serialization::Yaml, true) => b" []\n",
            (Serialization::Yaml, false) => b"",
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

    fn text(item: String) -> SplicedJson {
        SplicedJson {
            bytes: item.into_bytes(),
            splice: None,
        }
    }

    fn head() -> ListHead {
        ListHead {
            members: json!({ "kind": "L" }),
            array: "items",
        }
    }

    fn list(items: &[Value], serialization: Serialization) -> String {
        let items: Vec<_> = items.iter().map(|item| text(item.to_string())).collect();
        let parts = parts(&head(), items.into_iter(), serialization);
        String::from_utf8(parts.map(ListPart::into_bytes).collect::<Vec<_>>().concat()).unwrap()
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
                list(&items, Serialization::Json).parse::<Value>().unwrap(),
                expected
            );
            let pretty = list(&items, Serialization::PrettyJson);
            assert_eq!(pretty.parse::<Value>().unwrap(), expected);
            let is_indented = pretty
                .lines()
                .skip(1)
                .all(|line| line.starts_with("  ") || line == "}");
            assert!(is_indented, "{pretty}");
            let yaml: Value = serde_saphyr::from_str(&list(&items, Serialization::Yaml)).unwrap();
            assert_eq!(yaml, expected, "{}", list(&items, Serialization::Yaml));
        }
    }

    #[test]
    fn a_long_list_comes_in_chunks() {
        let items = || (0..100).map(|at| text(format!("\"{}\"", at.to_string().repeat(10_000))));
        let parts = || parts(&head(), items(), Serialization::Json);
        let chunks: Vec<_> = parts().map(ListPart::into_bytes).collect();
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
            let chunks = ListChunks {
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

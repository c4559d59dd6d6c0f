//! The open requests of an HTTP/2 connection: whether it is idle, and whether the client accepts
//! its responses.
//!
//! A client may keep a connection alive (by pings, or other requests) and yet grant no window for a
//! response. h2 does not report that; but it drops each chunk of a body once the chunk is sent,
//! and that is what is observed here.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::connection_slots::StreamSlot;
use crate::requests::ObservedBody;

/// Maximum length in bytes of a chunk of a response body: progress is seen when one is sent. With
/// the head of its frame, it fills one TLS record instead of two.
const CHUNK_BYTES: usize = 16 * 1024 - 9;

/// The open requests of a connection.
pub(crate) struct Http2Streams(Mutex<OpenHttp2Streams>);

struct OpenHttp2Streams {
    next_id: u64,
    /// Moment at which the last request ended; meaningless while one is open.
    idle_since: Instant,
    open: HashMap<u64, UnsentResponse>,
}

/// Chunks of a response that the client has not accepted.
struct UnsentResponse {
    /// Number of chunks.
    chunks: usize,
    /// Moment at which the last chunk was added or sent.
    progress: Instant,
}

/// A request, until the last chunk of its response is sent or given up.
pub(crate) struct Http2Stream {
    streams: Arc<Http2Streams>,
    id: u64,
    _slot: StreamSlot,
}

/// The body of a response, in chunks that record when they are sent.
pub(crate) struct Http2Body {
    body: ObservedBody,
    stream: Arc<Http2Stream>,
    /// Rest of the last frame of `body`.
    rest: Bytes,
}

/// A chunk of a body. Dropping it records progress.
struct BodyChunk {
    bytes: Bytes,
    stream: Arc<Http2Stream>,
}

impl Http2Streams {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(OpenHttp2Streams {
            next_id: 0,
            idle_since: Instant::now(),
            open: HashMap::new(),
        })))
    }

    /// Begins a request.
    pub(crate) fn begin(self: &Arc<Self>, slot: StreamSlot) -> Arc<Http2Stream> {
        let mut state = self.state();
        let id = state.next_id;
        state.next_id += 1;
        state.open.insert(
            id,
            UnsentResponse {
                chunks: 0,
                progress: Instant::now(),
            },
        );
        Arc::new(Http2Stream {
            streams: Arc::clone(self),
            id,
            _slot: slot,
        })
    }

    /// Returns the time since the last request ended; `None` if one is open.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let state = self.state();
        state.open.is_empty().then(|| state.idle_since.elapsed())
    }

    /// Returns the longest time for which the client has accepted nothing of a response; `None` if
    /// no response has unsent chunks.
    pub(crate) fn stalled(&self) -> Option<Duration> {
        let state = self.state();
        state
            .open
            .values()
            .filter(|unsent| unsent.chunks > 0)
            .map(|unsent| unsent.progress.elapsed())
            .max()
    }

    fn state(&self) -> MutexGuard<'_, OpenHttp2Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Http2Stream {
    /// Makes a chunk of bytes that are to be sent.
    fn chunk(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        // h2 drops the bytes once they are in the buffer of the connection.
        self.count(|chunks| chunks + 1);
        Bytes::from_owner(BodyChunk {
            bytes,
            stream: Arc::clone(self),
        })
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        if let Some(unsent) = self.streams.state().open.get_mut(&self.id) {
            *unsent = UnsentResponse {
                chunks: change(unsent.chunks),
                progress: Instant::now(),
            };
        }
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.open.remove(&self.id);
        state.idle_since = Instant::now();
    }
}

impl AsRef<[u8]> for BodyChunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BodyChunk {
    fn drop(&mut self) {
        self.stream.count(|chunks| chunks.saturating_sub(1));
    }
}

impl Http2Body {
    pub(crate) fn new(body: ObservedBody, stream: Arc<Http2Stream>) -> Self {
        Self {
            body,
            stream,
            rest: Bytes::new(),
        }
    }
}

impl HttpBody for Http2Body {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                // Nothing of an empty frame has to be accepted.
                Ok(data) if data.is_empty() => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(CHUNK_BYTES);
        let bytes = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(self.stream.chunk(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint_after(self.rest.len())
    }
}

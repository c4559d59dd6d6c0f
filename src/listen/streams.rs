//! The requests of an HTTP/2 connection: whether there are any, and whether the client accepts what
//! it asked for.
//!
//! A client may keep a connection alive and yet grant no window for a response. Only the pieces of
//! the response show that: they are dropped once they are sent.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::exchange::ExchangeBody;

use super::connections::StreamPlace;
use super::service::hint_with;

/// Maximum length in bytes of a piece of a response body: progress is seen when one is sent. With
/// the head of its frame, it fills the record of TLS that it is sent in.
const PIECE_BYTES: usize = 16 * 1024 - 9;

/// The requests of a connection.
pub(super) struct Streams(Mutex<OpenStreams>);

struct OpenStreams {
    next_id: u64,
    /// Moment from which on there was no request; meaningless while there is one.
    idle_since: Instant,
    open: HashMap<u64, Unsent>,
}

/// What a client has not accepted yet of a response.
struct Unsent {
    /// Number of pieces.
    pieces: usize,
    /// When the last piece was added or sent.
    progress: Instant,
}

/// A request, until the last piece of its response is sent or given up.
pub(super) struct Stream {
    streams: Arc<Streams>,
    id: u64,
    _place: StreamPlace,
}

/// The body of a response, in pieces that say when they are sent.
pub(super) struct StreamBody {
    body: ExchangeBody,
    stream: Arc<Stream>,
    /// What is left of the last frame of `body`.
    rest: Bytes,
}

/// A piece of a body.
struct Piece {
    bytes: Bytes,
    stream: Arc<Stream>,
}

impl Streams {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(OpenStreams {
            next_id: 0,
            idle_since: Instant::now(),
            open: HashMap::new(),
        })))
    }

    /// Begins a request.
    pub(super) fn begin(self: &Arc<Self>, place: StreamPlace) -> Arc<Stream> {
        let mut state = self.state();
        let id = state.next_id;
        state.next_id += 1;
        state.open.insert(
            id,
            Unsent {
                pieces: 0,
                progress: Instant::now(),
            },
        );
        Arc::new(Stream {
            streams: Arc::clone(self),
            id,
            _place: place,
        })
    }

    /// Returns how long there has been no request; `None` if there is one.
    pub(super) fn idle(&self) -> Option<Duration> {
        let state = self.state();
        state.open.is_empty().then(|| state.idle_since.elapsed())
    }

    /// Returns how long the client has accepted nothing of a response, for the response for which
    /// that is longest.
    pub(super) fn stalled(&self) -> Option<Duration> {
        let state = self.state();
        state
            .open
            .values()
            .filter(|unsent| unsent.pieces > 0)
            .map(|unsent| unsent.progress.elapsed())
            .max()
    }

    fn state(&self) -> MutexGuard<'_, OpenStreams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// Makes a piece of bytes that are to be sent.
    fn piece(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        self.count(|pieces| pieces + 1);
        Bytes::from_owner(Piece {
            bytes,
            stream: Arc::clone(self),
        })
    }

    fn count(&self, change: impl FnOnce(usize) -> usize) {
        if let Some(unsent) = self.streams.state().open.get_mut(&self.id) {
            *unsent = Unsent {
                pieces: change(unsent.pieces),
                progress: Instant::now(),
            };
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.open.remove(&self.id);
        state.idle_since = Instant::now();
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.stream.count(|pieces| pieces.saturating_sub(1));
    }
}

impl StreamBody {
    pub(super) fn new(body: ExchangeBody, stream: Arc<Stream>) -> Self {
        Self {
            body,
            stream,
            rest: Bytes::new(),
        }
    }
}

impl HttpBody for StreamBody {
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
                Ok(data) if data.is_empty() => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(PIECE_BYTES);
        let bytes = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(self.stream.piece(bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        hint_with(self.rest.len(), &self.body.size_hint())
    }
}

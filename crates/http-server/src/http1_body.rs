//! Bodies of responses over HTTP/1.1.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::connection_slots::BusyGuard;
use crate::requests::ObservedBody;

/// Number of bytes of a body after which other tasks of the thread run.
pub const FAIR_BYTES: usize = 256 * 1024;

/// The body of a response over HTTP/1.1. The connection is busy until it is sent; it is passed on
/// in pieces between which other tasks of the thread run.
pub(crate) struct Http1Body {
    body: ObservedBody,
    /// Rest of the last frame of `body`.
    rest: Bytes,
    /// Number of bytes since other tasks could run.
    sent: usize,
    _busy: BusyGuard,
}

impl Http1Body {
    pub(crate) fn new(body: ObservedBody, busy: BusyGuard) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            sent: 0,
            _busy: busy,
        }
    }
}

impl HttpBody for Http1Body {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // hyper writes one frame after the other for as long as the socket takes them: a whole
        // catalog, if the client reads fast. `FAIR_BYTES` take a tenth of a millisecond.
        if self.sent >= FAIR_BYTES {
            self.sent = 0;
            // A task that wakes itself is scheduled after those that are ready.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(FAIR_BYTES - self.sent);
        self.sent += length;
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint_after(self.rest.len())
    }
}

//! Bodies that are encoded step by step on threads that serve no connections: while one of those
//! encodes and compresses, probes would wait.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use admission::{FairSemaphore, Peer};
use axum::body::{Bytes, HttpBody};
use futures_util::{Stream, StreamExt as _, stream};
use http_body::Frame;
use tonic::{Status, body::Body};

/// Number of bytes after which a step ends, with the message that reaches it.
const STEP_BYTES: usize = 32 * 1024;

/// A body whose steps are encoded one at a time, each with a permit of its peer.
pub(crate) struct OffloadedBody {
    frames: Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Status>> + Send>>,
}

/// The steps of a body whose frames are always ready.
struct BodySteps(Option<Body>);

impl OffloadedBody {
    /// Encodes a body whose frames are always ready.
    pub(crate) fn new(body: Body, permits: &FairSemaphore<Peer>, peer: Peer) -> Self {
        let frames = permits
            .stream(peer, BodySteps(Some(body)))
            .flat_map(|step| {
                stream::iter(
                    step.unwrap_or_else(|error| vec![Err(Status::internal(error.to_string()))]),
                )
            });
        Self {
            frames: Box::pin(frames),
        }
    }
}

impl Iterator for BodySteps {
    type Item = Vec<Result<Frame<Bytes>, Status>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut frames = Vec::new();
        let mut length = 0;
        while let Some(body) = self.0.as_mut().filter(|_| length < STEP_BYTES) {
            let Poll::Ready(Some(frame)) =
                Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
            else {
                self.0 = None;
                break;
            };
            length += frame
                .as_ref()
                .ok()
                .and_then(Frame::data_ref)
                .map_or(0, Bytes::len);
            frames.push(frame);
        }
        (!frames.is_empty()).then_some(frames)
    }
}

impl HttpBody for OffloadedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.frames.as_mut().poll_next(context)
    }
}

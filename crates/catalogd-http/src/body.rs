//! A body that is a sequence of slices of one content: nothing of it is copied before it reaches the socket.
//!
//! It does not know what the slices say.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

/// Slices of one content, in the order in which they are sent.
#[derive(Debug)]
pub(super) struct Slices {
    content: Bytes,
    rest: VecDeque<Slice>,
    length: u64,
}

/// A piece of a body.
#[derive(Debug)]
enum Slice {
    Of(Range<usize>),
    Own(Bytes),
}

impl Slices {
    /// No slices yet.
    pub(super) fn of(content: Bytes) -> Self {
        Self { content, rest: VecDeque::new(), length: 0 }
    }

    /// The whole content.
    pub(super) fn whole(content: Bytes) -> Self {
        let all = 0..content.len();
        let mut slices = Self::of(content);
        slices.push(all);
        slices
    }

    /// Adds a slice of the content; one that follows on the slice before it becomes a part of that.
    pub(super) fn push(&mut self, range: Range<usize>) {
        self.length += range.len() as u64;
        match self.rest.back_mut() {
            Some(Slice::Of(before)) if before.end == range.start => before.end = range.end,
            _ if range.is_empty() => {}
            _ => self.rest.push_back(Slice::Of(range)),
        }
    }

    /// How many bytes there are.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// All bytes in one.
    pub(super) fn concat(self) -> Bytes {
        let piece = |slice: &Slice| match slice {
            Slice::Of(range) => self.content.slice(range.clone()),
            Slice::Own(bytes) => bytes.clone(),
        };
        match self.rest.len() {
            1 => piece(&self.rest[0]),
            _ => self.rest.iter().map(piece).collect::<Vec<_>>().concat().into(),
        }
    }

    /// Adds what is not of the content.
    pub(super) fn push_own(&mut self, bytes: Bytes) {
        self.length += bytes.len() as u64;
        self.rest.push_back(Slice::Own(bytes));
    }
}

impl HttpBody for Slices {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.rest.pop_front() {
            Some(Slice::Of(range)) => self.content.slice(range),
            Some(Slice::Own(bytes)) => bytes,
            None => return Poll::Ready(None),
        };
        self.length -= bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

impl From<Slices> for Body {
    fn from(slices: Slices) -> Self {
        Self::new(slices)
    }
}

#[cfg(test)]
mod tests;

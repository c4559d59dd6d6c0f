//! Bodies made of slices of one content: sent as they are, without copying, or compressed while
//! they are sent.
//!
//! This module does not know what the slices contain.

mod compressed;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

pub(super) use compressed::{CompressedSlices, STEP_BYTES};

/// Slices of one content, in the order in which they are sent.
pub(super) struct Slices {
    content: Bytes,
    queue: VecDeque<Slice>,
    /// Ranges of the content after those of the queue, which are computed when they are sent.
    rest: Option<Ranges>,
    /// Total length of the slices in bytes.
    length: u64,
}

/// Ranges of a content that are computed one by one.
type Ranges = Box<dyn Iterator<Item = Range<usize>> + Send>;

/// One piece of a body.
#[derive(Debug)]
enum Slice {
    /// A range of the content.
    Content(Range<usize>),
    /// Bytes that the content does not contain, such as the boundary between two parts.
    Inserted(Bytes),
}

impl Slices {
    /// Creates an empty sequence of slices of a content.
    pub(super) fn new(content: Bytes) -> Self {
        Self {
            content,
            queue: VecDeque::new(),
            rest: None,
            length: 0,
        }
    }

    /// Creates a sequence with the whole content as its only slice.
    pub(super) fn whole(content: Bytes) -> Self {
        let all = 0..content.len();
        let mut slices = Self::new(content);
        slices.push(all);
        slices
    }

    /// Creates a sequence of ranges that have `length` bytes in total and are computed when they
    /// are sent, so that a response that is read slowly takes no more memory than the iterator. No
    /// range is empty.
    pub(super) fn lazy(
        content: Bytes,
        length: u64,
        ranges: impl Iterator<Item = Range<usize>> + Send + 'static,
    ) -> Self {
        Self {
            content,
            queue: VecDeque::new(),
            rest: Some(Box::new(ranges)),
            length,
        }
    }

    /// Appends a range of the content, merging it with the last one if it is adjacent.
    pub(super) fn push(&mut self, range: Range<usize>) {
        self.length += range.len() as u64;
        match self.queue.back_mut() {
            Some(Slice::Content(last)) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.queue.push_back(Slice::Content(range)),
        }
    }

    /// Appends bytes that are not part of the content.
    pub(super) fn push_inserted(&mut self, bytes: Bytes) {
        self.length += bytes.len() as u64;
        self.queue.push_back(Slice::Inserted(bytes));
    }

    /// Returns the total length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Concatenates all slices. Several are copied, a single one is not.
    pub(super) fn concat(mut self) -> Bytes {
        let Some(first) = self.pop(usize::MAX) else {
            return Bytes::new();
        };
        if self.length == 0 {
            return first;
        }
        let mut all = Vec::with_capacity(first.len() + usize::try_from(self.length).unwrap_or(0));
        all.extend_from_slice(&first);
        while let Some(next) = self.pop(usize::MAX) {
            all.extend_from_slice(&next);
        }
        all.into()
    }

    /// Removes up to `max` bytes of the first slice and returns them without copying; `None` after
    /// the last slice.
    pub(super) fn pop(&mut self, max: usize) -> Option<Bytes> {
        if self.queue.is_empty() {
            self.queue
                .extend(self.rest.as_mut()?.next().map(Slice::Content));
        }
        let bytes = match self.queue.front_mut()? {
            Slice::Content(range) => {
                let end = range.end.min(range.start.saturating_add(max));
                let bytes = self.content.slice(range.start..end);
                range.start = end;
                bytes
            }
            Slice::Inserted(bytes) => bytes.split_to(max.min(bytes.len())),
        };
        let is_sent = match self.queue.front()? {
            Slice::Content(range) => range.is_empty(),
            Slice::Inserted(bytes) => bytes.is_empty(),
        };
        if is_sent {
            self.queue.pop_front();
        }
        self.length -= bytes.len() as u64;
        Some(bytes)
    }
}

impl HttpBody for Slices {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pop(usize::MAX).map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0
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

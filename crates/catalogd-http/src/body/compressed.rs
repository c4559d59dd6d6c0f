//! Slices that are compressed while they are sent, a bounded step at a time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use http_facts::coding::{Coding, CompressionLevel, StreamEncoder};

use http_facts::permits::Permit;

use super::Slices;

/// Maximum number of bytes that are compressed before other tasks of the thread run: less than a millisecond of work.
pub(super) const STEP_BYTES: usize = 64 * 1024;

/// A body that compresses slices while it is sent. Its memory is that of one encoder and the output of one step,
/// whatever the length of the slices; its own length is unknown.
pub(in super::super) struct CompressedSlices {
    slices: Slices,
    /// `None` after the end of the stream.
    encoder: Option<StreamEncoder>,
    /// Whether the last poll did a step, so that the next one yields to other tasks first.
    must_yield: bool,
    /// Held until the body is sent or dropped.
    _permit: Permit,
}

impl CompressedSlices {
    /// Creates a body that compresses slices for one response.
    pub(in super::super) fn new(slices: Slices, coding: Coding, permit: Permit) -> io::Result<Self> {
        let encoder = Some(StreamEncoder::new(coding, CompressionLevel::Fast)?);
        Ok(Self { slices, encoder, must_yield: false, _permit: permit })
    }

    /// Compresses up to [`STEP_BYTES`] and returns the output, which may be empty; `None` after the end of the stream.
    fn step(&mut self) -> io::Result<Option<Bytes>> {
        let Some(encoder) = &mut self.encoder else { return Ok(None) };
        let mut budget = STEP_BYTES;
        while budget > 0 {
            let Some(bytes) = self.slices.pop(budget) else {
                let rest = self.encoder.take().map(StreamEncoder::finish).transpose()?;
                return Ok(rest.map(Bytes::from));
            };
            encoder.write(&bytes)?;
            budget -= bytes.len();
        }
        Ok(Some(encoder.take_output().into()))
    }
}

impl HttpBody for CompressedSlices {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        // One step per poll and a yield after each: a client that reads quickly would otherwise keep this thread for as
        // long as the whole body takes. A task that wakes itself is scheduled behind those that are ready.
        if !std::mem::take(&mut self.must_yield) {
            self.must_yield = true;
            match self.step() {
                // A frame of no bytes would end a chunked body.
                Ok(Some(output)) if output.is_empty() => self.must_yield = false,
                output => return Poll::Ready(output.map(|output| output.map(Frame::data)).transpose()),
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.encoder.is_none()
    }
}

impl From<CompressedSlices> for Body {
    fn from(slices: CompressedSlices) -> Self {
        Self::new(slices)
    }
}

#[cfg(test)]
mod tests;

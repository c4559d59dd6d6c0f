//! Slices that are compressed while they are sent, a bounded step at a time.

use std::future::ready;
use std::io;

use admission::{FairSemaphore, Peer, PeerPermit};
use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use http_content::coding::{Coding, CompressionLevel, StreamEncoder};

use super::Slices;

/// Maximum number of bytes that are compressed with one permit: less than a millisecond of work.
pub(in super::super) const STEP_BYTES: usize = 64 * 1024;

/// Slices that are compressed step by step. The memory is that of one encoder and the output of one
/// step, whatever the length of the slices. The total length is unknown.
pub(in super::super) struct CompressedSlices {
    slices: Slices,
    /// `None` after the end of the stream.
    encoder: Option<StreamEncoder>,
    /// Held until the body is sent or dropped.
    _permit: PeerPermit,
}

impl CompressedSlices {
    /// Prepares to compress slices for one response.
    pub(in super::super) fn new(
        slices: Slices,
        coding: Coding,
        permit: PeerPermit,
    ) -> io::Result<Self> {
        let encoder = Some(StreamEncoder::new(coding, CompressionLevel::Fast)?);
        Ok(Self {
            slices,
            encoder,
            _permit: permit,
        })
    }

    /// Returns a body whose steps each wait for a permit of the peer, and run on threads that serve
    /// no connections.
    pub(in super::super) fn body(self, work: &FairSemaphore<Peer>, peer: Peer) -> Body {
        let outputs = work
            .stream(peer, self)
            .map(|step| step.map_err(axum::Error::new)?.map_err(axum::Error::new));
        // A frame of no bytes would end a chunked body.
        Body::from_stream(
            outputs.filter(|output| ready(output.as_ref().map_or(true, |bytes| !bytes.is_empty()))),
        )
    }

    /// Compresses up to [`STEP_BYTES`] and returns the output, which may be empty; `None` after the
    /// end of the stream.
    fn step(&mut self) -> io::Result<Option<Bytes>> {
        let Some(encoder) = &mut self.encoder else {
            return Ok(None);
        };
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

impl Iterator for CompressedSlices {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        self.step().transpose()
    }
}

#[cfg(test)]
mod tests;

//! Packet lines of git's protocol, as they arrive in a response.

use std::time::Instant;

use reqwest::Response;
use tokio::time::{Instant as TokioInstant, timeout_at};

use super::tree::shown;
use crate::validators::without_query;
use crate::{FetchLimits, GitReason, RemoteError, RemoteReference};

/// Number of bytes of the length of a packet.
const LENGTH_BYTES: usize = 4;

/// A packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Data(Vec<u8>),
    Delimiter,
    Flush,
}

/// Reads the packets of a response.
pub(super) struct PacketReader<'a> {
    reference: &'a RemoteReference,
    response: Response,
    limits: FetchLimits,
    deadline: TokioInstant,
    started: Instant,
    /// Maximum number of bytes of the response, and the error beyond.
    limit: u64,
    too_large: fn(u64) -> GitReason,
    received: u64,
    /// Bytes that have arrived, of which the first `taken` are read.
    buffer: Vec<u8>,
    taken: usize,
}

/// Appends a packet with a line.
pub(super) fn write_line(body: &mut Vec<u8>, line: &str) {
    body.extend(format!("{:04x}{line}\n", line.len() + LENGTH_BYTES + 1).bytes());
}

impl<'a> PacketReader<'a> {
    pub(super) fn new(
        reference: &'a RemoteReference,
        response: Response,
        limits: FetchLimits,
        deadline: TokioInstant,
    ) -> Self {
        Self {
            reference,
            response,
            limits,
            deadline,
            started: Instant::now(),
            limit: limits.body_bytes,
            too_large: GitReason::PackTooLarge,
            received: 0,
            buffer: Vec::new(),
            taken: 0,
        }
    }

    /// Refuses a response of more bytes.
    #[must_use]
    pub(super) fn at_most(self, limit: u64, too_large: fn(u64) -> GitReason) -> Self {
        Self {
            limit,
            too_large,
            ..self
        }
    }

    /// Returns the number of bytes that have arrived.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Reads the next packet; `None` at the end of the response.
    pub(super) async fn next(&mut self) -> Result<Option<Packet>, RemoteError> {
        while self.buffer.len() - self.taken < LENGTH_BYTES {
            if !self.receive().await? {
                if self.buffer.len() > self.taken {
                    return Err(self.interrupted(None));
                }
                return Ok(None);
            }
        }
        let digits = &self.buffer[self.taken..self.taken + LENGTH_BYTES];
        // `from_str_radix` allows a sign.
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let length = match length {
            Some(0) => {
                self.taken += LENGTH_BYTES;
                return Ok(Some(Packet::Flush));
            }
            // 2 ends a response, which its HTTP body does, too.
            Some(1 | 2) => {
                self.taken += LENGTH_BYTES;
                return Ok(Some(Packet::Delimiter));
            }
            Some(length) if length >= LENGTH_BYTES => length,
            _ => return Err(self.protocol("a packet has no length")),
        };
        while self.buffer.len() - self.taken < length {
            if !self.receive().await? {
                return Err(self.interrupted(None));
            }
        }
        let data = self.buffer[self.taken + LENGTH_BYTES..self.taken + length].to_vec();
        self.taken += length;
        if let Some(message) = data.strip_prefix(b"ERR ") {
            return Err(self.refused(GitReason::Server(shown(message.trim_ascii()))));
        }
        Ok(Some(Packet::Data(data)))
    }

    /// Reads a packet inside of a section.
    pub(super) async fn expect(&mut self) -> Result<Packet, RemoteError> {
        match self.next().await? {
            Some(packet) => Ok(packet),
            None => Err(self.interrupted(None)),
        }
    }

    /// Receives more bytes; returns `false` if none follow.
    async fn receive(&mut self) -> Result<bool, RemoteError> {
        let chunk = match timeout_at(self.deadline, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(false),
            Ok(Err(error)) => return Err(self.interrupted(Some(error.without_url()))),
            Err(_) => return Err(self.too_slow()),
        };
        self.received += chunk.len() as u64;
        if self.received > self.limit {
            return Err(self.refused((self.too_large)(self.limit)));
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(&chunk);
        let elapsed = self.started.elapsed().saturating_sub(self.limits.silence);
        let least = elapsed
            .as_secs()
            .saturating_mul(self.limits.min_bytes_per_second);
        if self.received < least {
            return Err(self.too_slow());
        }
        Ok(true)
    }

    pub(super) fn protocol(&self, reason: &'static str) -> RemoteError {
        self.refused(GitReason::Protocol(reason))
    }

    pub(super) fn refused(&self, reason: GitReason) -> RemoteError {
        RemoteError::Git {
            reference: self.reference.to_string(),
            reason,
        }
    }

    fn interrupted(&self, source: Option<reqwest::Error>) -> RemoteError {
        RemoteError::Interrupted {
            url: without_query(self.reference.url()),
            downloaded: self.received,
            expected: None,
            source,
        }
    }

    fn too_slow(&self) -> RemoteError {
        RemoteError::TooSlow {
            url: without_query(self.reference.url()),
            downloaded: self.received,
            seconds: self.started.elapsed().as_secs(),
        }
    }
}

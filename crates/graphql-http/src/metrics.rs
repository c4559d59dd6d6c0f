//! What this crate counts: open streams, their events, and the bytes of responses that clients have
//! not read yet.

use std::sync::Arc;

use metrics::{Counter, Family, Gauge, labels};

use super::budget::ByteBudget;

labels! {
    /// How events reach a client.
    pub enum StreamTransport {
        /// An event stream (Server-Sent Events).
        Sse = "sse",
        /// A WebSocket, which may have several subscriptions.
        WebSocket = "websocket",
    }
}

/// Counters of streams. Clones share them.
#[derive(Clone)]
pub struct TransportMetrics(Arc<Shared>);

struct Shared {
    /// Running subscriptions.
    streams: Family<StreamTransport, Gauge>,
    /// Events of subscriptions that were sent.
    events: Family<StreamTransport, Counter>,
    in_flight: ByteBudget,
}

/// A subscription that is counted until this is dropped.
pub(super) struct CountedStream(TransportMetrics, StreamTransport);

impl TransportMetrics {
    pub(super) fn new(in_flight: ByteBudget) -> Self {
        Self(Arc::new(Shared {
            streams: Family::default(),
            events: Family::default(),
            in_flight,
        }))
    }

    /// Running subscriptions.
    pub fn streams(&self) -> &Family<StreamTransport, Gauge> {
        &self.0.streams
    }

    /// Events of subscriptions that were sent.
    pub fn events(&self) -> &Family<StreamTransport, Counter> {
        &self.0.events
    }

    /// Bytes of responses that clients have not read yet.
    pub fn bytes_in_flight(&self) -> usize {
        self.0.in_flight.used_bytes()
    }

    /// Counts a subscription.
    pub(super) fn open(&self, transport: StreamTransport) -> CountedStream {
        self.0.streams[transport].increment();
        CountedStream(self.clone(), transport)
    }
}

impl CountedStream {
    /// Counts an event.
    pub(super) fn event(&self) {
        self.0.0.events[self.1].increment();
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        self.0.0.streams[self.1].decrement();
    }
}

//! Metrics: open streams, their events, and the bytes of responses that clients have not read yet.

use std::sync::Arc;

use metrics::{Counter, Family, Gauge, labels};

use super::budget::ByteBudget;

labels! {
    /// Transport of the events of a stream.
    pub enum StreamTransport {
        /// An event stream (Server-Sent Events).
        Sse = "sse",
        /// A WebSocket, which may have several subscriptions.
        WebSocket = "websocket",
    }
}

/// Metrics of streams. Clones share them.
#[derive(Clone)]
pub struct TransportMetrics(Arc<TransportCounters>);

struct TransportCounters {
    /// Running subscriptions.
    streams: Family<StreamTransport, Gauge>,
    /// Events of subscriptions that were sent.
    events: Family<StreamTransport, Counter>,
    in_flight: ByteBudget,
}

/// Counts a subscription as open until it is dropped.
pub(super) struct CountedStream {
    metrics: TransportMetrics,
    transport: StreamTransport,
}

impl TransportMetrics {
    pub(super) fn new(in_flight: ByteBudget) -> Self {
        Self(Arc::new(TransportCounters {
            streams: Family::default(),
            events: Family::default(),
            in_flight,
        }))
    }

    /// Returns the number of running subscriptions.
    pub fn streams(&self) -> &Family<StreamTransport, Gauge> {
        &self.0.streams
    }

    /// Returns the number of events that were sent.
    pub fn events(&self) -> &Family<StreamTransport, Counter> {
        &self.0.events
    }

    /// Returns the bytes of responses that clients have not read yet.
    pub fn bytes_in_flight(&self) -> usize {
        self.0.in_flight.used_bytes()
    }

    /// Counts a subscription.
    pub(super) fn open(&self, transport: StreamTransport) -> CountedStream {
        self.0.streams[transport].inc();
        CountedStream {
            metrics: self.clone(),
            transport,
        }
    }
}

impl CountedStream {
    /// Counts an event.
    pub(super) fn event(&self) {
        self.metrics.0.events[self.transport].inc();
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        self.metrics.0.streams[self.transport].dec();
    }
}

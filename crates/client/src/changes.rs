//! Changes of catalogs as they happen, over server-sent events, also across connections that end.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures_util::stream::{Stream, try_unfold};
use graphql_client::GraphQLQuery as _;
use tokio::time::{sleep, timeout};

use crate::client::DocumentRequest;
use crate::documents::{self, changes, served};
use crate::retry::retry_delay;
use crate::transport::{OpenResponse, OutgoingRequest};
use crate::types::{ChangeEvent, ContentChange};
use crate::{Client, Result};

/// Time without a byte after which a stream counts as cut: the server sends a comment every 12
/// seconds.
pub const MAX_SILENCE: Duration = Duration::from_secs(40);

/// Size of an event in bytes; a longer one ends the stream.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// Digests by the names of catalogs.
type Digests = BTreeMap<String, String>;

/// The state of a stream of changes.
struct ChangeStream<'a> {
    client: &'a Client,
    names: Vec<String>,
    events: Option<ServerSentEvents>,
    /// Digests that were reported last; `None` before the first connection.
    known: Option<Digests>,
    queue: VecDeque<ChangeEvent>,
    failures: u32,
}

/// Server-sent events of one response.
struct ServerSentEvents {
    response: OpenResponse,
    buffer: Vec<u8>,
}

impl Client {
    /// Returns each change of these catalogs, or of every catalog if no names are given. When the
    /// stream is cut, it is opened again, and what changed meanwhile is reported. Ends with an
    /// error if the first connection fails, or if the server refuses a later one.
    pub fn changes(&self, names: &[String]) -> impl Stream<Item = Result<ChangeEvent>> + '_ {
        self.changes_from(names, None)
    }

    /// As [`Self::changes`], for a caller that knows the digests of the catalogs: what has changed
    /// since is reported first. The first connection is retried like a later one.
    pub fn changes_since(
        &self,
        names: &[String],
        known: BTreeMap<String, String>,
    ) -> impl Stream<Item = Result<ChangeEvent>> + '_ {
        let mut known = known;
        known.retain(|name, _| names.is_empty() || names.contains(name));
        self.changes_from(names, Some(known))
    }

    fn changes_from(
        &self,
        names: &[String],
        known: Option<Digests>,
    ) -> impl Stream<Item = Result<ChangeEvent>> + '_ {
        let events = None;
        let queue = VecDeque::new();
        let watch = ChangeStream {
            client: self,
            names: names.to_vec(),
            events,
            known,
            queue,
            failures: 0,
        };
        try_unfold(watch, |mut watch| async move {
            watch.next().await.map(|event| Some((event, watch)))
        })
    }

    async fn subscribe(&self, names: &[String]) -> Result<ServerSentEvents> {
        let body = documents::Changes::build_query(changes::Variables {
            names: Some(names.to_vec()),
        });
        let variables =
            serde_json::to_value(&body.variables).map_err(|source| self.undecodable(source))?;
        let request = DocumentRequest::new(body.query, None, &variables);
        let headers = self.headers("text/event-stream")?;
        let outgoing = OutgoingRequest {
            query: request.query,
            body: request.body,
            headers,
        };
        let sent = timeout(self.timeout(), self.transport().send(outgoing)).await;
        let mut response = self.in_time(sent)?;
        if response.status == 200 {
            return Ok(ServerSentEvents {
                response,
                buffer: Vec::new(),
            });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|source| self.unreachable(source))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_EVENT_BYTES {
                break;
            }
        }
        Err(self.refusal(response.status, &body))
    }
}

impl ChangeStream<'_> {
    async fn next(&mut self) -> Result<ChangeEvent> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(event);
            }
            match self.advance().await {
                Ok(()) => {}
                Err(error) if self.known.is_some() && error.is_retryable() => {
                    self.events = None;
                    sleep(retry_delay(self.failures)).await;
                    self.failures += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the stream, or waits for its next event.
    async fn advance(&mut self) -> Result<()> {
        let Some(events) = &mut self.events else {
            // Subscribed first, so that nothing happens between the two.
            self.events = Some(self.client.subscribe(&self.names).await?);
            return self.catch_up().await;
        };
        let next = events
            .next()
            .await
            .map_err(|source| self.client.unreachable(source))?;
        self.failures = 0;
        let data = self
            .client
            .decode_body(next.as_bytes(), crate::ResponseOrigin::Server)?
            .data;
        let change: changes::ResponseData =
            serde_json::from_value(data).map_err(|source| self.client.undecodable(source))?;
        let change = change.catalog_changed;
        self.report(&change.name, change.catalog.map(|catalog| catalog.digest));
        Ok(())
    }

    /// Reports what changed since the last event.
    async fn catch_up(&mut self) -> Result<()> {
        let served = self
            .client
            .typed::<documents::Served>(served::Variables)
            .await?;
        let digests = served
            .catalogs
            .into_iter()
            .map(|catalog| (catalog.name, catalog.digest));
        let now: Digests = digests
            .filter(|(name, _)| self.names.is_empty() || self.names.contains(name))
            .collect();
        let Some(known) = &self.known else {
            self.known = Some(now);
            return Ok(());
        };
        let gone: Vec<_> = known
            .keys()
            .filter(|name| !now.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.report(&name, None);
        }
        for (name, digest) in now {
            self.report(&name, Some(digest));
        }
        Ok(())
    }

    /// Queues an event if this is not the digest that was reported last.
    fn report(&mut self, name: &str, digest: Option<String>) {
        let known = self.known.get_or_insert_default();
        let before = match &digest {
            Some(digest) => known.insert(name.to_owned(), digest.clone()),
            None => known.remove(name),
        };
        let change = match (&before, &digest) {
            (None, Some(_)) => ContentChange::Added,
            (Some(_), None) => ContentChange::Removed,
            (Some(before), Some(now)) if before != now => ContentChange::Changed,
            _ => return,
        };
        let event = ChangeEvent {
            catalog: name.to_owned(),
            change,
            from_digest: before,
            to_digest: digest,
        };
        self.queue.push_back(event);
    }
}

impl ServerSentEvents {
    /// Waits for the data of the next event.
    async fn next(&mut self) -> std::result::Result<String, crate::transport::BoxError> {
        loop {
            if let Some(event) = take_event(&mut self.buffer) {
                match event {
                    ServerSentEvent::Next(data) => return Ok(data),
                    ServerSentEvent::Complete => return Err("the server ended the stream".into()),
                    ServerSentEvent::Other => continue,
                }
            }
            if self.buffer.len() > MAX_EVENT_BYTES {
                return Err(format!("an event has more than {MAX_EVENT_BYTES} bytes").into());
            }
            // Comments are bytes too: a stream without events is not silent.
            let silence = |_| format!("no byte within {} s", MAX_SILENCE.as_secs());
            match timeout(MAX_SILENCE, self.response.chunk())
                .await
                .map_err(silence)??
            {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => return Err("the stream was cut".into()),
            }
        }
    }
}

/// An event as GraphQL over SSE names it.
#[derive(Debug, PartialEq, Eq)]
enum ServerSentEvent {
    Next(String),
    Complete,
    /// A comment, or what a newer server sends.
    Other,
}

/// Takes the first whole event from a buffer.
fn take_event(buffer: &mut Vec<u8>) -> Option<ServerSentEvent> {
    let end = buffer.windows(2).position(|window| window == b"\n\n")?;
    let text: Vec<u8> = buffer.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim_start)
            .next()
    };
    Some(match (field("event"), field("data")) {
        (Some("next"), Some(data)) => ServerSentEvent::Next(data.to_owned()),
        (Some("complete"), _) => ServerSentEvent::Complete,
        _ => ServerSentEvent::Other,
    })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use futures_util::stream::{StreamExt as _, iter, once, pending};
    use http_body::Frame;

    use super::*;
    use crate::transport::BoxError;

    /// A body whose parts come when the stream says.
    struct Chunks(Pin<Box<dyn Stream<Item = &'static str> + Send + Sync>>);

    impl http_body::Body for Chunks {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<std::result::Result<Frame<Bytes>, BoxError>>> {
            self.0
                .poll_next_unpin(context)
                .map(|chunk| chunk.map(|text| Ok(Frame::data(Bytes::from(text)))))
        }
    }

    #[test]
    fn events_are_taken_whole_and_comments_are_passed_over() {
        let mut buffer =
            b": ping\n\nevent: next\ndata: {\"a\": 1}\n\nevent: complete\ndata:\n\nevent: ne"
                .to_vec();
        let taken: Vec<_> = std::iter::from_fn(|| take_event(&mut buffer)).collect();
        assert_eq!(
            taken,
            [
                ServerSentEvent::Other,
                ServerSentEvent::Next("{\"a\": 1}".to_owned()),
                ServerSentEvent::Complete
            ]
        );
        assert_eq!(buffer, b"event: ne");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_silent_without_bytes_and_not_without_events() {
        let ping = |_| async {
            sleep(MAX_SILENCE * 3 / 4).await;
            ": ping\n\n"
        };
        let chunks = iter(0..9)
            .then(ping)
            .chain(once(async { "event: next\ndata: 1\n\n" }))
            .chain(pending());
        let response = http::Response::new(reqwest::Body::wrap(Chunks(Box::pin(chunks))));
        let mut events = ServerSentEvents {
            response: OpenResponse::from_http(response.into()),
            buffer: Vec::new(),
        };
        assert_eq!(
            events.next().await.map_err(|error| error.to_string()),
            Ok("1".to_owned())
        );
        let silent = Err("no byte within 40 s".to_owned());
        assert_eq!(
            events.next().await.map_err(|error| error.to_string()),
            silent
        );
    }
}

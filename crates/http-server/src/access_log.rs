//! The access log: one line of JSON for each request that ended, with its handler, method and
//! outcome. It has no text of a request: no path, no document, no variables.
//!
//! A thread of its own writes the lines from a bounded queue, so that a reader that stops reading
//! delays no request: lines are lost while the queue is full, and their number is logged
//! afterwards.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use admission::Peer;
use axum::http::StatusCode;
use jiff::Timestamp;
use opentelemetry::trace::TraceId;
use serde::Serialize;

/// Length of the queue: maximum number of requests whose lines are not written yet.
pub const WAITING_LINES: usize = 1_024;

/// Writes lines about requests. Clones write to the same log.
#[derive(Clone, Debug)]
pub struct AccessLog {
    requests: SyncSender<LoggedRequest>,
    lost: Arc<AtomicU64>,
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedRequest {
    pub(crate) method: &'static str,
    pub(crate) handler: &'static str,
    /// `None` if the client left before the response began.
    pub(crate) status: Option<StatusCode>,
    /// Bytes of the body of the response.
    pub(crate) bytes: u64,
    /// Time from the headers of the request to the end of the response.
    pub(crate) duration: Duration,
    /// Id of the request's trace, if the client names one or the request is sampled.
    pub(crate) trace_id: Option<TraceId>,
    pub(crate) peer: Peer,
}

/// Line of a request, with the members that every log line has.
#[derive(Serialize)]
struct RequestLine<'a> {
    timestamp: Timestamp,
    level: &'static str,
    message: &'static str,
    method: &'a str,
    handler: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    bytes: u64,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    peer: String,
}

/// Line with the number of lost lines.
#[derive(Serialize)]
struct LostLinesLine {
    timestamp: Timestamp,
    level: &'static str,
    message: &'static str,
    count: u64,
}

impl AccessLog {
    /// Starts the thread that writes lines to `out`.
    pub fn start(out: impl Write + Send + 'static) -> std::io::Result<Self> {
        // A channel of `std`, because its receiver is a thread: writing to a pipe blocks.
        let (requests, received) = sync_channel(WAITING_LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&lost);
        thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_all(out, &received, &shared))?;
        Ok(Self { requests, lost })
    }

    /// Queues the line of a request; it is lost if the queue is full.
    pub(crate) fn log(&self, request: LoggedRequest) {
        if let Err(TrySendError::Full(_)) = self.requests.try_send(request) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until the last [`AccessLog`] is dropped or `out` fails.
fn write_all(mut out: impl Write, requests: &Receiver<LoggedRequest>, lost: &AtomicU64) {
    for request in requests {
        // Serialized here, so that the thread that serves the connection does not pay for it.
        let mut lines = line(&request, Timestamp::now());
        let count = lost.swap(0, Ordering::Relaxed);
        if count > 0 {
            let message = "access log lines lost, because the output was not read in time";
            lines.push_str(&json(&LostLinesLine {
                timestamp: Timestamp::now(),
                level: "WARN",
                message,
                count,
            }));
        }
        if out
            .write_all(lines.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            return;
        }
    }
}

fn line(request: &LoggedRequest, timestamp: Timestamp) -> String {
    let LoggedRequest {
        method,
        handler,
        status,
        bytes,
        duration,
        trace_id,
        peer,
    } = request;
    json(&RequestLine {
        timestamp,
        level: "INFO",
        message: "request",
        method,
        handler,
        status: status.map(|status| status.as_u16()),
        bytes: *bytes,
        duration_seconds: duration.as_secs_f64(),
        trace_id: trace_id.map(|id| id.to_string()),
        peer: peer.to_string(),
    })
}

fn json(line: &impl Serialize) -> String {
    let mut text = serde_json::to_string(line).expect("a line has no maps");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn request(status: Option<StatusCode>, trace_id: Option<&str>) -> LoggedRequest {
        let duration = Duration::from_millis(1_500);
        let trace_id = trace_id.map(|id| TraceId::from_hex(id).unwrap());
        let peer = Peer::new("192.0.2.1".parse().unwrap());
        LoggedRequest {
            method: "GET",
            handler: "graphql",
            status,
            bytes: 12,
            duration,
            trace_id,
            peer,
        }
    }

    #[test]
    fn a_line_says_how_a_request_ended_in_the_shape_of_every_log_line() {
        let at = "2026-05-06T07:08:09Z".parse().unwrap();
        let head = r#"{"timestamp":"2026-05-06T07:08:09Z","level":"INFO","message":"request","method":"GET","#;
        assert_eq!(
            line(&request(Some(StatusCode::OK), Some(TRACE)), at),
            format!(
                "{head}\"handler\":\"graphql\",\"status\":200,\"bytes\":12,\"duration_seconds\":1.5,\
                 \"trace_id\":\"{TRACE}\",\"peer\":\"192.0.2.1\"}}\n"
            )
        );
        let left = line(&request(None, None), at);
        assert!(
            !left.contains("status") && !left.contains("trace_id"),
            "{left}"
        );
    }

    #[test]
    fn a_reader_that_stops_holds_up_nobody_and_learns_how_much_it_missed() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let log = AccessLog::start(writer).unwrap();
        // More than the pipe and the queue take together.
        while log.lost.load(Ordering::Relaxed) == 0 {
            log.log(request(Some(StatusCode::OK), Some(TRACE)));
        }
        drop(log);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert!(text.lines().count() > WAITING_LINES);
        assert!(text.contains(
            r#""message":"access log lines lost, because the output was not read in time","count":"#
        ));
    }
}

//! The access log: one line of JSON for each request that ended. It says what was asked of which
//! handler and how that ended, and never what the request was: no path, no document, no variables.
//!
//! Lines are written by a thread of their own, so that a reader that stops reading holds up no
//! request: lines that find no room are lost, and their number is written once there is room again.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use axum::http::StatusCode;
use http_facts::peer::Peer;
use jiff::Timestamp;
use opentelemetry::trace::TraceId;
use serde::Serialize;

/// Maximum number of requests whose lines wait to be written.
pub const WAITING_LINES: usize = 1_024;

/// Writes lines about requests. Clones write to the same log.
#[derive(Clone, Debug)]
pub struct AccessLog {
    requests: SyncSender<LoggedRequest>,
    lost: Arc<AtomicU64>,
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoggedRequest {
    pub(super) method: &'static str,
    pub(super) handler: &'static str,
    /// `None` if the client left before the response began.
    pub(super) status: Option<StatusCode>,
    /// Bytes of the body of the response.
    pub(super) bytes: u64,
    /// From the headers of the request to the end of the response.
    pub(super) duration: Duration,
    /// The trace that the request is a part of, if its client names one or the request is sampled.
    pub(super) trace_id: Option<TraceId>,
    pub(super) peer: Peer,
}

/// A line about a request, with the members that every line of the log has.
#[derive(Serialize)]
struct Line<'a> {
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

/// A line about lines that are missing.
#[derive(Serialize)]
struct LostLine {
    timestamp: Timestamp,
    level: &'static str,
    message: &'static str,
    count: u64,
}

impl AccessLog {
    /// Starts a log that writes to this.
    pub fn start(out: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (requests, received) = sync_channel(WAITING_LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&lost);
        thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || write_all(out, &received, &shared))?;
        Ok(Self { requests, lost })
    }

    /// Writes a line about a request, if there is room for it.
    pub(super) fn log(&self, request: LoggedRequest) {
        if let Err(TrySendError::Full(_)) = self.requests.try_send(request) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes lines until the log is gone, or nobody reads them any more.
fn write_all(mut out: impl Write, requests: &Receiver<LoggedRequest>, lost: &AtomicU64) {
    for request in requests {
        let mut lines = line(&request, Timestamp::now());
        let count = lost.swap(0, Ordering::Relaxed);
        if count > 0 {
            let message = "lines of the access log were lost, because nobody read them in time";
            lines.push_str(&json(&LostLine {
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
    json(&Line {
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
        assert!(
            text.contains(
                r#""message":"lines of the access log were lost, because nobody read them in time","count":"#
            )
        );
    }
}

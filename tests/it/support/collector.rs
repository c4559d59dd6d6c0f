//! A collector of traces: it receives OTLP over HTTP and decodes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Time for a span to be received.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A collector on a port of its own.
pub(crate) struct Collector {
    address: SocketAddr,
    received: mpsc::Receiver<ReceivedSpan>,
}

/// A span as it was received; ids are hexadecimal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReceivedSpan {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty if the trace begins with the span.
    pub(crate) parent: String,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Attributes of what the span comes from.
    pub(crate) resource: BTreeMap<String, String>,
    /// The code and the message of the status.
    pub(crate) status: Option<(i32, String)>,
    pub(crate) is_server: bool,
    pub(crate) nanoseconds: u64,
}

impl Collector {
    pub(crate) fn start() -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into())
    }

    pub(crate) fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("it has an address");
        let (sender, received) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                thread::spawn(move || serve(stream, &sender));
            }
        });
        Self { address, received }
    }

    /// The flag of the server that sends spans here.
    pub(crate) fn flag(&self) -> String {
        format!("--otlp-endpoint=http://{}", self.address)
    }

    /// Waits for the next span.
    pub(crate) fn next(&self) -> ReceivedSpan {
        self.received
            .recv_timeout(TIMEOUT)
            .expect("a span is received in time")
    }

    /// Waits for spans until one has this name, and returns them all.
    pub(crate) fn until(&self, name: &str) -> Vec<ReceivedSpan> {
        let mut spans = vec![self.next()];
        while spans.last().is_some_and(|span| span.name != name) {
            spans.push(self.next());
        }
        spans
    }

    /// Returns the spans that were received until now.
    pub(crate) fn received(&self) -> Vec<ReceivedSpan> {
        self.received.try_iter().collect()
    }
}

/// Receives one request.
fn serve(mut stream: TcpStream, spans: &mpsc::Sender<ReceivedSpan>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    assert_eq!(head[0], "POST /v1/traces HTTP/1.1");
    assert!(
        head.iter()
            .any(|line| line == "content-type: application/x-protobuf"),
        "{head:?}"
    );
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "))
        .expect("a body has a length");
    let mut body = vec![0; length.parse().expect("a length is a number")];
    reader.read_exact(&mut body)?;
    let request = ExportTraceServiceRequest::decode(&*body).expect("a request is protobuf");
    for of_resource in request.resource_spans {
        let resource = attributes(&of_resource.resource.unwrap_or_default().attributes);
        for span in of_resource
            .scope_spans
            .into_iter()
            .flat_map(|scope| scope.spans)
        {
            // Nobody waits any more at the end of a test.
            let _ = spans.send(ReceivedSpan::new(span, resource.clone()));
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

impl ReceivedSpan {
    fn new(span: Span, resource: BTreeMap<String, String>) -> Self {
        Self {
            name: span.name,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            attributes: attributes(&span.attributes),
            resource,
            status: span
                .status
                .filter(|status| status.code != 0)
                .map(|status| (status.code, status.message)),
            is_server: span.kind == 2,
            nanoseconds: span.end_time_unix_nano - span.start_time_unix_nano,
        }
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    list.iter()
        .map(|KeyValue { key, value, .. }| (key.clone(), text(value.as_ref())))
        .collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("an attribute is a text or a number: {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

//! A client of a router: calls with the bytes of messages, and messages as JSON.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::pin::Pin;

use axum::Router;
use axum::body::{Body, Bytes};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::{Stream, StreamExt as _};
use http::{HeaderMap, Request, Response};
use http_body::Body as _;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use serde_json::Value;
use tower::ServiceExt as _;

/// A call, with the bytes of its requests.
#[derive(Default)]
pub(crate) struct Call<'c> {
    pub(crate) method: &'c str,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) is_gzip: bool,
    pub(crate) authority: Option<&'c str>,
}

/// What a server answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) messages: Vec<Bytes>,
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// Sends a call.
pub(crate) async fn send(router: &Router, call: Call<'_>) -> Answer {
    let response = begin_response(router, &call).await;
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    let mut trailers = HeaderMap::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.unwrap().into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().unwrap(),
        }
    }
    let field = |name: &str| {
        let value = trailers.get(name).or_else(|| head.headers.get(name));
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let code = field("grpc-status")
        .expect("every response has a status")
        .parse()
        .unwrap();
    Answer {
        messages: messages(&bytes),
        code,
        text: unescape(&field("grpc-message").unwrap_or_default()),
    }
}

/// Sends a call, and returns the data of its response as it comes.
pub(crate) async fn begin(router: &Router, call: &Call<'_>) -> impl Stream<Item = Bytes> + use<> {
    begin_response(router, call)
        .await
        .into_body()
        .into_data_stream()
        .map(Result::unwrap)
}

async fn begin_response(router: &Router, call: &Call<'_>) -> Response<Body> {
    let body: Vec<u8> = call
        .requests
        .iter()
        .flat_map(|message| frame(message, call.is_gzip))
        .collect();
    let uri = format!(
        "http://{}/{}",
        call.authority.unwrap_or("127.0.0.1:50051"),
        call.method
    );
    let mut request = Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    if call.is_gzip {
        request = request
            .header("grpc-encoding", "gzip")
            .header("grpc-accept-encoding", "gzip");
    }
    for (name, value) in &call.metadata {
        request = request.header(name.to_lowercase(), value);
    }
    router
        .clone()
        .oneshot(request.body(Body::from(body)).unwrap())
        .await
        .unwrap()
}

fn frame(message: &[u8], is_gzip: bool) -> Vec<u8> {
    let mut bytes = message.to_vec();
    if is_gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(message).unwrap();
        bytes = encoder.finish().unwrap();
    }
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[u8::from(is_gzip)], length.as_slice(), bytes.as_slice()].concat()
}

/// Splits the data of a response.
pub(crate) fn messages(mut rest: &[u8]) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while let [is_gzip, a, b, c, d, more @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let mut message = more[..length].to_vec();
        if *is_gzip == 1 {
            message.clear();
            GzDecoder::new(&more[..length])
                .read_to_end(&mut message)
                .unwrap();
        }
        messages.push(message.into());
        rest = &more[length..];
    }
    assert!(rest.is_empty(), "a message breaks off");
    messages
}

/// Decodes the percent escapes of a status message.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| u8::from_str_radix(str::from_utf8(&more[..2]).unwrap(), 16).unwrap());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).unwrap()
}

/// The descriptors of all services.
pub(crate) fn pool() -> DescriptorPool {
    DescriptorPool::decode(include_bytes!("../../src/descriptors.bin").as_slice()).unwrap()
}

/// Returns a method as `SERVICE/METHOD` names it, if there is one.
pub(crate) fn method(pool: &DescriptorPool, path: &str) -> Option<MethodDescriptor> {
    let (service, method) = path.split_once('/')?;
    pool.get_service_by_name(service)?
        .methods()
        .find(|other| other.name() == method)
}

/// Encodes a request that is written as JSON.
pub(crate) fn encode(method: &MethodDescriptor, json: &Value) -> Vec<u8> {
    use prost::Message as _;
    DynamicMessage::deserialize(method.input(), json)
        .unwrap()
        .encode_to_vec()
}

/// Decodes a message of a response to JSON.
pub(crate) fn decode(method: &MethodDescriptor, message: &[u8]) -> Value {
    serde_json::to_value(DynamicMessage::decode(method.output(), message).unwrap()).unwrap()
}

/// The names of the statuses.
pub(crate) fn code_name(code: i32) -> &'static str {
    let names = [
        (0, "OK"),
        (2, "Unknown"),
        (3, "InvalidArgument"),
        (5, "NotFound"),
        (8, "ResourceExhausted"),
    ];
    let more = [
        (9, "FailedPrecondition"),
        (12, "Unimplemented"),
        (13, "Internal"),
        (14, "Unavailable"),
    ];
    names
        .into_iter()
        .chain(more)
        .collect::<BTreeMap<_, _>>()
        .get(&code)
        .copied()
        .unwrap_or("other")
}

//! Requests over HTTP: rights, limits, and requests that no client of the protocol sends.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use futures_util::{FutureExt as _, stream};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use serving::{Catalogs, Visibility};
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;
use crate::fixture::{engine, main_catalog};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const LIST: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_catalogs"}}"#;

type McpService = TowerToHyperService<Router>;

fn service(origins: &[&'static str]) -> McpService {
    let origins: Vec<_> = origins
        .iter()
        .map(|origin| HeaderValue::from_static(origin))
        .collect();
    let server = ToolServer::new(engine(main_catalog()));
    TowerToHyperService::new(router(server, &origins))
}

fn peer(last: u8) -> Peer {
    Peer::new([192, 0, 2, last].into())
}

fn post(headers: &[(&str, &str)], body: impl Into<Body>) -> Request {
    let request = Request::builder()
        .method(Method::POST)
        .uri(MCP)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    request.body(body.into()).unwrap()
}

async fn read(response: Response) -> (u16, HeaderMap, String) {
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (head.status.as_u16(), head.headers, text)
}

async fn send(service: &McpService, request: Request) -> (u16, HeaderMap, String) {
    read(service.call(request).await.unwrap()).await
}

/// Status and body of the response to a body.
async fn respond_to(body: impl Into<Body>) -> (u16, String) {
    let (status, _, body) = send(&service(&[]), post(&[], body)).await;
    (status, body)
}

/// A call of so many bytes.
fn padded(length: usize) -> String {
    format!("{LIST}{}", " ".repeat(length - LIST.len()))
}

/// The JSON of a response with status 200.
async fn json_of(body: &str) -> Value {
    let (status, text) = respond_to(body.to_owned()).await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_client_begins_and_calls_a_tool_without_a_session() {
    let (status, headers, body) = send(&service(&[]), post(&[], INITIALIZE)).await;
    assert_eq!(
        (status, &headers["content-type"]),
        (200, &HeaderValue::from_static("application/json"))
    );
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers.get("mcp-session-id"), None);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }));

    let notified = respond_to(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(notified, (202, String::new()));
    let answer = json_of(LIST).await;
    assert_eq!(
        answer["result"]["structuredContent"]["data"]["catalogs"][0]["name"],
        "main"
    );
}

#[tokio::test]
async fn a_caller_sees_the_catalogs_that_the_authorizing_layer_shows() {
    for (visible, text) in [
        (main_catalog(), "Served catalogs: 1."),
        (
            main_catalog().visible(Visibility::none()),
            "No catalog is served.",
        ),
    ] {
        let mut request = post(&[], LIST);
        request.extensions_mut().insert::<Catalogs>(visible);
        let (_, _, body) = send(&service(&[]), request).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], text);
    }
}

#[tokio::test]
async fn a_body_of_the_maximum_size_is_read_and_a_larger_one_rejected() {
    assert_eq!(respond_to(padded(MAX_REQUEST_BYTES)).await.0, 200);
    assert_eq!(respond_to(padded(MAX_REQUEST_BYTES + 1)).await.0, 413);
}

#[tokio::test]
async fn what_is_no_message_is_rejected() {
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested_arguments = LIST.replace(
        "\"list_catalogs\"",
        &format!("\"list_catalogs\",\"arguments\":{{\"a\":{nested}}}"),
    );
    let batch = format!("[{}]", [LIST; 200].join(","));
    for body in [
        "",
        "{",
        "null",
        "\"text\"",
        "\u{0}",
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        &nested,
        &nested_arguments,
        &batch,
    ] {
        let (status, text) = respond_to(body.to_owned()).await;
        assert_eq!(status, 415, "{}: {text}", &body[..body.len().min(60)]);
    }
}

#[tokio::test]
async fn unknown_methods_and_tools_are_errors_of_the_protocol_and_wrong_arguments_of_the_tool() {
    let error = |answer: &Value| {
        (
            answer["error"]["code"].clone(),
            answer["error"]["message"].clone(),
        )
    };
    let answer = json_of(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{"query":"{ __typename }"}}}"#).await;
    let (code, message) = error(&answer);
    assert_eq!(code, -32602);
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("the tool does not exist; the tools are list_catalogs, ")
    );

    for method in [
        "resources/list",
        "prompts/list",
        "subscriptions/listen",
        "nothing",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
        assert_eq!(error(&json_of(&body).await).0, -32601, "{method}");
    }

    let answer = json_of(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_packages","arguments":{"text":["a"]}}}"#).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "the arguments are invalid: invalid type: sequence, expected a string; the input schema of the tool has their names and types"
    );
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let own = ["https://console.example.com", "http://localhost:5173"];
    for (allowed, origin, status) in [
        (&own[..0], None, 200),
        (&own[..0], Some("https://evil.example"), 403),
        (&own[..0], Some("http://localhost"), 403),
        (&own[..0], Some("null"), 403),
        (&own, Some("https://console.example.com"), 200),
        (&own, Some("https://console.example.com:444"), 403),
        (&own, Some("http://console.example.com"), 403),
        (&own, Some("http://localhost:5173"), 200),
        (&own, Some("https://evil.example"), 403),
        (&["*"], Some("https://evil.example"), 200),
    ] {
        let headers: Vec<_> = origin
            .map(|origin| ("origin", origin))
            .into_iter()
            .collect();
        let answered = send(&service(allowed), post(&headers, LIST)).await.0;
        assert_eq!(answered, status, "{origin:?} where {allowed:?} are allowed");
    }
}

#[tokio::test]
async fn an_unknown_version_of_the_protocol_is_refused_and_a_known_one_agreed_upon() {
    let unknown = [("mcp-protocol-version", "1999-01-01")];
    assert_eq!(send(&service(&[]), post(&unknown, LIST)).await.0, 400);
    let answer = json_of(&INITIALIZE.replace("2025-11-25", "1999-01-01")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn there_are_no_streams_and_no_sessions() {
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let mut request = post(&[("mcp-session-id", "1")], "");
        *request.method_mut() = method.clone();
        let (status, headers, _) = send(&service(&[]), request).await;
        assert_eq!(
            (status, &headers["allow"]),
            (405, &HeaderValue::from_static("POST")),
            "{method}"
        );
    }
    for accept in ["application/json", "text/event-stream", "text/html"] {
        let mut request = post(&[], LIST);
        let accept = HeaderValue::from_static(accept);
        request.headers_mut().insert("accept", accept);
        assert_eq!(send(&service(&[]), request).await.0, 406);
    }
}

#[tokio::test]
async fn a_peer_has_half_of_the_responses_that_nobody_reads() {
    let service = service(&[]);
    let call = async |last: u8| {
        let mut request = post(&[], LIST);
        request.extensions_mut().insert(peer(last));
        service.call(request).await.unwrap()
    };
    let mut unread = Vec::new();
    for _ in 0..MAX_REQUESTS / 2 {
        unread.push(call(1).await);
    }
    let (status, headers, body) = read(call(1).await).await;
    assert_eq!(
        (status, body.as_str()),
        (503, "too many requests are in progress: try again later\n")
    );
    assert_eq!(headers["retry-after"], "1");
    assert_eq!(call(2).await.status(), 200, "others are answered");

    unread.pop();
    // The call of a response that was dropped ends on its own.
    let answered = async {
        while call(1).await.status() != 200 {
            yield_now().await;
        }
    };
    let answered = timeout(Duration::from_mins(1), answered).await;
    answered.expect("its permit is released");
}

#[tokio::test]
async fn a_peer_has_half_of_the_large_bodies_that_do_not_end() {
    let service = service(&[]);
    let large = |last: u8| {
        let mut request = post(
            &[],
            Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()),
        );
        request.extensions_mut().insert(peer(last));
        request
    };
    let mut reading: Vec<_> = (0..READING_REQUESTS / 2)
        .map(|_| Box::pin(service.call(large(1))))
        .collect();
    for request in &mut reading {
        assert!(request.now_or_never().is_none());
    }
    assert_eq!(service.call(large(1)).await.unwrap().status(), 503);
    let mut answered = Vec::new();
    for length in [UNCOUNTED_REQUEST_BYTES, UNCOUNTED_REQUEST_BYTES + 1] {
        let mut small = post(&[], padded(length));
        small.extensions_mut().insert(peer(1));
        answered.push(service.call(small).await.unwrap().status().as_u16());
    }
    assert_eq!(answered, [200, 503]);
    let mut others = post(&[], padded(UNCOUNTED_REQUEST_BYTES + 1));
    others.extensions_mut().insert(peer(2));
    assert_eq!(service.call(others).await.unwrap().status(), 200);
}

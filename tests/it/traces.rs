//! Traces as a collector receives them: of requests and of loads, and what happens without a
//! collector.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Instant;

use testing::fixture::lines;

use crate::metrics::{serve, value};
use crate::support::{
    Collector, ETCD, Folders, MediaTypes, Proxy, ProxyAction, ReceivedSpan, Registry,
    RegistryImage, Server, eventually, get, send_request, tar_archive,
};

/// A trace that a client has begun, and its span.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// Asks a query that has a text of its own.
const QUERY: &str = "/graphql?query=%7Bcatalogs%7Bname%7DsecretName%3A__typename%7D";

/// The code of a status that is an error.
const ERROR: i32 = 2;

fn attributes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn header(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

/// Waits for the spans of the load of one catalog, which ends last.
fn load(collector: &Collector) -> Vec<ReceivedSpan> {
    collector.until("load")
}

#[test]
fn a_request_is_a_span_of_the_trace_that_its_header_names() {
    let folders = Folders::new();
    let collector = Collector::start();
    let (server, _) = serve(&folders, &[("etcd", ETCD)], &[&collector.flag()]);
    load(&collector);
    let bytes = send_request(
        server.address,
        "GET",
        QUERY,
        &[("traceparent", &header("01"))],
    )
    .body
    .len()
    .to_string();
    let span = collector.next();
    let expected = attributes(&[
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("http.response.body.size", &bytes),
        ("catalogql.handler", "graphql"),
        ("graphql.operation.type", "query"),
        ("catalogql.graphql.outcome", "ok"),
    ]);
    assert_eq!(
        (&*span.name, &*span.trace, &*span.parent),
        ("GET graphql", TRACE, PARENT)
    );
    assert_eq!(
        (span.attributes, span.status, span.is_server),
        (expected, None, true)
    );
    assert_eq!(span.resource["service.name"], "catalogql");
    assert!(
        span.resource["service.version"].starts_with(env!("CARGO_PKG_VERSION")),
        "{:?}",
        span.resource
    );
    assert!(span.nanoseconds > 0);
}

#[test]
fn a_span_says_how_a_request_ended_and_nothing_of_what_it_asked() {
    let folders = Folders::new();
    let collector = Collector::start();
    let (server, _) = serve(&folders, &[("etcd", ETCD)], &[&collector.flag()]);
    load(&collector);
    for (target, name, outcome) in [
        (QUERY, "GET graphql", Some("ok")),
        (QUERY, "GET graphql", Some("ok")),
        (QUERY, "GET graphql", Some("cached")),
        (
            "/graphql?query=%7Bsecret%7D",
            "GET graphql",
            Some("invalid"),
        ),
        ("/secret", "GET other", None),
        ("/catalogs/etcd/api/v1/all", "GET all", None),
    ] {
        send_request(server.address, "GET", target, &[]);
        let span = collector.next();
        assert_eq!((&*span.name, &*span.parent), (name, ""), "{target}");
        assert_eq!(
            span.attributes
                .get("catalogql.graphql.outcome")
                .map(String::as_str),
            outcome,
            "{target}"
        );
        assert!(
            !format!("{span:?}").to_lowercase().contains("secret"),
            "{span:?}"
        );
    }
}

#[test]
fn a_header_that_is_not_valid_begins_a_trace_and_one_that_is_not_sampled_none() {
    let folders = Folders::new();
    let collector = Collector::start();
    let (server, _) = serve(&folders, &[("etcd", ETCD)], &[&collector.flag()]);
    load(&collector);
    send_request(
        server.address,
        "GET",
        QUERY,
        &[("traceparent", &header("00"))],
    );
    let invalid = format!("00-{TRACE}-{PARENT}");
    send_request(server.address, "GET", QUERY, &[("traceparent", &invalid)]);
    let span = collector.next();
    assert_eq!(
        (&*span.name, &*span.parent, span.trace == TRACE),
        ("GET graphql", "", false)
    );
    server.signal("TERM");
    assert!(server.ended().0.success());
    assert_eq!(collector.received(), []);
}

#[test]
fn only_traces_of_clients_are_sampled_at_a_ratio_of_zero() {
    let folders = Folders::new();
    let collector = Collector::start();
    let (server, _) = serve(
        &folders,
        &[("etcd", ETCD)],
        &[&collector.flag(), "--otlp-sampling-ratio=0"],
    );
    send_request(server.address, "GET", QUERY, &[]);
    send_request(
        server.address,
        "GET",
        QUERY,
        &[("traceparent", &header("01"))],
    );
    // What waits at the end is sent.
    server.signal("TERM");
    assert!(server.ended().0.success());
    let traces: Vec<_> = collector
        .received()
        .into_iter()
        .map(|span| span.trace)
        .collect();
    assert_eq!(traces, [TRACE]);
}

#[test]
fn a_load_is_a_span_with_its_stages_and_the_registry_continues_its_trace() {
    let folders = Folders::new();
    let collector = Collector::start();
    let registry = Registry::start();
    let layer = tar_archive(&[("configs/catalog.json", lines(ETCD).as_bytes())]);
    let labels = [(
        "operators.operatorframework.io.index.configs.v1",
        "/configs",
    )];
    registry.push(
        "team/catalog",
        "v1",
        &RegistryImage::image(MediaTypes::Oci, &[layer], &labels),
    );
    let proxy = Proxy::start(registry.address, |_| ProxyAction::Forward);
    let source = format!("etcd={}/team/catalog:v1", proxy.address);
    let insecure = format!("--insecure-registry={}", proxy.address);
    let _server = Server::start(&folders, &[&source, &insecure, &collector.flag()]);
    let mut spans = load(&collector);
    let load = spans.pop().expect("the load ends last");
    let expected = attributes(&[
        ("catalogql.catalog", "etcd"),
        ("catalogql.source_kind", "registry"),
        ("catalogql.result", "loaded"),
    ]);
    assert_eq!(
        (&load.attributes, &*load.parent, &load.status),
        (&expected, "", &None)
    );
    let stages: Vec<_> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(stages, ["resolve", "pull", "unpack", "read", "index"]);
    assert!(
        spans
            .iter()
            .all(|span| (&span.trace, &span.parent) == (&load.trace, &load.id)),
        "{spans:?}"
    );
    let requests = proxy.requests();
    assert!(
        requests.iter().any(|request| !request.is_blob()) && requests.len() > 2,
        "{requests:?}"
    );
    for request in requests {
        let own: Vec<_> = spans[..2]
            .iter()
            .map(|span| format!("00-{}-{}-01", span.trace, span.id))
            .collect();
        let header = request.header("traceparent").expect("it names its trace");
        assert!(own.iter().any(|own| own == header), "{request:?} {spans:?}");
    }
}

#[test]
fn a_load_that_fails_is_an_error_without_its_text() {
    let folders = Folders::new();
    let collector = Collector::start();
    folders.write("bad/catalog.json", "{\"schema\": \"olm.package\"");
    folders.catalog("etcd", ETCD);
    let _server = Server::start(
        &folders,
        &[
            &folders.text("bad"),
            &folders.text("etcd"),
            &collector.flag(),
        ],
    );
    let loads = [(); 2].map(|()| load(&collector).pop().expect("the load ends last"));
    let bad = loads
        .iter()
        .find(|span| span.attributes["catalogql.catalog"] == "bad")
        .expect("it was attempted");
    assert_eq!(
        (bad.attributes["catalogql.result"].as_str(), &bad.status),
        ("failed", &Some((ERROR, "InvalidCatalog".to_owned())))
    );
}

#[test]
fn a_collector_that_does_not_answer_costs_spans_and_no_request() {
    let folders = Folders::new();
    // It accepts nothing: connections are established and hang.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let flag = format!(
        "--otlp-endpoint=http://{}",
        silent.local_addr().expect("it has an address")
    );
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &[&flag]);
    let dropped = "catalogql_trace_spans_total{result=\"dropped\"}";
    let mut asked = 0;
    while value(metrics, dropped) == 0.0 {
        for _ in 0..256 {
            assert_eq!(get(server.address, QUERY).0, 200);
        }
        asked += 256;
        assert!(asked < 10_000, "spans are dropped when too many wait");
    }
    server.signal("TERM");
    let begun = Instant::now();
    let (status, _, logs) = server.ended();
    assert!(status.success() && begun.elapsed().as_secs() < 10);
    assert!(
        logs.iter()
            .any(|line| line.contains("the collector did not receive the last spans in time")),
        "{logs:?}"
    );
}

#[test]
fn a_collector_that_is_away_is_reported_once_and_again_when_it_is_back() {
    let folders = Folders::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    drop(listener);
    let (server, metrics) = serve(
        &folders,
        &[("etcd", ETCD)],
        &[&format!("--otlp-endpoint=http://{address}")],
    );
    server.logs("cannot send spans to the collector");
    let failed = "catalogql_trace_spans_total{result=\"failed\"}";
    let sent = "catalogql_trace_spans_total{result=\"sent\"}";
    assert!(value(metrics, failed) > 0.0);
    let collector = Collector::start_at(address);
    get(server.address, QUERY);
    server.logs("the collector receives spans again");
    assert_eq!(collector.until("GET graphql").len(), 1);
    eventually(|| (value(metrics, sent) > 0.0).then_some(()));
}

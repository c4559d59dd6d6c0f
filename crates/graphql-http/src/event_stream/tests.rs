//! Streams of events, as they are sent.

use axum::body::BodyDataStream;
use axum::http::{HeaderValue, Method, Request as HttpRequest, StatusCode};
use axum::{Router, body::to_bytes};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serving::{CatalogsWriter, catalogs};

use super::*;
use graphql::limits::Limits;
use graphql::{Engine, StreamLimits};

use crate::GraphqlHttp;
use crate::tests::fixture::{BETA, served};

const STREAM: &[(&str, &str)] = &[
    ("accept", "text/event-stream"),
    ("content-type", "application/json"),
];
const CHANGES: &str = r#"{"query":"subscription { catalogChanged { name } }"}"#;

struct Fixture {
    writer: CatalogsWriter,
    engine: Arc<Engine>,
    service: TowerToHyperService<Router>,
}

fn start(streams: StreamLimits) -> Fixture {
    let (writer, reader) = catalogs();
    let engine = Arc::new(Engine::new(
        reader,
        "test",
        Limits {
            streams,
            ..Limits::default()
        },
    ));
    let service = TowerToHyperService::new(
        GraphqlHttp::new(Arc::clone(&engine), crate::GraphqlHttpSettings::default()).router(),
    );
    Fixture {
        writer,
        engine,
        service,
    }
}

/// The next event or comment, up to its empty line; `None` at the end.
async fn next(body: &mut BodyDataStream) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with("\n\n") {
        text.push_str(std::str::from_utf8(&body.next().await?.unwrap()).unwrap());
    }
    Some(text)
}

impl Fixture {
    async fn post(&self, headers: &[(&str, &str)], body: &'static str) -> Response {
        self.post_from(Peer::default(), headers, body).await
    }

    async fn post_from(
        &self,
        peer: Peer,
        headers: &[(&str, &str)],
        body: &'static str,
    ) -> Response {
        let mut request = HttpRequest::builder().method(Method::POST).uri("/graphql");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.extension(peer);
        self.service
            .call(request.body(Body::from(body)).unwrap())
            .await
            .unwrap()
    }

    async fn text(&self, headers: &[(&str, &str)], body: &'static str) -> (u16, String) {
        let (head, body) = self.post(headers, body).await.into_parts();
        (
            head.status.as_u16(),
            String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap(),
        )
    }
}

#[tokio::test]
async fn a_query_is_answered_by_a_stream_of_one_result() {
    let fixture = start(StreamLimits::default());
    let response = fixture.post(STREAM, r#"{"query":"{ __typename }"}"#).await;
    let headers = ["content-type", "cache-control"]
        .map(|name| response.headers()[name].to_str().unwrap().to_owned());
    assert_eq!(headers, ["text/event-stream; charset=utf-8", "no-store"]);
    let expected = ":\n\nevent: next\ndata: {\"data\":{\"__typename\":\"Query\"}}\n\nevent: complete\ndata: \n\n";
    assert_eq!(
        to_bytes(response.into_body(), usize::MAX).await.unwrap(),
        expected
    );
}

#[tokio::test]
async fn errors_are_told_in_the_stream_so_that_browsers_can_read_them() {
    let fixture = start(StreamLimits::default());
    for (body, code) in [
        (r#"{"query":"{"}"#, "GRAPHQL_PARSE_FAILED"),
        (
            r#"{"query":"subscription { none }"}"#,
            "GRAPHQL_VALIDATION_FAILED",
        ),
        (
            r#"{"query":"subscription($a: Int!) { catalogChanged { name @skip(if: $a) } }"}"#,
            "GRAPHQL_VALIDATION_FAILED",
        ),
        (
            r#"{"query":"subscription($a: [String!]!) { catalogChanged(names: $a) { name } }"}"#,
            "BAD_USER_INPUT",
        ),
    ] {
        let (status, text) = fixture.text(STREAM, body).await;
        assert_eq!(status, 200, "{body}");
        assert!(
            text.starts_with(":\n\nevent: next\ndata: {\"errors\":[") && text.contains(code),
            "{text}"
        );
        assert!(text.ends_with("\n\nevent: complete\ndata: \n\n"), "{text}");
    }
    assert_eq!(fixture.text(STREAM, "{}").await.0, 400);
}

#[tokio::test]
async fn a_subscription_is_told_changes_and_then_that_it_is_complete() {
    let mut fixture = start(StreamLimits::default());
    let mut body = fixture
        .post(STREAM, CHANGES)
        .await
        .into_body()
        .into_data_stream();
    assert_eq!(next(&mut body).await.unwrap().as_bytes(), COMMENT);
    fixture.writer.publish(served("a", BETA, 1));
    let event = "event: next\ndata: {\"data\":{\"catalogChanged\":{\"name\":\"a\"}}}\n\n";
    assert_eq!(next(&mut body).await.unwrap(), event);
    fixture.engine.end_streams();
    assert_eq!(next(&mut body).await.unwrap().as_bytes(), COMPLETE);
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test]
async fn a_stream_that_has_nothing_to_tell_shows_that_it_is_alive() {
    let fixture = start(StreamLimits {
        ping: std::time::Duration::from_millis(1),
        ..StreamLimits::default()
    });
    let mut body = fixture
        .post(STREAM, CHANGES)
        .await
        .into_body()
        .into_data_stream();
    for _ in 0..3 {
        assert_eq!(next(&mut body).await.unwrap().as_bytes(), COMMENT);
    }
}

#[tokio::test]
async fn as_many_streams_are_open_as_the_limit_says_half_of_them_for_one_peer() {
    let fixture = start(StreamLimits {
        streams: 4,
        ..StreamLimits::default()
    });
    let peer = |last: u8| Peer::new([192, 0, 2, last].into());
    let first = fixture.post_from(peer(1), STREAM, CHANGES).await;
    let second = fixture.post_from(peer(1), STREAM, CHANGES).await;
    assert_eq!([first.status(), second.status()], [StatusCode::OK; 2]);
    let third = fixture.post_from(peer(1), STREAM, CHANGES).await;
    assert_eq!(
        (third.status().as_u16(), &third.headers()["retry-after"]),
        (503, &HeaderValue::from_static("10"))
    );

    let others = [
        fixture.post_from(peer(2), STREAM, CHANGES).await,
        fixture.post_from(peer(3), STREAM, CHANGES).await,
    ];
    assert_eq!(
        others.each_ref().map(Response::status),
        [StatusCode::OK; 2],
        "the other half is for others"
    );
    assert_eq!(
        fixture.post_from(peer(4), STREAM, CHANGES).await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    drop(first);
    assert_eq!(
        fixture.post_from(peer(1), STREAM, CHANGES).await.status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_subscription_is_refused_where_no_stream_is_accepted() {
    let fixture = start(StreamLimits::default());
    for (accept, expected) in [
        ("application/json", 200),
        ("application/graphql-response+json", 400),
    ] {
        let (status, text) = fixture
            .text(&[("accept", accept), STREAM[1]], CHANGES)
            .await;
        assert_eq!(status, expected);
        assert!(
            text.starts_with("{\"errors\":[{\"message\":\"Subscriptions are not supported"),
            "{text}"
        );
    }
}

//! Requests over HTTP: methods, media types, status codes, bodies.

pub(crate) mod fixture;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request as HttpRequest};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::*;
use fixture::engine;
use graphql::limits::Limits;
use serving::Visibility;

const QUERY: &str = r#"{"query":"{ __typename }"}"#;
const INVALID: &str = r#"{"query":"{ nothing }"}"#;
const JSON: &str = "application/json; charset=utf-8";
const GRAPHQL_RESPONSE: &str = "application/graphql-response+json; charset=utf-8";

fn service(limits: Limits, origins: &[&'static str]) -> TowerToHyperService<Router> {
    let origins: Vec<_> = origins
        .iter()
        .map(|origin| HeaderValue::from_static(origin))
        .collect();
    let settings = GraphqlHttpSettings {
        origins,
        ..GraphqlHttpSettings::default()
    };
    TowerToHyperService::new(GraphqlHttp::new(Arc::new(engine(limits)), settings).router())
}

/// Status, headers and body of the answer to a request.
async fn send(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> (u16, HeaderMap, String) {
    let mut request = HttpRequest::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = service(Limits::default(), &[])
        .call(request.body(body.into()).unwrap())
        .await
        .unwrap();
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        head.status.as_u16(),
        head.headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

async fn post_graphql(headers: &[(&str, &str)], body: impl Into<Body>) -> (u16, HeaderMap, String) {
    let headers: Vec<_> = [("content-type", "application/json")]
        .iter()
        .chain(headers)
        .copied()
        .collect();
    send(Method::POST, "/graphql", &headers, body).await
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_answered_in_the_form_that_is_accepted() {
    for (accept, content_type) in [
        ("application/json", JSON),
        ("application/graphql-response+json", GRAPHQL_RESPONSE),
        (
            "application/graphql-response+json, application/json;q=0.9",
            GRAPHQL_RESPONSE,
        ),
        (
            "application/graphql-response+json;q=0.5, application/json",
            JSON,
        ),
        ("text/html, */*;q=0.1", JSON),
        ("application/*", JSON),
    ] {
        let (status, headers, body) = post_graphql(&[("accept", accept)], QUERY).await;
        assert_eq!(
            (status, header(&headers, "content-type")),
            (200, Some(content_type)),
            "{accept}"
        );
        assert_eq!(
            (body.as_str(), header(&headers, "vary")),
            (
                r#"{"data":{"__typename":"Query"}}"#,
                Some("accept, accept-encoding")
            )
        );
    }
    let (status, headers, _) = post_graphql(&[], QUERY).await;
    assert_eq!(
        (status, header(&headers, "content-type")),
        (200, Some(JSON))
    );
    for accept in ["text/html", "application/json;q=0", ""] {
        assert_eq!(
            post_graphql(&[("accept", accept)], QUERY).await.0,
            406,
            "{accept}"
        );
    }
}

#[tokio::test]
async fn a_refused_document_has_another_status_in_the_newer_form() {
    for (accept, expected) in [
        ("application/json", 200),
        ("application/graphql-response+json", 400),
    ] {
        let (status, headers, body) = post_graphql(&[("accept", accept)], INVALID).await;
        assert_eq!(
            (status, header(&headers, "cache-control")),
            (expected, Some("no-store"))
        );
        assert!(body.starts_with(r#"{"errors":["#), "{body}");
    }
}

#[tokio::test]
async fn only_json_is_taken() {
    for (content_type, expected) in [
        ("application/json", 200),
        ("Application/JSON; charset=UTF-8", 200),
        ("application/json; charset=\"utf-8\"", 200),
        ("application/json; charset=latin1", 415),
        ("text/plain", 415),
        ("application/graphql", 415),
    ] {
        let (status, ..) = send(
            Method::POST,
            "/graphql",
            &[("content-type", content_type)],
            QUERY,
        )
        .await;
        assert_eq!(status, expected, "{content_type}");
    }
    assert_eq!(send(Method::POST, "/graphql", &[], QUERY).await.0, 415);
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    for body in [
        "",
        "{",
        "[]",
        r#"[{"query":"{ __typename }"}]"#,
        "{}",
        r#"{"query":1}"#,
        r#"{"query":"{ __typename }","variables":[]}"#,
        r#"{"query":"{ __typename }","operationName":1}"#,
        r#"{"query":"{ __typename }","extensions":"x"}"#,
    ] {
        assert_eq!(post_graphql(&[], body).await.0, 400, "{body}");
    }
    let nulls = r#"{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null,"more":1}"#;
    assert_eq!(post_graphql(&[], nulls).await.0, 200);
}

#[tokio::test]
async fn a_body_may_have_as_many_bytes_as_the_limit_says() {
    let of_length = |length: usize| format!("{QUERY}{}", " ".repeat(length - QUERY.len()));
    let maximum = Limits::default().body_bytes;
    assert_eq!(post_graphql(&[], of_length(maximum)).await.0, 200);
    let error = r#"{"errors":[{"message":"the body has more than 100000 bytes","extensions":{"code":"REQUEST_TOO_LARGE"}}]}"#;
    for (accept, content_type) in [
        ("*/*", JSON),
        ("application/graphql-response+json", GRAPHQL_RESPONSE),
    ] {
        let (status, headers, body) =
            post_graphql(&[("accept", accept)], of_length(maximum + 1)).await;
        assert_eq!((status, body.as_str()), (413, error));
        let headers = ["content-type", "cache-control"].map(|name| header(&headers, name));
        assert_eq!(headers, [Some(content_type), Some("no-store")]);
    }
}

async fn get_graphql(parameters: &str) -> (u16, String) {
    let (status, _, body) = send(
        Method::GET,
        &format!("/graphql{parameters}"),
        &[],
        Body::empty(),
    )
    .await;
    (status, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_may_stand_in_the_url() {
    let named = r#"{"data":{"__typename":"Query"}}"#.to_owned();
    for parameters in [
        "?query=%7B__typename%7D",
        "?query={+__typename+}&operationName=&variables=&extensions=&more=1",
        "?operationName=B&query=query+A{catalogs{name}}+query+B{__typename}",
        "?query=query($a:Boolean!){__typename+@include(if:$a)}&variables=%7B%22a%22:true%7D&extensions={}",
    ] {
        assert_eq!(
            get_graphql(parameters).await,
            (200, named.clone()),
            "{parameters}"
        );
    }
    let cost = get_graphql(
        "?query={__typename}&extensions={\"cost\":true}"
            .replace('"', "%22")
            .as_str(),
    )
    .await
    .1;
    assert!(cost.contains(r#""requestedQueryCost":0"#), "{cost}");
}

#[tokio::test]
async fn an_answer_by_its_url_has_a_tag_and_need_not_be_sent_twice() {
    let ask = async |headers: &[(&str, &str)], parameters: &str| {
        let path =
            format!("/graphql?query=query($a:Int){{packages(first:$a){{totalCount}}}}{parameters}");
        let (status, headers, body) = send(Method::GET, &path, headers, Body::empty()).await;
        let header = |name| header(&headers, name).unwrap_or("-").to_owned();
        (
            status,
            header("etag"),
            header("cache-control"),
            header("vary"),
            body,
        )
    };
    let (status, tag, control, vary, body) = ask(&[], "").await;
    assert_eq!(
        (status, control.as_str(), vary.as_str()),
        (200, "public, no-cache", "accept, accept-encoding")
    );
    assert!(
        tag.ends_with("-json\"") && body.starts_with("{\"data\""),
        "{tag} {body}"
    );
    let kept = (
        304,
        tag.clone(),
        "public, no-cache".to_owned(),
        "accept, accept-encoding".to_owned(),
        String::new(),
    );
    for known in [tag.as_str(), &format!("\"x\", W/{tag}"), "*"] {
        assert_eq!(ask(&[("if-none-match", known)], "").await, kept, "{known}");
    }
    // Whatever changes the answer, its form or what it costs to say has another tag.
    let mut tags = vec![tag.clone()];
    tags.push(
        ask(&[("accept", "application/graphql-response+json")], "")
            .await
            .1,
    );
    tags.push(ask(&[], "&variables={%22a%22:1}").await.1);
    tags.push(ask(&[], "&extensions={%22cost%22:true}").await.1);
    tags.push(ask(&[], "%20").await.1);
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 5, "{tags:?}");
    // What has errors is not kept, and what is not asked for by a URL cannot be.
    let (status, tag, control, ..) = ask(&[], "&variables={%22a%22:501}").await;
    assert_eq!(
        (status, tag.as_str(), control.as_str()),
        (200, "-", "no-store")
    );
    assert_eq!(header(&post_graphql(&[], QUERY).await.1, "etag"), None);
}

#[tokio::test]
async fn a_document_may_be_named_by_its_digest_once_it_was_sent() {
    const HASH: &str = "ecf4edb46db40b5132295c0291d62fb65d6759a9eedfa4d5d612dd5ec54a6b38";
    let service = service(Limits::default(), &[]);
    let ask = async |parameters: &str| {
        let request = HttpRequest::builder()
            .uri(format!("/graphql?{parameters}"))
            .body(Body::empty())
            .unwrap();
        let body = service.call(request).await.unwrap().into_body();
        String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap()
    };
    let extension = |hash: &str| {
        format!(
            "extensions={{%22persistedQuery%22:{{%22version%22:1,%22sha256Hash%22:%22{hash}%22}}}}"
        )
    };
    let answer = r#"{"data":{"__typename":"Query"}}"#;
    let not_found = r#"{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#;
    assert_eq!(ask(&extension(HASH)).await, not_found);
    assert_eq!(ask(&format!("documentId=sha256:{HASH}")).await, not_found);
    let wrong = ask(&format!("query={{__typename%20}}&{}", extension(HASH))).await;
    assert!(
        wrong.contains("\"PERSISTED_QUERY_HASH_MISMATCH\""),
        "{wrong}"
    );
    assert_eq!(
        ask(&format!("query={{__typename}}&{}", extension(HASH))).await,
        answer
    );
    assert_eq!(ask(&extension(HASH)).await, answer);
    assert_eq!(ask(&format!("documentId=sha256:{HASH}")).await, answer);
    for named in [
        "documentId=x",
        "documentId=sha256:ECF4",
        &extension("x"),
        "extensions={%22persistedQuery%22:1}",
    ] {
        let refused = ask(named).await;
        assert!(refused.contains("\"BAD_USER_INPUT\""), "{named} {refused}");
    }
}

#[tokio::test]
async fn a_browser_that_opens_the_url_is_led_to_the_playground() {
    let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    let headers = [("accept", accept)];
    let (status, answered, _) = send(Method::GET, "/graphql", &headers, "").await;
    assert_eq!(
        (status, answered["location"].to_str().unwrap()),
        (303, "playground/")
    );
    // A parameter that is wrong is told.
    let (status, _, body) = send(Method::GET, "/graphql?documentId=x", &headers, "").await;
    let is_told = body.contains("`documentId` must be sha256:");
    assert_eq!((status, is_told), (200, true), "{body}");
}

#[tokio::test]
async fn parameters_that_are_none_are_refused() {
    for (parameters, expected) in [
        ("", "the parameter `query` is missing"),
        ("?operationName=A", "the parameter `query` is missing"),
        (
            "?query={a}&query={b}",
            "the parameter `query` is given twice",
        ),
        (
            "?query={a}&variables=[]",
            "the parameter `variables` is not a JSON object: ",
        ),
        (
            "?query={a}&variables={",
            "the parameter `variables` is not a JSON object: ",
        ),
        (
            "?query={a}&extensions=1",
            "the parameter `extensions` is not a JSON object: ",
        ),
    ] {
        let (status, body) = get_graphql(parameters).await;
        assert_eq!(status, 400, "{parameters}");
        assert!(body.starts_with(expected), "{body}");
    }
}

#[tokio::test]
async fn a_url_may_be_as_long_as_the_limit_says() {
    let of_length = |length: usize| {
        format!(
            "?query={{__typename}}{}",
            "+".repeat(length - "query={__typename}".len())
        )
    };
    let maximum = Limits::default().url_bytes;
    // So much white space has more tokens than a document may have, and is refused as such.
    assert_eq!(get_graphql(&of_length(maximum)).await.0, 200);
    let (status, body) = get_graphql(&of_length(maximum + 1)).await;
    assert_eq!(
        (status, body.contains(r#""code":"REQUEST_TOO_LARGE""#)),
        (414, true),
        "{body}"
    );
}

fn overloaded(message: &str) -> String {
    format!(
        r#"{{"errors":[{{"message":"{message}","extensions":{{"code":"SERVER_OVERLOADED"}}}}]}}"#
    )
}

#[tokio::test]
async fn answers_that_nobody_takes_are_bounded() {
    let limits = Limits {
        in_flight_bytes: 4 * budget::BUDGET_UNIT,
        ..Limits::default()
    };
    let service = service(limits, &[]);
    let ask = async |last: u8| {
        let request = HttpRequest::builder()
            .uri("/graphql?query={__typename}")
            .extension(peer(last));
        service
            .call(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    };
    let first = ask(1).await;
    let second = ask(1).await;
    let third = ask(1).await;
    assert_eq!(
        [&first, &second, &third].map(|response| response.status().as_u16()),
        [200, 200, 503]
    );
    let others = [ask(2).await, ask(3).await, ask(4).await];
    assert_eq!(
        others.map(|response| response.status().as_u16()),
        [200, 200, 503],
        "half is for other peers"
    );
    assert_eq!(
        ["retry-after", "content-type"].map(|name| header(third.headers(), name)),
        [Some("1"), Some(JSON)]
    );
    let error = overloaded("too many unread response bytes are buffered: try again later");
    assert_eq!(
        to_bytes(third.into_body(), usize::MAX).await.unwrap(),
        error
    );
    to_bytes(first.into_body(), usize::MAX).await.unwrap();
    assert_eq!(ask(1).await.status().as_u16(), 200);
}

fn peer(last: u8) -> Peer {
    Peer::new([192, 0, 2, last].into())
}

/// A request of almost the largest size whose undeclared variable is parsed to more than a
/// megabyte.
fn swelling() -> String {
    let zeros = "0,".repeat(48_000);
    format!(r#"{{"query":"{{__typename}}","variables":{{"x":[{zeros}0]}}}}"#)
}

#[tokio::test]
async fn requests_that_wait_hold_no_more_than_their_budget_and_keep_no_small_one_away() {
    const REQUESTS: usize = 300;
    let server = Arc::new(GraphqlService::new(
        Arc::new(engine(Limits::default())),
        GraphqlHttpSettings::default(),
    ));
    let weight = weight::json_weight(swelling().as_bytes());
    let permits = |last| {
        (0..REQUESTS)
            .map_while(|_| server.queued.try_acquire(peer(last), weight))
            .collect::<Vec<_>>()
    };
    let permits = [permits(1), permits(2), permits(3)];
    let counts = permits.each_ref().map(Vec::len);
    assert_eq!(
        counts[..2],
        [LARGE_REQUESTS_BYTES / 2 / weight; 2],
        "each weighs {weight} bytes"
    );
    assert_eq!(
        counts.iter().sum::<usize>(),
        LARGE_REQUESTS_BYTES / weight,
        "each weighs {weight} bytes"
    );
    let post = async |body: String| {
        let request = HttpRequest::post("/graphql")
            .header("content-type", "application/json")
            .body(body.into());
        let response = respond_to_post(State(Arc::clone(&server)), request.unwrap()).await;
        let status = response.status().as_u16();
        let retry = header(response.headers(), "retry-after").map(str::to_owned);
        (
            status,
            retry,
            to_bytes(response.into_body(), usize::MAX).await.unwrap(),
        )
    };
    let (status, retry, body) = post(swelling()).await;
    let error = overloaded("too many bytes of requests are queued: try again later");
    assert_eq!(
        (status, retry.as_deref(), &*body),
        (503, Some("1"), error.as_bytes())
    );
    assert_eq!(post(QUERY.to_owned()).await.0, 200);
    drop(permits);
    assert_eq!(post(swelling()).await.0, 200);
}

#[tokio::test]
async fn a_request_that_could_take_more_than_the_budget_is_refused_for_good() {
    let limits = Limits {
        body_bytes: 1 << 20,
        ..Limits::default()
    };
    let server = Arc::new(GraphqlService::new(
        Arc::new(engine(limits)),
        GraphqlHttpSettings::default(),
    ));
    let post = async |items: &str, count: usize| {
        let body = format!(
            r#"{{"query":"{{__typename}}","variables":{{"x":[{}0]}}}}"#,
            items.repeat(count)
        );
        let request = HttpRequest::post("/graphql")
            .header("content-type", "application/json")
            .body(body.into());
        let response = respond_to_post(State(Arc::clone(&server)), request.unwrap()).await;
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (
            head.status.as_u16(),
            head.headers.contains_key("retry-after"),
            String::from_utf8(body.to_vec()).unwrap(),
        )
    };
    // More than large requests may take together, and as many as there may be at a time by default.
    assert_eq!(post("{},", 33_300).await.0, 200);
    let (status, has_retry, body) = post("{},", 100_000).await;
    assert_eq!((status, has_retry), (413, false));
    assert!(
        body.contains("the request could take more than 67108864 bytes once it is parsed"),
        "{body}"
    );
    assert!(body.contains("REQUEST_TOO_LARGE"), "{body}");
}

#[tokio::test]
async fn bodies_that_are_sent_slowly_keep_no_query_of_normal_size_away() {
    let server = Arc::new(GraphqlService::new(
        Arc::new(engine(Limits::default())),
        GraphqlHttpSettings::default(),
    ));
    let post = |last: u8, body: Body| {
        let request = HttpRequest::post("/graphql")
            .header("content-type", "application/json")
            .extension(peer(last));
        let request = request.body(body).unwrap();
        let response = respond_to_post(State(Arc::clone(&server)), request);
        async { response.await.status().as_u16() }
    };
    // Their length is not known: they count as the longest.
    let silent = || Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
    let read_slowly = async |last: u8| {
        let mut reading: Vec<_> = Vec::new();
        while reading.len() < 1000 {
            let mut slow = Box::pin(post(last, silent()));
            match tokio::time::timeout(Duration::ZERO, &mut slow).await {
                Ok(status) => {
                    assert_eq!(status, 503);
                    break;
                }
                Err(_) => reading.push(slow),
            }
        }
        reading
    };
    // The budget counts whole units, and one peer has half of it.
    let unit = Limits::default()
        .body_bytes
        .next_multiple_of(budget::BUDGET_UNIT);
    let mut reading = read_slowly(1).await;
    assert_eq!(reading.len(), READING_BYTES / 2 / unit);
    assert_eq!(post(2, swelling().into()).await, 200);
    let others = [read_slowly(2).await, read_slowly(3).await];
    assert_eq!(
        reading.len() + others.iter().map(Vec::len).sum::<usize>(),
        READING_BYTES / unit
    );
    assert_eq!(post(4, swelling().into()).await, 503);
    assert_eq!(post(1, QUERY.into()).await, 200);
    reading.pop();
    assert_eq!(post(1, swelling().into()).await, 200);
}

#[tokio::test]
async fn other_methods_are_told_which_one_to_use() {
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let (status, headers, _) = send(method, "/graphql", &[], Body::empty()).await;
        assert_eq!(
            (status, header(&headers, "allow")),
            (405, Some("GET,HEAD,POST"))
        );
    }
    let (status, headers, _) = send(Method::POST, "/schema.graphql", &[], Body::empty()).await;
    assert_eq!((status, header(&headers, "allow")), (405, Some("GET,HEAD")));
}

#[tokio::test]
async fn the_schema_is_served_as_text_and_need_not_be_sent_twice() {
    let (status, headers, body) = send(Method::GET, "/schema.graphql", &[], Body::empty()).await;
    assert_eq!(
        (status, header(&headers, "content-type")),
        (200, Some("text/plain; charset=utf-8"))
    );
    assert_eq!(body, SDL);
    let tag = header(&headers, "etag").unwrap();
    for (known, expected) in [
        (tag, 304),
        ("\"other\"", 200),
        (&format!("\"other\", W/{tag}"), 304),
        ("*", 304),
    ] {
        let (status, headers, _) = send(
            Method::GET,
            "/schema.graphql",
            &[("if-none-match", known)],
            Body::empty(),
        )
        .await;
        assert_eq!(
            (status, header(&headers, "etag")),
            (expected, Some(tag)),
            "{known}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_work_is_done_on_either_kind_of_runtime() {
    let body = r#"{"query":"{ metas { nodes { blob } } bundles(first: 500) { nodes { name package { name } } } }"}"#;
    let (status, _, answer) = post_graphql(&[], body).await;
    assert_eq!(status, 200);
    assert!(answer.starts_with(r#"{"data":"#));
    let single = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(post_graphql(&[], body)).2
    });
    assert_eq!(single.await.unwrap(), answer);
}

/// Status and body of the answer to a request of a caller who may see these catalogs.
async fn send_as(
    engine: &Arc<graphql::Engine>,
    names: &[&str],
    mut request: HttpRequest<Body>,
) -> (u16, String) {
    let seen = Visibility::only(names.iter().map(|&name| name.to_owned()));
    request
        .extensions_mut()
        .insert(engine.catalogs().visible(seen));
    let service = TowerToHyperService::new(
        GraphqlHttp::new(Arc::clone(engine), GraphqlHttpSettings::default()).router(),
    );
    let (head, body) = service.call(request).await.unwrap().into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        head.status.as_u16(),
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

#[tokio::test]
async fn a_request_is_answered_from_what_its_caller_may_see() {
    let engine = Arc::new(engine(Limits::default()));
    let body = r#"{"query":"{ catalogs { name } }"}"#;
    let url = "/graphql?query=%7B+catalogs+%7B+name+%7D+%7D";
    for _ in 0..3 {
        for (names, expected) in [
            (&["alpha"][..], r#"{"name":"alpha"}"#),
            (&["beta"], r#"{"name":"beta"}"#),
            (&[], ""),
        ] {
            let expected = (200, format!(r#"{{"data":{{"catalogs":[{expected}]}}}}"#));
            let post = HttpRequest::post("/graphql").header("content-type", "application/json");
            assert_eq!(
                send_as(&engine, names, post.body(body.into()).unwrap()).await,
                expected
            );
            assert_eq!(
                send_as(
                    &engine,
                    names,
                    HttpRequest::get(url).body(Body::empty()).unwrap()
                )
                .await,
                expected
            );
            let stream = HttpRequest::get(url)
                .header("accept", "text/event-stream")
                .body(Body::empty())
                .unwrap();
            assert!(
                send_as(&engine, names, stream)
                    .await
                    .1
                    .contains(&expected.1)
            );
        }
    }
}

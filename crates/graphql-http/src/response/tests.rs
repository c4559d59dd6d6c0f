//! In which form an answer is sent, and for how long it may be kept.

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request as HttpRequest;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use graphql::Engine;
use graphql::limits::{IntrospectionPolicy, Limits};
use http_content::coding::MIN_ENCODED_BYTES;

use crate::budget::BUDGET_UNIT;
use crate::tests::fixture::{ALPHA_DIGEST, engine};

/// More than [`MIN_ENCODED_BYTES`] of answer.
const LARGE: &str = "{bundles{nodes{id,name,version,image,properties{type,value}}}}";

/// Less.
const SMALL: &str = "{__typename}";

struct Client {
    engine: Arc<Engine>,
    service: TowerToHyperService<Router>,
}

/// What is said of an answer, and its body.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    status: u16,
    coding: String,
    tag: String,
    control: String,
    body: Vec<u8>,
}

impl Client {
    fn new(limits: Limits) -> Self {
        let engine = Arc::new(engine(limits));
        let service = TowerToHyperService::new(
            crate::GraphqlHttp::new(Arc::clone(&engine), crate::GraphqlHttpSettings::default())
                .router(),
        );
        Self { engine, service }
    }

    async fn send(&self, request: HttpRequest<Body>) -> Got {
        let (head, body) = self.service.call(request).await.unwrap().into_parts();
        let header = |name: &str| {
            head.headers
                .get(name)
                .map_or("-", |value| value.to_str().unwrap())
                .to_owned()
        };
        let coding = header("content-encoding");
        let tag = header("etag");
        let control = header("cache-control");
        let is_negotiated = !header("content-type").starts_with("text/");
        assert!(
            head.status != 200 || !is_negotiated || header("vary") == "accept, accept-encoding"
        );
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Got {
            status: head.status.as_u16(),
            coding,
            tag,
            control,
            body,
        }
    }

    async fn get(&self, query: &str, codings: &str, known: &str) -> Got {
        self.negotiated(query, "*/*", codings, known).await
    }

    async fn negotiated(&self, query: &str, accept: &str, codings: &str, known: &str) -> Got {
        let request =
            HttpRequest::get(format!("/graphql?{}", parameters(query))).header("accept", accept);
        let request = request
            .header("accept-encoding", codings)
            .header("if-none-match", known);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn post(&self, query: &str, codings: &str) -> Got {
        let request = HttpRequest::post("/graphql").header("content-type", "application/json");
        let request = request.header("accept-encoding", codings);
        self.send(
            request
                .body(serde_json::json!({ "query": query }).to_string().into())
                .unwrap(),
        )
        .await
    }
}

fn parameters(query: &str) -> String {
    form_urlencoded::Serializer::new(String::new())
        .append_pair("query", query)
        .finish()
}

impl Got {
    /// The text of the answer.
    fn text(&self) -> String {
        let mut text = String::new();
        match self.coding.as_str() {
            "gzip" => flate2::read::GzDecoder::new(&*self.body).read_to_string(&mut text),
            "zstd" => zstd::Decoder::new(&*self.body)
                .unwrap()
                .read_to_string(&mut text),
            _ => (&*self.body).read_to_string(&mut text),
        }
        .unwrap();
        text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_has_the_coding_that_the_client_prefers_and_a_tag_for_each() {
    let client = Client::new(Limits::default());
    let plain = client.get(LARGE, "", "").await;
    assert!(
        plain.body.len() >= MIN_ENCODED_BYTES && plain.tag.ends_with("-json\""),
        "{plain:?}"
    );
    let stem = plain.tag.trim_end_matches('"');
    for (codings, coding) in [
        ("gzip", "gzip"),
        ("gzip;q=0.5, zstd", "zstd"),
        ("zstd, gzip", "zstd"),
        ("br", "-"),
    ] {
        // The first is new, the second is kept, and the third has been compressed before.
        for _ in 0..3 {
            let got = client.get(LARGE, codings, "").await;
            assert_eq!(
                (got.coding.as_str(), got.text()),
                (coding, plain.text()),
                "{codings}"
            );
            let expected = if coding == "-" {
                plain.tag.clone()
            } else {
                format!("W/{stem}-{coding}\"")
            };
            assert_eq!(got.tag, expected);
            let posted = client.post(LARGE, codings).await;
            assert_eq!(
                (posted.coding, posted.body, posted.tag),
                (got.coding, got.body, "-".to_owned())
            );
        }
    }
    let small = client.get(SMALL, "gzip, zstd", "").await;
    assert_eq!(
        (small.coding.as_str(), small.body.len() < MIN_ENCODED_BYTES),
        ("-", true)
    );
}

#[tokio::test]
async fn a_client_that_has_an_answer_in_any_form_that_it_takes_is_told_so() {
    let client = Client::new(Limits::default());
    let tag = async |codings| client.get(LARGE, codings, "").await.tag;
    let [plain, gzip, zstd] = [tag("").await, tag("gzip").await, tag("zstd").await];
    for (codings, known, expected) in [
        ("", &plain, 304),
        ("gzip", &gzip, 304),
        ("gzip, zstd", &gzip, 304),
        ("gzip, zstd", &zstd, 304),
        ("gzip, zstd", &plain, 304),
        ("zstd", &gzip, 200),
        ("", &gzip, 200),
    ] {
        let got = client.get(LARGE, codings, known).await;
        assert_eq!(got.status, expected, "{codings} {known}");
        if expected == 304 {
            let empty = Got {
                status: 304,
                coding: "-".to_owned(),
                tag: known.clone(),
                control: "public, no-cache".to_owned(),
                body: Vec::new(),
            };
            assert_eq!(got, empty);
        }
    }
    // A document that was never executed here is parsed, and no more.
    assert_eq!(
        Client::new(Limits::default())
            .get(LARGE, "gzip", &gzip)
            .await
            .status,
        304
    );
}

#[tokio::test]
async fn a_url_is_answered_the_same_when_it_was_asked_before() {
    let unknown = "query($x:String){catalog(name:$x){name}}";
    let tag = Client::new(Limits::default())
        .get(LARGE, "gzip", "")
        .await
        .tag;
    let asked_before = Client::new(Limits::default());
    let mut statuses = Vec::new();
    for query in [
        LARGE,
        SMALL,
        "{nothing}",
        "{",
        "{package(catalog:\"none\",name:\"x\"){name}}",
        unknown,
    ] {
        for accept in [
            "application/json",
            "application/graphql-response+json",
            "text/event-stream",
            "text/html",
        ] {
            for (codings, known) in [
                ("", ""),
                ("gzip", ""),
                ("gzip", tag.as_str()),
                ("zstd", "*"),
            ] {
                let fresh = Client::new(Limits::default())
                    .negotiated(query, accept, codings, known)
                    .await;
                for _ in 0..3 {
                    let again = asked_before.negotiated(query, accept, codings, known).await;
                    assert_eq!(
                        again.text(),
                        fresh.text(),
                        "{query} {accept} {codings} {known}"
                    );
                    let said = |got: &Got| {
                        (
                            got.status,
                            got.coding.clone(),
                            got.tag.clone(),
                            got.control.clone(),
                        )
                    };
                    assert_eq!(
                        said(&again),
                        said(&fresh),
                        "{query} {accept} {codings} {known}"
                    );
                }
                statuses.push(fresh.status);
            }
        }
    }
    let of = |status| statuses.iter().filter(|other| **other == status).count();
    let recalled = [LARGE, SMALL, "{nothing}", "{", unknown].map(|query| {
        asked_before
            .engine
            .recall(&parameters(query), asked_before.engine.catalogs())
            .is_some()
    });
    assert_eq!(recalled, [true, true, false, false, false]);
    // It would mean nothing if all were refused.
    assert_eq!([200, 304, 400, 406].map(of), [53, 7, 12, 24]);
}

#[tokio::test]
async fn an_answer_that_is_compressed_may_have_as_many_bytes_as_the_limit_says() {
    let length = Client::new(Limits::default())
        .post(LARGE, "")
        .await
        .body
        .len();
    for (compressed_bytes, coding) in [(length, "gzip"), (length - 1, "-")] {
        let client = Client::new(Limits {
            compressed_bytes,
            ..Limits::default()
        });
        for _ in 0..3 {
            assert_eq!(
                client.post(LARGE, "gzip").await.coding,
                coding,
                "{compressed_bytes}"
            );
        }
    }
}

#[tokio::test]
async fn only_what_never_changes_is_kept_without_asking() {
    let client = Client::new(Limits::default());
    let control = async |query: &str| client.get(query, "", "").await.control;
    let pinned =
        |fields: &str| format!("{{catalog(name:\"alpha\",digest:\"{ALPHA_DIGEST}\"){{{fields}}}}}");
    for _ in 0..3 {
        assert_eq!(
            control(&pinned("packages{totalCount}")).await,
            "public, max-age=86400, immutable"
        );
        assert_eq!(control(&pinned("priority")).await, "public, no-cache");
        assert_eq!(
            control("{catalog(name:\"alpha\"){name}}").await,
            "public, no-cache"
        );
        assert_eq!(
            control("{catalog(name:\"alpha\",digest:\"other\"){name}}").await,
            "no-store"
        );
        assert_eq!(control("{nothing}").await, "no-store");
    }
}

#[tokio::test]
async fn an_answer_with_errors_is_made_anew_each_time_and_has_no_tag() {
    let client = Client::new(Limits::default());
    for _ in 0..3 {
        let got = client
            .get("{bundles(first:-1){totalCount}}", "", "\"other\"")
            .await;
        assert_eq!(
            (got.status, got.tag.as_str(), got.control.as_str()),
            (200, "-", "no-store")
        );
    }
}

#[tokio::test]
async fn answers_that_are_kept_count_until_they_are_taken() {
    // Half of it is for one peer.
    let limits = Limits {
        in_flight_bytes: 4 * BUDGET_UNIT,
        ..Limits::default()
    };
    let client = Client::new(limits);
    for _ in 0..2 {
        assert_eq!(client.post(SMALL, "").await.status, 200);
    }
    let ask = async || {
        let request = HttpRequest::builder()
            .uri(format!("/graphql?query={SMALL}"))
            .body(Body::empty())
            .unwrap();
        client.service.call(request).await.unwrap()
    };
    let first = ask().await;
    let second = ask().await;
    let third = ask().await;
    assert_eq!(
        [&first, &second, &third].map(|response| response.status().as_u16()),
        [200, 200, 503]
    );
    drop(first);
    assert_eq!(ask().await.status().as_u16(), 200);
}

#[tokio::test]
async fn the_schema_is_told_to_nobody_where_introspection_is_off() {
    for (introspection, is_readable) in [
        (IntrospectionPolicy::Enabled, true),
        (IntrospectionPolicy::Disabled, false),
    ] {
        let client = Client::new(Limits {
            introspection,
            ..Limits::default()
        });
        for query in [
            "{__schema{description}}",
            "{__type(name:\"Int\"){name}}",
            "{...{...f}}fragment f on Query{__schema{description}}",
        ] {
            let got = client.get(query, "", "").await.text();
            assert_eq!(got.contains("\"data\""), is_readable, "{got}");
            assert_eq!(
                got.contains("GRAPHQL_VALIDATION_FAILED"),
                !is_readable,
                "{got}"
            );
        }
        assert_eq!(
            client.get(SMALL, "", "").await.text(),
            r#"{"data":{"__typename":"Query"}}"#
        );
        let schema = client.send(
            HttpRequest::get("/schema.graphql")
                .body(Body::empty())
                .unwrap(),
        );
        assert_eq!(schema.await.status, if is_readable { 200 } else { 404 });
    }
}

#[test]
fn no_message_suggests_another_name() {
    let engine = engine(Limits {
        introspection: IntrospectionPolicy::Disabled,
        ..Limits::default()
    });
    for query in [
        "{ catalog { name } }",
        "{ catalogss { name } }",
        "{ catalogs { nam } }",
        "{ catalogs }",
        "{ catalogs { name { x } } }",
        "{ packages(firs: 1) { totalCount } }",
        "{ packages(filter: {serch: \"x\"}) { totalCount } }",
        "{ packages(orderBy: {field: NAM}) { totalCount } }",
        "{ ... on Quer { __typename } }",
        "query($a: Strin) { __typename }",
        "{ __typename @skp }",
        "{ __typename @skip(i: true) }",
    ] {
        let request = graphql::Request {
            query: Some(query.into()),
            ..Default::default()
        };
        let text = String::from_utf8(engine.execute(&request).body).unwrap();
        assert!(text.contains("GRAPHQL_VALIDATION_FAILED"), "{text}");
        assert!(
            !text.contains("Did you mean") && !text.contains("did you mean"),
            "{text}"
        );
    }
}

//! What is counted of exchanges.

use axum::body::to_bytes;

use super::*;

/// What is counted of one exchange, as text: in flight before its end, then handler, method, code,
/// and how often it was timed for the handler and for catalogd.
fn counted(exchanges: &Arc<Exchanges>) -> (Vec<String>, Vec<(&'static str, u64)>, u64) {
    let requests = exchanges.requests.iter().flat_map(|(handler, methods)| {
        methods.iter().flat_map(move |(method, codes)| {
            let codes = codes.iter().filter(|(_, count)| count.get() > 0);
            codes.map(move |(code, count)| {
                format!(
                    "{} {} {code} {}",
                    ::metrics::Label::as_str(handler),
                    ::metrics::Label::as_str(method),
                    count.get()
                )
            })
        })
    });
    let timed = exchanges
        .durations
        .iter()
        .map(|(handler, values)| (::metrics::Label::as_str(handler), values.values().count()));
    let catalogd = exchanges
        .catalogd_durations
        .iter()
        .map(|(_, values)| values.values().count())
        .sum();
    (
        requests.collect(),
        timed.filter(|(_, count)| *count > 0).collect(),
        catalogd,
    )
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap()
}

fn in_flight(exchanges: &Exchanges) -> u64 {
    exchanges
        .in_flight
        .iter()
        .map(|(_, gauge)| gauge.get())
        .sum()
}

#[tokio::test]
async fn an_exchange_is_counted_when_its_response_has_ended() {
    let exchanges = Arc::<Exchanges>::default();
    let exchange = exchanges.begin(&request("GET", "/catalogs/etcd/api/v1/metas"), None);
    let response = Response::new(Body::from("twelve bytes"));
    let response = Exchange::respond(Some(exchange), response);
    assert_eq!(
        (counted(&exchanges), in_flight(&exchanges)),
        ((vec![], vec![], 0), 1)
    );
    to_bytes(Body::new(response.into_body()), usize::MAX)
        .await
        .unwrap();
    assert_eq!(
        counted(&exchanges),
        (vec!["metas GET 200 1".to_owned()], vec![("metas", 1)], 1)
    );
    assert_eq!(
        (in_flight(&exchanges), exchanges.response_bytes.get()),
        (0, 12)
    );
}

#[test]
fn a_client_that_leaves_before_its_response_is_counted_as_such() {
    let exchanges = Arc::<Exchanges>::default();
    drop(exchanges.begin(&request("POST", "/graphql"), None));
    assert_eq!(
        counted(&exchanges),
        (
            vec!["graphql POST 499 1".to_owned()],
            vec![("graphql", 1)],
            0
        )
    );
}

#[test]
fn the_duration_of_a_stream_is_the_time_until_it_begins() {
    let exchanges = Arc::<Exchanges>::default();
    let exchange = exchanges.begin(&request("GET", "/graphql"), None);
    let stream =
        Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/event-stream; charset=utf-8")
        .body(stream)
        .unwrap();
    let running = Exchange::respond(Some(exchange), response);
    assert_eq!(counted(&exchanges), (vec![], vec![("graphql", 1)], 0));
    assert_eq!(in_flight(&exchanges), 1);
    drop(running);
    assert_eq!(
        counted(&exchanges),
        (
            vec!["graphql GET 200 1".to_owned()],
            vec![("graphql", 1)],
            0
        )
    );
}

#[test]
fn clients_cannot_make_series() {
    let exchanges = Arc::<Exchanges>::default();
    for at in 0..1_000 {
        let mut request = request("GET", &format!("/catalogs/{at}/{at}"));
        *request.method_mut() = format!("M{at}").parse().unwrap();
        let response = Response::builder()
            .status(600 + at % 400)
            .body(Body::empty())
            .unwrap();
        drop(Exchange::respond(
            Some(exchanges.begin(&request, None)),
            response,
        ));
    }
    assert_eq!(
        counted(&exchanges),
        (
            vec!["other other other 1000".to_owned()],
            vec![("other", 1_000)],
            1_000
        )
    );
}

#[test]
fn every_route_has_its_handler() {
    for (path, handler) in [
        ("/graphql", Handler::Graphql),
        ("/", Handler::Page),
        ("/assets/a.js", Handler::Page),
        ("/playground", Handler::Page),
        ("/playground/assets/a.js", Handler::Page),
        ("/schema.graphql", Handler::Schema),
        ("/catalogs/a/api/v1/nothing", Handler::Other),
        ("/graphql/x", Handler::Other),
    ] {
        assert_eq!(Handler::of_path(path), handler, "{path}");
    }
    for route in catalogd_http::routes() {
        assert_ne!(
            Handler::of_path(&route.replace(['{', '}'], "")),
            Handler::Other,
            "{route}"
        );
    }
}

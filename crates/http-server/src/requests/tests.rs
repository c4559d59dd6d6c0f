//! Metrics of observed requests.

use axum::body::to_bytes;

use super::*;

/// Names of the handlers of [`classify`].
const HANDLERS: [&str; 3] = ["graphql", "metas", "other"];

/// Metrics of one observation, as text.
#[derive(Debug, PartialEq, Eq)]
struct ExpectedCounts {
    /// Handler, method, status and number of the requests that ended.
    requests: Vec<String>,
    /// Handlers with the number of their durations.
    durations: Vec<(&'static str, u64)>,
    /// Number of durations that catalogd counts.
    catalogd: u64,
}

fn classify(path: &str) -> RequestHandler {
    let index = match path.rsplit('/').next() {
        Some("graphql") => 0,
        Some("metas") => 1,
        _ => 2,
    };
    RequestHandler {
        name: HANDLERS[index],
        index,
        is_catalogd: index > 0,
        streams: false,
    }
}

fn observer() -> RequestObserver {
    RequestObserver {
        metrics: Arc::new(RequestMetrics::new(HANDLERS)),
        classify,
        access_log: None,
        tracer: None,
    }
}

fn counted(RequestObserver { metrics, .. }: &RequestObserver) -> ExpectedCounts {
    let requests = metrics.handlers.iter().flat_map(|handler| {
        handler.requests.iter().flat_map(move |(method, statuses)| {
            let ended = statuses.iter().filter(|(_, count)| count.get() > 0);
            ended.map(move |(status, count)| {
                format!(
                    "{} {} {status} {}",
                    handler.name,
                    method.as_str(),
                    count.get()
                )
            })
        })
    });
    let durations = metrics
        .handlers
        .iter()
        .map(|handler| (handler.name, handler.durations.values().count()))
        .filter(|(_, count)| *count > 0);
    let catalogd = metrics
        .catalogd_durations
        .iter()
        .map(|(_, values)| values.values().count());
    ExpectedCounts {
        requests: requests.collect(),
        durations: durations.collect(),
        catalogd: catalogd.sum(),
    }
}

/// The metrics of one request that ended.
fn one(request: &str, handler: &'static str, catalogd: u64) -> ExpectedCounts {
    ExpectedCounts {
        requests: vec![request.to_owned()],
        durations: vec![(handler, 1)],
        catalogd,
    }
}

fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap()
}

fn in_flight(RequestObserver { metrics, .. }: &RequestObserver) -> u64 {
    metrics
        .handlers
        .iter()
        .map(|handler| handler.in_flight.get())
        .sum()
}

#[tokio::test]
async fn a_request_is_counted_when_its_response_has_ended() {
    let observer = observer();
    let record = observer.begin(&request("GET", "/catalogs/etcd/api/v1/metas"));
    let response = Response::new(Body::from("twelve bytes"));
    let response = ObservedRequest::respond(Some(record), response);
    let none = ExpectedCounts {
        requests: vec![],
        durations: vec![],
        catalogd: 0,
    };
    assert_eq!((counted(&observer), in_flight(&observer)), (none, 1));
    to_bytes(Body::new(response.into_body()), usize::MAX)
        .await
        .unwrap();
    assert_eq!(counted(&observer), one("metas GET 200 1", "metas", 1));
    assert_eq!(
        (in_flight(&observer), observer.metrics.response_bytes.get()),
        (0, 12)
    );
}

#[test]
fn a_client_that_leaves_before_its_response_is_counted_as_such() {
    let observer = observer();
    drop(observer.begin(&request("POST", "/graphql")));
    assert_eq!(counted(&observer), one("graphql POST 499 1", "graphql", 0));
}

#[test]
fn the_duration_of_a_stream_is_the_time_until_it_begins() {
    let observer = observer();
    let record = observer.begin(&request("GET", "/graphql"));
    let stream =
        Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/event-stream; charset=utf-8")
        .body(stream)
        .unwrap();
    let running = ObservedRequest::respond(Some(record), response);
    let begun = ExpectedCounts {
        requests: vec![],
        durations: vec![("graphql", 1)],
        catalogd: 0,
    };
    assert_eq!((counted(&observer), in_flight(&observer)), (begun, 1));
    drop(running);
    assert_eq!(counted(&observer), one("graphql GET 200 1", "graphql", 0));
}

#[test]
fn a_response_without_a_length_is_a_stream_only_for_handlers_that_stream() {
    for streams in [false, true] {
        let observer = observer();
        let mut record = observer.begin(&request("GET", "/graphql"));
        record.handler.streams = streams;
        let unsized_body =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let _running = ObservedRequest::respond(Some(record), Response::new(unsized_body));
        assert_eq!(counted(&observer).durations.is_empty(), !streams);
    }
}

#[test]
fn clients_cannot_make_series() {
    let observer = observer();
    for at in 0..1_000 {
        let mut request = request("GET", &format!("/catalogs/{at}/{at}"));
        *request.method_mut() = format!("M{at}").parse().unwrap();
        let response = Response::builder()
            .status(600 + at % 400)
            .body(Body::empty())
            .unwrap();
        drop(ObservedRequest::respond(
            Some(observer.begin(&request)),
            response,
        ));
    }
    let expected = ExpectedCounts {
        requests: vec!["other other other 1000".to_owned()],
        durations: vec![("other", 1_000)],
        catalogd: 1_000,
    };
    assert_eq!(counted(&observer), expected);
}

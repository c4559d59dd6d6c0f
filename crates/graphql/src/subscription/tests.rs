//! What streams are told, and what they cost.

use std::sync::Mutex;

use futures_util::FutureExt;
use serde_json::{Value, json};
use serving::{Caller, CatalogsWriter, Renewal, RenewalError, Revision, Visibility, catalogs};
use tokio::task::unconstrained;

use super::*;
use crate::Request;
use crate::limits::{Limits, StreamLimits};
use crate::streams::{CONCURRENT_EVENTS, SHARED_TEXTS, Streams};
use crate::tests::fixture::{ALPHA, BETA, served};

const CHANGES: &str = "subscription($names: [String!]) { catalogChanged(names: $names) {
    name change fromDigest catalog { digest } diff { fromDigest toDigest packages { name change } }
} }";

fn start() -> (CatalogsWriter, Arc<Engine>) {
    let (writer, reader) = catalogs();
    (
        writer,
        Arc::new(Engine::new(reader, "test", Limits::default())),
    )
}

fn subscribe(engine: &Arc<Engine>, names: &Value) -> Subscription {
    subscribe_for(engine, &engine.catalogs, names)
}

fn subscribe_for(engine: &Arc<Engine>, catalogs: &Catalogs, names: &Value) -> Subscription {
    let variables = json!({ "names": names });
    let request = Request {
        query: Some(CHANGES.into()),
        variables: variables.as_object().cloned(),
        ..Request::default()
    };
    let prepared = engine
        .prepare(&request, catalogs, Peer::default())
        .expect("a test document is valid");
    prepared
        .subscribe()
        .unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// What a stream is told now, as short text; nothing when it has to wait for a change.
fn told(stream: &mut Subscription) -> Option<String> {
    let engine = Arc::clone(&stream.operation.engine);
    let mut next = Box::pin(unconstrained(stream.next()));
    let event = loop {
        if let Some(event) = (&mut next).now_or_never() {
            break event.expect("the stream goes on");
        }
        // An event that is being written on another thread has a permit.
        if engine.streams.events.free() == CONCURRENT_EVENTS {
            return None;
        }
        std::thread::yield_now();
    };
    let body: Value = serde_json::from_slice(&event.text).unwrap();
    assert_eq!(body.get("errors"), None);
    let change = &body["data"]["catalogChanged"];
    let digit = |digest: &Value| {
        digest
            .as_str()
            .map_or("-".to_owned(), |digest| digest[8..9].to_owned())
    };
    let name = change["name"].as_str().unwrap();
    let what = change["change"].as_str().unwrap();
    let diff = &change["diff"];
    let sides = [&diff["fromDigest"], &diff["toDigest"]].map(digit).concat();
    let packages = diff["packages"].as_array().into_iter().flatten();
    let packages: Vec<_> = packages
        .map(|one| format!("{}{}", one["name"], one["change"]).replace('"', " "))
        .collect();
    let from_to = format!(
        "{}{}",
        digit(&change["fromDigest"]),
        digit(&change["catalog"]["digest"])
    );
    Some(format!(
        "{name} {what} {from_to} {sides}{}",
        packages.concat()
    ))
}

#[tokio::test]
async fn a_stream_is_told_of_each_catalog_that_comes_changes_and_goes() {
    let (mut writer, engine) = start();
    writer.publish(served("there", BETA, 9));
    let mut stream = subscribe(&engine, &Value::Null);
    assert_eq!(told(&mut stream), None);
    writer.publish(served("a", BETA, 1));
    assert_eq!(told(&mut stream).as_deref(), Some("a ADDED -1 --"));
    writer.publish(served("a", ALPHA, 2));
    let packages = "etcd  CHANGED  minio  REMOVED  zoo  ADDED ";
    assert_eq!(
        told(&mut stream),
        Some(format!("a CHANGED 12 12 {packages}"))
    );
    writer.withdraw("a");
    assert_eq!(told(&mut stream).as_deref(), Some("a REMOVED 2- --"));
    assert_eq!(told(&mut stream), None);
}

#[tokio::test]
async fn the_same_content_published_anew_is_no_change() {
    let (mut writer, engine) = start();
    writer.publish(served("a", ALPHA, 1));
    let mut stream = subscribe(&engine, &Value::Null);
    let before = Arc::downgrade(
        &engine
            .catalogs
            .snapshot()
            .by_name()
            .next()
            .unwrap()
            .content
            .catalog,
    );
    writer.publish(served("a", ALPHA, 1));
    assert_eq!(told(&mut stream), None);
    assert!(
        before.upgrade().is_none(),
        "what is served no more is let go"
    );
}

#[tokio::test]
async fn a_slow_reader_is_told_the_latest_state_and_nothing_between() {
    let (mut writer, engine) = start();
    writer.publish(served("a", ALPHA, 1));
    let mut stream = subscribe(&engine, &Value::Null);
    writer.publish(served("a", BETA, 2));
    writer.publish(served("b", BETA, 2));
    writer.withdraw("b");
    writer.publish(served("a", ALPHA, 3));
    assert_eq!(told(&mut stream).as_deref(), Some("a CHANGED 13 13"));
    assert_eq!(told(&mut stream), None);
    writer.publish(served("a", BETA, 4));
    writer.publish(served("a", ALPHA, 3));
    assert_eq!(told(&mut stream), None, "it is as it was told");
}

#[tokio::test]
async fn only_the_named_catalogs_are_told_of() {
    let (mut writer, engine) = start();
    let mut streams =
        [json!(["a", "c"]), json!([]), Value::Null].map(|names| subscribe(&engine, &names));
    for name in ["a", "b"] {
        writer.publish(served(name, BETA, 1));
    }
    let all = streams
        .each_mut()
        .map(|stream| [told(stream), told(stream)]);
    let [a, b] = ["a ADDED -1 --", "b ADDED -1 --"].map(|text| Some(text.to_owned()));
    assert_eq!(all, [[a.clone(), None], [a.clone(), b.clone()], [a, b]]);
}

#[tokio::test]
async fn a_catalog_that_changes_all_the_time_hides_no_other() {
    let (mut writer, engine) = start();
    let mut stream = subscribe(&engine, &Value::Null);
    writer.publish(served("a", BETA, 1));
    writer.publish(served("b", BETA, 1));
    assert_eq!(told(&mut stream).as_deref(), Some("a ADDED -1 --"));
    writer.publish(served("a", BETA, 2));
    assert_eq!(told(&mut stream).as_deref(), Some("b ADDED -1 --"));
    assert_eq!(told(&mut stream).as_deref(), Some("a CHANGED 12 12"));
}

#[tokio::test]
async fn equal_requests_are_executed_once_for_a_change() {
    let (mut writer, engine) = start();
    let mut streams =
        [Value::Null, Value::Null, json!(["a"])].map(|names| subscribe(&engine, &names));
    for digest in [1, 2] {
        writer.publish(served("a", BETA, digest));
        let mut texts = Vec::new();
        for stream in &mut streams {
            texts.push(stream.next().await.unwrap().text);
        }
        let places: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        assert_eq!(places[0], places[1]);
        assert_ne!(places[0], places[2]);
        assert_eq!(texts[0], texts[2]);
    }
}

#[tokio::test]
async fn as_many_texts_are_kept_as_the_limit_says() {
    let streams = Streams::default();
    let revision = Revision::default();
    let key = |at: usize| EventKey {
        request: Digest::new([0; 32]),
        revision,
        name: at.to_string(),
        before: None,
    };
    let is_kept = |at| streams.shared_text(revision, &key(at)).is_some();
    for at in 0..SHARED_TEXTS {
        streams.share(revision, key(at), &Bytes::from_static(b"x"));
    }
    assert!(is_kept(0) && is_kept(SHARED_TEXTS - 1));
    streams.share(revision, key(SHARED_TEXTS), &Bytes::from_static(b"x"));
    assert!(!is_kept(0) && is_kept(SHARED_TEXTS));
    let (mut writer, reader) = catalogs();
    writer.publish(served("a", BETA, 1));
    assert!(
        streams
            .shared_text(reader.snapshot().revision(), &key(SHARED_TEXTS))
            .is_none()
    );
}

#[tokio::test]
async fn a_stream_ends_when_it_is_asked_to_and_when_nothing_can_change_any_more() {
    let (writer, engine) = start();
    let mut streams = [
        subscribe(&engine, &Value::Null),
        subscribe(&engine, &Value::Null),
    ];
    drop(writer);
    assert!(streams[0].next().await.is_none());
    let (mut writer, engine) = start();
    let mut stream = subscribe(&engine, &Value::Null);
    writer.publish(served("a", BETA, 1));
    engine.end_streams();
    assert_eq!(
        told(&mut stream).as_deref(),
        Some("a ADDED -1 --"),
        "what happened before is told"
    );
    assert!(stream.next().await.is_none());
    assert!(engine.streams_ended().now_or_never().is_none());
    drop(stream);
    assert!(engine.streams_ended().now_or_never().is_some());
}

/// Someone who may see what a test says.
#[derive(Clone, Debug)]
struct Someone {
    published: Catalogs,
    may_see: Arc<Mutex<Result<Visibility, RenewalError>>>,
}

impl Someone {
    fn new(published: &Catalogs, may_see: Visibility) -> Self {
        Self {
            published: published.clone(),
            may_see: Arc::new(Mutex::new(Ok(may_see))),
        }
    }

    fn set(&self, may_see: Result<Visibility, RenewalError>) {
        *self.may_see.lock().unwrap() = may_see;
    }

    fn reader(&self) -> Result<Catalogs, RenewalError> {
        let may_see = self.may_see.lock().unwrap().clone()?;
        Ok(self
            .published
            .visible(may_see)
            .with_caller(Arc::new(self.clone())))
    }
}

impl Caller for Someone {
    fn renew(&self) -> Renewal<'_> {
        Box::pin(async { self.reader() })
    }
}

/// The data and the code of the last event of a stream.
async fn end(stream: &mut Subscription) -> (Value, Value) {
    let last = stream.next().await.expect("it is told why the stream ends");
    let body: Value = serde_json::from_slice(&last.text).unwrap();
    assert!(stream.next().await.is_none());
    (
        body["data"].clone(),
        body["errors"][0]["extensions"]["code"].clone(),
    )
}

fn only(names: &[&str]) -> Visibility {
    Visibility::only(names.iter().map(|&name| name.to_owned()))
}

/// An engine that finds out so often what callers may see.
fn start_renewing(renewal: Duration) -> (CatalogsWriter, Arc<Engine>) {
    let (writer, reader) = catalogs();
    let streams = StreamLimits {
        renewal,
        ..StreamLimits::default()
    };
    (
        writer,
        Arc::new(Engine::new(
            reader,
            "test",
            Limits {
                streams,
                ..Limits::default()
            },
        )),
    )
}

#[tokio::test]
async fn a_stream_is_told_nothing_of_catalogs_that_its_caller_may_not_see() {
    let (mut writer, engine) = start();
    writer.publish(served("hidden", BETA, 1));
    let someone = Someone::new(&engine.catalogs, only(&["seen"]));
    let mut stream = subscribe_for(
        &engine,
        &someone.reader().unwrap(),
        &json!(["hidden", "seen"]),
    );
    writer.publish(served("hidden", BETA, 2));
    writer.withdraw("hidden");
    assert_eq!(told(&mut stream), None);
    writer.publish(served("seen", BETA, 1));
    assert_eq!(told(&mut stream).as_deref(), Some("seen ADDED -1 --"));
    let mut others = subscribe(&engine, &Value::Null);
    writer.publish(served("seen", ALPHA, 2));
    writer.publish(served("hidden", ALPHA, 2));
    assert!(told(&mut others).is_some_and(|text| text.starts_with("hidden ADDED")));
    assert!(told(&mut stream).is_some_and(|text| text.starts_with("seen CHANGED 12")));
    assert_eq!(told(&mut stream), None);
}

#[tokio::test]
async fn what_a_caller_may_see_is_found_out_again_and_again() {
    let (mut writer, engine) = start_renewing(Duration::ZERO);
    for name in ["a", "b"] {
        writer.publish(served(name, BETA, 1));
    }
    let someone = Someone::new(&engine.catalogs, only(&["a"]));
    let mut stream = subscribe_for(&engine, &someone.reader().unwrap(), &Value::Null);
    someone.set(Ok(only(&["a", "b"])));
    assert_eq!(told(&mut stream).as_deref(), Some("b ADDED -1 --"));
    someone.set(Ok(only(&["b"])));
    assert_eq!(told(&mut stream).as_deref(), Some("a REMOVED 1- --"));
    someone.set(Err(RenewalError::Refused));
    assert_eq!(end(&mut stream).await, (Value::Null, json!("FORBIDDEN")));
}

#[tokio::test]
async fn a_stream_whose_caller_nobody_can_judge_ends_without_saying_that_it_may_not_read() {
    let (_writer, engine) = start_renewing(Duration::ZERO);
    let someone = Someone::new(&engine.catalogs, Visibility::All);
    let mut stream = subscribe_for(&engine, &someone.reader().unwrap(), &Value::Null);
    someone.set(Err(RenewalError::Undecided));
    assert_eq!(
        end(&mut stream).await,
        (Value::Null, json!("AUTHORIZATION_UNAVAILABLE"))
    );
    let refused = &engine.metrics.refused;
    assert_eq!(
        (
            refused[Code::AuthorizationUnavailable].get(),
            refused[Code::Forbidden].get()
        ),
        (1, 0)
    );
}

#[tokio::test]
async fn a_quiet_stream_ends_too_when_its_caller_may_not_read_any_more() {
    let (_writer, engine) = start_renewing(Duration::from_millis(1));
    let someone = Someone::new(&engine.catalogs, Visibility::All);
    let mut stream = subscribe_for(&engine, &someone.reader().unwrap(), &Value::Null);
    someone.set(Err(RenewalError::Refused));
    assert!(
        stream
            .next()
            .await
            .is_some_and(|event| event.text.starts_with(b"{\"errors\":"))
    );
    assert!(stream.next().await.is_none());
}

#[test]
fn a_subscription_that_cannot_be_executed_is_refused_at_once() {
    let (_writer, engine) = start();
    let code = |query: &str| {
        let request = Request {
            query: Some(query.into()),
            ..Request::default()
        };
        let subscription = engine
            .prepare(&request, &engine.catalogs, Peer::default())
            .map_err(|error| vec![error]);
        let subscription = subscription.and_then(|prepared| prepared.subscribe());
        subscription.err().map(|errors| errors[0].code)
    };
    let page = "packages(first: 500) { nodes { bundles(first: 500) { nodes { name } } } }";
    for (query, expected) in [
        ("subscription { catalogChanged { name } }".to_owned(), None),
        ("subscription {".to_owned(), Some(Code::ParseFailed)),
        (
            "subscription { catalogChanged { none } }".to_owned(),
            Some(Code::ValidationFailed),
        ),
        (
            "subscription($a: [String!]!) { catalogChanged(names: $a) { name } }".to_owned(),
            Some(Code::BadUserInput),
        ),
        (
            "subscription A { catalogChanged { name } } query B { __typename }".to_owned(),
            Some(Code::OperationResolutionFailure),
        ),
        (
            format!("subscription {{ catalogChanged {{ catalog {{ {page} }} }} }}"),
            Some(Code::CostEstimated),
        ),
    ] {
        assert_eq!(code(&query), expected, "{query}");
    }
}

#[test]
fn a_subscription_is_refused_where_there_is_one_answer() {
    let (_writer, engine) = start();
    let request = Request {
        query: Some(CHANGES.into()),
        ..Request::default()
    };
    let body: Value = serde_json::from_slice(&engine.execute(&request).body).unwrap();
    assert_eq!(
        body["errors"][0]["extensions"]["code"],
        "OPERATION_RESOLUTION_FAILURE"
    );
    assert!(
        body["errors"][0]["message"]
            .as_str()
            .unwrap()
            .starts_with("Subscriptions are not supported")
    );
}

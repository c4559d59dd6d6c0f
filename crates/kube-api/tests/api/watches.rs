//! Watches, which upstream does not support.

use std::collections::BTreeMap;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt as _;
use serde_json::Value;
use testing::fixture;
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::{Api, packages, runtime, served_fixture};

/// A watch that is being read.
pub(super) struct Watch {
    stream: BodyDataStream,
    lines: Vec<u8>,
}

impl Watch {
    pub(super) async fn start(api: &Api, path: &str, accept: &str) -> Self {
        let request = Request::get(path)
            .header("accept", accept)
            .body(Body::empty())
            .unwrap();
        let response = api.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self {
            stream: response.into_body().into_data_stream(),
            lines: Vec::new(),
        }
    }

    /// The next event; `None` when the watch has ended.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(at) = self.lines.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.lines.drain(..=at).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let bytes = timeout(testing::TEST_TIMEOUT, self.stream.next())
                .await
                .expect("there is a further event");
            self.lines.extend_from_slice(&bytes?.unwrap());
        }
    }

    /// The types and names of the next events.
    pub(super) async fn events(&mut self, count: usize) -> Vec<(String, String)> {
        let mut events = Vec::new();
        for _ in 0..count {
            let event = self.next().await.unwrap();
            let name = event["object"]["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned();
            events.push((event["type"].as_str().unwrap().to_owned(), name));
        }
        events
    }
}

pub(super) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

/// A catalog with a package for each name; what it displays is part of the name, after a colon.
fn catalog(packages: &[&str]) -> String {
    let package = |text: &&str| {
        let (name, display) = text.split_once(':').unwrap_or((text, "x"));
        format!(
            "package {name} default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 display={display}\n"
        )
    };
    fixture::lines(&packages.iter().map(package).collect::<String>())
}

#[test]
fn a_watch_tells_what_is_added_modified_and_deleted() {
    runtime().block_on(async {
        let mut api = Api::new(
            [served_fixture("a", &catalog(&["one", "two:x", "three"]))],
            None,
        );
        let path = format!("{}?watch=true", packages("olm"));
        let mut watch = Watch::start(&api, &path, "application/json").await;
        let added = [
            event("ADDED", "one"),
            event("ADDED", "three"),
            event("ADDED", "two"),
        ];
        assert_eq!(watch.events(3).await, added);
        api.publish(served_fixture("a", &catalog(&["four", "one", "two:y"])))
            .await;
        let changed = [
            event("ADDED", "four"),
            event("DELETED", "three"),
            event("MODIFIED", "two"),
        ];
        assert_eq!(watch.events(3).await, changed);
        api.publish(served_fixture("b", &catalog(&["five"]))).await;
        assert_eq!(watch.events(1).await, [event("ADDED", "five")]);
        api.withdraw("a").await;
        let gone = ["four", "one", "two"].map(|name| event("DELETED", name));
        assert_eq!(watch.events(3).await, gone);
    });
}

/// Path of a watch of the packages that begins at a resource version.
fn since(version: &str) -> String {
    format!("{}?watch=true&resourceVersion={version}", packages("olm"))
}

/// The resource version of an object or a list.
fn version_of(object: &Value) -> String {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.unwrap().to_owned()
}

/// Asserts that a watch cannot begin at a resource version.
async fn assert_expired(api: &Api, version: &str) {
    let answer = api.get(&since(version)).await;
    assert_eq!(answer.status, 410, "{version}");
    let status = answer.json();
    assert_eq!(status["reason"], "Expired");
    let message = status["message"].as_str().unwrap();
    let expected = format!("too old resource version: {version} (");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn a_watch_begins_at_the_resource_version_of_a_list() {
    runtime().block_on(async {
        let mut api = Api::new([served_fixture("a", &catalog(&["one"]))], None);
        let version = version_of(&api.get(&packages("olm")).await.json());
        for round in 0..kube_api::FORMER_STATES {
            api.publish(served_fixture(
                "a",
                &catalog(&["one", &format!("two:{round}")]),
            ))
            .await;
        }
        let mut watch = Watch::start(&api, &since(&version), "application/json").await;
        assert_eq!(watch.events(1).await, [event("ADDED", "two")]);
        api.publish(served_fixture("a", &catalog(&["one", "three"])))
            .await;
        let changes = [event("ADDED", "three"), event("DELETED", "two")];
        assert_eq!(watch.events(2).await, changes);
        assert_expired(&api, &version).await;
    });
}

#[test]
fn a_watch_that_breaks_off_resumes_at_a_bookmark_and_gets_410_between_two_events() {
    runtime().block_on(async {
        let mut api = Api::new(
            [served_fixture(
                "a",
                &catalog(&["one", "two", "three", "six"]),
            )],
            None,
        );
        let first = version_of(&api.get(&packages("olm")).await.json());
        api.publish(served_fixture(
            "a",
            &catalog(&["one:y", "two:y", "four", "six"]),
        ))
        .await;
        let path = format!("{}&allowWatchBookmarks=true", since(&first));
        let mut watch = Watch::start(&api, &path, "application/json").await;
        let changes = [
            ("ADDED", "four"),
            ("MODIFIED", "one"),
            ("DELETED", "three"),
            ("MODIFIED", "two"),
        ];
        for (kind, name) in changes {
            let next = watch.next().await.unwrap();
            let object = &next["object"];
            assert_eq!(
                (&next["type"], &object["metadata"]["name"]),
                (&kind.into(), &name.into())
            );
            // All have the same revision: the client may have seen any of them.
            assert_expired(&api, &version_of(object)).await;
        }
        let bookmark = watch.next().await.unwrap();
        assert_eq!(bookmark["type"], "BOOKMARK");
        drop(watch);

        api.publish(served_fixture("b", &catalog(&["five"]))).await;
        let path = since(&version_of(&bookmark["object"]));
        let mut resumed = Watch::start(&api, &path, "application/json").await;
        assert_eq!(resumed.events(1).await, [event("ADDED", "five")]);

        let path = format!("{}?watch=true&timeoutSeconds=1", packages("olm"));
        let mut anew = Watch::start(&api, &path, "application/json").await;
        let added = ["four", "one", "six", "two", "five"].map(|name| event("ADDED", name));
        assert_eq!(anew.events(5).await, added);
        assert_eq!(anew.next().await, None, "deletions are not sent again");
    });
}

#[test]
fn what_stops_or_begins_to_match_a_selector_is_deleted_or_added() {
    runtime().block_on(async {
        let labelled = |value: &str| {
            catalog(&["one", "two"]).replacen(
                "\"displayName\"",
                &format!("\"labels\":{{\"tier\":\"{value}\"}},\"displayName\""),
                1,
            )
        };
        let mut api = Api::new([served_fixture("a", &labelled("gold"))], None);
        let path = format!("{}?watch=true&labelSelector=tier%3Dgold", packages("other"));
        let mut watch = Watch::start(&api, &path, "application/json").await;
        assert_eq!(watch.events(1).await, [event("ADDED", "one")]);
        api.publish(served_fixture("a", &labelled("silver"))).await;
        let deleted = watch.next().await.unwrap();
        assert_eq!(
            (
                &deleted["type"],
                &deleted["object"]["metadata"]["namespace"]
            ),
            (&"DELETED".into(), &"other".into())
        );
        api.publish(served_fixture("a", &labelled("gold"))).await;
        assert_eq!(watch.events(1).await, [event("ADDED", "one")]);
    });
}

#[test]
fn a_watch_of_tables_has_columns_once_and_ends_in_time() {
    runtime().block_on(async {
        let api = Api::new([served_fixture("a", &catalog(&["one", "two"]))], None);
        let path = format!("{}?watch=true&timeoutSeconds=1", packages("olm"));
        let mut watch =
            Watch::start(&api, &path, "application/json;as=Table;v=v1;g=meta.k8s.io").await;
        let tables = [watch.next().await.unwrap(), watch.next().await.unwrap()];
        let columns = tables.each_ref().map(|table| {
            table["object"]["columnDefinitions"]
                .as_array()
                .unwrap()
                .len()
        });
        let cells = tables
            .each_ref()
            .map(|table| table["object"]["rows"][0]["cells"][0].as_str().unwrap());
        assert_eq!((columns, cells), ([3, 0], ["one", "two"]));
        assert_eq!(watch.next().await, None);
    });
}

#[test]
fn a_watch_may_ask_for_any_time() {
    runtime().block_on(async {
        let api = Api::new([served_fixture("a", &catalog(&["one"]))], None);
        for seconds in ["3600", "9223372036854775807", "-1"] {
            let path = format!("{}?watch=true&timeoutSeconds={seconds}", packages("olm"));
            let mut watch = Watch::start(&api, &path, "application/json").await;
            assert_eq!(watch.events(1).await, [event("ADDED", "one")], "{seconds}");
        }
    });
}

#[test]
fn bookmarks_tell_the_current_resource_version() {
    runtime().block_on(async {
        let api = Api::new([served_fixture("a", &catalog(&["one"]))], None);
        let list = api.get(&packages("olm")).await.json();
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}",
            packages("olm")
        );
        let mut watch = Watch::start(&api, &path, "application/json").await;
        let bookmark = watch.next().await.unwrap();
        assert_eq!(bookmark["type"], "BOOKMARK");
        assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], version);
    });
}

#[test]
fn a_bookmark_follows_the_events_of_each_change() {
    runtime().block_on(async {
        let mut api = Api::new([served_fixture("a", &catalog(&["one"]))], None);
        let path = format!("{}?watch=true&allowWatchBookmarks=true", packages("olm"));
        let mut watch = Watch::start(&api, &path, "application/json").await;
        assert_eq!(watch.events(1).await, [event("ADDED", "one")]);
        for round in 0..3 {
            api.publish(served_fixture(
                "a",
                &catalog(&["one", &format!("two:{round}")]),
            ))
            .await;
            let version = api.version().await.to_string();
            // Bookmarks are also sent from time to time.
            let change = loop {
                let event = watch.next().await.unwrap();
                if event["type"] != "BOOKMARK" {
                    break event;
                }
            };
            let kind = if round == 0 { "ADDED" } else { "MODIFIED" };
            assert_eq!(
                (&change["type"], &change["object"]["metadata"]["name"]),
                (&kind.into(), &"two".into())
            );
            let bookmark = watch.next().await.unwrap();
            assert_eq!(
                (
                    &bookmark["type"],
                    &bookmark["object"]["metadata"]["resourceVersion"]
                ),
                (&"BOOKMARK".into(), &version.into())
            );
        }
    });
}

#[test]
fn a_version_of_another_replica_is_expired_also_where_both_serve_the_same() {
    runtime().block_on(async {
        let served = |packages: &[&str]| served_fixture("a", &catalog(packages));
        let [mut listed, mut other] = [(); 2].map(|()| Api::new([served(&["one", "two"])], None));
        let page = listed.get(&format!("{}?limit=1", packages("olm"))).await;
        let page = page.json();
        let version = version_of(&page);
        let token = page["metadata"]["continue"].as_str().unwrap();
        let rest = format!("{}?continue={token}", packages("olm"));
        let exact = format!(
            "{}?resourceVersion={version}&resourceVersionMatch=Exact",
            packages("olm")
        );
        assert_eq!(other.get(&rest).await.status, 200, "pages go by contents");
        // Also at a replica that publishes every change earlier or later.
        for round in 0..3 {
            assert_expired(&other, &version).await;
            assert!([410, 504].contains(&other.get(&exact).await.status.as_u16()));
            other
                .publish(served(&["one", &format!("two:{round}")]))
                .await;
            assert_eq!(other.get(&rest).await.status, 410);
            listed
                .publish(served_fixture("b", &catalog(&[&format!("three:{round}")])))
                .await;
        }
        let mut watch = Watch::start(&listed, &since(&version), "application/json").await;
        assert_eq!(watch.events(1).await, [event("ADDED", "three")]);
    });
}

#[test]
fn a_replica_waits_for_a_state_as_late_as_the_one_that_a_client_knows() {
    runtime().block_on(async {
        let served = |packages: &[&str]| served_fixture("a", &catalog(packages));
        let [mut ahead, mut behind] = [(); 2].map(|()| Api::new([served(&["one"])], None));
        let old = format!(
            "{}?resourceVersion={}",
            packages("olm"),
            ahead.version().await
        );
        ahead.publish(served(&["one", "two"])).await;
        let new = format!(
            "{}?resourceVersion={}",
            packages("olm"),
            ahead.version().await
        );
        assert_eq!(behind.get(&old).await.status, 200);
        let router = behind.router.clone();
        let asked = tokio::spawn(router.oneshot(Request::get(&new).body(Body::empty()).unwrap()));
        behind.writer.publish(served(&["one", "two"]));
        assert_eq!(asked.await.unwrap().unwrap().status(), 200);
        let body = behind.get(&new).await.json();
        assert_eq!(body["items"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_client_that_lists_and_watches_knows_what_is_served_whatever_happens() {
    runtime().block_on(async {
        let mut random = fastrand::Rng::with_seed(7);
        let mut api = Api::new([served_fixture("a", &catalog(&["p0"]))], None);
        let mut watch = Watch::start(
            &api,
            &format!("{}?watch=1", packages("olm")),
            "application/json",
        )
        .await;
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..200 {
            let mut names = Vec::new();
            for at in 0..8 {
                if random.bool() {
                    names.push(format!("p{at}:{}", random.u8(0..3)));
                }
            }
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            if names.is_empty() {
                api.withdraw("a").await;
            } else {
                api.publish(served_fixture("a", &catalog(&names))).await;
            }
            let list = api.get(&packages("olm")).await.json();
            let uids = list["items"].as_array().unwrap().iter().map(|item| {
                let text = |name: &str| item["metadata"][name].as_str().unwrap().to_owned();
                (text("uid"), text("resourceVersion"))
            });
            let expected: BTreeMap<_, _> = uids.collect();
            while known != expected {
                let event = watch.next().await.unwrap();
                let text = |name: &str| {
                    event["object"]["metadata"][name]
                        .as_str()
                        .unwrap()
                        .to_owned()
                };
                let former = match event["type"].as_str().unwrap() {
                    "DELETED" => known.remove(&text("uid")),
                    _ => known.insert(text("uid"), text("resourceVersion")),
                };
                assert_eq!(former.is_some(), event["type"] != "ADDED", "{event}");
            }
        }
    });
}

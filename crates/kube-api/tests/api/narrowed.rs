//! What callers see who may see only some catalogs.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use kube_api::{Authorize, Decision, FORMER_STATES, KubeApiOptions};
use serde_json::Value;
use serving::{Served, Visibility, catalogs};
use testing::fixture;

use super::watches::{Watch, event};
use super::{Api, packages, runtime, served_fixture};

/// A catalog with a package of its name, which displays this, and one that all such catalogs have.
fn catalog(name: &str, display: &str) -> Served {
    let package = |package: &str| {
        format!("package {package} default=c\nchannel c: v1.0.0\nbundle v1.0.0 display={display}\n")
    };
    served_fixture(name, &fixture::lines(&(package(name) + &package("both"))))
}

/// An API with the catalogs `a` and `b`. What the caller may see can be changed.
fn start() -> (Api, Arc<Mutex<Option<Visibility>>>) {
    start_with(&["a", "b"])
}

fn start_with(names: &[&str]) -> (Api, Arc<Mutex<Option<Visibility>>>) {
    let (mut writer, readers) = catalogs();
    for name in names {
        writer.publish(catalog(name, name));
    }
    let seen = Arc::new(Mutex::new(Some(Visibility::All)));
    let current = Arc::clone(&seen);
    let all = readers.clone();
    let authorize: Authorize = Arc::new(move |_, _| {
        let reader = current
            .lock()
            .unwrap()
            .clone()
            .map(|visibility| all.visible(visibility));
        Box::pin(async { Decision::Allow { reader, user: None } })
    });
    let bookmark_interval = kube_api::BOOKMARK_INTERVAL;
    let own = readers.visible(Visibility::none());
    let api = Api::with_options((writer, own), |options| KubeApiOptions {
        authorize: Some(authorize),
        bookmark_interval,
        ..options
    });
    (api, seen)
}

fn only(name: &str) -> Visibility {
    Visibility::only([name.to_owned()])
}

fn names(list: &Value) -> Vec<(&str, &str)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            (
                item["metadata"]["name"].as_str().unwrap(),
                item["status"]["catalogSource"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn objects_of_hidden_catalogs_are_as_if_they_were_not_there() {
    runtime().block_on(async {
        let (api, seen) = start();
        let list = api.get(&packages("olm")).await.json();
        assert_eq!(
            names(&list),
            [("a", "a"), ("b", "b"), ("both", "a"), ("both", "b")]
        );
        *seen.lock().unwrap() = Some(only("b"));
        let list = api
            .get(&format!("{}?limit=1", packages("olm")))
            .await
            .json();
        assert_eq!(names(&list), [("b", "b")]);
        assert_eq!(list["metadata"]["remainingItemCount"], 1);
        let both = api.get(&format!("{}/both", packages("olm"))).await.json();
        assert_eq!(both["status"]["catalogSource"], "b");
        let hidden = api.get(&format!("{}/a", packages("olm"))).await;
        let missing = api.get(&format!("{}/x", packages("olm"))).await;
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        let expected = text(&missing.body)
            .replace("\\\"x\\\"", "\\\"a\\\"")
            .replace("\"name\":\"x\"", "\"name\":\"a\"");
        assert_eq!(
            (hidden.status, text(&hidden.body)),
            (missing.status, expected)
        );
        assert_eq!(
            api.get(&format!("{}/a/icon", packages("olm"))).await.status,
            404
        );
        *seen.lock().unwrap() = None;
        assert_eq!(names(&api.get(&packages("olm")).await.json()), []);
    });
}

#[test]
fn who_sees_other_catalogs_than_before_lists_again() {
    runtime().block_on(async {
        let (api, seen) = start();
        *seen.lock().unwrap() = Some(only("a"));
        let first = api
            .get(&format!("{}?limit=1", packages("olm")))
            .await
            .json();
        let version = first["metadata"]["resourceVersion"].as_str().unwrap();
        let watch = format!(
            "{}?watch=true&timeoutSeconds=1&resourceVersion={version}",
            packages("olm")
        );
        let rest = format!(
            "{}?continue={}",
            packages("olm"),
            first["metadata"]["continue"].as_str().unwrap()
        );
        assert_eq!(
            (
                api.get(&watch).await.status.as_u16(),
                api.get(&rest).await.status.as_u16()
            ),
            (200, 200)
        );
        for other in [only("b"), Visibility::All] {
            *seen.lock().unwrap() = Some(other);
            assert_eq!(
                (
                    api.get(&watch).await.status.as_u16(),
                    api.get(&rest).await.status.as_u16()
                ),
                (410, 410)
            );
        }
    });
}

/// Number of bits of a resource version that are no revision.
const TAG_BITS: u32 = 21;

/// The resource versions of the packages, less the revision of the list.
async fn versions(api: &Api) -> Vec<u64> {
    let list = api.get(&packages("olm")).await.json();
    let version = |object: &Value| {
        object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let revision = version(&list) >> TAG_BITS << TAG_BITS;
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| version(item) - revision)
        .collect()
}

#[test]
fn resource_versions_of_objects_are_as_if_hidden_catalogs_were_not_there() {
    runtime().block_on(async {
        let mut numbers = Vec::new();
        for names in [&["b"][..], &["a", "b", "c"]] {
            let (mut api, seen) = start_with(names);
            *seen.lock().unwrap() = Some(only("b"));
            let first = versions(&api).await;
            // Both are compared in one go.
            if names.len() > 1 {
                api.writer.publish(catalog("a", "other"));
                api.writer.withdraw("c");
            }
            api.writer.publish(catalog("b", "other"));
            numbers.push((first, versions(&api).await));
        }
        // The revision of an object is that of the last change that the caller sees.
        assert_eq!(numbers[0], (vec![0; 2], vec![0; 2]));
        assert_eq!(numbers[0], numbers[1]);
    });
}

#[test]
fn changes_of_hidden_catalogs_are_none() {
    runtime().block_on(async {
        let (mut api, seen) = start();
        *seen.lock().unwrap() = Some(only("b"));
        let first = api
            .get(&format!("{}?limit=1", packages("olm")))
            .await
            .json();
        let version = first["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned();
        let since = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={version}",
            packages("olm")
        );
        let mut watch = Watch::start(&api, &since, "application/json").await;
        for round in 0..=FORMER_STATES {
            api.writer.publish(catalog("a", &round.to_string()));
            // Requests wait until the state has the change.
            let list = api
                .get(&format!("{}?limit=1", packages("olm")))
                .await
                .json();
            assert_eq!(list["metadata"]["resourceVersion"], version.as_str());
            assert!(watch.next().now_or_never().is_none(), "not even a bookmark");
        }
        // Later versions than the caller's own are refused, whether something hidden has one or
        // not.
        let next = version.parse::<u64>().unwrap() + (1 << TAG_BITS);
        let later = api
            .get(&format!("{}?resourceVersion={next}", packages("olm")))
            .await;
        assert_eq!(
            later.json()["message"],
            format!("Too large resource version: {next}, current: {version}")
        );
        let rest = format!(
            "{}?continue={}",
            packages("olm"),
            first["metadata"]["continue"].as_str().unwrap()
        );
        assert_eq!(api.get(&rest).await.status, 200);
        // A watch that began before all these changes continues, and so does one that begins there
        // now.
        let mut late = Watch::start(&api, &since, "application/json").await;
        api.writer.publish(catalog("b", "other"));
        for watch in [&mut watch, &mut late] {
            let mut events = watch.events(2).await;
            events.sort();
            assert_eq!(events, [event("MODIFIED", "b"), event("MODIFIED", "both")]);
            assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK");
        }
        for round in 1..=FORMER_STATES {
            api.writer.publish(catalog("b", &round.to_string()));
            api.get(&packages("olm")).await;
        }
        assert_eq!(
            api.get(&since).await.status,
            410,
            "changes of what it sees count"
        );
    });
}

#[test]
fn a_catalog_that_the_caller_sees_is_told_when_it_comes_and_goes() {
    runtime().block_on(async {
        let (mut api, seen) = start_with(&["a"]);
        *seen.lock().unwrap() = Some(only("b"));
        let version = api.version().await;
        let since = format!("{}?watch=true&resourceVersion={version}", packages("olm"));
        api.writer.publish(catalog("b", "b"));
        api.get(&packages("olm")).await;
        assert!(api.version().await > version);
        let mut watch = Watch::start(&api, &since, "application/json").await;
        assert_eq!(
            watch.events(2).await,
            ["b", "both"].map(|name| event("ADDED", name))
        );
        api.writer.withdraw("b");
        assert_eq!(
            watch.events(2).await,
            ["b", "both"].map(|name| event("DELETED", name))
        );
    });
}

//! What callers see who may see only some catalogs.

use std::sync::{Arc, Mutex};

use kube_api::{Authorize, Decision};
use serde_json::Value;
use serving::{Visibility, catalogs};
use testing::fixture;

use super::{Api, packages, runtime, served_fixture};

/// An API with the catalogs `a` and `b`, each with a package of its name, and one that both have. What the caller may see can be
/// changed.
fn start() -> (Api, Arc<Mutex<Option<Visibility>>>) {
    let (mut writer, readers) = catalogs();
    for name in ["a", "b"] {
        let package =
            |name: &str| format!("package {name} default=c\nchannel c: v1.0.0\nbundle v1.0.0 display={name}\n");
        writer.publish(served_fixture(name, &fixture::lines(&(package(name) + &package("both")))));
    }
    let seen = Arc::new(Mutex::new(Some(Visibility::All)));
    let (current, all) = (Arc::clone(&seen), readers.clone());
    let authorize: Authorize = Arc::new(move |_, _| {
        let reader = current.lock().unwrap().clone().map(|visibility| all.visible(visibility));
        Box::pin(async { Decision::Allow(reader) })
    });
    (Api::over((writer, readers.visible(Visibility::none())), Some(authorize)), seen)
}

fn only(name: &str) -> Visibility {
    Visibility::only([name.to_owned()])
}

fn names(list: &Value) -> Vec<(&str, &str)> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| (item["metadata"]["name"].as_str().unwrap(), item["status"]["catalogSource"].as_str().unwrap()))
        .collect()
}

#[test]
fn objects_of_hidden_catalogs_are_as_if_they_were_not_there() {
    runtime().block_on(async {
        let (api, seen) = start();
        let list = api.get(&packages("olm")).await.json();
        assert_eq!(names(&list), [("a", "a"), ("b", "b"), ("both", "a"), ("both", "b")]);
        *seen.lock().unwrap() = Some(only("b"));
        let list = api.get(&format!("{}?limit=1", packages("olm"))).await.json();
        assert_eq!(names(&list), [("b", "b")]);
        assert_eq!(list["metadata"]["remainingItemCount"], 1);
        let both = api.get(&format!("{}/both", packages("olm"))).await.json();
        assert_eq!(both["status"]["catalogSource"], "b");
        let hidden = api.get(&format!("{}/a", packages("olm"))).await;
        let missing = api.get(&format!("{}/x", packages("olm"))).await;
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        let expected =
            text(&missing.body).replace("\\\"x\\\"", "\\\"a\\\"").replace("\"name\":\"x\"", "\"name\":\"a\"");
        assert_eq!((hidden.status, text(&hidden.body)), (missing.status, expected));
        assert_eq!(api.get(&format!("{}/a/icon", packages("olm"))).await.status, 404);
        *seen.lock().unwrap() = None;
        assert_eq!(names(&api.get(&packages("olm")).await.json()), []);
    });
}

#[test]
fn who_sees_other_catalogs_than_before_lists_again() {
    runtime().block_on(async {
        let (api, seen) = start();
        *seen.lock().unwrap() = Some(only("a"));
        let first = api.get(&format!("{}?limit=1", packages("olm"))).await.json();
        let version = first["metadata"]["resourceVersion"].as_str().unwrap();
        let watch = format!("{}?watch=true&timeoutSeconds=1&resourceVersion={version}", packages("olm"));
        let rest = format!("{}?continue={}", packages("olm"), first["metadata"]["continue"].as_str().unwrap());
        assert_eq!((api.get(&watch).await.status.as_u16(), api.get(&rest).await.status.as_u16()), (200, 200));
        for other in [only("b"), Visibility::All] {
            *seen.lock().unwrap() = Some(other);
            assert_eq!((api.get(&watch).await.status.as_u16(), api.get(&rest).await.status.as_u16()), (410, 410));
        }
    });
}

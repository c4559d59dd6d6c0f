//! Rights that change while a watch lasts, and what one caller may take of what all share.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::{FutureExt as _, StreamExt as _};
use kube_api::{
    Authorize, Decision, KubeApiOptions, LIST_TIME, MAX_EVENTS, MAX_STREAMED_LISTS, MAX_WATCH_LAG,
    MAX_WATCHES, RENEWAL_INTERVAL, RENEWAL_TIMEOUT, WATCH_STALL,
};
use serde_json::{Value, json};
use serving::{Visibility, catalogs};
use testing::fixture;
use tokio::time::{Instant, advance};
use tower::ServiceExt as _;

use super::{Api, packages, served_fixture, source};

/// What the callers of an API may do, which can be changed; `None` while nobody answers.
type Rights = Arc<Mutex<Option<Decision>>>;

/// A runtime in which time passes when nothing else happens.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

fn allow(user: Option<&str>) -> Decision {
    Decision::Allow {
        reader: None,
        user: user.map(str::to_owned),
    }
}

/// A catalog of so many packages, which display this.
fn lines(count: usize, display: &str) -> String {
    let package = |at| {
        format!("package p{at} default=c\nchannel c: v1.0.0\nbundle v1.0.0 display={display}\n")
    };
    fixture::lines(&(0..count).map(package).collect::<String>())
}

/// An API with a catalog, whose callers may do everything at first.
fn start(packages: usize) -> (Api, Rights) {
    let (mut writer, readers) = catalogs();
    writer.publish(served_fixture("a", &lines(packages, "x")));
    let rights: Rights = Arc::new(Mutex::new(Some(allow(None))));
    let current = Arc::clone(&rights);
    let authorize: Authorize = Arc::new(
        move |_, _| -> Pin<Box<dyn Future<Output = Decision> + Send>> {
            match current.lock().unwrap().clone() {
                Some(decision) => Box::pin(async { decision }),
                None => Box::pin(std::future::pending()),
            }
        },
    );
    let bookmark_interval = Duration::from_hours(24);
    let api = Api::with_options((writer, readers), |options| KubeApiOptions {
        authorize: Some(authorize),
        bookmark_interval,
        ..options
    });
    (api, rights)
}

/// Sends a request, and returns the status and the response that is not read.
async fn open(api: &Api, path: &str) -> (u16, BodyDataStream) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let response = api.router.clone().oneshot(request).await.unwrap();
    (
        response.status().as_u16(),
        response.into_body().into_data_stream(),
    )
}

/// The next line; `None` at the end.
async fn line(body: &mut BodyDataStream) -> Option<Value> {
    let bytes = body.next().await?.unwrap();
    Some(serde_json::from_slice(&bytes).unwrap())
}

fn watch() -> String {
    format!("{}?watch=true&timeoutSeconds=3600", packages("olm"))
}

#[test]
fn a_watch_ends_soon_after_its_caller_may_not_watch_any_more() {
    runtime().block_on(async {
        let reader = catalogs().1.visible(Visibility::none());
        let deny = || Decision::Deny {
            user: "jane".to_owned(),
            reason: None,
        };
        let soon = RENEWAL_INTERVAL;
        let later = RENEWAL_INTERVAL + RENEWAL_TIMEOUT;
        for (decision, code, reason, time) in [
            (Some(deny()), 403, "Forbidden", soon),
            (Some(Decision::Unauthenticated), 401, "Unauthorized", soon),
            (
                Some(Decision::Refuse("no".to_owned())),
                403,
                "Forbidden",
                soon,
            ),
            (
                Some(Decision::Unknown("no answer".to_owned())),
                500,
                "InternalError",
                soon,
            ),
            (
                Some(Decision::Allow {
                    reader: Some(reader),
                    user: None,
                }),
                410,
                "Expired",
                soon,
            ),
            (None, 500, "InternalError", later),
        ] {
            let (api, rights) = start(1);
            let (status, mut body) = open(&api, &watch()).await;
            assert_eq!(
                (status, line(&mut body).await.unwrap()["type"].clone()),
                (200, json!("ADDED"))
            );
            // It lasts while nothing changes.
            advance(RENEWAL_INTERVAL * 3 + Duration::from_millis(10)).await;
            assert!(body.next().now_or_never().is_none());
            tokio::task::yield_now().await;
            let begun = Instant::now();
            *rights.lock().unwrap() = decision;
            let last = line(&mut body).await.unwrap();
            let status = &last["object"];
            assert_eq!(
                (&last["type"], &status["code"], &status["reason"]),
                (&json!("ERROR"), &json!(code), &json!(reason))
            );
            assert!(
                begun.elapsed() <= time + Duration::from_secs(1),
                "{:?}",
                begun.elapsed()
            );
            assert_eq!(line(&mut body).await, None);
        }
    });
}

#[test]
fn a_refusal_that_ends_a_watch_says_what_was_refused() {
    runtime().block_on(async {
        let (api, rights) = start(1);
        let (_, mut body) = open(&api, &watch()).await;
        line(&mut body).await.unwrap();
        *rights.lock().unwrap() = Some(Decision::Deny {
            user: "jane".to_owned(),
            reason: None,
        });
        let message = line(&mut body).await.unwrap()["object"]["message"].clone();
        let refused = api.get(&watch()).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["message"]),
            (403, &message)
        );
        assert!(
            message
                .as_str()
                .unwrap()
                .contains("User \"jane\" cannot watch resource"),
            "{message}"
        );
    });
}

#[test]
fn a_user_has_half_of_the_watches_until_it_ends_some() {
    runtime().block_on(async {
        let (api, rights) = start(1);
        let mut held = Vec::new();
        *rights.lock().unwrap() = Some(allow(Some("a")));
        for _ in 0..MAX_WATCHES / 2 {
            let (status, body) = open(&api, &watch()).await;
            assert_eq!(status, 200);
            held.push(body);
        }
        assert_eq!(open(&api, &watch()).await.0, 429);
        for other in [Some("b"), None] {
            *rights.lock().unwrap() = Some(allow(other));
            assert_eq!(open(&api, &watch()).await.0, 200, "{other:?}");
        }
        *rights.lock().unwrap() = Some(allow(Some("a")));
        held.pop();
        // Its task learns of that.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(open(&api, &watch()).await.0, 200);
    });
}

#[test]
fn a_watch_whose_client_takes_nothing_ends() {
    runtime().block_on(async {
        let (api, _) = start(3);
        let (_, mut body) = open(&api, &watch()).await;
        tokio::time::sleep(WATCH_STALL + Duration::from_secs(1)).await;
        // One event waits for the client.
        assert_eq!(line(&mut body).await.unwrap()["type"], "ADDED");
        assert_eq!(line(&mut body).await, None);
    });
}

#[test]
fn a_watch_whose_client_reads_slowly_ends_after_a_change() {
    runtime().block_on(async {
        let (mut api, _) = start(100);
        for is_changed in [false, true] {
            let (_, mut body) = open(&api, &watch()).await;
            line(&mut body).await.unwrap();
            if is_changed {
                api.publish(served_fixture("a", &lines(100, "y"))).await;
            }
            let begun = Instant::now();
            let mut last = json!({});
            while begun.elapsed() < MAX_WATCH_LAG + WATCH_STALL * 4 {
                tokio::time::sleep(WATCH_STALL / 2).await;
                let Some(next) = line(&mut body).await else {
                    break;
                };
                last = next;
            }
            let expected = if is_changed {
                ("ERROR", Some(410))
            } else {
                ("ADDED", None)
            };
            assert_eq!(
                (
                    last["type"].as_str().unwrap(),
                    last["object"]["code"].as_u64()
                ),
                expected
            );
        }
    });
}

#[test]
fn a_watch_tells_everything_of_a_change_that_is_longer_than_what_it_holds() {
    runtime().block_on(async {
        let count = MAX_EVENTS * 2 + 10;
        let (mut api, _) = start(count);
        let (_, mut body) = open(&api, &format!("{}&allowWatchBookmarks=true", watch())).await;
        let mut versions = Vec::new();
        let mut events = async |body: &mut BodyDataStream, count: usize| {
            let mut told = std::collections::BTreeMap::<String, usize>::new();
            for _ in 0..count {
                let event = line(body).await.unwrap();
                versions.push(
                    event["object"]["metadata"]["resourceVersion"]
                        .as_str()
                        .unwrap()
                        .parse::<u64>()
                        .unwrap(),
                );
                *told
                    .entry(event["type"].as_str().unwrap().to_owned())
                    .or_default() += 1;
            }
            told.into_iter().collect::<Vec<_>>()
        };
        let of = |kind: &str, count: usize| (kind.to_owned(), count);
        assert_eq!(
            events(&mut body, count + 1).await,
            [of("ADDED", count), of("BOOKMARK", 1)]
        );
        api.publish(served_fixture("a", &lines(count - 300, "y")))
            .await;
        let expected = [
            of("BOOKMARK", 1),
            of("DELETED", 300),
            of("MODIFIED", count - 300),
        ];
        assert_eq!(events(&mut body, count + 1).await, expected);
        assert!(versions.is_sorted(), "each behind the one before");
    });
}

#[test]
fn a_user_has_half_of_the_long_responses_for_ten_minutes() {
    runtime().block_on(async {
        let (mut api, rights) = start(1);
        api.publish(source("community").served()).await;
        let mut held = Vec::new();
        *rights.lock().unwrap() = Some(allow(Some("a")));
        for _ in 0..MAX_STREAMED_LISTS / 2 {
            let (status, body) = open(&api, &packages("olm")).await;
            assert_eq!(status, 200);
            held.push(body);
        }
        assert_eq!(open(&api, &packages("olm")).await.0, 429);
        *rights.lock().unwrap() = Some(allow(Some("b")));
        assert_eq!(open(&api, &packages("olm")).await.0, 200);
        *rights.lock().unwrap() = Some(allow(Some("a")));
        tokio::time::sleep(LIST_TIME * 9 / 10).await;
        assert_eq!(open(&api, &packages("olm")).await.0, 429);
        assert!(held[0].next().await.unwrap().is_ok());
        tokio::time::sleep(LIST_TIME / 5).await;
        assert!(held[0].next().await.unwrap().is_err(), "the rest is gone");
        assert_eq!(open(&api, &packages("olm")).await.0, 200);
    });
}

#[test]
fn a_list_that_takes_long_is_that_of_its_selector() {
    runtime().block_on(async {
        let count = 308;
        let (api, _) = start(count);
        let list = async |requirements: usize, last: &str| {
            let selector =
                format!("{}catalog{last}a", "!x,".repeat(requirements - 1)).replace('=', "%3D");
            let list = api
                .get(&format!("{}?labelSelector={selector}", packages("olm")))
                .await;
            (
                list.status.as_u16(),
                list.json()["items"].as_array().map(Vec::len),
            )
        };
        for requirements in [1, 64] {
            assert_eq!(list(requirements, "=").await, (200, Some(count)));
            assert_eq!(list(requirements, "!=").await, (200, Some(0)));
        }
        assert_eq!(list(65, "=").await, (400, None));
    });
}

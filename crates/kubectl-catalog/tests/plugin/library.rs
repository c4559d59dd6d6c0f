//! The client library: pages of one content, repetitions, changes, and typed requests.

use std::pin::pin;
use std::time::{Duration, Instant};

use catalogql_client::{
    BundleQuery, ChannelHead, Client, ClientError, ContentChange, ContentRef, ListedBundle,
    PackageQuery, ResolveRequest, ResolveResult,
};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use tokio::time::timeout;

use crate::support::Server;

const ONE: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0";

const TWO: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0";

/// A catalog with more packages than a page has.
fn many(version: &str) -> String {
    let package = |number| format!("package p{number:03} default=a\nchannel a: {version}\n");
    (0..700).map(package).collect::<Vec<_>>().concat()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
        .block_on(future)
}

fn client(server: &Server) -> Client {
    Client::builder(server.url())
        .build()
        .expect("the URL is valid")
}

#[test]
fn typed_requests_are_answered() {
    let server = Server::start();
    server.serve_fixture("community", TWO, 0);
    let client = client(&server);
    block_on(async {
        let packages = client.packages(&PackageQuery {
            search: Some("etcd".to_owned()),
            ..PackageQuery::default()
        });
        let packages = packages.all().await.unwrap();
        assert_eq!(
            (packages.len(), packages[0].version.as_deref()),
            (1, Some("1.2.0"))
        );
        let head = ChannelHead {
            catalog: "community".to_owned(),
            package: "etcd".to_owned(),
            channel: "stable".to_owned(),
            is_default: true,
            bundle: Some("etcd.v1.2.0".to_owned()),
            version: Some("1.2.0".to_owned()),
            deprecation: None,
        };
        assert_eq!(client.heads("etcd", &[]).await.unwrap(), [head]);
        let filter = BundleQuery {
            packages: vec!["etcd".to_owned()],
            only_heads: true,
            ..BundleQuery::default()
        };
        let bundles: Vec<ListedBundle> = client.bundles(&filter).all().await.unwrap();
        assert_eq!(
            bundles
                .iter()
                .map(|bundle| bundle.name.as_str())
                .collect::<Vec<_>>(),
            ["etcd.v1.2.0"]
        );
        assert_eq!(
            client.images(&filter).await.unwrap(),
            ["quay.io/example/etcd:v1.2.0"]
        );
        assert_eq!(
            client.providers("example.com", "None").all().await.unwrap(),
            []
        );
        let path = client
            .upgrade_path("community", "etcd", "etcd.v1.0.0", None)
            .await
            .unwrap()
            .unwrap();
        let steps: Vec<_> = path
            .iter()
            .map(|step| (step.to.as_str(), step.reasons.join(",")))
            .collect();
        assert_eq!(
            steps,
            [
                ("etcd.v1.1.0", "REPLACES".to_owned()),
                ("etcd.v1.2.0", "REPLACES".to_owned())
            ]
        );
        let request = ResolveRequest {
            package: "etcd".to_owned(),
            ..ResolveRequest::default()
        };
        let ResolveResult::Resolution(found) = client.resolve(&request).await.unwrap() else {
            panic!()
        };
        assert_eq!(found.bundle, "etcd.v1.2.0");
        let request = ResolveRequest {
            package: "ectd".to_owned(),
            ..request
        };
        let ResolveResult::ResolutionFailure(failure) = client.resolve(&request).await.unwrap()
        else {
            panic!()
        };
        assert_eq!(
            (failure.code.as_str(), failure.similar_names),
            ("PACKAGE_NOT_FOUND", vec!["etcd".to_owned()])
        );
        let side = ContentRef::Name("community".to_owned());
        assert_eq!(
            client.diff(&side, &side).await.unwrap().unwrap().packages,
            []
        );
        let unknown = ContentRef::Digest(format!("sha256:{}", "0".repeat(64)));
        assert_eq!(client.diff(&unknown, &side).await.unwrap(), None);
    });
}

#[test]
fn pages_are_of_one_content_and_a_list_is_read_once_more_when_it_changes() {
    let server = Server::start();
    server.serve_fixture("many", &many("v1.0.0"), 0);
    let client = client(&server);
    block_on(async {
        let walk = client.packages(&PackageQuery::default());
        let mut pages = pin!(walk.pages());
        assert_eq!(pages.next().await.unwrap().unwrap().len(), 500);
        server.serve_fixture("many", &many("v2.0.0"), 0);
        assert!(matches!(
            pages.next().await,
            Some(Err(ClientError::Changed))
        ));
        // The next page is of another content for a proxy that has kept the first one.
        let versions = walk
            .all()
            .await
            .unwrap()
            .into_iter()
            .map(|package| package.version);
        let versions: Vec<_> = versions.flatten().collect();
        assert!(versions.len() == 700 && versions.iter().all(|version| version == "2.0.0"));
        assert_eq!(walk.clone().limit(501).all().await.unwrap().len(), 501);
        // A change of a catalog that is not read is none.
        let filter = PackageQuery {
            catalogs: vec!["many".to_owned()],
            ..PackageQuery::default()
        };
        let walk = client.packages(&filter);
        let mut pages = pin!(walk.pages());
        assert_eq!(pages.next().await.unwrap().unwrap().len(), 500);
        server.serve_fixture("other", ONE, 0);
        assert_eq!(pages.next().await.unwrap().unwrap().len(), 200);
        assert!(pages.next().await.is_none());
    });
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_and_no_more_than_three_times() {
    let server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let client = client(&server);
    block_on(async {
        server.refuse_next(503, &[("retry-after", "1")], "");
        server.refuse_next(429, &[], "");
        let began = Instant::now();
        assert_eq!(client.heads("etcd", &[]).await.unwrap().len(), 1);
        assert!(began.elapsed() >= Duration::from_secs(1));
        assert_eq!(server.statuses(), [503, 429, 200]);
        let busy = r#"{"errors": [{"message": "busy", "extensions": {"code": "A"}}]}"#;
        (0..4).for_each(|_| server.refuse_next(503, &[], busy));
        let error = client.heads("etcd", &[]).await.unwrap_err();
        let is_busy = matches!(&error, ClientError::Refused { code: Some(code), message, .. } if code == "A" && message == "busy");
        assert!(is_busy && error.is_retryable(), "{error:?}");
        assert_eq!(server.statuses().len(), 3 + 4);
        // One that asks for longer than a caller waits gets no second request.
        server.refuse_next(503, &[("retry-after", "60")], "");
        assert!(client.heads("etcd", &[]).await.is_err());
        assert_eq!(server.statuses().len(), 3 + 4 + 1);
    });
}

#[test]
fn a_walk_survives_a_restart_of_the_server() {
    let mut server = Server::start();
    server.serve_fixture("many", &many("v1.0.0"), 0);
    let client = client(&server);
    block_on(async {
        let walk = client.packages(&PackageQuery::default());
        let mut pages = pin!(walk.pages());
        assert_eq!(pages.next().await.unwrap().unwrap().len(), 500);
        server.stop();
        server.listen();
        assert_eq!(pages.next().await.unwrap().unwrap().len(), 200);
    });
}

#[test]
fn changes_are_reported_also_those_of_the_time_without_a_connection() {
    let mut server = Server::start();
    server.serve_fixture("community", ONE, 0);
    let client = client(&server);
    block_on(async {
        let mut changes = pin!(client.changes(&[]));
        // Nothing is known before the first poll.
        assert!(
            timeout(Duration::from_millis(300), changes.next())
                .await
                .is_err()
        );
        server.serve_fixture("community", TWO, 0);
        let event = changes.try_next().await.unwrap().unwrap();
        assert_eq!(
            (event.catalog.as_str(), &event.change),
            ("community", &ContentChange::Changed)
        );
        server.stop();
        server.serve_fixture("community", ONE, 0);
        server.serve_fixture("other", ONE, 0);
        server.listen();
        let digest = event.to_digest;
        let event = changes.try_next().await.unwrap().unwrap();
        assert_eq!(
            (event.catalog.as_str(), event.change, event.from_digest),
            ("community", ContentChange::Changed, digest)
        );
        let event = changes.try_next().await.unwrap().unwrap();
        assert_eq!(
            (event.catalog.as_str(), event.change, event.from_digest),
            ("other", ContentChange::Added, None)
        );
    });
}

#[test]
fn what_is_no_catalogql_is_named() {
    let server = Server::start();
    let client = client(&server);
    block_on(async {
        let ask = || client.query::<Value>("{ catalogs { name } }", &Value::Null);
        server.refuse_next(404, &[], "404 page not found\n");
        let error = ask().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot find catalogql at {}/graphql: 404 page not found",
                server.url()
            )
        );
        server.refuse_next(200, &[], "<html>");
        assert!(matches!(
            ask().await.unwrap_err(),
            ClientError::Decode { .. }
        ));
        let nobody = Client::builder("http://127.0.0.1:1").build().unwrap();
        let error = nobody
            .query::<Value>("{ catalogs { name } }", &Value::Null)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::Unreachable { .. }) && error.is_retryable(),
            "{error:?}"
        );
    });
}

#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_the_caller_says() {
    // It accepts connections, and reads nothing of them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", silent.local_addr().expect("it is bound"));
    let client = Client::builder(url)
        .timeout(Duration::from_millis(20))
        .build()
        .expect("the URL is valid");
    block_on(async {
        assert!(matches!(
            client.heads("etcd", &[]).await.unwrap_err(),
            ClientError::Unreachable { .. }
        ));
        let mut changes = pin!(client.changes(&[]));
        assert!(matches!(
            changes.try_next().await.unwrap_err(),
            ClientError::Unreachable { .. }
        ));
    });
}

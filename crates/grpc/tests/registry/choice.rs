//! Which catalog a call is about, and whether that is healthy.

use fbc_grammar::Digest;
use futures_util::StreamExt as _;
use grpc::Grpc;
use prost::Message as _;
use serde_json::json;
use serving::{CatalogMetadata, CatalogsWriter, Content, LoadStatus, Served, Visibility, catalogs};

use crate::client::{self, Answer, Call};

fn publish(writer: &mut CatalogsWriter, name: &str) {
    let content = testing::fixture::catalog(&format!(
        "package in-{name} default=stable\nchannel stable: v1.0.0"
    ));
    let content = Content::new(content, Digest::new([1; 32]));
    writer.publish(Served::new(name, content, CatalogMetadata::default()));
}

async fn list(
    grpc: &Grpc,
    catalog: Option<&str>,
    authority: Option<&str>,
) -> (Vec<String>, &'static str, String) {
    let metadata = catalog
        .map(|name| ("catalog".to_owned(), name.to_owned()))
        .into_iter()
        .collect();
    let requests = vec![Vec::new()];
    let call = Call {
        method: "api.Registry/ListPackages",
        metadata,
        requests,
        authority,
        ..Call::default()
    };
    let Answer {
        messages,
        code,
        text,
    } = client::send(&grpc.router(), call).await;
    let names = messages
        .iter()
        .map(|message| String::decode(message.clone()).unwrap())
        .collect();
    (names, client::code_name(code), text)
}

async fn check(grpc: &Grpc, service: &str, authority: Option<&str>) -> String {
    let pool = client::pool();
    let method = "grpc.health.v1.Health/Check";
    let descriptor = client::method(&pool, method).unwrap();
    let requests = vec![client::encode(&descriptor, &json!({ "service": service }))];
    let answer = client::send(
        &grpc.router(),
        Call {
            method,
            requests,
            authority,
            ..Call::default()
        },
    )
    .await;
    client::decode(&descriptor, &answer.messages[0])["status"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_call_is_about_the_catalog_of_its_metadata_or_of_its_host_or_the_only_one() {
    let (mut writer, reader) = catalogs();
    let grpc = Grpc::new(reader);
    assert_eq!(
        list(&grpc, None, None).await,
        (vec![], "Unavailable", "no catalog is served".to_owned())
    );
    publish(&mut writer, "a");
    let found = |name: &str| (vec![format!("in-{name}")], "OK", String::new());
    assert_eq!(list(&grpc, None, None).await, found("a"));
    publish(&mut writer, "b");
    for host in ["b", "b:50051", "b.olm.svc", "b.olm.svc.cluster.local:50051"] {
        assert_eq!(list(&grpc, None, Some(host)).await, found("b"), "{host}");
    }
    assert_eq!(
        list(&grpc, Some("a"), Some("b.olm.svc")).await,
        found("a"),
        "metadata comes first"
    );
    let how =
        "name one in the metadata `catalog`, or connect to a host whose name begins with it (a, b)";
    let refused = |why: &str| (vec![], "FailedPrecondition", format!("{why}: {how}"));
    assert_eq!(
        list(&grpc, None, Some("c")).await,
        refused("the call does not say which catalog it is about")
    );
    assert_eq!(
        list(&grpc, Some("c"), Some("b")).await,
        refused("the catalog `c` is not served")
    );
}

#[tokio::test]
async fn a_call_about_a_catalog_that_is_not_loaded_yet_is_unavailable_and_never_about_another() {
    let (mut writer, reader) = catalogs();
    let grpc = Grpc::new(reader.clone());
    let unavailable = |text: &str| (vec![], "Unavailable", text.to_owned());
    writer.statuses().set_awaits_names(true);
    assert_eq!(
        list(&grpc, Some("b"), None).await,
        unavailable("the catalog `b` is not loaded yet"),
        "it may be configured"
    );

    for name in ["a", "b"] {
        writer.statuses().set(name, LoadStatus::default());
    }
    writer.statuses().set_awaits_names(false);
    publish(&mut writer, "a");
    let own = grpc.listener(Some("b"), reader);
    for (grpc, catalog, host) in [
        (&grpc, Some("b"), None),
        (&grpc, None, Some("b.olm.svc")),
        (&own, None, None),
    ] {
        assert_eq!(
            list(grpc, catalog, host).await,
            unavailable("the catalog `b` is not loaded yet"),
            "{catalog:?} {host:?}"
        );
    }
    assert_eq!(
        list(&grpc, None, Some("c")).await.1,
        "FailedPrecondition",
        "one of two is loaded, and the call names none"
    );

    writer.statuses().forget("b");
    assert_eq!(
        list(&grpc, Some("b"), None).await.1,
        "FailedPrecondition",
        "it is not configured"
    );
    assert_eq!(list(&grpc, None, Some("c")).await.0, ["in-a"]);
}

#[tokio::test]
async fn a_listener_of_one_catalog_serves_no_other() {
    let (mut writer, reader) = catalogs();
    publish(&mut writer, "a");
    publish(&mut writer, "b");
    let grpc = Grpc::new(reader.clone()).listener(Some("a"), reader);
    for (metadata, host) in [(None, None), (Some("b"), None), (None, Some("b.olm.svc"))] {
        assert_eq!(list(&grpc, metadata, host).await.0, ["in-a"]);
    }
}

#[tokio::test]
async fn a_hidden_catalog_is_as_one_that_is_not_there() {
    let (mut writer, reader) = catalogs();
    publish(&mut writer, "a");
    let grpc = |catalogs| Grpc::new(catalogs);
    let alone = list(&grpc(reader.clone()), Some("b"), None).await;
    publish(&mut writer, "b");
    let narrowed = grpc(reader.visible(Visibility::only(["a".to_owned()])));
    assert_eq!(list(&narrowed, Some("b"), None).await, alone);
    assert_eq!(list(&narrowed, None, Some("b")).await.0, ["in-a"]);
    assert_eq!(
        check(&narrowed, "b", None).await,
        check(&narrowed, "c", None).await
    );
    let blind = grpc(reader.visible(Visibility::none()));
    assert_eq!(list(&blind, Some("b"), None).await.1, "FailedPrecondition");
    assert_eq!(check(&blind, "", None).await, "NOT_SERVING");
}

#[tokio::test]
async fn a_catalog_is_healthy_as_soon_as_it_is_served() {
    let (mut writer, reader) = catalogs();
    let grpc = Grpc::new(reader.clone());
    assert_eq!(check(&grpc, "", None).await, "NOT_SERVING");
    publish(&mut writer, "a");
    let later = grpc.listener(Some("b"), reader);
    assert_eq!(
        [check(&grpc, "", None).await, check(&grpc, "a", None).await],
        ["SERVING", "SERVING"]
    );
    assert_eq!(
        check(&later, "", None).await,
        "NOT_SERVING",
        "another catalog is served"
    );
    publish(&mut writer, "b");
    for service in ["", "a", "b", "api.Registry"] {
        assert_eq!(
            check(&grpc, service, Some("a.olm")).await,
            "SERVING",
            "{service}"
        );
        assert_eq!(check(&later, service, None).await, "SERVING", "{service}");
    }
}

#[tokio::test]
async fn a_request_of_more_than_its_limit_is_refused() {
    let (mut writer, reader) = catalogs();
    publish(&mut writer, "a");
    for (length, code) in [
        (grpc::MAX_REQUEST_BYTES, "Unknown"),
        (grpc::MAX_REQUEST_BYTES + 1, "ResourceExhausted"),
    ] {
        let mut request = vec![0x0a];
        let name = "x".repeat(length - 4);
        prost::encoding::encode_varint(name.len() as u64, &mut request);
        request.extend_from_slice(name.as_bytes());
        assert_eq!(request.len(), length);
        let call = Call {
            method: "api.Registry/GetPackage",
            requests: vec![request],
            ..Call::default()
        };
        assert_eq!(
            client::code_name(
                client::send(&Grpc::new(reader.clone()).router(), call)
                    .await
                    .code
            ),
            code
        );
    }
}

#[tokio::test]
async fn a_call_with_a_stream_as_its_response_has_one_request() {
    let (mut writer, reader) = catalogs();
    publish(&mut writer, "a");
    let router = Grpc::new(reader).router();
    for (method, is_streamed) in [
        ("api.Registry/ListPackages", true),
        ("api.Registry/ListBundles", true),
        ("api.Registry/GetLatestChannelEntriesThatProvide", true),
        ("api.Registry/GetPackage", false),
        ("grpc.health.v1.Health/Check", false),
    ] {
        let mut answers = Vec::new();
        for count in 0..4 {
            let call = Call {
                method,
                requests: vec![b"\x0a\x04in-a".to_vec(); count],
                ..Call::default()
            };
            let Answer {
                messages,
                code,
                text,
            } = client::send(&router, call).await;
            answers.push((messages.is_empty(), client::code_name(code), text));
        }
        let violated = |received: &str| {
            (
                true,
                "Internal",
                format!("cardinality violation: received {received} non-client-streaming RPC"),
            )
        };
        assert_eq!((answers[0].0, answers[0].1), (true, "Internal"), "{method}");
        assert_ne!(answers[1].1, "Internal", "{method}");
        if is_streamed {
            assert_eq!(answers[0], violated("no request message from"), "{method}");
            assert_eq!(
                answers[2..],
                [(); 2].map(|()| violated("multiple request messages for")),
                "{method}"
            );
        } else {
            assert_eq!(
                answers[2..],
                [(); 2].map(|()| answers[1].clone()),
                "{method}: Go's library ignores the others"
            );
        }
    }
}

#[tokio::test]
async fn a_content_that_is_replaced_in_the_middle_of_a_stream_arrives_whole() {
    let (mut writer, reader) = catalogs();
    let channel = (0..500)
        .map(|number| format!("v1.{number}.0"))
        .collect::<Vec<_>>()
        .join(" <- ");
    let content = testing::fixture::catalog(&format!(
        "package former default=stable\nchannel stable: {channel}"
    ));
    writer.publish(Served::new(
        "a",
        Content::new(content, Digest::new([2; 32])),
        CatalogMetadata::default(),
    ));
    let router = Grpc::new(reader).router();
    let call = Call {
        method: "api.Registry/ListBundles",
        requests: vec![Vec::new()],
        ..Call::default()
    };
    let mut stream = client::begin(&router, &call).await;
    let first = stream.next().await.unwrap();
    publish(&mut writer, "a");
    assert!(!first.is_empty());
    let mut bytes = first.to_vec();
    while let Some(more) = stream.next().await {
        bytes.extend_from_slice(&more);
    }
    let listed = client::messages(&bytes);
    assert_eq!(listed.len(), 500);
    assert!(
        listed
            .iter()
            .all(|message| String::from_utf8_lossy(message).contains("former"))
    );
}

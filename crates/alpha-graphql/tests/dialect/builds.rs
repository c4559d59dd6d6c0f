//! When schemas are made, kept and dropped, and what is served of catalogs whose names meet.

use serde_json::{Value, json};

use alpha_graphql::{BuildResult, MAX_CACHED_SCHEMAS, MAX_KEYS, MAX_SCHEMAS};
use graphql::metrics::RequestResult;

use crate::server::Server;

fn blobs(count: usize, blob: impl Fn(usize) -> Value) -> String {
    (0..count)
        .map(|number| blob(number).to_string() + "\n")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_made_once_however_many_ask_at_one_time() {
    let mut server = Server::new();
    server.publish_text(
        "c",
        &blobs(
            500,
            |number| json!({ "schema": format!("s{number}"), "name": "x" }),
        ),
    );
    let server = std::sync::Arc::new(server);
    let asking: Vec<_> = (0..32)
        .map(|number| {
            let server = std::sync::Arc::clone(&server);
            tokio::spawn(async move {
                server
                    .ask("c", &format!("{{ s{number}s {{ name }} }}"))
                    .await
            })
        })
        .collect();
    for (number, asked) in asking.into_iter().enumerate() {
        assert_eq!(
            asked.await.unwrap()["data"][format!("s{number}s")],
            json!([{ "name": "x" }])
        );
    }
    assert_eq!(server.metrics().builds[BuildResult::Ok].get(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_a_few_contents_are_kept_and_dropped_with_them() {
    let mut server = Server::new();
    for number in 0..=MAX_CACHED_SCHEMAS {
        let name = format!("c{number}");
        server.publish_text(
            &name,
            &blobs(1, |_| json!({ "schema": "s", "name": number.to_string() })),
        );
        assert_eq!(
            server.ask(&name, "{ ss { name } }").await["data"]["ss"][0]["name"],
            number.to_string()
        );
    }
    let metrics = server.metrics();
    assert_eq!(metrics.schemas.get(), MAX_CACHED_SCHEMAS as u64);
    assert!(metrics.schema_bytes.get() > 0);
    tokio::spawn(server.alpha.clone().evict_stale_schemas());
    for number in 1..=MAX_CACHED_SCHEMAS {
        server.writer.withdraw(&format!("c{number}"));
    }
    // What is set last.
    while metrics.schema_bytes.get() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.schemas.get(), 0);
    assert_eq!(
        server.ask("c0", "{ ss { name } }").await["data"]["ss"][0]["name"],
        "0"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_schemas_whose_names_meet_the_first_is_served_and_lists_whose_types_meet_others_are_text()
 {
    let mut server = Server::new();
    let text = [
        json!({ "schema": "a.b", "name": "dot", "c": [{ "k": 1 }] }),
        json!({ "schema": "a_b", "name": "underscore" }),
        json!({ "schema": "a.b.c", "name": "three" }),
        json!({ "schema": "9lives", "name": "cat" }),
        json!({ "schema": "query", "name": "q" }),
        json!({ "schema": "catalog.summary", "name": "s" }),
        json!({ "schema": "é", "name": "first" }),
        json!({ "schema": "ü", "name": "second" }),
    ];
    server.publish_text("c", &blobs(text.len(), |number| text[number].clone()));
    let answer = server
        .ask(
            "c",
            "{ abs { name c } abcs { name } s { name } summary { totalSchemas } }",
        )
        .await;
    let expected = json!({
        "abs": [{ "name": "dot", "c": r#"[{"k":1}]"# }], "abcs": [{ "name": "three" }], "s": [{ "name": "first" }],
        "summary": { "totalSchemas": 8 },
    });
    assert_eq!(answer, json!({ "data": expected }));
    let fields = server
        .ask("c", "{ __schema { queryType { fields { name } } } }")
        .await;
    let names = fields["data"]["__schema"]["queryType"]["fields"]
        .as_array()
        .unwrap();
    let names: Vec<_> = names
        .iter()
        .map(|field| field["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["summary", "abcs", "abs", "s"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_named_float_is_served_where_no_number_is_a_float() {
    let mut server = Server::new();
    let float = json!({ "schema": "float", "name": "f" }).to_string();
    server.publish_text("accepted-float", &float);
    let query = "{ floats { __typename name ... on Float { schema } } summary { schemas { name totalFields } } }";
    let expected = json!({
        "floats": [{ "__typename": "Float", "name": "f", "schema": "float" }],
        "summary": { "schemas": [{ "name": "float", "totalFields": 2 }] },
    });
    assert_eq!(
        server.ask("accepted-float", query).await,
        json!({ "data": expected })
    );
    server.publish_text(
        "both",
        &format!("{float}\n{}\n", json!({ "schema": "s", "v": 1.5 })),
    );
    assert_eq!(
        server.ask("both", "{ ss { v } }").await,
        json!({ "data": { "ss": [{ "v": 1.5 }] } })
    );
    assert!(
        server
            .error("both", "{ floats { name } }")
            .await
            .contains("`floats`")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalog_has_as_many_schemas_and_keys_as_the_limits_allow_and_the_error_says_which_it_exceeds()
 {
    let mut server = Server::new();
    let schemas = |count| {
        blobs(
            count,
            |number| json!({ "schema": format!("s{number}"), "name": "x" }),
        )
    };
    server.publish_text("many", &schemas(3_000));
    assert_eq!(
        server.ask("many", "{ s2999s { name } }").await["data"]["s2999s"],
        json!([{ "name": "x" }])
    );
    server.publish_text("most", &schemas(MAX_SCHEMAS));
    assert_eq!(
        server.ask("most", "{ s9s { name } }").await["data"]["s9s"],
        json!([{ "name": "x" }])
    );
    server.publish_text("schemas", &schemas(MAX_SCHEMAS + 1));
    let keys = |count| {
        let keys = (0..count - 1).map(|number| (format!("k{number}"), Value::Null));
        let mut blob: Value = keys.collect::<serde_json::Map<_, _>>().into();
        blob["schema"] = json!("s");
        blob.to_string()
    };
    server.publish_text("fewer", &keys(MAX_KEYS));
    server.publish_text("keys", &keys(MAX_KEYS + 1));
    assert_eq!(
        server.ask("fewer", "{ ss { k7 } }").await["data"]["ss"],
        json!([{ "k7": null }])
    );
    server.publish_text(
        "names",
        &json!({ "schema": "s", "x".repeat(3 << 20): 1 }).to_string(),
    );
    for (catalog, what) in [
        ("schemas", "the catalog has more than 5000 schemas"),
        (
            "keys",
            "the blobs of the catalog have more than 20000 different keys",
        ),
        (
            "names",
            "the names of schemas and keys of the catalog have more than 2097152 bytes",
        ),
    ] {
        let expected = format!(
            "cannot make a GraphQL schema of the catalog: {what}: /graphql serves every catalog"
        );
        assert_eq!(
            [
                server.error(catalog, "{ ss { name } }").await,
                server.error(catalog, "{ x }").await
            ],
            [expected.clone(), expected]
        );
    }
    assert_eq!(
        server.metrics().builds[BuildResult::Refused].get(),
        3,
        "an error is kept too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_catalog_is_as_one_that_is_not_there() {
    let mut server = Server::new();
    server.publish_text(
        "secret",
        &blobs(1, |_| json!({ "schema": "s", "name": "concealed" })),
    );
    let shown = server.ask("secret", "{ ss { name } }").await;
    assert_eq!(shown["data"]["ss"][0]["name"], "concealed");
    server.show_only([]);
    for query in [
        "{ ss { name } }",
        "{ x }",
        "{",
        "{ __schema { types { name } } }",
        "",
    ] {
        let body = json!({ "query": query }).to_string();
        let [hidden, absent] = [
            server.post("secret", &body).await,
            server.post("absent", &body).await,
        ];
        assert_eq!(
            (hidden.status, &hidden.headers, &hidden.text),
            (absent.status, &absent.headers, &absent.text)
        );
        assert!(!hidden.text.contains("concealed"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_asked_for_again_comes_from_the_response_cache_until_the_content_changes()
 {
    let mut server = Server::new();
    let publish = |server: &mut Server, name| {
        server.publish_text("c", &json!({ "schema": "s", "name": name }).to_string());
    };
    publish(&mut server, "old");
    let text = "query A($on: Boolean!) { ss { name @include(if: $on) } } query B { ss { schema } }";
    let body = |operation: Option<&str>, on| {
        json!({ "query": text, "operationName": operation, "variables": { "on": on } }).to_string()
    };
    let shown = json!({ "data": { "ss": [{ "name": "old" }] } });
    // The second request stores what the third one finds.
    for hits in [0, 0, 1, 2] {
        assert_eq!(server.post("c", &body(Some("A"), true)).await.json(), shown);
        assert_eq!(server.metrics().requests[RequestResult::Cached].get(), hits);
    }
    for (other, expected) in [
        (body(Some("A"), false), json!({ "data": { "ss": [{}] } })),
        (
            body(Some("B"), true),
            json!({ "data": { "ss": [{ "schema": "s" }] } }),
        ),
    ] {
        assert_eq!(server.post("c", &other).await.json(), expected);
    }
    // No name is wrong here, and an empty one is unknown.
    let [none, empty] = [
        server.post("c", &body(None, true)).await,
        server.post("c", &body(Some(""), true)).await,
    ];
    assert_eq!(
        (none.json()["data"].clone(), empty.json()["data"].clone()),
        (Value::Null, Value::Null)
    );
    publish(&mut server, "new");
    for _ in 0..3 {
        let answer = server.post("c", &body(Some("A"), true)).await;
        assert_eq!(answer.json()["data"]["ss"], json!([{ "name": "new" }]));
    }
    assert_eq!(server.metrics().requests[RequestResult::Cached].get(), 3);
    server.show_only([]);
    assert_eq!(server.post("c", &body(Some("A"), true)).await.status, 404);
}

//! catalogd's alpha GraphQL beside the other protocols. What it answers is tested in its crate.

use serde_json::{Value, json};

use crate::support::{ETCD, Folders, Server, get, graphql, graphql_at};

fn alpha(server: &Server, catalog: &str, query: &str) -> Value {
    let path = format!("/catalogs/{catalog}/api/v1/graphql");
    serde_json::from_str(&graphql_at(server.address, &path, query)).expect("it is JSON")
}

#[test]
fn a_catalog_of_too_many_schemas_and_of_keys_that_clash_is_served_over_all_other_protocols() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let schema = |number| {
        json!({"schema": format!("s{number}"), "name": "x", "k_k": 1, "kK": 2}).to_string() + "\n"
    };
    let lines: String = (0..=alpha_graphql::MAX_SCHEMAS).map(schema).collect();
    folders.write("crowd/catalog.json", &lines);
    let server = Server::start(&folders, &[&folders.text("etcd"), &folders.text("crowd")]);
    let refused = alpha(&server, "crowd", "{ s7s { name } }");
    let message = "cannot make a GraphQL schema of the catalog: the catalog has more than 5000 schemas: /graphql serves every catalog";
    assert_eq!(
        (&refused["data"], &refused["errors"][0]["message"]),
        (&Value::Null, &json!(message)),
        "{refused}"
    );
    let packages = alpha(&server, "etcd", "{ olmpackages { name } }");
    assert_eq!(
        packages,
        json!({"data": {"olmpackages": [{"name": "etcd"}]}})
    );
    let (status, all) = get(server.address, "/catalogs/crowd/api/v1/all");
    assert_eq!(
        (status, all.lines().count()),
        (200, alpha_graphql::MAX_SCHEMAS + 1)
    );
    let (status, one) = get(server.address, "/catalogs/crowd/api/v1/metas?schema=s7");
    assert_eq!(
        (status, serde_json::from_str(&one).ok()),
        (
            200,
            Some(json!({"schema": "s7", "name": "x", "k_k": 1, "kK": 2}))
        )
    );
    let metas = graphql(
        server.address,
        r#"{ catalog(name: "crowd") { metas(filter: {schema: "s7"}) { totalCount } } }"#,
    );
    assert_eq!(metas, r#"{"data":{"catalog":{"metas":{"totalCount":1}}}}"#);
}

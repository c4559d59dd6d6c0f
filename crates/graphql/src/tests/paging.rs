//! Pages: every way through a connection gives one order.

use serde_json::{Value, json};

use super::fixture::{ALPHA, ask, ask_with, code, data, engine, engine_of, served};
use crate::Engine;
use crate::limits::Limits;

/// Connections of the root and what tells their items apart.
const CONNECTIONS: [(&str, &str); 3] = [
    ("packages", "name catalog { name }"),
    ("bundles", "name package { name catalog { name } }"),
    ("metas", "schema name blob catalog { name }"),
];

fn whole(engine: &Engine, connection: &str, item: &str) -> Vec<Value> {
    let body = data(
        engine,
        &format!("{{ {connection}(first: 500) {{ nodes {{ {item} }} }} }}"),
    );
    body[connection]["nodes"].as_array().unwrap().clone()
}

/// Walks through a connection in pages, and checks what each page says of its neighbours.
fn walk(engine: &Engine, connection: &str, item: &str, size: usize, backwards: bool) -> Vec<Value> {
    let (size_name, cursor_name) = if backwards {
        ("last", "before")
    } else {
        ("first", "after")
    };
    let query = format!(
        "query($cursor: String) {{ {connection}({size_name}: {size}, {cursor_name}: $cursor) {{ totalCount \
         pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} edges {{ cursor node {{ {item} }} }} }} }}"
    );
    let total = whole(engine, connection, item).len();
    let mut items: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let body = ask_with(engine, &query, &json!({ "cursor": cursor }));
        let page = &body["data"][connection];
        let edges = page["edges"].as_array().unwrap();
        let nodes = edges.iter().map(|edge| edge["node"].clone());
        if backwards {
            items.splice(..0, nodes)
        } else {
            items.splice(items.len().., nodes)
        };
        let more = items.len() < total;
        let less = items.len() > edges.len();
        let (next, previous) = if backwards {
            (less, more)
        } else {
            (more, less)
        };
        let info = json!({
            "hasNextPage": next,
            "hasPreviousPage": previous,
            "startCursor": edges.first().map(|edge| &edge["cursor"]),
            "endCursor": edges.last().map(|edge| &edge["cursor"]),
        });
        assert_eq!(
            (&page["pageInfo"], &page["totalCount"]),
            (&info, &json!(total)),
            "{connection}"
        );
        if !more {
            return items;
        }
        cursor = page["pageInfo"][if backwards {
            "startCursor"
        } else {
            "endCursor"
        }]
        .clone();
    }
}

#[test]
fn forwards_backwards_and_in_one_page_the_order_is_the_same() {
    let engine = engine(Limits::default());
    for (connection, item) in CONNECTIONS {
        let all = whole(&engine, connection, item);
        for size in 1..=all.len() + 1 {
            for backwards in [false, true] {
                assert_eq!(
                    walk(&engine, connection, item, size, backwards),
                    all,
                    "{connection} {size} {backwards}"
                );
            }
        }
    }
}

#[test]
fn packages_come_by_name_then_catalog_and_bundles_highest_version_first() {
    let body = data(
        &engine(Limits::default()),
        "{ packages { nodes { name catalog { name } } } bundles { nodes { name version } } }",
    );
    let expected = json!({
        "packages": {"nodes": [
            {"name": "etcd", "catalog": {"name": "alpha"}},
            {"name": "etcd", "catalog": {"name": "beta"}},
            {"name": "minio", "catalog": {"name": "beta"}},
            {"name": "zoo", "catalog": {"name": "alpha"}},
        ]},
        "bundles": {"nodes": [
            {"name": "etcd.v1.1.0", "version": "1.1.0"},
            {"name": "etcd.v1.1.0", "version": "1.0.5"},
            {"name": "etcd.v1.0.0", "version": "1.0.0"},
            {"name": "minio.v1", "version": "1.0.0"},
            {"name": "zoo.v1", "version": "1.0.0"},
        ]},
    });
    assert_eq!(body, expected);
}

#[test]
fn a_page_between_two_cursors_leaves_both_out() {
    let engine = engine(Limits::default());
    let body = data(&engine, "{ bundles { edges { cursor } } }");
    let cursor = |at: usize| body["bundles"]["edges"][at]["cursor"].clone();
    let query = "query($after: String, $before: String, $first: Int, $last: Int) { bundles(after: $after, before: $before, \
                 first: $first, last: $last) { nodes { name } pageInfo { hasNextPage hasPreviousPage } } }";
    for (window, names, info) in [
        (
            json!({}),
            json!([{"name": "etcd.v1.1.0"}, {"name": "etcd.v1.0.0"}, {"name": "minio.v1"}]),
            [true, true],
        ),
        (
            json!({"first": 1}),
            json!([{"name": "etcd.v1.1.0"}]),
            [true, true],
        ),
        (
            json!({"last": 1}),
            json!([{"name": "minio.v1"}]),
            [true, true],
        ),
    ] {
        let mut variables = window;
        variables["after"] = cursor(0);
        variables["before"] = cursor(4);
        let page = ask_with(&engine, query, &variables)["data"]["bundles"].take();
        let expected = json!({"nodes": names, "pageInfo": {"hasNextPage": info[0], "hasPreviousPage": info[1]}});
        assert_eq!(page, expected, "{variables}");
    }
    let crossed = ask_with(
        &engine,
        query,
        &json!({"after": cursor(3), "before": cursor(1)}),
    );
    assert_eq!(crossed["data"]["bundles"]["nodes"], json!([]));
}

#[test]
fn a_cursor_outlives_what_it_was_made_for() {
    let before = engine_of([served("alpha", ALPHA, 1)], Limits::default());
    let query = "query($after: String) { packages(after: $after) { nodes { name } } }";
    let body = data(
        &before,
        "{ packages(first: 1) { nodes { name } pageInfo { endCursor } } }",
    );
    let after = json!({"after": body["packages"]["pageInfo"]["endCursor"]});
    assert_eq!(body["packages"]["nodes"], json!([{"name": "etcd"}]));
    let rest =
        |engine: &Engine| ask_with(engine, query, &after)["data"]["packages"]["nodes"].take();
    assert_eq!(rest(&before), json!([{"name": "zoo"}]));
    let mut lines: Vec<&str> = ALPHA[7..].to_vec();
    let added = r#"{"defaultChannel":"c","name":"fresh","schema":"olm.package"}"#;
    let earlier = r#"{"defaultChannel":"c","name":"api","schema":"olm.package"}"#;
    lines.extend([added, earlier]);
    let later = engine_of([served("alpha", &lines, 2)], Limits::default());
    assert_eq!(rest(&later), json!([{"name": "fresh"}, {"name": "zoo"}]));
}

#[test]
fn problems_are_paged_in_catalog_order() {
    let engine = engine(Limits::default());
    let query = "query($after: String, $before: String, $first: Int, $last: Int) { catalog(name: \"alpha\") { \
                 problems(after: $after, before: $before, first: $first, last: $last) { totalCount edges { cursor node { code line } } } } }";
    let page = |variables: Value| {
        ask_with(&engine, query, &variables)["data"]["catalog"]["problems"].take()
    };
    let all = page(json!({}));
    let edges = all["edges"].as_array().unwrap();
    assert!(edges.len() > 2, "{all}");
    assert_eq!(all["totalCount"], edges.len());
    for at in 0..edges.len() {
        let cursor = &edges[at]["cursor"];
        let after = page(json!({"after": cursor, "first": 1}));
        assert_eq!(
            after["edges"].as_array().unwrap()[..],
            edges[at + 1..edges.len().min(at + 2)]
        );
        let before = page(json!({"before": cursor, "last": 1}));
        assert_eq!(
            before["edges"].as_array().unwrap()[..],
            edges[at.saturating_sub(1)..at]
        );
    }
}

#[test]
fn problems_that_are_not_listed_are_counted() {
    let package = r#"{"name":"p","schema":"olm.package"}"#.to_owned();
    let bundle = |_| r#"{"package":"q","schema":"olm.bundle"}"#.to_owned();
    let lines: Vec<_> = [package, r#"{"schema":"olm.odd"}"#.to_owned()]
        .into_iter()
        .chain((0..1_500).map(bundle))
        .collect();
    let engine = engine_of([served("alpha", &lines, 1)], Limits::default());
    let count = |arguments: &str| {
        let query = format!(
            "{{ catalog(name: \"alpha\") {{ problems{arguments} {{ totalCount nodes {{ code }} pageInfo {{ hasNextPage }} }} }} }}"
        );
        let problems = data(&engine, &query)["catalog"]["problems"].take();
        let nodes = problems["nodes"].as_array().unwrap().len();
        (
            problems["totalCount"].as_u64().unwrap(),
            nodes,
            problems["pageInfo"]["hasNextPage"].as_bool().unwrap(),
        )
    };
    // Two of the package, a warning, and those of the bundles.
    assert_eq!(count("(first: 500)"), (1_503, 500, true));
    assert_eq!(count("(last: 1)"), (1_503, 1, false));
    assert_eq!(count("(first: 1, severity: ERROR)"), (1_502, 1, true));
    assert_eq!(count("(package: \"p\")"), (2, 2, false));
    // Pages end with the last one that is listed: 1,000 of the bundles.
    let pages = data(
        &engine,
        "{ catalog(name: \"alpha\") { all: problems(first: 500) { pageInfo { endCursor } } } }",
    );
    let cursor = pages["catalog"]["all"]["pageInfo"]["endCursor"]
        .as_str()
        .unwrap();
    assert_eq!(
        count(&format!("(first: 500, after: \"{cursor}\")")),
        (1_503, 500, true)
    );
}

#[test]
fn problems_are_filtered_by_package_and_severity() {
    let engine = engine(Limits::default());
    let count = |arguments: &str| {
        let body = data(
            &engine,
            &format!(
                "{{ catalog(name: \"alpha\") {{ problems{arguments} {{ totalCount nodes {{ severity packageName }} }} }} }}"
            ),
        );
        body["catalog"]["problems"]["nodes"]
            .as_array()
            .unwrap()
            .clone()
    };
    let all = count("");
    let of_etcd: Vec<Value> = all
        .iter()
        .filter(|problem| problem["packageName"] == "etcd")
        .cloned()
        .collect();
    assert_eq!(count("(package: \"etcd\")"), of_etcd);
    let errors: Vec<Value> = all
        .iter()
        .filter(|problem| problem["severity"] == "ERROR")
        .cloned()
        .collect();
    assert_eq!(count("(severity: ERROR)"), errors);
    assert_eq!(count("(severity: WARNING)"), all);
    assert_eq!(count("(package: \"none\")"), [] as [Value; 0]);
}

#[test]
fn bad_windows_are_errors_of_their_field() {
    let engine = engine(Limits::default());
    let packages = data(&engine, "{ packages { pageInfo { endCursor } } }")["packages"]["pageInfo"]
        ["endCursor"]
        .take();
    for arguments in [
        "first: 1, last: 1".to_owned(),
        "first: 501".to_owned(),
        "last: -1".to_owned(),
        "after: \"!\"".to_owned(),
        "before: \"\"".to_owned(),
        format!("after: {packages}"),
    ] {
        let body = ask(
            &engine,
            &format!("{{ __typename bundles({arguments}) {{ totalCount }} }}"),
        );
        assert_eq!(
            body["data"],
            json!({"__typename": "Query", "bundles": null}),
            "{arguments}"
        );
        assert_eq!(
            (code(&body), &body["errors"][0]["path"]),
            ("BAD_USER_INPUT", &json!(["bundles"]))
        );
    }
}

#[test]
fn only_the_catalogs_and_packages_asked_for_are_listed() {
    let engine = engine(Limits::default());
    let names = |query: &str| {
        data(
            &engine,
            &format!("{{ found: {query} {{ totalCount nodes {{ name }} }} }}"),
        )["found"]
            .take()
    };
    let etcd =
        json!({"totalCount": 2, "nodes": [{"name": "etcd.v1.1.0"}, {"name": "etcd.v1.0.0"}]});
    assert_eq!(
        names(r#"bundles(catalogs: ["alpha"], packages: ["etcd", "none", "etcd"])"#),
        etcd
    );
    assert_eq!(
        names(r#"packages(catalogs: ["none"])"#),
        json!({"totalCount": 0, "nodes": []})
    );
    assert_eq!(names("packages(catalogs: [])")["totalCount"], 4);
    assert_eq!(names("bundles(packages: [])")["totalCount"], 5);
}

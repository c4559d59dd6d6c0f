//! Filters, orders and facets, as a request asks for them.

use serde_json::{Value, json};

use super::fixture::{ALPHA, BETA, ask, ask_with, code, data, engine, engine_of, served};
use crate::Engine;
use crate::limits::Limits;

/// What names are found by a field with these arguments, in order.
fn names(engine: &Engine, field: &str) -> Vec<String> {
    let body = data(
        engine,
        &format!("{{ found: {field} {{ totalCount nodes {{ name }} }} }}"),
    );
    let nodes = body["found"]["nodes"].as_array().unwrap();
    assert_eq!(body["found"]["totalCount"], nodes.len());
    nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn packages_are_filtered_by_each_condition() {
    let engine = engine(Limits::default());
    for (filter, expected) in [
        ("{}", &["etcd", "etcd", "minio", "zoo"][..]),
        ("{names: []}", &["etcd", "etcd", "minio", "zoo"]),
        ("{names: [\"zoo\", \"minio\"]}", &["minio", "zoo"]),
        ("{categories: [\"Storage\", \"Other\"]}", &["etcd"]),
        ("{providers: [\"Etcd makers\"]}", &["etcd"]),
        ("{keywords: [\"values\"]}", &["etcd"]),
        (
            "{capabilityLevels: [FULL_LIFECYCLE, AUTO_PILOT]}",
            &["etcd"],
        ),
        ("{capabilityLevels: [AUTO_PILOT]}", &[]),
        ("{installModes: [OWN_NAMESPACE]}", &["etcd"]),
        ("{installModes: [MULTI_NAMESPACE]}", &[]),
        ("{infrastructureFeatures: [\"disconnected\"]}", &["etcd"]),
        ("{infrastructureFeatures: [\"disconnected\", \"cnf\"]}", &[]),
        ("{architectures: [\"amd64\", \"x\"]}", &["etcd"]),
        ("{architectures: [\"arm64\"]}", &[]),
        ("{operatingSystems: [\"linux\"]}", &["etcd"]),
        ("{validSubscriptions: [\"None\"]}", &[]),
        ("{certified: false}", &["etcd"]),
        ("{certified: true}", &[]),
        (
            "{problemSeverity: WARNING}",
            &["etcd", "etcd", "minio", "zoo"],
        ),
        ("{problemSeverity: ERROR, names: [\"zoo\"]}", &["zoo"]),
        ("{deprecated: true}", &["etcd"]),
        ("{deprecated: false}", &["etcd", "minio", "zoo"]),
        ("{provides: {group: \"etcd.io\", kind: \"Etcd\"}}", &[]),
        ("{olmV1: [UNKNOWN, NO]}", &["etcd", "etcd", "minio", "zoo"]),
        ("{olmV1: [YES, TECH_PREVIEW, NO]}", &[]),
        ("{search: \"keys\"}", &["etcd"]),
        ("{search: \"etcd\", names: [\"minio\"]}", &[]),
    ] {
        assert_eq!(
            names(&engine, &format!("packages(filter: {filter})")),
            expected,
            "{filter}"
        );
    }
    assert_eq!(
        names(
            &engine,
            "packages(catalogs: [\"beta\"], filter: {names: [\"etcd\", \"zoo\"]})"
        ),
        ["etcd"]
    );
    let inner = data(
        &engine,
        "{ catalog(name: \"alpha\") { packages(filter: {deprecated: false}) { nodes { name } } } }",
    );
    assert_eq!(
        inner["catalog"]["packages"]["nodes"],
        json!([{"name": "zoo"}])
    );
}

#[test]
fn bundles_and_facets_say_what_olm_v1_can_install() {
    let engine = engine(Limits::default());
    let body = data(
        &engine,
        r#"{ bundle(catalog: "alpha", package: "etcd", name: "etcd.v1.0.0") {
            olmV1 { installable judgedFrom blockers { code detail hard } } }
            packages { facets { olmV1 { value displayName count } } } }"#,
    );
    let blocker = |detail| json!({ "code": "DEPENDENCY", "detail": detail, "hard": true });
    assert_eq!(
        body["bundle"]["olmV1"],
        json!({
            "installable": "NO",
            "judgedFrom": "METADATA",
            "blockers": [
                blocker("requires the API `cert.io/v2`, kind `Issuer`"),
                blocker("requires package `cert` in version `>=1.0.0`"),
                blocker("has a property `olm.constraint`"),
                blocker("has a property `olm.constraint`"),
            ],
        })
    );
    assert_eq!(
        body["packages"]["facets"]["olmV1"],
        json!([{ "value": "UNKNOWN", "displayName": "Unknown", "count": 4 }])
    );
}

#[test]
fn bundles_are_filtered_by_each_condition() {
    let engine = engine(Limits::default());
    for (filter, expected) in [
        (
            "{}",
            &[
                "etcd.v1.1.0",
                "etcd.v1.1.0",
                "etcd.v1.0.0",
                "minio.v1",
                "zoo.v1",
            ][..],
        ),
        ("{names: [\"zoo.v1\"]}", &["zoo.v1"]),
        (
            "{propertyTypes: [\"olm.maxOpenShiftVersion\", \"none\"]}",
            &["etcd.v1.0.0"],
        ),
        ("{channels: [\"beta\"]}", &["etcd.v1.1.0", "etcd.v1.0.0"]),
        ("{olmV1: [NO]}", &["etcd.v1.0.0"]),
        ("{olmV1: [YES, TECH_PREVIEW]}", &[]),
        (
            "{versionRange: \">=1.0.5\"}",
            &["etcd.v1.1.0", "etcd.v1.1.0"],
        ),
        (
            "{provides: {group: \"etcd.io\", kind: \"Etcd\"}}",
            &["etcd.v1.0.0"],
        ),
        (
            "{provides: {group: \"etcd.io\", kind: \"Etcd\", version: \"v2\"}}",
            &[],
        ),
        (
            "{requires: {group: \"cert.io\", kind: \"Issuer\"}}",
            &["etcd.v1.0.0"],
        ),
        ("{requiresPackage: \"cert\"}", &["etcd.v1.0.0"]),
        ("{channelHead: false}", &["etcd.v1.0.0"]),
        ("{deprecated: true, channelHead: false}", &["etcd.v1.0.0"]),
    ] {
        assert_eq!(
            names(&engine, &format!("bundles(filter: {filter})")),
            expected,
            "{filter}"
        );
    }
    assert_eq!(
        names(
            &engine,
            "bundles(packages: [\"etcd\"], filter: {channelHead: true})"
        ),
        ["etcd.v1.1.0"; 2]
    );
    let inner = "{ package(catalog: \"alpha\", name: \"etcd\") { bundles(filter: {versionRange: \"1.0.x\"}) { nodes { name } } } }";
    assert_eq!(
        data(&engine, inner)["package"]["bundles"]["nodes"],
        json!([{"name": "etcd.v1.0.0"}])
    );
}

#[test]
fn a_bad_range_is_an_error_of_its_field() {
    let body = ask(
        &engine(Limits::default()),
        "{ __typename bundles(filter: {versionRange: \"not a range\"}) { totalCount } }",
    );
    assert_eq!(
        (code(&body), &body["data"]),
        (
            "BAD_USER_INPUT",
            &json!({"__typename": "Query", "bundles": null})
        )
    );
    assert_eq!(
        body["errors"][0]["message"],
        "`versionRange` is malformed: improper constraint: \"not a range\""
    );
}

#[test]
fn blobs_are_filtered_by_schema_package_and_name() {
    let engine = engine(Limits::default());
    let found = |filter: &str| {
        let body = data(
            &engine,
            &format!(
                "{{ metas(filter: {filter}) {{ nodes {{ schema name catalog {{ name }} }} }} }}"
            ),
        );
        let nodes = body["metas"]["nodes"].as_array().unwrap().clone();
        let text = |node: &Value, key: &str| node[key].as_str().unwrap_or("-").to_owned();
        let line = |node: Value| {
            format!(
                "{} {} {}",
                text(&node["catalog"], "name"),
                text(&node, "schema"),
                text(&node, "name")
            )
        };
        nodes.into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        found("{schema: \"example.com/custom\"}"),
        ["alpha example.com/custom x"]
    );
    assert_eq!(
        found("{name: \"etcd\"}"),
        ["alpha olm.package etcd", "beta olm.package etcd"]
    );
    assert_eq!(
        found("{package: \"etcd\", schema: \"olm.channel\"}"),
        [
            "alpha olm.channel stable",
            "alpha olm.channel beta",
            "beta olm.channel stable"
        ]
    );
    assert_eq!(found("{package: \"none\"}"), [] as [String; 0]);
    assert_eq!(found("{}").len(), ALPHA.len() + BETA.len());
}

/// Three catalogs whose packages share names, words and days.
fn many() -> Vec<Vec<String>> {
    let package = |name: &str, words: &str, day: &str| {
        let bundle = format!(
            r#"{{"image":"i","name":"{name}.v1","package":"{name}","properties":[{{"type":"olm.package","value":{{"packageName":"{name}","version":"1.{}.0"}}}},{{"type":"olm.csv.metadata","value":{{"annotations":{{"createdAt":"{day}"}},"description":"{words}"}}}}],"schema":"olm.bundle"}}"#,
            words.len()
        );
        let channel = format!(
            r#"{{"entries":[{{"name":"{name}.v1"}}],"name":"c","package":"{name}","schema":"olm.channel"}}"#
        );
        [
            format!(r#"{{"defaultChannel":"c","name":"{name}","schema":"olm.package"}}"#),
            channel,
            bundle,
        ]
    };
    let days = ["2026-01-01", "2025-05-05", "unknown", "2026-01-01"];
    let words = ["a kafka store", "kafka", "nothing", "the kafkas", ""];
    let catalog = |at: usize| {
        (0..9)
            .flat_map(|n| {
                package(
                    &format!("p{}", (n * (at + 2)) % 10),
                    words[(n + at) % 5],
                    days[(n * at) % 4],
                )
            })
            .collect()
    };
    (0..3).map(catalog).collect()
}

#[test]
fn every_order_is_the_same_in_pages_of_any_size_both_ways() {
    let catalogs = many();
    let served: Vec<_> = catalogs
        .iter()
        .enumerate()
        .map(|(at, lines)| served(&format!("c{at}"), lines, 1))
        .collect();
    let engine = engine_of(served, Limits::default());
    let packages = "name catalog { name }";
    let bundles = "name package { name catalog { name } }";
    for (field, given, item) in [
        ("packages", "filter: {search: \"kafka\"}", packages),
        (
            "packages",
            "orderBy: {field: NAME, direction: DESC}",
            packages,
        ),
        ("packages", "orderBy: {field: CREATED_AT}", packages),
        (
            "packages",
            "orderBy: {field: CREATED_AT, direction: DESC}",
            packages,
        ),
        ("packages", "orderBy: {field: DISPLAY_NAME}", packages),
        (
            "packages",
            "orderBy: {field: CAPABILITY_LEVEL, direction: DESC}",
            packages,
        ),
        (
            "packages",
            "filter: {search: \"kafka\"}, orderBy: {field: RELEVANCE, direction: DESC}",
            packages,
        ),
        ("bundles", "orderBy: {field: CREATED_AT}", bundles),
        (
            "bundles",
            "orderBy: {field: CREATED_AT, direction: ASC}",
            bundles,
        ),
        ("bundles", "orderBy: {field: VERSION}", bundles),
        (
            "bundles",
            "orderBy: {field: VERSION, direction: ASC}",
            bundles,
        ),
        ("bundles", "orderBy: {field: NAME}", bundles),
        (
            "bundles",
            "orderBy: {field: NAME, direction: ASC}, filter: {channelHead: true}",
            bundles,
        ),
    ] {
        let page = |window: &str, cursor: &Value| {
            let query = format!(
                "query($cursor: String) {{ {field}({given}, {window}) {{ edges {{ cursor node {{ {item} }} }} }} }}"
            );
            let body = ask_with(&engine, &query, &json!({"cursor": cursor}));
            body["data"][field]["edges"]
                .as_array()
                .unwrap_or_else(|| panic!("{body}"))
                .clone()
        };
        let whole = page("first: 500, after: $cursor", &Value::Null);
        assert!(whole.len() > 8, "{given}: {}", whole.len());
        for size in [1, 2, 7] {
            let mut forwards = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let edges = page(&format!("first: {size}, after: $cursor"), &cursor);
                let Some(last) = edges.last() else { break };
                cursor = last["cursor"].clone();
                forwards.extend(edges);
            }
            assert_eq!(forwards, whole, "{given} {size}");
            let mut backwards = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let edges = page(&format!("last: {size}, before: $cursor"), &cursor);
                let Some(first) = edges.first() else { break };
                cursor = first["cursor"].clone();
                backwards.splice(..0, edges);
            }
            assert_eq!(backwards, whole, "{given} {size}");
        }
    }
}

#[test]
fn each_order_puts_first_what_it_says_and_last_what_has_no_value() {
    let catalogs = many();
    let engine = engine_of([served("one", &catalogs[1], 1)], Limits::default());
    let days = |direction: &str| {
        let query = format!(
            "{{ packages(orderBy: {{field: CREATED_AT, direction: {direction}}}) {{ nodes {{ metadata {{ createdAt }} }} }} }}"
        );
        let body = data(&engine, &query);
        let days = body["packages"]["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["metadata"]["createdAt"].clone());
        days.collect::<Vec<_>>()
    };
    let [old, new, none] = [
        json!("2025-05-05T00:00:00Z"),
        json!("2026-01-01T00:00:00Z"),
        json!(null),
    ];
    let [mut ascending, mut descending] = [days("ASC"), days("DESC")];
    ascending.dedup();
    descending.dedup();
    assert_eq!(ascending, [old.clone(), new.clone(), none.clone()]);
    assert_eq!(descending, [new, old, none]);
    let versions = names(
        &engine,
        "bundles(orderBy: {field: VERSION, direction: ASC})",
    );
    let mut reversed = names(&engine, "bundles(orderBy: {field: VERSION})");
    assert_ne!(versions, reversed);
    reversed.sort();
    let mut sorted = versions;
    sorted.sort();
    assert_eq!(sorted, reversed);
}

#[test]
fn packages_are_ordered_by_what_is_shown_and_by_level() {
    let package = |name: &str, display_name: &str, level: &str, day: u32| {
        [
            format!(r#"{{"defaultChannel":"c","name":"{name}","schema":"olm.package"}}"#),
            format!(
                r#"{{"entries":[{{"name":"{name}.v1"}}],"name":"c","package":"{name}","schema":"olm.channel"}}"#
            ),
            format!(
                r#"{{"name":"{name}.v1","package":"{name}","properties":[{{"type":"olm.csv.metadata","value":{{"annotations":{{"capabilities":"{level}","createdAt":"2026-01-0{day}"}},"displayName":"{display_name}"}}}}],"schema":"olm.bundle"}}"#
            ),
        ]
    };
    let lines = [
        package("a", "Zebra", "Auto Pilot", 3),
        package("b", "élan", "Basic Install", 1),
        package("c", "Elan", "none", 2),
        package("d", "", "Deep Insights", 2),
        package("e", "electric", "Basic Install", 0),
    ]
    .concat();
    let engine = engine_of([served("one", &lines, 1)], Limits::default());
    for (order, expected) in [
        (
            "packages(orderBy: {field: DISPLAY_NAME})",
            ["d", "b", "c", "e", "a"],
        ),
        (
            "packages(orderBy: {field: DISPLAY_NAME, direction: DESC})",
            ["a", "e", "b", "c", "d"],
        ),
        (
            "packages(orderBy: {field: CAPABILITY_LEVEL})",
            ["b", "e", "d", "a", "c"],
        ),
        (
            "packages(orderBy: {field: CAPABILITY_LEVEL, direction: DESC})",
            ["a", "d", "b", "e", "c"],
        ),
        (
            "bundles(orderBy: {field: CREATED_AT})",
            ["a.v1", "c.v1", "d.v1", "b.v1", "e.v1"],
        ),
        (
            "bundles(orderBy: {field: CREATED_AT, direction: ASC})",
            ["b.v1", "c.v1", "d.v1", "a.v1", "e.v1"],
        ),
    ] {
        assert_eq!(names(&engine, order), expected, "{order}");
    }
}

#[test]
fn channels_are_ordered_by_numbers_in_names_and_by_the_version_of_their_head() {
    let lines = [
        r#"{"defaultChannel":"v1.9","name":"a","schema":"olm.package"}"#,
        r#"{"entries":[{"name":"a.v2"}],"name":"v1.10","package":"a","schema":"olm.channel"}"#,
        r#"{"entries":[{"name":"a.v3"}],"name":"v1.9","package":"a","schema":"olm.channel"}"#,
        r#"{"entries":[{"name":"a.v2"}],"name":"alpha","package":"a","schema":"olm.channel"}"#,
        r#"{"entries":[],"name":"empty","package":"a","schema":"olm.channel"}"#,
        r#"{"name":"a.v2","package":"a","properties":[{"type":"olm.package","value":{"packageName":"a","version":"2.0.0"}}],"schema":"olm.bundle"}"#,
        r#"{"name":"a.v3","package":"a","properties":[{"type":"olm.package","value":{"packageName":"a","version":"3.0.0"}}],"schema":"olm.bundle"}"#,
    ];
    let engine = engine_of([served("one", &lines, 1)], Limits::default());
    for (order, expected) in [
        ("", ["alpha", "empty", "v1.9", "v1.10"]),
        (
            "(orderBy: {field: NAME, direction: DESC})",
            ["v1.10", "v1.9", "empty", "alpha"],
        ),
        (
            "(orderBy: {field: HEAD_VERSION})",
            ["alpha", "v1.10", "v1.9", "empty"],
        ),
        (
            "(orderBy: {field: HEAD_VERSION, direction: DESC})",
            ["v1.9", "alpha", "v1.10", "empty"],
        ),
    ] {
        let query = format!(
            "{{ package(catalog: \"one\", name: \"a\") {{ channels{order} {{ name }} }} }}"
        );
        let channels = data(&engine, &query)["package"]["channels"]
            .as_array()
            .unwrap()
            .clone();
        let names: Vec<_> = channels
            .iter()
            .map(|channel| channel["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, expected, "{order}");
    }
}

#[test]
fn a_cursor_of_another_order_is_refused() {
    let engine = engine(Limits::default());
    let cursor = data(&engine, "{ packages { pageInfo { endCursor } } }")["packages"]["pageInfo"]["endCursor"].take();
    for order in [
        "{field: NAME, direction: DESC}",
        "{field: CREATED_AT}",
        "{field: RELEVANCE}",
        "{field: DISPLAY_NAME}",
        "{field: CAPABILITY_LEVEL}",
    ] {
        let body = ask(
            &engine,
            &format!("{{ packages(orderBy: {order}, after: {cursor}) {{ totalCount }} }}"),
        );
        assert_eq!(
            (code(&body), &body["data"]["packages"]),
            ("BAD_USER_INPUT", &Value::Null),
            "{order}"
        );
    }
    let rest = data(
        &engine,
        &format!(
            "{{ packages(orderBy: {{field: NAME}}, after: {cursor}) {{ nodes {{ name }} }} }}"
        ),
    );
    assert_eq!(rest["packages"]["nodes"], json!([]));
}

#[test]
fn a_walk_goes_on_while_its_catalog_is_replaced() {
    let catalogs = many();
    let query = "query($after: String) { packages(orderBy: {field: CREATED_AT}, first: 2, after: $after) { edges { cursor node { name } } } }";
    let whole = |lines: &[String]| {
        let engine = engine_of([served("c", lines, 1)], Limits::default());
        names(&engine, "packages(orderBy: {field: CREATED_AT})")
    };
    // Two packages come and two go between pages; what stays keeps its day.
    let before = &catalogs[1][..21];
    let after = &catalogs[1][6..];
    let stays = |name: &String| whole(before).contains(name) && whole(after).contains(name);
    for swap_at in 0..4 {
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        for at in 0.. {
            let lines = if at < swap_at { before } else { after };
            let engine = engine_of([served("c", lines, 1)], Limits::default());
            let body = ask_with(&engine, query, &json!({"after": cursor}));
            let edges = body["data"]["packages"]["edges"].as_array().unwrap();
            let Some(last) = edges.last() else { break };
            cursor = last["cursor"].clone();
            seen.extend(
                edges
                    .iter()
                    .map(|edge| edge["node"]["name"].as_str().unwrap().to_owned()),
            );
        }
        let expected: Vec<_> = whole(before).into_iter().filter(stays).collect();
        assert_eq!(
            seen.iter()
                .filter(|name| stays(name))
                .cloned()
                .collect::<Vec<_>>(),
            expected,
            "{swap_at}"
        );
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), seen.len(), "{swap_at}");
    }
}

#[test]
fn a_facet_counts_what_each_value_would_find() {
    let engine = engine(Limits::default());
    let facets = |given: &str| {
        let query = format!(
            "{{ packages{given} {{ facets {{ catalogs {{ value count }} categories {{ value count }} providers {{ value count }} \
             keywords(first: 1) {{ value count }} capabilityLevels {{ value count }} installModes {{ value count }} \
             infrastructureFeatures {{ value count }} architectures {{ value count }} operatingSystems {{ value count }} \
             validSubscriptions {{ value count }} certified {{ value count }} deprecated {{ value count }} }} }} }}"
        );
        data(&engine, &query)["packages"]["facets"].take()
    };
    let one = |value: &str| json!({"value": value, "count": 1});
    let all = json!({
        "catalogs": [{"value": "alpha", "count": 2}, {"value": "beta", "count": 2}],
        "categories": [one("Database"), one("Storage")],
        "providers": [one("Etcd makers")],
        "keywords": [one("keys")],
        "capabilityLevels": [one("FULL_LIFECYCLE")],
        "installModes": [one("OWN_NAMESPACE"), one("ALL_NAMESPACES")],
        "infrastructureFeatures": [one("disconnected")],
        "architectures": [one("amd64")],
        "operatingSystems": [one("linux")],
        "validSubscriptions": [],
        "certified": [{"value": false, "count": 1}],
        "deprecated": [{"value": true, "count": 1}, {"value": false, "count": 3}],
    });
    assert_eq!(facets(""), all);
    let own = facets("(catalogs: [\"beta\"])");
    assert_eq!(
        (&own["catalogs"], &own["categories"]),
        (&all["catalogs"], &json!([]))
    );
    let other = facets("(filter: {categories: [\"None\"]})");
    assert_eq!(
        (&other["categories"], &other["providers"]),
        (&all["categories"], &json!([]))
    );
    let inner = data(
        &engine,
        "{ catalog(name: \"alpha\") { packages { facets { catalogs { value count } } } } }",
    );
    assert_eq!(
        inner["catalog"]["packages"]["facets"]["catalogs"],
        json!([{"value": "alpha", "count": 2}])
    );
    let deprecated = facets("(filter: {deprecated: true})");
    assert_eq!(
        (&deprecated["deprecated"], &deprecated["certified"]),
        (&all["deprecated"], &all["certified"])
    );
}

#[test]
fn each_facet_value_has_a_text_to_show() {
    let query = "{ packages { facets { catalogs { ...F } categories { ...F } capabilityLevels { ...F } \
                 installModes { ...F } certified { ...F } deprecated { ...F } } } } \
                 fragment F on FacetValue { __typename displayName }";
    let facets = data(&engine(Limits::default()), query)["packages"]["facets"].take();
    let value = |kind: &str, name: &str| json!({"__typename": format!("{kind}FacetValue"), "displayName": name});
    let expected = json!({
        "catalogs": [value("Catalog", "The first"), value("Catalog", "beta")],
        "categories": [value("Text", "Database"), value("Text", "Storage")],
        "capabilityLevels": [value("CapabilityLevel", "Full Lifecycle")],
        "installModes": [value("InstallMode", "Own namespace"), value("InstallMode", "All namespaces")],
        "certified": [value("Boolean", "Not certified")],
        "deprecated": [value("Boolean", "Deprecated"), value("Boolean", "Not deprecated")],
    });
    assert_eq!(facets, expected);
}

#[test]
fn values_of_a_facet_are_found_by_a_part_of_their_text() {
    let lines = [
        r#"{"defaultChannel":"c","name":"a","schema":"olm.package"}"#,
        r#"{"entries":[{"name":"a.v1"}],"name":"c","package":"a","schema":"olm.channel"}"#,
        r#"{"name":"a.v1","package":"a","properties":[{"type":"olm.csv.metadata","value":{"keywords":["Größe","big data","data-base","x"]}}],"schema":"olm.bundle"}"#,
    ];
    let engine = engine_of([served("c", &lines, 1)], Limits::default());
    let values = |search: &str| {
        let query = "query($search: String) { packages { facets { keywords(first: 2, search: $search) { value count } } } }";
        let body = ask_with(&engine, query, &json!({ "search": search }));
        let values = body["data"]["packages"]["facets"]["keywords"]
            .as_array()
            .unwrap()
            .clone();
        values
            .into_iter()
            .map(|value| value["value"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("GROSSE"), ["Größe"]);
    assert_eq!(values("data"), ["big data", "data-base"]);
    assert_eq!(values("DATA BASE"), ["data-base"]);
    assert_eq!(values("none"), [""; 0]);
    assert_eq!(values(" "), ["Größe", "big data"]);
}

#[test]
fn a_facet_has_as_many_values_as_asked_and_never_more_than_a_thousand() {
    let lines: Vec<String> = (0..1_050)
        .flat_map(|n| {
            [
                format!(r#"{{"defaultChannel":"c","name":"p{n}","schema":"olm.package"}}"#),
                format!(r#"{{"entries":[{{"name":"b"}}],"name":"c","package":"p{n}","schema":"olm.channel"}}"#),
                format!(r#"{{"name":"b","package":"p{n}","properties":[{{"type":"olm.csv.metadata","value":{{"keywords":["k{n}"]}}}}],"schema":"olm.bundle"}}"#),
            ]
        })
        .collect();
    let engine = engine_of([served("c", &lines, 1)], Limits::default());
    let count = |first: &str| {
        let body = ask(
            &engine,
            &format!("{{ packages {{ facets {{ keywords{first} {{ count }} }} }} }}"),
        );
        (
            body["data"]["packages"]["facets"]["keywords"]
                .as_array()
                .map(Vec::len),
            code(&body).to_owned(),
        )
    };
    for (first, expected) in [("", 20), ("(first: 0)", 0), ("(first: 1000)", 1_000)] {
        assert_eq!(count(first), (Some(expected), "none".to_owned()), "{first}");
    }
    for first in ["(first: -1)", "(first: 1001)"] {
        assert_eq!(count(first), (None, "BAD_USER_INPUT".to_owned()), "{first}");
    }
}

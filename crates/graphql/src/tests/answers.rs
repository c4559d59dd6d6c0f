//! What single fields say.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fixture::{ALPHA_DIGEST, ask, ask_with, code, data, engine, engine_of, served};
use crate::Request;
use crate::limits::Limits;

#[test]
fn a_catalog_says_what_is_known_of_it() {
    let body = data(
        &engine(Limits::default()),
        "{ catalogs { id name digest image imageReference priority displayName publisher lastUnpacked labels { key value } \
         schemas { schema count known } } }",
    );
    let expected = json!([
        {
            "id": "QwViZXRh", "name": "beta", "digest": format!("sha256:{}", "02".repeat(32)), "image": null,
            "imageReference": null, "priority": 5, "displayName": "beta", "publisher": null, "lastUnpacked": null, "labels": [],
            "schemas": [
                {"schema": "olm.bundle", "count": 2, "known": true},
                {"schema": "olm.channel", "count": 2, "known": true},
                {"schema": "olm.package", "count": 2, "known": true},
            ],
        },
        {
            "id": "QwZhbHBoYQ", "name": "alpha", "digest": ALPHA_DIGEST, "image": "quay.io/alpha@sha256:1",
            "imageReference": "quay.io/alpha:v1", "priority": 0, "displayName": "The first", "publisher": "Us", "lastUnpacked": "2026-11-21T02:20:00Z",
            "labels": [{"key": "tier", "value": "one"}],
            "schemas": [
                {"schema": "example.com/custom", "count": 1, "known": false},
                {"schema": "olm.bundle", "count": 3, "known": true},
                {"schema": "olm.channel", "count": 3, "known": true},
                {"schema": "olm.deprecations", "count": 1, "known": true},
                {"schema": "olm.package", "count": 2, "known": true},
            ],
        },
    ]);
    assert_eq!(body["catalogs"], expected);
}

#[test]
fn a_catalog_is_pinned_by_its_digest() {
    let engine = engine(Limits::default());
    let pinned = |digest: &str| {
        ask(
            &engine,
            &format!("{{ catalog(name: \"alpha\", digest: \"{digest}\") {{ name }} }}"),
        )
    };
    assert_eq!(
        pinned(ALPHA_DIGEST),
        json!({"data": {"catalog": {"name": "alpha"}}})
    );
    let changed = pinned("sha256:0");
    assert_eq!(
        (code(&changed), &changed["data"]),
        ("CATALOG_CHANGED", &json!({"catalog": null}))
    );
    assert_eq!(
        data(
            &engine,
            "{ catalog(name: \"none\", digest: \"x\") { name } }"
        ),
        json!({"catalog": null})
    );
}

#[test]
fn a_package_says_what_belongs_to_it() {
    let body = data(
        &engine(Limits::default()),
        "{ package(catalog: \"alpha\", name: \"etcd\") { id name description defaultChannel { name } \
         deprecation { schema name message } properties { type value } channel(name: \"none\") { name } \
         channels { name isDefault head { name } deprecation { message } properties { value } \
         entries { name replaces skips skipRange bundle { version } channel { id } } } } }",
    );
    let expected = json!({
        "id": "UAZhbHBoYQVldGNk", "name": "etcd", "description": "A \"store\"", "defaultChannel": {"name": "stable"},
        "deprecation": {"schema": "olm.package", "name": "etcd", "message": "old"},
        "properties": [{"type": "custom", "value": {"a": [1]}}],
        "channel": null,
        "channels": [
            {
                "name": "beta", "isDefault": false, "head": null, "deprecation": {"message": "beta \"old\""},
                "properties": [],
                "entries": [
                    {
                        "name": "etcd.v1.0.0", "replaces": null, "skips": [], "skipRange": null,
                        "bundle": {"version": "1.0.0"}, "channel": {"id": "SAZhbHBoYQVldGNkBWJldGE"},
                    },
                    {
                        "name": "etcd.v1.1.0", "replaces": null, "skips": [], "skipRange": null,
                        "bundle": {"version": "1.1.0"}, "channel": {"id": "SAZhbHBoYQVldGNkBWJldGE"},
                    },
                ],
            },
            {
                "name": "stable", "isDefault": true, "head": {"name": "etcd.v1.1.0"}, "deprecation": null,
                "properties": [{"value": 1}],
                "entries": [
                    {
                        "name": "etcd.v1.0.0", "replaces": null, "skips": [], "skipRange": null,
                        "bundle": {"version": "1.0.0"}, "channel": {"id": "SAZhbHBoYQVldGNkB3N0YWJsZQ"},
                    },
                    {
                        "name": "etcd.v1.1.0", "replaces": "etcd.v1.0.0", "skips": ["etcd.v0.9.0"], "skipRange": "<1.1.0",
                        "bundle": {"version": "1.1.0"}, "channel": {"id": "SAZhbHBoYQVldGNkB3N0YWJsZQ"},
                    },
                ],
            },
        ],
    });
    assert_eq!(body["package"], expected);
}

#[test]
fn a_bundle_says_what_it_is_and_needs() {
    let body = data(
        &engine(Limits::default()),
        "{ bundle(catalog: \"alpha\", package: \"etcd\", name: \"etcd.v1.0.0\") { name version release image \
         channelEntries { channel { name } } deprecation { message } providedApis { group version kind } \
         requiredApis { kind } requiredPackages { packageName versionRange } relatedImages { name image } } }",
    );
    let expected = json!({
        "name": "etcd.v1.0.0", "version": "1.0.0", "release": null, "image": "quay.io/etcd@sha256:1",
        "channelEntries": [{"channel": {"name": "beta"}}, {"channel": {"name": "stable"}}],
        "deprecation": {"message": "older"},
        "providedApis": [{"group": "etcd.io", "version": "v1", "kind": "Etcd"}],
        "requiredApis": [{"kind": "Issuer"}],
        "requiredPackages": [{"packageName": "cert", "versionRange": ">=1.0.0"}],
        "relatedImages": [{"name": "etcd", "image": "quay.io/etcd@sha256:1"}],
    });
    assert_eq!(body["bundle"], expected);
}

#[test]
fn each_property_has_the_type_of_what_it_says() {
    let body = data(
        &engine(Limits::default()),
        "{ bundle(catalog: \"alpha\", package: \"etcd\", name: \"etcd.v1.0.0\") { properties { __typename \
         ... on PackageProperty { packageName version release } ... on PackageRequiredProperty { requirement { packageName } } \
         ... on GvkProperty { gvk { kind } } ... on GvkRequiredProperty { gvk { kind } } \
         ... on ConstraintProperty { constraint { failureMessage cel any { cel package { packageName versionRange } \
         gvk { group version kind } all { cel } not { cel } any { cel } } } } \
         ... on BundleObjectProperty { object } ... on MaxOpenShiftVersionProperty { version } \
         ... on CsvMetadataProperty { metadata { displayName } } ... on OpaqueProperty { type value } } } }",
    );
    let none =
        json!({"cel": null, "package": null, "gvk": null, "all": null, "not": null, "any": null});
    let with = |key: &str, value: serde_json::Value| {
        let mut constraint = none.clone();
        constraint[key] = value;
        constraint
    };
    let expected = json!([
        {"__typename": "PackageProperty", "packageName": "etcd", "version": "1.0.0", "release": null},
        {"__typename": "GvkProperty", "gvk": {"kind": "Etcd"}},
        {"__typename": "GvkRequiredProperty", "gvk": {"kind": "Issuer"}},
        {"__typename": "PackageRequiredProperty", "requirement": {"packageName": "cert"}},
        {"__typename": "ConstraintProperty", "constraint": {"failureMessage": "need cert", "cel": null, "any": [
            with("cel", json!("true")),
            with("package", json!({"packageName": "cert", "versionRange": "<2.0.0"})),
            with("gvk", json!({"group": "g", "version": "v", "kind": "K"})),
            with("all", json!([])),
            with("not", json!([])),
        ]}},
        {"__typename": "OpaqueProperty", "type": "olm.constraint", "value": {"unknown": {}}},
        {"__typename": "BundleObjectProperty", "object": {"kind": "Service"}},
        {"__typename": "MaxOpenShiftVersionProperty", "version": "4.18"},
        {"__typename": "CsvMetadataProperty", "metadata": {"displayName": "Étcd"}},
        {"__typename": "OpaqueProperty", "type": "custom", "value": "x"},
    ]);
    assert_eq!(body["bundle"]["properties"], expected);
}

#[test]
fn metadata_says_everything_that_the_bundle_says() {
    let body = data(
        &engine(Limits::default()),
        "{ bundle(catalog: \"alpha\", package: \"etcd\", name: \"etcd.v1.0.0\") { metadata { displayName \
         description provider { name url } maintainers { name email } links { name url } keywords categories capabilityLevel \
         maturity minKubeVersion installModes infrastructureFeatures certified createdAt containerImage repository support \
         ownedCrds { name version kind displayName description } requiredCrds { name version kind displayName description } \
         nativeApis { group version kind } examples labels { key value } annotations(keys: [\"support\", \"none\"]) { key value } } } }",
    );
    let expected = json!({
        "displayName": "Étcd", "description": "Keeps *keys*",
        "provider": {"name": "Etcd makers", "url": "https://etcd.io"},
        "maintainers": [{"name": "Us", "email": "us@etcd.io"}], "links": [{"name": "Home", "url": "https://etcd.io"}],
        "keywords": ["keys", "values"], "categories": ["Database", "Storage"], "capabilityLevel": "FULL_LIFECYCLE",
        "maturity": "stable", "minKubeVersion": "1.30.0", "installModes": ["OWN_NAMESPACE", "ALL_NAMESPACES"],
        "infrastructureFeatures": ["disconnected"], "certified": false, "createdAt": "2026-01-02T03:04:05Z",
        "containerImage": "quay.io/etcd", "repository": "https://etcd.io/code", "support": "Us & you",
        "ownedCrds": [
            {"name": "etcds.etcd.io", "version": "v1", "kind": "Etcd", "displayName": "Etcd", "description": null},
        ],
        "requiredCrds": [
            {"name": "issuers.cert.io", "version": "v2", "kind": "Issuer", "displayName": null, "description": "who signs"},
        ],
        "nativeApis": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
        "examples": [{"kind": "Etcd"}],
        "labels": [{"key": "a", "value": "b"}],
        "annotations": [{"key": "support", "value": "Us & you"}],
    });
    assert_eq!(body["bundle"]["metadata"], expected);
}

#[test]
fn a_package_shows_the_metadata_of_its_head_or_of_the_highest_version_that_has_any() {
    let engine = engine(Limits::default());
    let body = data(
        &engine,
        "{ packages(catalogs: [\"alpha\"]) { nodes { name metadata { displayName } icon { mediaType } } } }",
    );
    let expected = json!([
        {"name": "etcd", "metadata": {"displayName": "Étcd"}, "icon": {"mediaType": "image/png"}},
        {"name": "zoo", "metadata": null, "icon": null},
    ]);
    assert_eq!(body["packages"]["nodes"], expected);
}

#[test]
fn an_icon_is_named_by_the_digest_of_its_image() {
    let body = data(
        &engine(Limits::default()),
        "{ package(catalog: \"alpha\", name: \"etcd\") { icon { url mediaType data } } }",
    );
    let digest = "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6";
    let expected =
        json!({"url": format!("icons/{digest}"), "mediaType": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(body["package"]["icon"], expected);
}

#[test]
fn a_pointer_picks_a_part_of_a_raw_value() {
    let engine = engine(Limits::default());
    let parts = |pointer: &str| {
        let query = "query($p: String!) { metas(filter: {schema: \"example.com/custom\"}) { nodes { blob(pointer: $p) } } \
                     package(catalog: \"alpha\", name: \"etcd\") { properties { value(pointer: $p) } } }";
        ask_with(&engine, query, &json!({"p": pointer}))
    };
    for (pointer, blob, value) in [
        (
            "",
            json!({"name": "x", "package": "etcd", "schema": "example.com/custom", "z": [1.5, {}]}),
            json!({"a": [1]}),
        ),
        ("/z/1", json!({}), json!(null)),
        ("/a/0", json!(null), json!(1)),
    ] {
        let expected = json!({"metas": {"nodes": [{"blob": blob}]}, "package": {"properties": [{"value": value}]}});
        assert_eq!(parts(pointer), json!({"data": expected}), "{pointer}");
    }
    let bad = parts("z");
    let expected =
        json!({"metas": {"nodes": [{"blob": null}]}, "package": {"properties": [{"value": null}]}});
    assert_eq!((code(&bad), &bad["data"]), ("BAD_USER_INPUT", &expected));
    assert_eq!(
        bad["errors"][0]["path"],
        json!(["metas", "nodes", 0, "blob"])
    );
}

#[test]
fn properties_are_chosen_by_type() {
    let query = "query($types: [String!]) { package(catalog: \"alpha\", name: \"etcd\") { bundles(last: 1) { nodes { \
                 properties(types: $types) { type } } } } }";
    let engine = engine(Limits::default());
    let types = |types: serde_json::Value| {
        let body = ask_with(&engine, query, &json!({"types": types}));
        body["data"]["package"]["bundles"]["nodes"][0]["properties"].clone()
    };
    let expected = json!([{"type": "olm.gvk"}, {"type": "custom"}]);
    assert_eq!(types(json!(["custom", "olm.gvk", "none"])), expected);
    assert_eq!(types(json!([])).as_array().unwrap().len(), 10);
    assert_eq!(types(json!(null)).as_array().unwrap().len(), 10);
}

#[test]
fn bundles_are_found_by_image_in_every_catalog() {
    let engine = engine(Limits::default());
    let by_images = |images: &[&str]| {
        let query = "query($images: [String!]) { bundles(filter: {images: $images}) { nodes { name catalog { name } } } }";
        ask_with(&engine, query, &json!({ "images": images }))["data"]["bundles"]["nodes"].take()
    };
    let etcd = [("alpha", "etcd.v1.1.0"), ("beta", "etcd.v1.1.0")]
        .map(|(catalog, name)| json!({"name": name, "catalog": {"name": catalog}}));
    assert_eq!(by_images(&["quay.io/etcd@sha256:2"]), json!(etcd));
    assert_eq!(
        by_images(&["quay.io/zoo@sha256:3", "none", "quay.io/zoo@sha256:3"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(by_images(&["none"]), json!([]));
    assert_eq!(by_images(&[]).as_array().unwrap().len(), 5);
}

#[test]
fn a_bundle_without_an_image_is_found_by_the_empty_one() {
    let lines = [
        r#"{"defaultChannel":"c","name":"a","schema":"olm.package"}"#,
        r#"{"name":"a.v1","package":"a","schema":"olm.bundle"}"#,
        r#"{"image":"quay.io/a:2","name":"a.v2","package":"a","schema":"olm.bundle"}"#,
    ];
    let engine = engine_of([served("one", &lines, 1)], Limits::default());
    let found = data(
        &engine,
        "{ bundles(filter: {images: [\"\"]}) { nodes { name image } } }",
    );
    assert_eq!(
        found["bundles"]["nodes"],
        json!([{"name": "a.v1", "image": ""}])
    );
}

#[test]
fn every_object_that_has_an_id_is_found_by_it() {
    let lines = [
        r#"{"defaultChannel":"c","icon":{"base64data":"iVBORw0KGgo=","mediatype":"image/png"},"name":"a","properties":[{"type":"x","value":1},{"type":"olm.csv.metadata","value":{"displayName":"of the package"}}],"schema":"olm.package"}"#,
        r#"{"entries":[{"name":"a.v1"},{"name":"a.v1","skipRange":"<1.0.0"},{"name":"a.v0"},{"name":"a.v0","replaces":"a.v1"}],"name":"c","package":"a","properties":[{"type":"olm.csv.metadata","value":{"displayName":"of the channel"}}],"schema":"olm.channel"}"#,
        r#"{"entries":[{"name":"a.v1"}],"name":"d","package":"a","schema":"olm.channel"}"#,
        r#"{"name":"a.v1","package":"a","properties":[{"type":"olm.csv.metadata","value":{"displayName":"of the bundle"}},{"type":"olm.csv.metadata","value":{"displayName":"another"}}],"schema":"olm.bundle"}"#,
    ];
    let engine = engine_of([served("one", &lines, 1)], Limits::default());
    let metadata = "properties { ... on CsvMetadataProperty { metadata { id displayName } } }";
    let all = data(
        &engine,
        &format!(
            "{{ package(catalog: \"one\", name: \"a\") {{ id name icon {{ id mediaType }} {metadata} \
             metadata {{ id displayName }} channels {{ id name {metadata} entries {{ id name replaces skipRange }} }} \
             bundles {{ nodes {{ id name {metadata} metadata {{ id displayName }} }} }} }} }}"
        ),
    );
    let mut objects = BTreeMap::new();
    collect(&all, &mut objects);
    // One package, one icon, two channels, five entries, one bundle, and metadata of the four
    // properties.
    assert_eq!(objects.len(), 14);
    let query = "query($id: ID!) { node(id: $id) { id ... on Package { name } ... on Channel { name } \
                 ... on Bundle { name } ... on ChannelEntry { name replaces skipRange } ... on Icon { mediaType } \
                 ... on CsvMetadata { displayName } } }";
    for (id, scalars) in objects {
        assert_eq!(
            ask_with(&engine, query, &json!({ "id": id }))["data"]["node"],
            scalars,
            "{id}"
        );
    }
}

/// The scalars of every object with an id, by id. What comes twice must be the same.
fn collect(value: &Value, into: &mut BTreeMap<String, Value>) {
    let nested = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    };
    for value in nested {
        collect(value, into);
    }
    let Value::Object(fields) = value else { return };
    let Some(id) = fields.get("id").and_then(Value::as_str) else {
        return;
    };
    let scalars = fields
        .iter()
        .filter(|(_, value)| !value.is_object() && !value.is_array());
    let scalars = Value::Object(
        scalars
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    );
    assert_eq!(
        *into.entry(id.to_owned()).or_insert_with(|| scalars.clone()),
        scalars
    );
}

#[test]
fn blobs_come_as_they_are() {
    let body = data(
        &engine(Limits::default()),
        "{ metas(catalogs: [\"alpha\"], first: 7) { nodes { schema name packageName blob } } }",
    );
    let nodes = body["metas"]["nodes"].as_array().unwrap();
    assert_eq!(
        nodes[6],
        json!({"schema": "example.com/custom", "name": "x", "packageName": "etcd",
               "blob": {"name": "x", "package": "etcd", "schema": "example.com/custom", "z": [1.5, {}]}})
    );
    assert_eq!(
        (&nodes[5]["name"], &nodes[5]["packageName"]),
        (&json!(null), &json!("etcd"))
    );
}

#[test]
fn an_object_is_found_by_its_id() {
    let engine = engine(Limits::default());
    let body = data(
        &engine,
        "{ catalog(name: \"alpha\") { id package(name: \"etcd\") { id defaultChannel { id head { bundle { id } } } } } }",
    );
    let catalog = &body["catalog"];
    let package = &catalog["package"];
    let channel = &package["defaultChannel"];
    let ids = json!([
        catalog["id"],
        package["id"],
        channel["id"],
        channel["head"]["bundle"]["id"],
        "none",
        ""
    ]);
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename ... on Package { name } ... on Bundle { name } } }";
    let body = ask_with(&engine, query, &json!({"ids": ids}));
    let expected = json!([
        {"id": ids[0], "__typename": "Catalog"},
        {"id": ids[1], "__typename": "Package", "name": "etcd"},
        {"id": ids[2], "__typename": "Channel"},
        {"id": ids[3], "__typename": "Bundle", "name": "etcd.v1.1.0"},
        null,
        null,
    ]);
    assert_eq!(body, json!({"data": {"nodes": expected}}));
    let one = ask_with(
        &engine,
        "query($id: ID!) { node(id: $id) { __typename } }",
        &json!({"id": ids[2]}),
    );
    assert_eq!(one, json!({"data": {"node": {"__typename": "Channel"}}}));
}

#[test]
fn introspection_is_merged_with_the_rest_in_the_order_asked() {
    let engine = engine(Limits::default());
    for _ in 0..2 {
        let query = "query($name: String!) { a: __typename __type(name: $name) { kind } catalogs { name } \
                     schema: __schema { queryType { name } } }";
        let variables = json!({"name": "Node"}).as_object().cloned();
        let answer = engine.execute(&Request {
            query: Some(query.into()),
            variables,
            ..Request::default()
        });
        assert_eq!(
            String::from_utf8(answer.body).unwrap(),
            r#"{"data":{"a":"Query","__type":{"kind":"INTERFACE"},"catalogs":[{"name":"beta"},{"name":"alpha"}],"#
                .to_owned()
                + r#""schema":{"queryType":{"name":"Query"}}}}"#
        );
    }
    let other = ask_with(
        &engine,
        "query($name: String!) { __type(name: $name) { kind } }",
        &json!({"name": "None"}),
    );
    assert_eq!(other, json!({"data": {"__type": null}}));
}

#[test]
fn introspection_that_cannot_be_is_an_error_of_its_field() {
    let query = "query($on: Boolean = true) { __typename __type(name: \"Node\") { kind @include(if: $on) } }";
    let body = ask_with(&engine(Limits::default()), query, &json!({"on": null}));
    assert_eq!(body["data"], json!({"__typename": "Query", "__type": null}));
    assert_eq!(
        (code(&body), &body["errors"][0]["path"]),
        ("BAD_USER_INPUT", &json!(["__type"]))
    );
}

#[test]
fn an_error_nulls_its_field_or_what_must_not_be_null_around_it() {
    let engine = engine(Limits::default());
    let body = ask(
        &engine,
        "{ catalogs { name good: bundles { totalCount } bad: bundles(first: -1) { totalCount } } }",
    );
    let message = "`first` must be from 0 to 500, and is -1";
    let error = |at: usize| {
        json!({
            "message": message, "locations": [{"line": 1, "column": 48}], "path": ["catalogs", at, "bad"],
            "extensions": {"code": "BAD_USER_INPUT"},
        })
    };
    assert_eq!(body["errors"], json!([error(0), error(1)]));
    assert_eq!(
        body["data"]["catalogs"][1],
        json!({"name": "alpha", "good": {"totalCount": 3}, "bad": null})
    );
    let body = ask(
        &engine,
        "{ catalog(name: \"alpha\") { name packages(last: -1) { totalCount } } catalogs { name } }",
    );
    assert_eq!(body["errors"][0]["path"], json!(["catalog", "packages"]));
    let alpha = json!({"name": "alpha", "packages": null});
    assert_eq!(
        body["data"],
        json!({"catalog": alpha, "catalogs": [{"name": "beta"}, {"name": "alpha"}]})
    );
    let ids = vec!["\"a\""; 101].join(" ");
    let body = ask(
        &engine,
        &format!("{{ nodes(ids: [{ids}]) {{ id }} catalogs {{ name }} }}"),
    );
    assert_eq!(
        (&body["data"], body["errors"].as_array().unwrap().len()),
        (&json!(null), 1)
    );
}

#[test]
fn an_operation_is_chosen_by_its_name() {
    let engine = engine(Limits::default());
    let document = "query a { catalogs { name } } query b { __typename }";
    let run = |document: &str, name: Option<&str>| {
        let request = Request {
            query: Some(document.to_owned().into()),
            operation_name: name.map(|name| name.to_owned().into()),
            ..Request::default()
        };
        let body: serde_json::Value =
            serde_json::from_slice(&engine.execute(&request).body).unwrap();
        if body.get("errors").is_some() {
            body["errors"][0]["message"].clone()
        } else {
            body["data"].clone()
        }
    };
    assert_eq!(run(document, Some("b")), json!({"__typename": "Query"}));
    assert_eq!(run(document, Some("c")), "Unknown operation named \"c\".");
    assert_eq!(
        run(document, None),
        "Must provide operation name if query contains multiple operations."
    );
    assert_eq!(
        run("fragment f on Query { __typename }", None),
        "fragment `f` must be used in an operation"
    );
    assert_eq!(
        run("query only { __typename }", None),
        json!({"__typename": "Query"})
    );
}

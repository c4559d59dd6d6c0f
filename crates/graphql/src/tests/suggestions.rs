//! Names that may have been meant, where a search found words, and what the server says of itself.

use serde_json::{Value, json};

use super::fixture::{ask, data, engine, engine_of, served};
use crate::documents::DocumentPolicy;
use crate::limits::{IntrospectionPolicy, Limits};
use crate::{Engine, MAX_COMPARED_NAMES, SDL, ServerInfo};

#[track_caller]
fn suggestions(query: &str) -> Value {
    let body = ask(&engine(Limits::default()), query);
    assert_eq!(body.get("errors"), None);
    body["extensions"]["suggestions"].clone()
}

#[test]
fn a_null_at_the_root_comes_with_similar_names() {
    let one = |path: &str, argument: &str, value: &str, similar: &[&str]| json!({"path": [path], "argument": argument, "value": value, "similar": similar});
    let etcd = r#"catalog: "alpha", package: "etcd""#;
    for (query, expected) in [
        (
            r#"package(catalog: "alpha", name: "ectd")"#.to_owned(),
            one("q", "name", "ectd", &["etcd"]),
        ),
        (
            format!(r#"channel({etcd}, name: "stabel")"#),
            one("q", "name", "stabel", &["stable"]),
        ),
        (
            format!(r#"bundle({etcd}, name: "etcd.v1")"#),
            one("q", "name", "etcd.v1", &["etcd.v1.0.0", "etcd.v1.1.0"]),
        ),
        (
            r#"bundle(catalog: "alpha", package: "etc", name: "x")"#.to_owned(),
            one("q", "package", "etc", &["etcd"]),
        ),
        (
            r#"channel(catalog: "alpha", package: "zo", name: "stable")"#.to_owned(),
            one("q", "package", "zo", &["zoo"]),
        ),
        (
            r#"catalog(name: "alhpa")"#.to_owned(),
            one("q", "name", "alhpa", &["alpha"]),
        ),
        (
            r#"package(catalog: "bet", name: "etcd")"#.to_owned(),
            one("q", "catalog", "bet", &["beta"]),
        ),
        (
            r#"channel(catalog: "alph", package: "ectd", name: "stabel")"#.to_owned(),
            one("q", "catalog", "alph", &["alpha"]),
        ),
        (
            r#"bundle(catalog: "Alpha", package: "etcd", name: "x")"#.to_owned(),
            one("q", "catalog", "Alpha", &["alpha"]),
        ),
    ] {
        assert_eq!(
            suggestions(&format!("{{ q: {query} {{ name }} }}")),
            json!([expected]),
            "{query}"
        );
    }
}

#[test]
fn nothing_is_suggested_where_nothing_is_similar_or_something_is_found() {
    for query in [
        r#"package(catalog: "alpha", name: "etcd")"#,
        r#"package(catalog: "alpha", name: "quite-another")"#,
        r#"package(catalog: "alpha", name: "")"#,
        r#"package(catalog: "quite-another", name: "etcd")"#,
        r#"catalog(name: "quite-another")"#,
        r#"catalog(name: "")"#,
        r#"channel(catalog: "alpha", package: "etcd", name: "stable")"#,
        r#"bundle(catalog: "alpha", package: "etcd", name: "etcd.v1.0.0")"#,
    ] {
        let body = ask(
            &engine(Limits::default()),
            &format!("{{ {query} {{ name }} }}"),
        );
        assert_eq!(body.get("extensions"), None, "{query}");
    }
}

#[test]
fn a_null_within_comes_with_similar_names_and_its_path() {
    let one = |path: Value, argument: &str, value: &str, similar: &str| json!({"path": path, "argument": argument, "value": value, "similar": [similar]});
    for (query, expected) in [
        (
            r#"{ c: catalog(name: "alpha") { p: package(name: "ectd") { name } } }"#,
            one(json!(["c", "p"]), "name", "ectd", "etcd"),
        ),
        (
            r#"{ catalog(name: "alpha") { package(name: "etcd") { b: channel(name: "stabel") { name } } } }"#,
            one(
                json!(["catalog", "package", "b"]),
                "name",
                "stabel",
                "stable",
            ),
        ),
        (
            r#"{ packages(catalogs: ["alpha"], filter: {names: ["etcd"]}) { nodes { bundle(name: "etcd.v1.1.1.0") { name } } } }"#,
            one(
                json!(["packages", "nodes", 0, "bundle"]),
                "name",
                "etcd.v1.1.1.0",
                "etcd.v1.1.0",
            ),
        ),
        (
            r#"{ catalogs { package(name: "zo") { name } } }"#,
            one(json!(["catalogs", 1, "package"]), "name", "zo", "zoo"),
        ),
    ] {
        assert_eq!(suggestions(query), json!([expected]), "{query}");
    }
}

#[test]
fn catalogs_of_a_list_that_are_not_served_come_with_similar_names() {
    let one = |value: &str, similar: &str| json!({"path": ["q"], "argument": "catalogs", "value": value, "similar": [similar]});
    for field in [
        r#"packages(catalogs: ["alhpa", "beta", "bet", "quite-another"])"#,
        r#"bundles(catalogs: ["alhpa", "beta", "bet", "quite-another"])"#,
        r#"metas(catalogs: ["alhpa", "beta", "bet", "quite-another"])"#,
    ] {
        let query = format!("{{ q: {field} {{ nodes {{ __typename }} }} }}");
        let expected = json!([one("alhpa", "alpha"), one("bet", "beta")]);
        assert_eq!(suggestions(&query), expected, "{field}");
    }
    let served = suggestions(r#"{ packages(catalogs: ["alpha"]) { totalCount } }"#);
    assert_eq!(served, Value::Null);
}

#[test]
fn a_catalog_of_a_diff_that_is_not_served_comes_with_similar_names() {
    let one = |argument: &str, value: &str, similar: &str| json!({"path": ["diff"], "argument": argument, "value": value, "similar": [similar]});
    let query = |from: &str, to: &str| {
        suggestions(&format!(
            r#"{{ diff(from: {{name: "{from}"}}, to: {{name: "{to}"}}) {{ fromDigest }} }}"#
        ))
    };
    assert_eq!(
        query("alhpa", "beta"),
        json!([one("from", "alhpa", "alpha")])
    );
    assert_eq!(
        query("alhpa", "bet"),
        json!([one("from", "alhpa", "alpha"), one("to", "bet", "beta")])
    );
}

#[test]
fn names_are_compared_up_to_the_limit_of_a_response() {
    // In the order of names, the similar one is the last one that is compared, or the first one
    // that is not.
    let similar = |others: usize| {
        let names = (0..others)
            .map(|at| format!("a{at:05}"))
            .chain(["zebra".to_owned()]);
        let lines: Vec<_> = names
            .map(|name| json!({"name": name, "schema": "olm.package"}).to_string())
            .collect();
        let engine = engine_of([served("alpha", &lines, 1)], Limits::default());
        let body = ask(
            &engine,
            r#"{ package(catalog: "alpha", name: "zebar") { name } }"#,
        );
        assert_eq!(
            (body.get("errors"), &body["data"]),
            (None, &json!({"package": null}))
        );
        body["extensions"]["suggestions"][0]["similar"].clone()
    };
    assert_eq!(similar(MAX_COMPARED_NAMES - 1), json!(["zebra"]));
    assert_eq!(similar(MAX_COMPARED_NAMES), Value::Null);
}

#[test]
fn a_response_has_at_most_five_suggestions() {
    let fields =
        (0..7).map(|at| format!(r#"q{at}: package(catalog: "alpha", name: "ectd") {{ name }}"#));
    let fields = fields.collect::<Vec<_>>().join(" ");
    let paths: Vec<_> = (0..5).map(|at| json!([format!("q{at}")])).collect();
    let told = suggestions(&format!("{{ {fields} }}"));
    assert_eq!(
        told.as_array()
            .unwrap()
            .iter()
            .map(|one| one["path"].clone())
            .collect::<Vec<_>>(),
        paths
    );
}

#[test]
fn suggestions_stand_beside_the_cost() {
    let request = crate::Request {
        query: Some(r#"{ package(catalog: "alpha", name: "ectd") { name } }"#.into()),
        extensions: Some(json!({"cost": true}).as_object().unwrap().clone()),
        ..crate::Request::default()
    };
    let body: Value =
        serde_json::from_slice(&engine(Limits::default()).execute(&request).body).unwrap();
    let similar =
        json!([{"path": ["package"], "argument": "name", "value": "ectd", "similar": ["etcd"]}]);
    assert_eq!(body["extensions"]["suggestions"], similar);
    assert!(body["extensions"]["cost"]["requestedQueryCost"].is_number());
}

#[test]
fn a_resolution_of_an_unknown_package_names_similar_ones() {
    let similar = |request: &str| {
        let query = format!(
            "{{ resolve(request: {{{request}}}) {{ ... on ResolutionFailure {{ code similarNames }} }} }}"
        );
        let answer = data(&engine(Limits::default()), &query)["resolve"].take();
        (
            answer["code"].as_str().unwrap().to_owned(),
            answer["similarNames"].clone(),
        )
    };
    let not_found = "PACKAGE_NOT_FOUND".to_owned();
    // Both catalogs have it.
    assert_eq!(
        similar(r#"packageName: "ectd""#),
        (not_found.clone(), json!(["etcd"]))
    );
    assert_eq!(
        similar(r#"packageName: "mini", catalogs: ["alpha"]"#),
        (not_found.clone(), json!([]))
    );
    assert_eq!(
        similar(r#"packageName: "mini""#),
        (not_found, json!(["minio"]))
    );
    let (code, names) = similar(r#"packageName: "etcd", version: "99""#);
    assert_ne!(code, "PACKAGE_NOT_FOUND");
    assert_eq!(names, json!([]));
}

#[test]
fn an_edge_says_where_the_words_of_a_search_were_found() {
    let engine = engine(Limits::default());
    let matched = |filter: &str| {
        let query = format!(
            "{{ catalog(name: \"alpha\") {{ packages({filter}) {{ edges {{ node {{ name }} matched }} }} }} }}"
        );
        data(&engine, &query)["catalog"]["packages"]["edges"].take()
    };
    let etcd = |fields: &[&str]| json!([{"node": {"name": "etcd"}, "matched": fields}]);
    for (text, fields) in [
        ("etcd", &["NAME"][..]),
        ("ETC", &["NAME"]),
        // The display name is `Étcd`, too.
        ("makers", &["PROVIDER"]),
        ("makers etcd", &["NAME", "PROVIDER"]),
        ("values keeps", &["KEYWORDS", "DESCRIPTION"]),
        ("mkaers", &["PROVIDER"]),
    ] {
        assert_eq!(
            matched(&format!("filter: {{search: \"{text}\"}}")),
            etcd(fields),
            "{text}"
        );
    }
    assert_eq!(matched("filter: {names: [\"etcd\"]}"), etcd(&[]));
    assert_eq!(matched("first: 1"), etcd(&[]));
    assert_eq!(matched("filter: {search: \"-\"}, first: 1"), etcd(&[]));
}

#[test]
fn an_unfinished_text_is_completed_over_several_catalogs() {
    let engine = engine(Limits::default());
    let suggest = |arguments: &str| {
        let fields =
            "kind text displayName package { name catalog { name } } api { group version kind }";
        let query = format!("{{ suggest({arguments}) {{ {fields} }} }}");
        data(&engine, &query)["suggest"].take()
    };
    let package = |name: &str, catalog: &str, display_name: Option<&str>| {
        let package = json!({"name": name, "catalog": {"name": catalog}});
        json!({"kind": "PACKAGE", "text": name, "displayName": display_name, "package": package, "api": null})
    };
    let plain = |kind: &str, text: &str, api: Value| json!({"kind": kind, "text": text, "displayName": null, "package": null, "api": api});
    let api = json!({"group": "etcd.io", "version": "v1", "kind": "Etcd"});
    let etcd = [
        package("etcd", "alpha", Some("Étcd")),
        package("etcd", "beta", None),
        plain("PROVIDER", "Etcd makers", Value::Null),
        plain("API", "Etcd", api),
    ];
    assert_eq!(suggest(r#"text: " ETC-""#), json!(etcd));
    assert_eq!(suggest(r#"text: "étcd""#), json!(etcd));
    assert_eq!(suggest(r#"text: "etcd", first: 2"#), json!(etcd[..2]));
    assert_eq!(suggest(r#"text: "etcd", first: 0"#), json!([]));
    assert_eq!(
        suggest(r#"text: "etcd", catalogs: ["beta"]"#),
        json!([etcd[1]])
    );
    assert_eq!(
        suggest(r#"text: "etcd", kinds: [PROVIDER, API]"#),
        json!(etcd[2..])
    );
    assert_eq!(suggest(r#"text: "mak""#), json!([etcd[2]]), "a word within");
    assert_eq!(
        suggest(r#"text: "val""#),
        json!([plain("KEYWORD", "values", Value::Null)])
    );
    assert_eq!(
        suggest(r#"text: "stor""#),
        json!([plain("CATEGORY", "Storage", Value::Null)])
    );
    for nothing in ["", " - ", "nothing"] {
        assert_eq!(suggest(&format!("text: \"{nothing}\"")), json!([]));
    }
    let beyond = "x".repeat(200);
    assert_eq!(
        suggest(&format!(
            "text: \"etcd{}{beyond}\", kinds: [API]",
            " ".repeat(96)
        )),
        json!([etcd[3]])
    );
    for first in [-1, 51] {
        let body = ask(
            &engine,
            &format!("{{ suggest(text: \"e\", first: {first}) {{ text }} }}"),
        );
        assert_eq!(
            (super::fixture::code(&body), &body["data"]),
            ("BAD_USER_INPUT", &json!({"suggest": null}))
        );
    }
}

fn server_of(engine: &Engine) -> Value {
    let fields = "version commit schemaDigest introspection trustedDocumentsOnly playgroundUrl";
    data(
        engine,
        &format!("{{ server {{ {fields} limits {{ name value unit code }} }} }}"),
    )["server"]
        .take()
}

#[test]
fn a_server_says_what_it_is_and_what_it_allows() {
    use sha2::{Digest as _, Sha256};
    let limits = Limits {
        introspection: IntrospectionPolicy::Disabled,
        aliases: 7,
        cost: u64::MAX,
        ..Limits::default()
    };
    let mut engine = engine_of([served::<&str>("a", &[], 1)], limits);
    let mut server = server_of(&engine);
    let limits = server["limits"].take();
    let digest = fbc_grammar::Digest::new(Sha256::digest(SDL).into()).hex();
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"), "commit": null, "schemaDigest": digest, "introspection": false,
        "trustedDocumentsOnly": false, "playgroundUrl": null, "limits": null,
    });
    assert_eq!(server, expected);
    let named = |name: &str| {
        limits
            .as_array()
            .unwrap()
            .iter()
            .find(|limit| limit["name"] == name)
            .unwrap()
    };
    let limit = |name: &str, value: i64, unit: &str, code: Option<&str>| {
        assert_eq!(
            named(name),
            &json!({"name": name, "value": value, "unit": unit, "code": code})
        );
    };
    limit("aliases", 7, "COUNT", Some("MAX_ALIASES_LIMIT"));
    limit(
        "cost",
        i32::MAX.into(),
        "COST",
        Some("COST_ESTIMATED_TOO_EXPENSIVE"),
    );
    limit("time", 5_000, "MILLISECONDS", Some("TIMEOUT"));
    limit("default-page-size", 50, "COUNT", None);

    let version = "9.9.9".to_owned();
    let commit = Some("0123456789ab".to_owned());
    engine.set_server(ServerInfo {
        version,
        commit,
        playground_url: Some("./".to_owned()),
    });
    let server = server_of(&engine);
    assert_eq!(
        (
            &server["version"],
            &server["commit"],
            &server["playgroundUrl"]
        ),
        (&json!("9.9.9"), &json!("0123456789ab"), &json!("./"))
    );
    engine
        .trust(r#"{"a": "{ server { trustedDocumentsOnly } }"}"#)
        .unwrap();
    engine.set_policy(DocumentPolicy::TrustedOnly);
    assert_eq!(
        data(&engine, "{ server { trustedDocumentsOnly } }"),
        json!({"server": {"trustedDocumentsOnly": true}})
    );
}

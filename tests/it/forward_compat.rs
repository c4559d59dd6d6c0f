//! Catalogs come to clusters by their own way, so a server meets catalogs, images and stores that
//! are newer than it is. What it does not know it carries and names; nothing of it ends a load.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use images::unpack::{CatalogRoot, Layer, LayerContent, UnpackLimits, unpack};
use serde_json::{Value, json};

use crate::support::{Archive, ETCD, Folders, Server, get, graphql};

/// A catalog that a newer `opm` could have made: a package that is described as today, with fields,
/// properties and constraints of tomorrow, beside schemas of tomorrow.
const TOMORROW: &str = r#"{"schema":"olm.package","name":"etcd","defaultChannel":"stable","lifecycle":{"end":2030.10}}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0","weight":12.50}],"audience":"all"}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","image":"a.io/etcd:1","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0","epoch":7}},{"type":"olm.future","value":[12345678901234567890]},{"type":"olm.constraint","value":{"failureMessage":"no","moon":{"phase":"full"}}}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v2.0.0","image":{"oci":"a.io/etcd:2"}}
{"schema":"olm.package.v2","name":"etcd","channels":{"stable":["1.0.0"]}}
{"schema":"olm.package.v2","name":"argo"}
{"schema":"olm.semver","generateMajorChannels":true}
{"schema":"example.com.extra","package":"etcd","name":"x","value":4.10}
"#;

const MALFORMED: &str =
    "parse bundle: json: cannot unmarshal object into Go struct field Bundle.image of type string";
const RESERVED: &str =
    "schema \"olm.package.v2\" is not known here, and names that begin with \"olm.\" are reserved";

fn ask(server: &Server, query: &str) -> Value {
    let mut answer: Value = graphql(server.address, query)
        .parse()
        .expect("an answer is JSON");
    assert_eq!(answer.get("errors"), None, "{query}");
    answer["data"].take()
}

fn tomorrow() -> (Folders, Server) {
    let folders = Folders::new();
    folders.write("tomorrow/catalog.json", TOMORROW);
    let server = Server::start(&folders, &[&folders.text("tomorrow")]);
    (folders, server)
}

#[test]
fn unknown_schemas_are_carried_counted_and_named() {
    let (_folders, server) = tomorrow();
    let query = r#"{ catalog(name: "tomorrow") { schemas { schema count known } problems { nodes { severity code message file line } }
        metas { nodes { schema packageName name } } } }"#;
    let count = |schema: &str, count: u32, known: bool| json!({"schema": schema, "count": count, "known": known});
    let meta = |schema: &str, package: Option<&str>, name: Option<&str>| json!({"schema": schema, "packageName": package, "name": name});
    let problem = |severity: &str, code: &str, message: &str, line: u32| json!({"severity": severity, "code": code, "message": message, "file": "catalog.json", "line": line});
    let expected = json!({"catalog": {
        "schemas": [
            count("example.com.extra", 1, false),
            count("olm.bundle", 2, true),
            count("olm.channel", 1, true),
            count("olm.package", 1, true),
            count("olm.package.v2", 2, false),
            count("olm.semver", 1, false),
        ],
        "problems": {"nodes": [
            problem("ERROR", "BLOB_MALFORMED", MALFORMED, 4),
            problem("WARNING", "SCHEMA_RESERVED", RESERVED, 5),
            problem("WARNING", "SCHEMA_TEMPLATE", "schema \"olm.semver\" is a template for opm, not a catalog's blob", 7),
        ]},
        "metas": {"nodes": [
            meta("olm.package", None, Some("etcd")),
            meta("olm.channel", Some("etcd"), Some("stable")),
            meta("olm.bundle", Some("etcd"), Some("etcd.v1.0.0")),
            meta("olm.bundle", Some("etcd"), Some("etcd.v2.0.0")),
            meta("olm.package.v2", None, Some("etcd")),
            meta("olm.package.v2", None, Some("argo")),
            meta("olm.semver", None, None),
            meta("example.com.extra", Some("etcd"), Some("x")),
        ]},
    }});
    assert_eq!(ask(&server, query), expected);
}

#[test]
fn unknown_fields_and_types_are_carried_as_they_were_written() {
    let (_folders, server) = tomorrow();
    let text = graphql(server.address, "{ metas { nodes { blob } } }");
    for written in [
        r#""lifecycle":{"end":2030.10}"#,
        r#""weight":12.50"#,
        r#""audience":"all""#,
        r#""epoch":7"#,
        "[12345678901234567890]",
        r#""image":{"oci":"a.io/etcd:2"}"#,
        r#""value":4.10"#,
    ] {
        assert!(text.contains(written), "{written} {text}");
    }
    let query = r#"{ package(catalog: "tomorrow", name: "etcd") { bundles { nodes { name properties { __typename type ... on OpaqueProperty { value } } } } } }"#;
    let answer = ask(&server, query);
    let expected = json!({"package": {"bundles": {"nodes": [{"name": "etcd.v1.0.0", "properties": [
        {"__typename": "PackageProperty", "type": "olm.package"},
        {"__typename": "OpaqueProperty", "type": "olm.future", "value": [12_345_678_901_234_567_890_u64]},
        {"__typename": "OpaqueProperty", "type": "olm.constraint", "value": {"failureMessage": "no", "moon": {"phase": "full"}}},
    ]}]}}});
    assert_eq!(answer, expected);
}

#[test]
fn a_constraint_of_an_unknown_kind_keeps_its_bundle_from_being_picked_and_ends_no_request() {
    let (_folders, server) = tomorrow();
    let query = r#"{ resolve(request: {packageName: "etcd"}) { __typename ... on ResolutionFailure { code message } } }"#;
    let message = "validating bundle \"etcd.v1.0.0\": bundle \"etcd.v1.0.0\" has a dependency declared via property \
        \"olm.constraint\" which is currently not supported";
    let failure =
        json!({"__typename": "ResolutionFailure", "code": "HAS_DEPENDENCIES", "message": message});
    assert_eq!(ask(&server, query), json!({ "resolve": failure }));
}

#[test]
fn what_is_served_has_the_schemas_of_the_files_and_no_others() {
    let (_folders, server) = tomorrow();
    let schemas = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.parse::<Value>().expect("each line is a blob"));
        lines
            .map(|blob| {
                blob["schema"]
                    .as_str()
                    .expect("each has a schema")
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    let (status, all) = get(server.address, "/catalogs/tomorrow/api/v1/all");
    assert_eq!((status, schemas(&all)), (200, schemas(TOMORROW)));
}

/// Every file below a folder.
fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_store_of_another_version_is_made_anew() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let query = "{ catalogs { name digest packages { nodes { name bundles { nodes { name version } } } } } }";
    let serve = || {
        let server = Server::start(&folders, &[&folders.text("etcd")]);
        let answer = ask(&server, query);
        server.signal("TERM");
        server.ended();
        answer
    };
    let first = serve();
    for (from, to) in [
        ("\"format\": 1", "\"format\": 2"),
        ("\"format\":2", "\"format\":3"),
        ("\"build\":\"", "\"build\":\"newer "),
    ] {
        let mut changed = 0;
        for file in files(folders.path("store")) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if text.contains(from) {
                fs::write(&file, text.replacen(from, to, 1)).expect("the store can be written");
                changed += 1;
            }
        }
        assert!(changed > 0, "{from}");
        assert_eq!(serve(), first, "{from}");
    }
}

#[test]
fn a_cache_and_programs_in_an_image_are_passed_over_and_what_looks_like_a_program_is_none() {
    let folders = Folders::new();
    let image = Archive::default()
        .file("bin/opm", "#!/bin/sh\n")
        .file("tmp/cache/pogreb.v1/digest", "of another format")
        .file("configs/etcd/catalog.json", TOMORROW)
        .file("configs/run.sh", "#!/bin/sh\n");
    folders.write("blob", image.gzip());
    let label = (
        "operators.operatorframework.io.index.configs.v1".to_owned(),
        "/configs".to_owned(),
    );
    let root = CatalogRoot::from_labels(&BTreeMap::from([label]), None)
        .expect("the image says where its catalog is");
    let layers = [Layer {
        blob: folders.path("blob"),
        diff_id: None,
        content: LayerContent::Archive,
    }];
    let unpacked = unpack(
        &layers,
        &root,
        &folders.path(""),
        &UnpackLimits::default(),
        drop,
    )
    .expect("it is an image");
    let catalog = unpacked.files().expect("it is a catalog");
    let paths: Vec<_> = catalog.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["etcd/catalog.json", "run.sh"]);
    assert_eq!(files(folders.path("")), [folders.path("blob")]);
}

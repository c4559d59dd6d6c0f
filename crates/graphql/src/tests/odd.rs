//! What authors get wrong: every query over it is answered without an error, with `null` or nothing
//! in its place.

use serde_json::{Value, json};

use super::fixture::{data, engine_of, served};
use crate::limits::Limits;

/// Everything that a package shows.
const SHOWN: &str = "name icon { url mediaType data } defaultChannel { name } description metadata { displayName description \
    provider { name url } maintainers { name email } links { name url } keywords categories capabilityLevel maturity \
    minKubeVersion installModes infrastructureFeatures certified createdAt containerImage repository support \
    ownedCrds { name version kind displayName description } requiredCrds { name version kind displayName description } \
    nativeApis { group version kind } examples labels { key value } annotations { key value } }";

/// Members of an `olm.csv.metadata`.
const MEMBERS: [&str; 14] = [
    "annotations",
    "apiServiceDefinitions",
    "crdDescriptions",
    "description",
    "displayName",
    "installModes",
    "keywords",
    "labels",
    "links",
    "maintainers",
    "maturity",
    "minKubeVersion",
    "nativeAPIs",
    "provider",
];

/// Annotations that are read.
const ANNOTATIONS: [&str; 9] = [
    "alm-examples",
    "capabilities",
    "categories",
    "certified",
    "containerImage",
    "createdAt",
    "features.operators.openshift.io/disconnected",
    "operators.openshift.io/infrastructure-features",
    "support",
];

/// The lines of a package whose only bundle has this metadata.
fn package(name: &str, members: &str, metadata: &Value) -> Vec<String> {
    vec![
        format!(r#"{{"defaultChannel":"c",{members}"name":"{name}","schema":"olm.package"}}"#),
        format!(
            r#"{{"entries":[{{"name":"{name}.v1"}}],"name":"c","package":"{name}","schema":"olm.channel"}}"#
        ),
        format!(
            r#"{{"image":"i","name":"{name}.v1","package":"{name}","properties":[{{"type":"olm.package","value":{{"packageName":"{name}","version":"1.0.0"}}}},{{"type":"olm.csv.metadata","value":{metadata}}}],"schema":"olm.bundle"}}"#
        ),
    ]
}

/// What everything of the packages of these lines is, by name; and the codes of what is odd in
/// them.
fn shown(lines: &[String]) -> (Value, Vec<String>) {
    let limits = Limits {
        cost: u64::MAX,
        ..Limits::default()
    };
    let engine = engine_of([served("c", lines, 1)], limits);
    let mut body = data(
        &engine,
        &format!(
            "{{ packages(first: 500, filter: {{deprecated: false}}) {{ nodes {{ {SHOWN} }} facets {{ keywords {{ value }} }} }} \
        catalog(name: \"c\") {{ problems(first: 500) {{ nodes {{ code }} }} }} }}"
        ),
    );
    let problems = body["catalog"]["problems"]["nodes"]
        .as_array()
        .unwrap()
        .iter();
    let codes = problems
        .map(|problem| problem["code"].as_str().unwrap().to_owned())
        .collect();
    (body["packages"]["nodes"].take(), codes)
}

#[test]
fn metadata_with_wrong_types_is_empty_there_and_a_problem() {
    let wrong = [
        json!(null),
        json!(7),
        json!(true),
        json!("text"),
        json!([1, null, "x", {}, [[]]]),
        json!({"a": 1, "b": [{}]}),
    ];
    let empty = json!({
        "displayName": null, "description": null, "provider": null, "maintainers": [], "links": [], "keywords": [],
        "categories": [], "capabilityLevel": null, "maturity": null, "minKubeVersion": null, "installModes": [],
        "infrastructureFeatures": [], "certified": null, "createdAt": null, "containerImage": null, "repository": null,
        "support": null, "ownedCrds": [], "requiredCrds": [], "nativeApis": [], "examples": null, "labels": [],
        "annotations": [],
    });
    let mut odd = 0;
    for member in MEMBERS {
        for value in &wrong {
            let (nodes, codes) = shown(&package("p", "", &json!({member: value})));
            let metadata = &nodes[0]["metadata"];
            let differs: Vec<_> = empty
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, value)| metadata[key] != **value)
                .collect();
            // At most the member itself says something: a text where a text may be, the texts of a
            // list.
            assert!(differs.len() <= 2, "{member} {value}: {metadata}");
            odd += usize::from(codes.contains(&"BUNDLE_PROPERTY_MALFORMED".to_owned()));
        }
    }
    assert!(odd >= MEMBERS.len() * 3, "{odd}");
    for annotation in ANNOTATIONS {
        for value in &wrong {
            let (nodes, _) = shown(&package(
                "p",
                "",
                &json!({"annotations": {annotation: value}}),
            ));
            assert_eq!(nodes[0]["name"], "p", "{annotation} {value}");
        }
    }
}

#[test]
fn icons_that_are_none_are_null_and_scripts_stay_images() {
    let svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjxzY3JpcHQ+YWxlcnQoMSk8L3NjcmlwdD48L3N2Zz4=";
    for (icon, media_type) in [
        ("{}".to_owned(), Value::Null),
        (
            r#"{"base64data":"","mediatype":"image/png"}"#.to_owned(),
            Value::Null,
        ),
        (
            r#"{"base64data":"!","mediatype":"image/png"}"#.to_owned(),
            Value::Null,
        ),
        (
            r#"{"base64data":"PGh0bWw+PC9odG1sPg==","mediatype":"text/html"}"#.to_owned(),
            Value::Null,
        ),
        ("null".to_owned(), Value::Null),
        (
            format!(r#"{{"base64data":"{svg}","mediatype":"image/svg+xml"}}"#),
            json!("image/svg+xml"),
        ),
    ] {
        let (nodes, _) = shown(&package("p", &format!(r#""icon":{icon},"#), &json!({})));
        assert_eq!(nodes[0]["icon"]["mediaType"], media_type, "{icon}");
    }
}

#[test]
fn a_default_channel_that_is_missing_leaves_the_metadata_of_the_highest_version() {
    let mut lines = package("p", "", &json!({"displayName": "Shown"}));
    lines[0] = lines[0].replace(r#""defaultChannel":"c""#, r#""defaultChannel":"none""#);
    let (nodes, codes) = shown(&lines);
    assert_eq!(
        (
            &nodes[0]["defaultChannel"],
            &nodes[0]["metadata"]["displayName"]
        ),
        (&Value::Null, &json!("Shown"))
    );
    assert!(
        codes.iter().any(|code| code.contains("DEFAULT_CHANNEL")),
        "{codes:?}"
    );
}

#[test]
fn hundreds_of_keywords_and_a_description_of_megabytes_are_shown_whole() {
    let keywords: Vec<_> = (0..911).map(|at| format!("word{at}")).collect();
    let description = "many words ".repeat(20 * 1024 * 1024 / 11);
    let (nodes, _) = shown(&package(
        "p",
        "",
        &json!({"keywords": keywords, "description": description}),
    ));
    let metadata = &nodes[0]["metadata"];
    assert_eq!(metadata["keywords"].as_array().unwrap().len(), 911);
    assert_eq!(
        metadata["description"].as_str().unwrap().len(),
        description.len()
    );
}

//! What the API server says of `ClusterCatalog` objects: the rules of the definition in
//! `deploy/base`, which are catalogd's, with their messages.

use serde_json::{Value, json};
use testing::ControlPlane;

use crate::support::define_catalogs;

const DOMAIN: &str = "must start with a valid domain. valid domains must be alphanumeric characters (lowercase and \
    uppercase) separated by the \".\" character.";
const NAME: &str = "a valid name is required. valid names must contain lowercase alphanumeric characters separated \
    only by the \".\", \"_\", \"__\", \"-\" characters.";
const END: &str = "must end with a digest or a tag";
const TAG_LENGTH: &str = "tag is invalid. the tag must not be more than 127 characters";
const TAG: &str = "tag is invalid. valid tags must begin with a word character (alphanumeric + \"_\") followed by \
    word characters or \".\", and \"-\" characters";
const ALGORITHM: &str = "digest algorithm is not valid. valid algorithms must start with an uppercase or lowercase \
    alpha character followed by alphanumeric characters and may contain the \"-\", \"_\", \"+\", and \".\" \
    characters.";
const ENCODED_LENGTH: &str =
    "digest is not valid. the encoded string must be at least 32 characters";
const ENCODED: &str =
    "digest is not valid. the encoded string must only contain hex characters (A-F, a-f, 0-9)";
const UNION: &str = "image is required when source type is Image, and forbidden otherwise";
const POLL: &str = "cannot specify pollIntervalMinutes while using digest-based image";

/// Each reference with what the API server says of it; nothing where it accepts it. `{n*c}` stands
/// for n times c.
const REFERENCES: &[(&str, &[&str])] = &[
    ("quay.io/operatorhubio/catalog:latest", &[]),
    ("localhost:5000/ns/catalog:v1", &[]),
    ("UPPER.example.com/a/b/c__d-e.f:V1.2-x", &[]),
    ("docker.io/a@sha256:{64*a}", &[]),
    ("docker.io/a:tag@sha256:{64*A}", &[]),
    ("docker.io/a@algo-b_c+d.e:{32*0}", &[]),
    ("docker.io/a:{127*t}", &[]),
    ("host:5000/a:_{20*-}", &[]),
    ("", &[DOMAIN, NAME, END]),
    ("-quay.io/a:tag", &[DOMAIN]),
    ("docker.io", &[NAME, END]),
    ("docker.io/A:tag", &[NAME]),
    ("docker.io/a", &[END]),
    ("docker.io/a:", &[TAG]),
    ("docker.io/a:-tag", &[TAG]),
    ("docker.io/a:t@g", &[TAG]),
    ("docker.io/a:{128*t}", &[TAG_LENGTH]),
    ("docker.io/a@99x:{64*a}", &[ALGORITHM]),
    ("docker.io/a@sha256:{31*a}", &[ENCODED_LENGTH]),
    ("docker.io/a@sha256:", &[ENCODED_LENGTH]),
    ("docker.io/a@sha256:{64*g}", &[ENCODED]),
    ("docker.io/a@9:g", &[ALGORITHM, ENCODED_LENGTH, ENCODED]),
    // Measured from the first colon: the port counts.
    ("registry.example.com:5000/{130*a}:tag", &[TAG_LENGTH]),
    ("docker.io/{991*a}", &["may not be more than 1000 bytes"]),
];

/// Each spec with the fields that the API server refuses, and what it says of them; nothing where
/// it accepts it.
fn specs() -> Vec<(Value, Vec<(&'static str, &'static str)>)> {
    let image = |reference: &str| json!({ "type": "Image", "image": { "ref": reference } });
    let polled = |reference: &str, minutes: Value| {
        let image = json!({ "ref": reference, "pollIntervalMinutes": minutes });
        json!({ "source": { "type": "Image", "image": image } })
    };
    let tag = "docker.io/a:tag";
    let digest = format!("docker.io/a@sha256:{}", "a".repeat(64));
    let source = image(tag);
    vec![
        (polled(tag, json!(1)), vec![]),
        (polled(tag, json!(100_000)), vec![]),
        (polled(tag, Value::Null), vec![]),
        (polled(&digest, Value::Null), vec![]),
        (polled(&digest, json!(1)), vec![("spec.source.image", POLL)]),
        (
            polled(tag, json!(0)),
            vec![(
                "spec.source.image.pollIntervalMinutes",
                "should be greater than or equal to 1",
            )],
        ),
        (
            polled(tag, json!(1.5)),
            vec![(
                "spec.source.image.pollIntervalMinutes",
                "must be of type integer: \"number\"",
            )],
        ),
        (json!({ "source": source, "priority": i32::MIN }), vec![]),
        (
            json!({ "source": source, "priority": i32::MAX, "availabilityMode": "Unavailable" }),
            vec![],
        ),
        (
            json!({ "source": source, "priority": i64::from(i32::MAX) + 1 }),
            vec![(
                "spec.priority",
                "should be less than or equal to 2147483647",
            )],
        ),
        (
            json!({ "source": source, "availabilityMode": "Off" }),
            vec![(
                "spec.availabilityMode",
                "supported values: \"Unavailable\", \"Available\"",
            )],
        ),
        (
            json!({ "source": { "type": "Image" } }),
            vec![("spec.source", UNION)],
        ),
        (
            json!({ "source": { "type": "Git" } }),
            vec![("spec.source.type", "supported values: \"Image\"")],
        ),
        (
            json!({ "source": { "image": { "ref": tag } } }),
            vec![("spec.source.type", "Required value")],
        ),
        (
            json!({ "source": { "type": "Image", "image": {} } }),
            vec![("spec.source.image.ref", "Required value")],
        ),
        (json!({}), vec![("spec.source", "Required value")]),
    ]
}

/// Each status, as [`specs`].
fn statuses() -> Vec<(Value, Vec<(&'static str, &'static str)>)> {
    let resolved = |reference: &str| json!({ "resolvedSource": { "type": "Image", "image": { "ref": reference } } });
    let base = |url: &str| json!({ "urls": { "base": url } });
    let condition = |status: &str, reason: &str| {
        let time = "2026-01-01T00:00:00Z";
        json!({ "conditions": [{
            "type": "Valid", "status": status, "reason": reason, "message": "", "lastTransitionTime": time,
        }] })
    };
    let reference = "status.resolvedSource.image.ref";
    vec![
        (
            resolved(&format!("localhost:5000/a@sha256:{}", "a".repeat(64))),
            vec![],
        ),
        (
            resolved("docker.io/a:tag"),
            vec![(reference, "must end with a digest")],
        ),
        (
            resolved("docker.io/a@sha256:abc"),
            vec![(reference, ENCODED_LENGTH)],
        ),
        (
            json!({ "resolvedSource": { "type": "Image" } }),
            vec![("status.resolvedSource.image", "Required value")],
        ),
        (
            base("https://catalogd-service.olmv1-system.svc/catalogs/a"),
            vec![],
        ),
        (base("http://[::1]:8080/catalogs/a"), vec![]),
        (
            base("no url"),
            vec![("status.urls.base", "must be a valid URL")],
        ),
        (
            base("ftp://a/b"),
            vec![("status.urls.base", "scheme must be either http or https")],
        ),
        (
            json!({ "urls": {} }),
            vec![("status.urls.base", "Required value")],
        ),
        (condition("True", "NoErrors"), vec![]),
        (
            condition("Maybe", "NoErrors"),
            vec![(
                "status.conditions[0].status",
                "supported values: \"True\", \"False\", \"Unknown\"",
            )],
        ),
        (
            condition("True", "no reason"),
            vec![(
                "status.conditions[0].reason",
                "should match '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'",
            )],
        ),
    ]
}

/// The object that this test sends.
fn catalog(spec: &Value) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
        "metadata": { "name": "a" }, "spec": spec,
    })
}

/// Replaces each `{n*c}` by n times c.
fn expand(text: &str) -> String {
    let mut parts = text.split(['{', '}']);
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    while let (Some(repeated), Some(rest)) = (parts.next(), parts.next()) {
        let (count, character) = repeated.split_once('*').expect("it has a count");
        expanded += &character.repeat(count.parse().expect("a number"));
        expanded += rest;
    }
    expanded
}

/// Runs kubectl with an object as its input. Tells what is not as expected, which is that it ends
/// with just these errors: fields, and how messages end.
fn misjudged(
    plane: &ControlPlane,
    arguments: &[&str],
    object: &Value,
    expected: &[(&str, &str)],
) -> Option<String> {
    let output = plane.try_kubectl(arguments, &object.to_string());
    let text = output.stderr.trim_end();
    let errors = text
        .split_once(" is invalid: ")
        .map_or("", |(_, errors)| errors);
    let errors: Vec<_> = if errors.starts_with("\n* ") {
        errors.split("\n* ").skip(1).collect()
    } else {
        Some(errors)
            .filter(|errors| !errors.is_empty())
            .into_iter()
            .collect()
    };
    // The API server says of the whole object that rules were not tried, and once more what the
    // schema says of a field.
    let is_own = |error: &&str| !error.starts_with("<nil>: ");
    let errors: Vec<_> = errors.into_iter().filter(is_own).collect();
    let is_expected = |(error, (field, message)): (&&str, &(&str, &str))| {
        error
            .split_once(": ")
            .is_some_and(|(of, what)| of == *field && what.ends_with(message))
    };
    let is_complete = errors.len() == expected.len() && output.success == expected.is_empty();
    let is_right = is_complete && errors.iter().zip(expected).all(is_expected);
    (!is_right).then(|| format!("{object}: {expected:?} is expected, not {text:?}"))
}

#[test]
fn a_catalog_is_accepted_or_refused_as_by_catalogd_with_its_messages() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    define_catalogs(&plane);
    let create = ["create", "--dry-run=server", "-f", "-"];
    let mut faults = Vec::new();
    for (reference, messages) in REFERENCES {
        let spec = json!({ "source": { "type": "Image", "image": { "ref": expand(reference) } } });
        let expected: Vec<_> = messages
            .iter()
            .map(|message| ("spec.source.image.ref", *message))
            .collect();
        faults.extend(misjudged(&plane, &create, &catalog(&spec), &expected));
    }
    for (spec, expected) in specs() {
        faults.extend(misjudged(&plane, &create, &catalog(&spec), &expected));
    }
    plane.apply(&[catalog(
        &json!({ "source": { "type": "Image", "image": { "ref": "docker.io/a:tag" } } }),
    )]);
    for (status, expected) in statuses() {
        let patch = json!({ "status": status }).to_string();
        let arguments = [
            "patch",
            "clustercatalog",
            "a",
            "--subresource=status",
            "--type=merge",
            "--dry-run=server",
            "-p",
            &patch,
        ];
        faults.extend(misjudged(&plane, &arguments, &status, &expected));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_catalog_has_the_defaults_and_the_columns_of_catalogd() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    define_catalogs(&plane);
    plane.apply(&[catalog(
        &json!({ "source": { "type": "Image", "image": { "ref": "docker.io/a:tag" } } }),
    )]);
    let expected = json!({
        "availabilityMode": "Available", "priority": 0,
        "source": { "type": "Image", "image": { "ref": "docker.io/a:tag" } },
    });
    assert_eq!(plane.get(&["clustercatalog", "a"])["spec"], expected);
    let table = plane.kubectl(&["get", "clustercatalogs"]);
    let columns: Vec<_> = table
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(columns, ["NAME", "LASTUNPACKED", "SERVING", "AGE"]);
}

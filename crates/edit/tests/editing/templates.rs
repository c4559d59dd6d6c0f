//! Templates are rendered and made as `opm` renders and makes them.

use std::collections::BTreeMap;

use edit::file::SourceFile;
use edit::template::{TemplateKind, parse};
use edit::{BlobValue, FileFormat};
use serde::Deserialize;
use serde_json::json;

use crate::support::{lines, text};

#[derive(Deserialize)]
struct Case {
    name: String,
    template: String,
    #[serde(default)]
    bundles: BTreeMap<String, serde_json::Value>,
    error: Option<String>,
    #[serde(default)]
    error_set: Vec<String>,
    yaml: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Conversion {
    name: String,
    args: Vec<String>,
    stdin: Option<String>,
    stdout: String,
}

/// Templates that are answered differently on purpose, with the reason.
const DIFFERENCES: [(&str, &str); 1] = [(
    "substitutes/invalid-entries",
    "what is wrong is told as by `catalogql validate`, not as a tree",
)];

#[test]
fn every_recorded_template_is_rendered_as_opm_renders_it() {
    let cases: Vec<Case> = lines("templates.jsonl.gz");
    let mut faults = Vec::new();
    for case in &cases {
        let found = rendered(case);
        let is_equal = match (&found, &case.error, &case.yaml) {
            (Err(found), Some(error), _) => found == error || case.error_set.contains(found),
            (Ok(found), None, Some(yaml)) => found == yaml,
            _ => false,
        };
        if is_equal == DIFFERENCES.iter().any(|(name, _)| *name == case.name) {
            faults.push(format!(
                "{}:\n{found:?}\nexpected\n{:?} {:?}",
                case.name, case.error, case.yaml
            ));
        }
    }
    assert_eq!(cases.len(), 56);
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
}

fn rendered(case: &Case) -> Result<String, String> {
    let template = parse(case.template.as_bytes()).map_err(|error| error.to_string())?;
    let kind = match case.kind.as_deref() {
        None => TemplateKind::detect(&template).map_err(|error| error.to_string())?,
        Some("basic") => TemplateKind::Basic,
        Some("semver") => TemplateKind::Semver,
        Some("substitutes") => TemplateKind::Substitutes,
        Some(other) => {
            return Err(format!(
                "creating template by type: unknown template type: {other}"
            ));
        }
    };
    let mut image = |name: &str| match case.bundles.get(name) {
        Some(bundle) => Ok(BlobValue::parse(&bundle.to_string()).unwrap()),
        None => Err(format!("failed to pull image {name:?}: not found")),
    };
    let blobs = kind
        .render(&template, &mut image)
        .map_err(|error| error.to_string())?;
    let mut out = String::new();
    for blob in &blobs {
        FileFormat::Yaml.write(blob, &mut out);
    }
    Ok(out)
}

#[test]
fn a_catalog_becomes_the_template_that_opm_makes_of_it() {
    let inputs: BTreeMap<String, Option<String>> =
        serde_json::from_str(&text("inputs.json.gz")).unwrap();
    for case in lines::<Conversion>("conversions.jsonl.gz") {
        let kind = if case.args[2] == "basic" {
            TemplateKind::Basic
        } else {
            TemplateKind::Substitutes
        };
        let path = case.stdin.as_ref().unwrap_or(&case.args[3]);
        let file = SourceFile::read(path, inputs[path].as_ref().unwrap().as_bytes()).unwrap();
        let blobs = file
            .lines()
            .iter()
            .map(|line| BlobValue::parse(line).unwrap())
            .collect();
        let found = kind.convert(blobs).unwrap().to_json();
        let expected = SourceFile::read("expected", case.stdout.as_bytes()).unwrap();
        let without_empty = |text: &str| {
            text.replace(",\"skips\":[]", "")
                .replace(",\"relatedImages\":[]", "")
        };
        let values =
            |text: &str| serde_json::from_str::<serde_json::Value>(&without_empty(text)).unwrap();
        assert_eq!(
            values(&found),
            values(&expected.lines()[0]),
            "{}",
            case.name
        );
    }
}

/// Renders a template whose images are bundles by their references.
fn render(
    template: &serde_json::Value,
    bundles: &[(&str, serde_json::Value)],
) -> Result<String, String> {
    let bundles = bundles
        .iter()
        .map(|(image, bundle)| ((*image).to_owned(), bundle.clone()))
        .collect();
    let name = String::new();
    let template = template.to_string();
    rendered(&Case {
        name,
        template,
        bundles,
        error: None,
        error_set: Vec::new(),
        yaml: None,
        kind: None,
    })
}

fn bundle(package: &str, version: &str) -> serde_json::Value {
    json!({
        "schema": "olm.bundle", "package": package, "name": format!("{package}.v{version}"), "image": format!("i/{package}"),
        "properties": [{ "type": "olm.package", "value": { "packageName": package, "version": version } }],
    })
}

/// A template with the packages `tongs` and `other`, and one substitution.
fn substitutes(name: &str, base: &str) -> serde_json::Value {
    let of = |package: &str| {
        let head = format!("{package}.v1.0.0");
        let channel = json!({ "schema": "olm.channel", "package": package, "name": "a", "entries": [{ "name": head }] });
        [
            json!({ "schema": "olm.package", "name": package, "defaultChannel": "a" }),
            channel,
            bundle(package, "1.0.0"),
        ]
    };
    let entries = ["tongs", "other"].map(of).concat();
    json!({
        "schema": "olm.template.substitutes",
        "entries": entries,
        "substitutions": [{ "name": name, "base": base }],
    })
}

#[test]
fn a_substitute_that_makes_the_catalog_invalid_is_refused() {
    let refused = |template: &serde_json::Value, substitute: serde_json::Value| {
        render(template, &[("s", substitute)]).unwrap_err()
    };
    let prefix =
        "rendering template: render: error processing substitution \"tongs.v1.0.0\" -> \"s\": ";
    let invalid = format!("{prefix}resulting config is not valid FBC: ");
    let template = substitutes("s", "tongs.v1.0.0");
    // Of another package, known or not, or of none.
    for package in ["other", "unknown", ""] {
        let message = refused(&template, bundle(package, "2.0.0"));
        assert!(message.starts_with(&invalid), "{package}: {message}");
    }
    // Of a version that the package has.
    let mut again = substitutes("s", "tongs.v1.0.0");
    let other = again["entries"].as_array_mut().unwrap();
    other
        .push(json!({ "schema": "olm.channel", "package": "tongs", "name": "b", "entries": [{ "name": "tongs.v2" }] }));
    other.push(
        json!({ "name": "tongs.v2", "package": "tongs", "schema": "olm.bundle", "image": "i",
        "properties": bundle("tongs", "2.0.0")["properties"] }),
    );
    let message = refused(&again, bundle("tongs", "2.0.0"));
    assert!(message.starts_with(&invalid), "{message}");
    let unknown = refused(&substitutes("s", "tongs.v9"), bundle("tongs", "2.0.0"));
    assert!(
        unknown.ends_with("-> \"s\": base bundle \"tongs.v9\" does not exist in catalog"),
        "{unknown}"
    );
    let same = refused(&substitutes("s", "s"), bundle("tongs", "2.0.0"));
    assert!(
        same.ends_with(": substitution name and base cannot be the same"),
        "{same}"
    );
    let twice =
        json!([{ "name": "s", "base": "tongs.v1.0.0" }, { "name": "t", "base": "tongs.v1.0.0" }]);
    let mut template = template;
    template["substitutions"] = twice;
    let message = refused(&template, bundle("tongs", "2.0.0"));
    assert_eq!(
        message,
        "rendering template: render: cannot reuse the same substitution base \"tongs.v1.0.0\""
    );
}

#[test]
fn an_entry_without_a_schema_is_refused() {
    for entry in [json!({ "name": "x" }), json!({ "name": "x", "schema": "" })] {
        let fault = format!("object '{entry}\n' is missing root schema field");
        let basic = json!({ "schema": "olm.template.basic", "entries": [entry] });
        assert_eq!(
            render(&basic, &[]),
            Err(format!("rendering template: {fault}"))
        );
        let mut substitutes = substitutes("s", "tongs.v1.0.0");
        substitutes["entries"].as_array_mut().unwrap().push(entry);
        let expected = format!(
            "rendering template: render: unable to create declarative config from entries: {fault}"
        );
        assert_eq!(render(&substitutes, &[]), Err(expected));
    }
    // Whatever the case of its key.
    let basic = json!({ "schema": "olm.template.basic", "entries": [{ "Schema": "olm.bundle", "Image": "s" }, { "SCHEMA": "x" }] });
    let tongs = render(&basic, &[("s", bundle("tongs", "1.0.0"))]).unwrap();
    assert_eq!(tongs.matches("name: tongs.v1.0.0").count(), 1, "{tongs}");
}

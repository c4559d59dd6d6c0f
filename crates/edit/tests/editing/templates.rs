//! Templates are rendered and made as `opm` renders and makes them.

use std::collections::BTreeMap;

use edit::file::SourceFile;
use edit::template::{TemplateKind, parse};
use edit::{Format, Value};
use serde::Deserialize;

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
const DIFFERENCES: [(&str, &str); 1] =
    [("substitutes/invalid-entries", "what is wrong is told as by `catalogql validate`, not as a tree")];

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
            faults.push(format!("{}:\n{found:?}\nexpected\n{:?} {:?}", case.name, case.error, case.yaml));
        }
    }
    assert_eq!(cases.len(), 56);
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

fn rendered(case: &Case) -> Result<String, String> {
    let template = parse(case.template.as_bytes()).map_err(|error| error.to_string())?;
    let kind = match case.kind.as_deref() {
        None => TemplateKind::detect(&template).map_err(|error| error.to_string())?,
        Some("basic") => TemplateKind::Basic,
        Some("semver") => TemplateKind::Semver,
        Some("substitutes") => TemplateKind::Substitutes,
        Some(other) => return Err(format!("creating template by type: unknown template type: {other}")),
    };
    let mut image = |name: &str| match case.bundles.get(name) {
        Some(bundle) => Ok(Value::parse(&bundle.to_string()).unwrap()),
        None => Err(format!("failed to pull image {name:?}: not found")),
    };
    let blobs = kind.render(&template, &mut image).map_err(|error| error.to_string())?;
    let mut out = String::new();
    for blob in &blobs {
        Format::Yaml.write(blob, &mut out);
    }
    Ok(out)
}

#[test]
fn a_catalog_becomes_the_template_that_opm_makes_of_it() {
    let inputs: BTreeMap<String, Option<String>> = serde_json::from_str(&text("inputs.json.gz")).unwrap();
    for case in lines::<Conversion>("conversions.jsonl.gz") {
        let kind = if case.args[2] == "basic" { TemplateKind::Basic } else { TemplateKind::Substitutes };
        let path = case.stdin.as_ref().unwrap_or(&case.args[3]);
        let file = SourceFile::read(path, inputs[path].as_ref().unwrap().as_bytes()).unwrap();
        let blobs = file.lines().iter().map(|line| Value::parse(line).unwrap()).collect();
        let found = kind.convert(blobs).unwrap().to_json();
        let expected = SourceFile::read("expected", case.stdout.as_bytes()).unwrap();
        let without_empty = |text: &str| text.replace(",\"skips\":[]", "").replace(",\"relatedImages\":[]", "");
        let values = |text: &str| serde_json::from_str::<serde_json::Value>(&without_empty(text)).unwrap();
        assert_eq!(values(&found), values(&expected.lines()[0]), "{}", case.name);
    }
}

//! Catalogs and bundle directories are written as `opm render` writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use edit::blob::sort;
use edit::bundle::{BundleFile, BundleFiles, Migration, arrange, migrate, render};
use edit::file::SourceFile;
use edit::{CatalogBlob, FileFormat};
use fbc_grammar::ignore::{IGNORE_FILE, IgnoreRules};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{lines, text};

#[derive(Deserialize)]
struct Command {
    name: String,
    args: Vec<String>,
    stdout: String,
}

/// Commands whose output differs on purpose, with the reason.
const DIFFERENCES: [(&str, &str); 4] = [
    (
        "render/values/json",
        "numbers keep their digits, and fields that opm does not know stay",
    ),
    ("render/tour/json", "numbers keep their digits"),
    ("render/tour/yaml", "an empty list stays"),
    ("render/graph/yaml", "an empty list stays"),
];

#[test]
fn everything_that_opm_renders_is_written_as_opm_writes_it() {
    let inputs: BTreeMap<String, Option<String>> =
        serde_json::from_str(&text("inputs.json.gz")).unwrap();
    let commands: Vec<Command> = lines("commands.jsonl.gz");
    let mut faults = Vec::new();
    for command in &commands {
        let found = output(&inputs, &command.args[1..]);
        let is_yaml = command.args.iter().any(|arg| arg == "yaml");
        let is_equal = if is_yaml {
            found == command.stdout
        } else {
            values(&found) == values(&command.stdout)
        };
        if is_equal == DIFFERENCES.iter().any(|(name, _)| *name == command.name) {
            let lines = found.lines().zip(command.stdout.lines());
            let different: Vec<_> = lines
                .filter(|(found, expected)| found != expected)
                .take(5)
                .collect();
            faults.push(format!("{}: {different:#?}", command.name));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {}:\n{}",
        faults.len(),
        commands.len(),
        faults.join("\n")
    );
}

/// Renders what the arguments name.
fn output(inputs: &BTreeMap<String, Option<String>>, args: &[String]) -> String {
    let is_migrated = args
        .iter()
        .any(|arg| matches!(&**arg, "--migrate" | "--migrate-level=all"));
    let format = if args.iter().any(|arg| arg == "yaml") {
        FileFormat::Yaml
    } else {
        FileFormat::Json
    };
    let mut blobs: Vec<CatalogBlob> = Vec::new();
    for folder in args
        .iter()
        .filter(|arg| arg.starts_with("catalogs/") || arg.starts_with("bundles/"))
    {
        let below = |folder: String| -> Vec<(&str, &str)> {
            let files = inputs
                .iter()
                .filter_map(|(path, text)| Some((path.strip_prefix(&folder)?, text.as_deref()?)));
            files.collect()
        };
        if folder.starts_with("bundles/") {
            let files = |name: &str| {
                let files = below(format!("{folder}/{name}/")).into_iter();
                files
                    .map(|(name, text)| BundleFile {
                        name: name.to_owned(),
                        bytes: text.into(),
                    })
                    .collect()
            };
            let files = BundleFiles {
                manifests: files("manifests"),
                metadata: files("metadata"),
            };
            blobs.push(CatalogBlob::from_value(
                blobs.len(),
                &render(&files, "", Migration::None).unwrap().blob,
            ));
        } else {
            let files = below(format!("{folder}/"));
            let mut rules = IgnoreRules::new();
            for (path, text) in files.iter().filter(|(path, _)| path.ends_with(IGNORE_FILE)) {
                let folder = path
                    .strip_suffix(IGNORE_FILE)
                    .unwrap()
                    .trim_end_matches('/');
                rules.add(folder, text.as_bytes()).unwrap();
            }
            for (path, text) in files
                .into_iter()
                .filter(|(path, _)| !rules.is_ignored(path))
            {
                let file = SourceFile::read(path, text.as_bytes()).unwrap();
                blobs.extend(
                    file.lines()
                        .iter()
                        .map(|line| CatalogBlob::from_line(0, Arc::clone(line))),
                );
            }
        }
    }
    sort(&mut blobs);
    let mut out = String::new();
    for blob in &blobs {
        let value = arrange(blob.value().unwrap());
        let is_bundle = &*blob.schema == "olm.bundle";
        format.write(
            &if is_migrated && is_bundle {
                migrate(&value)
            } else {
                value
            },
            &mut out,
        );
    }
    out
}

/// Parses a stream of objects; opm leaves out empty fields that it knows, which stay here.
fn values(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text)
        .into_iter()
        .map(Result::unwrap);
    values.map(without_empty).collect()
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)));
            let is_empty = |value: &Value| {
                value.is_null() || *value == "" || value.as_array().is_some_and(Vec::is_empty)
            };
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        plain => plain,
    }
}

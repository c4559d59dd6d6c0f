//! Our status of catalogs of each kind against what catalogd said, which is recorded: it was run
//! against the same objects.
//!
//! `CATALOGQL_CATALOGD` names a program that runs catalogd when it is given a kubeconfig file and
//! the address of a registry without TLS. With it, what catalogd says is recorded anew; catalogd
//! listens on fixed ports, so that this is done in a network namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::process::{Child, Command};

use serde_json::{Map, Value, json};
use testing::eventually;

use crate::conditions::{SERVING, UNPACKED, cases};
use crate::support::{Cluster, Replica, condition};

/// A line for each catalog: its name, and its status with `@` for the registry.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/testdata/golden/catalogd-status.jsonl"
);

/// What catalogs' URLs begin with where nothing else is said.
const EXTERNAL_ADDRESS: &str = "--external-address=https://catalogd-service.olmv1-system.svc";

/// The fields that differ: of which catalog, which field, what catalogd says and what this program
/// says.
const DIFFERENT: [(&str, &str, &str, &str); 14] = [
    // These fail until somebody changes the image or the object.
    ("no-digest", "Progressing.reason", "Retrying", "Blocked"),
    ("no-digest", "Progressing.status", "True", "False"),
    // catalogd takes what is not there for a catalog without packages, which would replace one that
    // has some.
    (
        "no-folder",
        "Progressing.message",
        UNPACKED,
        "source catalog content",
    ),
    ("no-folder", "Progressing.reason", "Succeeded", "Retrying"),
    ("no-folder", "Serving.message", SERVING, ""),
    ("no-folder", "Serving.reason", "Available", "Unavailable"),
    ("no-folder", "Serving.status", "True", "False"),
    ("no-folder", "lastUnpacked", "true", "false"),
    ("no-folder", "resolvedSource", NO_FOLDER, "null"),
    (
        "no-folder",
        "urls",
        r#"{"base":"https://catalogd-service.olmv1-system.svc/catalogs/no-folder"}"#,
        "null",
    ),
    ("no-label", "Progressing.reason", "Retrying", "Blocked"),
    ("no-label", "Progressing.status", "True", "False"),
    ("sqlite", "Progressing.reason", "Retrying", "Blocked"),
    ("sqlite", "Progressing.status", "True", "False"),
];

/// What catalogd's reference to the image without files is.
const NO_FOLDER: &str = "{\"image\":{\"ref\":\"@/ns/empty@\
    sha256:64948d1e311b9e2d4916c59a32b2215b2c02411b25e780f690f2acb0a86a1c43\"},\"type\":\"Image\"}";

/// The condition `Serving` of what was never served: catalogd has none, which its clients take for
/// the same.
const NEVER_SERVED: [(&str, &str); 4] = [
    ("Serving.message", ""),
    ("Serving.observedGeneration", "1"),
    ("Serving.reason", "Unavailable"),
    ("Serving.status", "False"),
];

/// A process of catalogd; killed when it is dropped.
struct Catalogd(Child);

impl Drop for Catalogd {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// A status by field: of each condition, the status, the reason and what the message is; and the
/// other fields.
fn fields(status: &Value, host: &str) -> BTreeMap<String, String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
            .replace(host, "@")
    };
    let mut fields = BTreeMap::new();
    // catalogd has no condition `Valid`.
    let is_common = |condition: &&Value| condition["type"] != "Valid";
    for condition in status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(is_common)
    {
        let kind = text(&condition["type"]);
        for field in ["status", "reason", "message", "observedGeneration"] {
            let is_error = ["Retrying", "Blocked"]
                .iter()
                .any(|reason| condition["reason"] == *reason);
            let said = text(&condition[field]);
            // The words of an error are each program's own, after the stage that failed.
            let said = if field == "message" && is_error {
                stage(&said).to_owned()
            } else {
                said
            };
            fields.insert(format!("{kind}.{field}"), said);
        }
    }
    fields.insert("resolvedSource".to_owned(), text(&status["resolvedSource"]));
    fields.insert("urls".to_owned(), text(&status["urls"]));
    fields.insert(
        "lastUnpacked".to_owned(),
        (!status["lastUnpacked"].is_null()).to_string(),
    );
    fields
}

fn stage(message: &str) -> &str {
    message.split_once(':').map_or(message, |(stage, _)| stage)
}

/// The statuses of all catalogs, each once it says how its catalog progresses.
fn statuses(
    cluster: &Cluster,
    names: &[&'static str],
) -> BTreeMap<&'static str, BTreeMap<String, String>> {
    let host = cluster.registry.address.to_string();
    let status = |name: &'static str| {
        let is_over = |status: &Value| condition(status, "Progressing").is_some();
        let status = eventually(|| Some(cluster.status(name)).filter(is_over));
        (name, fields(&status, &host))
    };
    names.iter().map(|name| status(name)).collect()
}

/// Runs catalogd against the objects, and records what it says.
fn record(cluster: &Cluster, program: &str, names: &[&'static str]) {
    let mut command = Command::new(program);
    command
        .arg(cluster.plane.kubeconfig())
        .arg(cluster.registry.address.to_string());
    let _catalogd = Catalogd(command.spawn().expect("catalogd can be started"));
    let lines = statuses(cluster, names).into_iter().map(|(name, fields)| {
        let status: Map<_, _> = fields
            .into_iter()
            .map(|(field, said)| (field, json!(said)))
            .collect();
        format!("{}\n", json!({ "name": name, "status": status }))
    });
    fs::write(RECORDED, lines.collect::<String>()).expect("the record can be written");
}

/// What catalogd said of a catalog: the name and the fields.
fn recorded(line: &str) -> (String, BTreeMap<String, String>) {
    let line: Value = serde_json::from_str(line).expect("it is JSON");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let fields = line["status"].as_object().expect("fields").iter();
    let mut fields: BTreeMap<_, _> = fields
        .map(|(field, said)| (field.clone(), text(said)))
        .collect();
    if !fields.contains_key("Serving.status") {
        fields.extend(NEVER_SERVED.map(|(field, said)| (field.to_owned(), said.to_owned())));
    }
    (text(&line["name"]), fields)
}

#[test]
fn status_is_catalogds_but_for_what_is_named() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let cases = cases(&cluster);
    let names: Vec<_> = cases.iter().map(|case| case.name).collect();
    let objects: Vec<_> = cases.iter().map(|case| case.object.clone()).collect();
    cluster.plane.apply(&objects);
    if let Ok(program) = env::var("CATALOGQL_CATALOGD") {
        record(&cluster, &program, &names);
        return;
    }
    let replica = Replica::start(
        &cluster,
        "one",
        &["--insecure-registry=127.0.0.1:1", EXTERNAL_ADDRESS],
    );
    let ours = statuses(&cluster, &names);
    let mut different = Vec::new();
    let text = fs::read_to_string(RECORDED).expect("it is recorded");
    assert_eq!(text.lines().count(), names.len());
    for (name, theirs) in text.lines().map(recorded) {
        let ours = &ours[name.as_str()];
        let fields: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
        for field in fields
            .into_iter()
            .filter(|field| theirs.get(*field) != ours.get(*field))
        {
            let said = |by: &BTreeMap<String, String>| by.get(field).cloned().unwrap_or_default();
            different.push((name.clone(), field.clone(), said(&theirs), said(ours)));
        }
    }
    let expected = DIFFERENT
        .map(|(name, field, theirs, ours)| (name.into(), field.into(), theirs.into(), ours.into()));
    assert_eq!(different, expected, "{}", replica.log());
}

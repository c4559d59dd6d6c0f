//! `preview`: tables of an install, in the shape in which both programs print it as JSON.

use printing::{table, text};
use serde_json::Value;

/// Names of all risks of rights.
pub const PERMISSION_FLAGS: [&str; 15] = [
    "CLUSTER_ADMIN",
    "ESCALATE",
    "GRANTS_RIGHTS",
    "READS_SECRETS",
    "WRITES_WORKLOADS",
    "EXEC",
    "NODES",
    "TOKENS",
    "CERTIFICATES",
    "ADMISSION",
    "CRDS",
    "VOLUMES",
    "NAMESPACES",
    "SCC",
    "WILDCARD",
];

/// Returns the tables of an install: its objects, its permissions, and how it differs from another
/// one.
pub fn tables(install: &Value) -> String {
    let objects = items(&install["objects"]).map(|object| {
        [
            text(object, "/kind"),
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        ]
    });
    let mut tables = table(["KIND", "NAMESPACE", "NAME"], objects);

    let mut permissions = items(&install["permissions"]).peekable();
    if permissions.peek().is_some() {
        let rows = permissions.map(|permission| {
            let namespaces = joined(&permission["namespaces"], ",");
            let scope = if namespaces.is_empty() {
                "all".to_owned()
            } else {
                namespaces
            };
            [
                text(permission, "/serviceAccount"),
                scope,
                items(&permission["rules"]).count().to_string(),
                joined(&permission["flags"], " "),
            ]
        });
        let header = ["SERVICE ACCOUNT", "NAMESPACES", "RULES", "FLAGS"];
        tables += "\n";
        tables += &table(header, rows);
    }
    if install["difference"].is_object() {
        tables += "\n";
        tables += &difference_table(&install["difference"]);
    }
    tables
}

fn difference_table(difference: &Value) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut add = |change: &str, what: &str, list: &str, value: fn(&Value) -> String| {
        let values = items(&difference[list]).map(value);
        rows.extend(values.map(|value| [change.to_owned(), what.to_owned(), value]));
    };
    let plain = |value: &Value| text(value, "");
    let name = |value: &Value| text(value, "/name");
    let change = |value: &Value| format!("{}: {}", text(value, "/name"), text(value, "/message"));
    add("added", "flag", "flagsGained", plain);
    add("removed", "flag", "flagsLost", plain);
    add("added", "right", "rightsGained", right_text);
    add("removed", "right", "rightsLost", right_text);
    add("added", "image", "imagesAdded", plain);
    add("removed", "image", "imagesRemoved", plain);
    add("added", "webhook", "webhooksAdded", name);
    add("removed", "webhook", "webhooksRemoved", name);
    add("changed", "definition", "crdChanges", change);

    let from = text(difference, "/from");
    if rows.is_empty() {
        return format!("no difference from {from}\n");
    }
    format!("from {from}:\n{}", table(["CHANGE", "WHAT", "VALUE"], rows))
}

/// Writes a right as `VERBS RESOURCE.GROUP named NAME in NAMESPACE`.
fn right_text(right: &Value) -> String {
    let mut sentence = format!(
        "{} {}",
        joined(&right["verbs"], ","),
        text(right, "/resource")
    );
    for (before, member) in [
        (".", "/apiGroup"),
        (" named ", "/resourceName"),
        (" in ", "/namespace"),
    ] {
        let value = text(right, member);
        if !value.is_empty() {
            sentence += before;
            sentence += &value;
        }
    }
    sentence
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn joined(list: &Value, separator: &str) -> String {
    let texts: Vec<_> = items(list).map(|item| text(item, "")).collect();
    texts.join(separator)
}

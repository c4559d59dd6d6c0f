//! `OpenAPI` 3.0 documents, one for each version of a group. `kubectl explain` shows them, and clients
//! are generated from them.
//!
//! The schemas are in `openapi/schemas.json`; the paths are made from the kinds.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::kind::{GroupVersion, ResourceKind, groups};

/// A document and the hash of its text, which URLs name so that its responses can be cached for
/// good.
pub(crate) struct OpenapiDocument {
    /// Path of the version of the group, without a slash in front.
    path: String,
    pub(crate) text: String,
    pub(crate) hash: String,
}

/// The schemas of all kinds, by name.
static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("openapi/schemas.json")).expect("the file is a JSON object")
});

static DOCUMENTS: LazyLock<Vec<OpenapiDocument>> = LazyLock::new(|| {
    let documents = groups().map(|group_version| {
        let GroupVersion { group, version } = group_version;
        let text = document_for(group_version).to_string();
        OpenapiDocument {
            path: format!("apis/{group}/{version}"),
            hash: hash(&text),
            text,
        }
    });
    documents.collect()
});

/// Returns the index of all documents.
pub(crate) fn index() -> Value {
    let entries = DOCUMENTS.iter().map(|OpenapiDocument { path, hash, .. }| {
        (
            path.clone(),
            json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }),
        )
    });
    json!({ "paths": entries.collect::<Map<_, _>>() })
}

/// Returns the document at a path such as `apis/GROUP/VERSION`.
pub(crate) fn document(path: &str) -> Option<&'static OpenapiDocument> {
    DOCUMENTS.iter().find(|document| document.path == path)
}

/// Returns the SHA-256 of a text in upper-case hexadecimal digits.
pub(crate) fn hash(text: &str) -> String {
    fbc_grammar::Digest::new(Sha256::digest(text).into())
        .to_string()
        .trim_start_matches("sha256:")
        .to_uppercase()
}

fn document_for(group_version: GroupVersion) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for kind in group_version.kinds() {
        add_paths(kind, &mut paths);
        for name in [schema_name(kind), format!("{}List", schema_name(kind))] {
            add_schema(&name, &mut schemas);
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "catalogql", "version": group_version.version },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

/// Returns the name of the schema of a kind.
fn schema_name(kind: ResourceKind) -> String {
    let domain: Vec<_> = kind.group().split('.').rev().collect();
    format!("{}.{}.{}", domain.join("."), kind.version(), kind.name())
}

/// Adds a schema and those that it refers to.
fn add_schema(name: &str, schemas: &mut Map<String, Value>) {
    let Some(schema) = SCHEMAS.get(name).filter(|_| !schemas.contains_key(name)) else {
        return;
    };
    schemas.insert(name.to_owned(), schema.clone());
    for reference in references(schema) {
        add_schema(&reference, schemas);
    }
}

/// Returns the names of the schemas that a value refers to.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|path| path.rsplit('/').next());
            own.map(str::to_owned)
                .into_iter()
                .chain(members.values().flat_map(references))
                .collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn add_paths(kind: ResourceKind, paths: &mut Map<String, Value>) {
    let base = format!("/apis/{}", kind.api_version());
    let plural = kind.plural();
    let namespaces = if kind.is_namespaced() {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let one = schema_name(kind);
    let list = format!("{}List", schema_name(kind));
    let namespace = kind
        .is_namespaced()
        .then(|| path_parameter("namespace", "Namespace of the objects"));
    let with =
        |further: Option<Value>| namespace.iter().cloned().chain(further).collect::<Vec<_>>();
    if kind.is_namespaced() {
        let listed = operation(kind, "list", "objects in all namespaces", &list);
        paths.insert(
            format!("{base}/{plural}"),
            json!({ "get": listed, "parameters": list_parameters() }),
        );
    }
    let listed = operation(kind, "list", "objects", &list);
    let parameters: Vec<_> = with(None).into_iter().chain(list_parameters()).collect();
    paths.insert(
        format!("{base}{namespaces}/{plural}"),
        json!({ "get": listed, "parameters": parameters }),
    );
    let name = || with(Some(path_parameter("name", "Name of the object")));
    let got = operation(kind, "get", "one object", &one);
    paths.insert(
        format!("{base}{namespaces}/{plural}/{{name}}"),
        json!({ "get": got, "parameters": name() }),
    );
    for part in kind.subresources() {
        let mut got = operation(kind, "get", &format!("the {part} of one object"), &one);
        got["responses"]["200"] = json!({ "description": "OK", "content": { "*/*": { "schema": { "type": "string", "format": "binary" } } } });
        let path = format!("{base}{namespaces}/{plural}/{{name}}/{part}");
        paths.insert(path, json!({ "get": got, "parameters": name() }));
    }
}

fn operation(kind: ResourceKind, action: &str, what: &str, schema: &str) -> Value {
    let reference = json!({ "schema": { "$ref": format!("#/components/schemas/{schema}") } });
    json!({
        "description": format!("{action} {what} of kind {}", kind.name()),
        "responses": {
            "200": { "description": "OK", "content": { "application/json": reference, "application/yaml": reference } },
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": { "group": kind.group(), "version": kind.version(), "kind": kind.name() },
    })
}

fn path_parameter(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

/// Returns the parameters of lists and watches.
fn list_parameters() -> Vec<Value> {
    let parameters = [
        (
            "allowWatchBookmarks",
            "boolean",
            "Sends bookmarks with the current resource version during a watch.",
        ),
        ("continue", "string", "Token of the previous page."),
        (
            "fieldSelector",
            "string",
            "Selects objects by their fields.",
        ),
        (
            "labelSelector",
            "string",
            "Selects objects by their labels.",
        ),
        ("limit", "integer", "Maximum number of objects of a page."),
        (
            "resourceVersion",
            "string",
            "Minimum resource version of a list; the version at which a watch begins.",
        ),
        (
            "resourceVersionMatch",
            "string",
            "How a list compares the resource version: Exact or NotOlderThan.",
        ),
        ("timeoutSeconds", "integer", "Maximum duration of a watch."),
        (
            "watch",
            "boolean",
            "Sends changes as they happen instead of a list.",
        ),
    ];
    let parameters = parameters.map(|(name, kind, description)| {
        json!({ "name": name, "in": "query", "description": description, "schema": { "type": kind } })
    });
    parameters.into()
}

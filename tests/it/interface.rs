//! The public interface, compared with its snapshots in `api` (`docs/reference/stability.md`).
//! The snapshot of the plugin of kubectl is compared by its own tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, Document, FieldDefinition, InputValueDefinition};
use export::ExportTable;
use graphql::SDL;
use serde_json::Value;
use testing::interface::{check, command_elements};

/// Parts of the reason of a deprecation, which tell when it began and when the element may go.
const SINCE: &str = "Deprecated since ";

#[test]
fn the_elements_of_the_schema_are_those_of_the_snapshot() {
    check("graphql.txt", &schema_elements(SDL));
}

#[test]
fn the_commands_and_flags_of_the_program_are_those_of_the_snapshot() {
    let program = catalogql::args::Args::with_variables();
    check("catalogql.txt", &command_elements(&program));
}

#[test]
fn the_paths_of_a_server_are_those_of_the_snapshot() {
    check("http.txt", &http_elements());
}

#[test]
fn the_metrics_are_those_of_the_snapshot() {
    let reference = read("docs/reference/metrics.md");
    let metrics = table_rows(&reference)
        .filter_map(|row| {
            let name = code(row.first()?)?;
            let kind = row.get(1)?;
            let labels = row.get(2)?.replace('`', "");
            Some(format!("metric {name}: {kind} {{{labels}}}"))
        })
        .collect();
    check("metrics.txt", &metrics);
}

#[test]
fn the_codes_of_problems_are_those_of_the_snapshot() {
    let reference = read("docs/reference/problems.md");
    let problems = table_rows(&reference)
        .filter_map(|row| {
            let problem = code(row.first()?)?;
            let severity = row.get(1)?;
            Some(format!("problem {problem}: {severity}"))
        })
        .collect();
    check("problems.txt", &problems);
}

#[test]
fn the_fields_of_objects_in_kubernetes_and_the_values_of_the_chart_are_those_of_the_snapshot() {
    let mut elements = BTreeSet::new();
    let definition = serde_json::to_value(olm_api::cluster_catalog_crd()).expect("it is JSON");
    let kind = &definition["spec"]["names"]["kind"];
    for version in array(&definition["spec"]["versions"]) {
        let name = format!("{}.{}", text(kind), text(&version["name"]));
        let schema = &version["schema"]["openAPIV3Schema"];
        add_properties("field", &name, schema, &mut elements);
    }

    let schema: Value = serde_json::from_str(&read("deploy/helm/catalogql/values.schema.json"))
        .expect("the schema of the values is JSON");
    add_properties("value", "chart", &schema, &mut elements);
    check("kubernetes.txt", &elements);
}

#[test]
fn the_formats_of_files_are_those_of_the_snapshot() {
    let mut elements = BTreeSet::from([
        format!("format analysis: = {}", store::ANALYSIS_FORMAT),
        format!("format index: = {}", store::INDEX_FORMAT),
        format!("format record: = {}", store::RECORD_FORMAT),
        format!("format tables: = {}", export::TABLES_VERSION),
    ]);
    for &table in ExportTable::ALL {
        elements.insert(format!("table {}", table.name()));
        for column in table.columns() {
            let null = if column.is_optional { " or null" } else { "" };
            elements.insert(format!(
                "column {}.{}: {}{null}",
                table.name(),
                column.name,
                column.column_type
            ));
        }
    }
    check("files.txt", &elements);
}

#[test]
fn each_deprecation_in_the_schema_tells_since_when() {
    assert_eq!(undated_deprecations(SDL), Vec::<String>::new());

    let sdl = r#"
        type Query {
            dated: Int @deprecated(reason: "Deprecated since 0.2.0 (2027-01-31): use `newer`.")
            undated: Int @deprecated(reason: "Use `newer`.")
            newer: Int
        }
    "#;
    assert_eq!(undated_deprecations(sdl), ["Query.undated"]);
}

#[test]
fn elements_of_a_schema_have_their_types_defaults_and_deprecations() {
    let sdl = r#"
        "A query." type Query implements Node { list(first: Int = 5, of: Kind!): [Kind!] @deprecated }
        interface Node { id: ID! }
        enum Kind { ONE TWO @deprecated }
        union Any = Query
        input Filter { kind: Kind }
        scalar Time
    "#;
    let expected = [
        "field Node.id: ID!",
        "field Query.list: [Kind!] (deprecated)",
        "input Filter.kind: Kind",
        "input Query.list(first): Int = 5",
        "input Query.list(of): Kind!",
        "interface Query.Node",
        "member Any.Query",
        "type Any: union",
        "type Filter: input",
        "type Kind: enum",
        "type Node: interface",
        "type Query: object",
        "type Time: scalar",
        "value Kind.ONE",
        "value Kind.TWO: (deprecated)",
    ];
    assert_eq!(
        schema_elements(sdl),
        expected.map(str::to_owned).into_iter().collect()
    );
}

fn parse(sdl: &str) -> Document {
    Document::parse(sdl, "schema.graphql").expect("the schema is valid")
}

fn schema_elements(sdl: &str) -> BTreeSet<String> {
    let mut elements = BTreeSet::new();
    for definition in &parse(sdl).definitions {
        let Some(name) = definition.name() else {
            continue;
        };
        let kind = match definition {
            Definition::ObjectTypeDefinition(object) => {
                add_fields(name, &object.fields, &mut elements);
                for interface in &object.implements_interfaces {
                    elements.insert(format!("interface {name}.{interface}"));
                }
                "object"
            }
            Definition::InterfaceTypeDefinition(interface) => {
                add_fields(name, &interface.fields, &mut elements);
                "interface"
            }
            Definition::UnionTypeDefinition(union) => {
                for member in &union.members {
                    elements.insert(format!("member {name}.{member}"));
                }
                "union"
            }
            Definition::EnumTypeDefinition(enumeration) => {
                for value in &enumeration.values {
                    let is_deprecated = value.directives.has("deprecated");
                    let mark = if is_deprecated { ": (deprecated)" } else { "" };
                    elements.insert(format!("value {name}.{}{mark}", value.value));
                }
                "enum"
            }
            Definition::InputObjectTypeDefinition(input) => {
                for field in &input.fields {
                    let name = format!("{name}.{}", field.name);
                    elements.insert(input_element(&name, field));
                }
                "input"
            }
            Definition::ScalarTypeDefinition(_) => "scalar",
            _ => continue,
        };
        elements.insert(format!("type {name}: {kind}"));
    }
    elements
}

fn add_fields(of: &str, fields: &[Node<FieldDefinition>], elements: &mut BTreeSet<String>) {
    for field in fields {
        let name = format!("{of}.{}", field.name);
        let is_deprecated = field.directives.has("deprecated");
        let mark = if is_deprecated { " (deprecated)" } else { "" };
        elements.insert(format!("field {name}: {}{mark}", field.ty));
        for argument in &field.arguments {
            let name = format!("{name}({})", argument.name);
            elements.insert(input_element(&name, argument));
        }
    }
}

fn input_element(name: &str, input: &InputValueDefinition) -> String {
    let mut element = format!("input {name}: {}", input.ty);
    if let Some(value) = &input.default_value {
        element.push_str(" = ");
        element.push_str(&value.serialize().no_indent().to_string());
    }
    if input.directives.has("deprecated") {
        element.push_str(" (deprecated)");
    }
    element
}

/// Returns the fields and values that are deprecated without a version and a date.
fn undated_deprecations(sdl: &str) -> Vec<String> {
    let document = parse(sdl);
    let mut undated = Vec::new();
    for definition in &document.definitions {
        let members: Vec<_> = match definition {
            Definition::ObjectTypeDefinition(object) => object
                .fields
                .iter()
                .map(|field| (&field.name, &field.directives))
                .collect(),
            Definition::EnumTypeDefinition(enumeration) => enumeration
                .values
                .iter()
                .map(|value| (&value.value, &value.directives))
                .collect(),
            Definition::InputObjectTypeDefinition(input) => input
                .fields
                .iter()
                .map(|field| (&field.name, &field.directives))
                .collect(),
            _ => continue,
        };
        for (member, directives) in members {
            let Some(directive) = directives.get("deprecated") else {
                continue;
            };
            let reason = directive
                .specified_argument_by_name("reason")
                .and_then(|reason| reason.as_str())
                .unwrap_or_default();
            let name = definition.name().expect("types have names");
            if !is_dated(reason) {
                undated.push(format!("{name}.{member}"));
            }
        }
    }
    undated
}

/// Returns whether a reason begins as `Deprecated since 0.2.0 (2027-01-31)` does.
fn is_dated(reason: &str) -> bool {
    let Some(rest) = reason.strip_prefix(SINCE) else {
        return false;
    };
    let Some((version, rest)) = rest.split_once(" (") else {
        return false;
    };
    let Some((date, _)) = rest.split_once(')') else {
        return false;
    };
    version.split('.').count() == 3 && date.parse::<jiff::civil::Date>().is_ok()
}

fn http_elements() -> BTreeSet<String> {
    let mut elements = BTreeSet::new();
    let description: Value =
        serde_json::from_str(catalogd_http::OPENAPI).expect("the description is JSON");
    for (path, operations) in object(&description["paths"]) {
        for (method, operation) in object(operations) {
            if method == "parameters" {
                continue;
            }
            let method = method.to_uppercase();
            elements.insert(format!("operation {path} {method}"));
            let none = Value::Array(Vec::new());
            for parameter in array(operation.get("parameters").unwrap_or(&none)) {
                if parameter["in"] == "query" {
                    let name = text(&parameter["name"]);
                    elements.insert(format!("parameter {path} {method} {name}"));
                }
            }
        }
    }

    let reference = read("docs/reference/http.md");
    for row in table_rows(&reference) {
        let paths = row.first().map_or("", |cell| cell).split(", ");
        for path in paths.filter_map(code).filter(|path| path.starts_with('/')) {
            elements.insert(format!("path {path}"));
        }
    }
    elements
}

/// Adds the properties of a JSON schema and of those within it.
fn add_properties(kind: &str, of: &str, schema: &Value, elements: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (property, schema) in properties {
            let name = format!("{of}.{property}");
            let shape = schema["type"].as_str().unwrap_or("any");
            elements.insert(format!("{kind} {name}: {shape}"));
            for value in schema["enum"].as_array().into_iter().flatten() {
                elements.insert(format!("{kind} {name} {value}"));
            }
            add_properties(kind, &name, schema, elements);
        }
    }
    if schema["items"].is_object() {
        add_properties(kind, of, &schema["items"], elements);
    }
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(path).expect("the file is in the repository")
}

/// Returns the cells of the rows of all tables in a page.
fn table_rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Returns the text between the backticks of a cell.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

fn object(value: &Value) -> &serde_json::Map<String, Value> {
    value.as_object().expect("an object")
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

//! `docs/reference/edits.md` has every operation of an edit, with all its members.

use std::collections::{BTreeMap, BTreeSet};

use catalogql::args::Args;
use clap::CommandFactory;
use edit::input::{BatchReadError, read_batch};
use serde_json::{Map, Value, json};

use super::{read, rows};

/// A name that no operation and no member has.
const UNKNOWN: &str = "?";

/// An object with the given members, in the place of a batch where it belongs.
type Placed<'a> = &'a dyn Fn(Value) -> Value;

#[test]
fn every_operation_and_member_of_an_edit_is_in_the_reference() {
    let page = read("docs/reference/edits.md");
    let operations = expected(&json!({ "op": UNKNOWN }));
    // Another spelling of an operation has no row.
    let operations: Vec<_> = operations
        .iter()
        .filter(|name| *name != "deprecatetruncate")
        .collect();
    assert_eq!(operations.len(), 15, "{operations:?}");
    let mut members = Vec::new();
    for name in &operations {
        let place = |mut object: Value| {
            object["op"] = json!(name);
            object
        };
        let of_operation = members_of(&place);
        members.extend(row_of_each(&format!("`{name}`"), of_operation));
    }
    members.sort();
    assert_eq!(table(&page, "Members"), members);

    let objects: [(&str, Placed<'_>); 5] = [
        (
            "bundle",
            &|object| json!({ "op": "add", "bundles": [object] }),
        ),
        (
            "deprecation message",
            &|object| json!({ "op": "deprecate", "package": "a", "entries": [object] }),
        ),
        (
            "entry",
            &|object| json!({ "op": "set-entry", "package": "a", "channel": "b", "entries": [object] }),
        ),
        (
            "icon",
            &|object| json!({ "op": "set-package", "package": "a", "icon": object }),
        ),
        (
            "reference",
            &|object| json!({ "op": "undeprecate", "package": "a", "references": [object] }),
        ),
    ];
    let mut members: Vec<_> = objects
        .iter()
        .flat_map(|(name, place)| row_of_each(name, members_of(*place)))
        .collect();
    members.sort();
    assert_eq!(table(&page, "Objects"), members);
}

#[test]
fn the_reference_of_edits_shows_every_operation_and_names_its_command() {
    let page = read("docs/reference/edits.md");
    let all: BTreeSet<_> = expected(&json!({ "op": UNKNOWN }))
        .into_iter()
        .filter(|name| name != "deprecatetruncate")
        .collect();
    let (_, example) = page.split_once("```json\n").expect("it has an example");
    let (example, _) = example.split_once("```").expect("the example ends");
    read_batch(example.as_bytes()).expect("the example is a batch");
    let example: Vec<Value> = serde_json::from_str(example).expect("the example is JSON");
    let shown: BTreeSet<_> = example
        .iter()
        .map(|operation| operation["op"].as_str().expect("it has a name").to_owned())
        .collect();
    assert_eq!(shown, all);

    let section = section(&page, "Operations");
    let documented: BTreeMap<_, _> = rows(section)
        .skip(1)
        .map(|cells| (cells[0].trim_matches('`'), cells[2].trim_matches('`')))
        .collect();
    let commands: BTreeSet<_> = documented
        .values()
        .copied()
        .filter(|command| !command.is_empty())
        .collect();
    let documented: BTreeSet<_> = documented.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(documented, all);
    let mut program = Args::command();
    let edit = program
        .find_subcommand_mut("edit")
        .expect("there is the command");
    let offered: BTreeSet<_> = edit
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    assert_eq!(commands, offered);
}

/// Members of an object, each with whether it is required.
fn members_of(place: Placed<'_>) -> BTreeMap<String, bool> {
    let mut members: BTreeMap<_, _> = expected(&place(json!({ UNKNOWN: null })))
        .into_iter()
        .map(|name| (name, false))
        .collect();
    let mut given = Map::new();
    while let Err(message) = parse(&place(Value::Object(given.clone()))) {
        let missing = quoted(&message);
        let [name] = &missing[..] else {
            panic!("{message}")
        };
        assert!(message.starts_with("missing field "), "{message}");
        // The value of a type that it takes.
        let values = [json!("a"), json!([]), json!({ "schema": "a" })];
        let value = values.into_iter().find(|value| {
            given.insert(name.clone(), value.clone());
            parse(&place(Value::Object(given.clone())))
                .err()
                .is_none_or(|message| message.starts_with("missing field "))
        });
        assert!(value.is_some(), "no value for {name}");
        members.insert(name.clone(), true);
    }
    members
}

/// The names that the program expects in place of an unknown one.
fn expected(operation: &Value) -> Vec<String> {
    let message = parse(operation).expect_err("it has an unknown name");
    assert!(
        message.starts_with("unknown field `?`") || message.starts_with("unknown variant `?`"),
        "{message}"
    );
    quoted(&message)[1..].to_vec()
}

fn parse(operation: &Value) -> Result<(), String> {
    match read_batch(json!([operation]).to_string().as_bytes()) {
        Ok(_) => Ok(()),
        Err(BatchReadError::Operation { message, .. }) => Err(message),
        Err(error) => Err(error.to_string()),
    }
}

/// The names between backticks in a message.
fn quoted(message: &str) -> Vec<String> {
    message
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

fn row_of_each(name: &str, members: BTreeMap<String, bool>) -> Vec<[String; 3]> {
    members
        .into_iter()
        .map(|(member, required)| {
            let required = if required { "yes" } else { "" };
            [name.to_owned(), format!("`{member}`"), required.to_owned()]
        })
        .collect()
}

/// The first three cells of the rows of a table, sorted.
fn table(page: &str, title: &str) -> Vec<[String; 3]> {
    let mut documented: Vec<_> = rows(section(page, title))
        .skip(1)
        .map(|cells| {
            assert!(!cells[3].is_empty(), "{cells:?}");
            [cells[0], cells[1], cells[2]].map(str::to_owned)
        })
        .collect();
    documented.sort();
    documented
}

fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let (_, section) = page
        .split_once(&format!("## {title}\n"))
        .expect("it has the section");
    section.split("\n## ").next().unwrap_or(section)
}

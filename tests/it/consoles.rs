//! The page that says which field has what consoles show: its fields are those of the schema, and
//! its counts are those of the real catalog `community`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use graphql::Engine;
use serde_json::{Value, json};

use crate::corpus::{of_whole_or_part, serve_community};
use crate::served;

const PAGE: &str = "docs/reference/consoles.md";

/// What stands in place of a count that is not that of a field.
const UNCOUNTED: &str = "–";

#[test]
fn the_counts_of_what_consoles_show_are_those_of_community() {
    let community = serve_community();
    let is_whole = of_whole_or_part(&community.content.catalog, true, false);
    let engine = served::engine([community]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = fs::read_to_string(&path).expect("the page is there");
    let mut counted = String::new();
    let mut fields = BTreeSet::new();
    let mut of_part = 0;
    for line in text.lines() {
        match row(line) {
            Some((shown, field, told)) => {
                let mut count = count(&engine, field);
                if !is_whole {
                    // The page counts the whole catalog.
                    assert!(count <= told, "{field}: {count}");
                    of_part += usize::from(count > 0);
                    count = told;
                }
                writeln!(counted, "| {shown} | `{field}` | {count} |")
                    .expect("a string takes all text");
                fields.insert(field);
            }
            None => writeln!(counted, "{line}").expect("a string takes all text"),
        }
    }
    assert!(fields.len() > 45, "{} fields", fields.len());
    assert!(is_whole || of_part > 30, "{of_part} fields of the part");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &counted).expect("the page is written");
    }
    assert_eq!(
        text, counted,
        "run UPDATE_EXPECT=1 cargo test --test it consoles"
    );
}

/// What is shown, the field that has it, and the count of a row with one.
fn row(line: &str) -> Option<(&str, &str, usize)> {
    let cells: Vec<_> = line
        .strip_prefix("| ")?
        .strip_suffix(" |")?
        .split(" | ")
        .collect();
    let [shown, field, count] = cells[..] else {
        return None;
    };
    let field = field.strip_prefix('`')?.strip_suffix('`')?;
    if count == UNCOUNTED {
        return None;
    }
    // A row that is new has none yet.
    Some((shown, field, count.parse().unwrap_or_default()))
}

/// Number of packages for which a path of fields leads to something: not `null`, `false` or an
/// empty list.
fn count(engine: &Engine, path: &str) -> usize {
    let parts: Vec<&str> = path.split('.').collect();
    let mut selection = parts.join(" { ");
    parts.iter().skip(1).for_each(|_| selection.push_str(" }"));
    let query = format!(
        "query($after: String) {{
            packages(first: 50, after: $after) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {selection} }} }}
        }}"
    );
    let mut found = 0;
    let mut after = Value::Null;
    loop {
        let data = served::data(engine, &query, &json!({ "after": after }));
        let nodes = data["packages"]["nodes"].as_array().expect("a list");
        found += nodes
            .iter()
            .filter(|node| leads_to_something(node, &parts))
            .count();
        let info = &data["packages"]["pageInfo"];
        if info["hasNextPage"] == false {
            return found;
        }
        after = info["endCursor"].clone();
    }
}

fn leads_to_something(value: &Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Array(items), _) => items.iter().any(|item| leads_to_something(item, path)),
        (value, [first, rest @ ..]) => leads_to_something(&value[*first], rest),
        (value, []) => !value.is_null() && *value != false,
    }
}

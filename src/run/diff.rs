//! What `catalogql diff` prints of the packages that differ: a table, or Markdown for a pull
//! request.

use std::fmt::Write as _;

use serde_json::Value;

use super::output;
use super::queries::text;

/// Returns a line for each package, channel and bundle.
pub(super) fn table(packages: &[Value]) -> String {
    let rows = packages.iter().flat_map(|package| {
        let row = |kind: &str, item: &Value| {
            [
                text(item, "/change").to_lowercase(),
                kind.to_owned(),
                text(item, "/name"),
                text(package, "/name"),
                heads(item),
            ]
        };
        let parts = [("channel", "channels"), ("bundle", "bundles")];
        let parts = parts.into_iter().flat_map(move |(kind, list)| {
            package[list]
                .as_array()
                .into_iter()
                .flatten()
                .map(move |item| row(kind, item))
        });
        std::iter::once(row("package", package)).chain(parts)
    });
    output::table(["CHANGE", "KIND", "NAME", "PACKAGE", "HEADS"], rows)
}

/// Returns a section for each package, with a table of its channels and bundles.
pub(super) fn markdown(packages: &[Value]) -> String {
    if packages.is_empty() {
        return "The catalogs do not differ.\n".to_owned();
    }
    let count = |change: &str| {
        packages
            .iter()
            .filter(|package| package["change"] == change)
            .count()
    };
    let counts = [
        ("ADDED", "added"),
        ("REMOVED", "removed"),
        ("CHANGED", "changed"),
    ];
    let counts = counts.map(|(change, word)| format!("{} {word}", count(change)));
    let mut out = format!("Packages: {}.\n", counts.join(", "));
    for package in packages {
        let _ = write!(
            out,
            "\n### `{}` {}\n",
            text(package, "/name"),
            text(package, "/change").to_lowercase()
        );
        let fields = fields(package);
        let default = ["/fromDefaultChannel", "/toDefaultChannel"].map(|at| text(package, at));
        if !fields.is_empty() {
            let _ = write!(out, "\nChanged: {fields}.\n");
        }
        if package["change"] == "CHANGED" && default[0] != default[1] {
            let _ = write!(out, "\nDefault channel: {}.\n", arrow(&default));
        }
        let rows: String = ["channel", "bundle"]
            .iter()
            .map(|kind| rows(package, kind))
            .collect();
        if !rows.is_empty() {
            let _ = write!(out, "\n| | | what |\n|---|---|---|\n{rows}");
        }
    }
    out
}

fn rows(package: &Value, kind: &str) -> String {
    let mut rows = String::new();
    for item in package[format!("{kind}s")].as_array().into_iter().flatten() {
        let mut what = vec![text(item, "/change").to_lowercase()];
        let fields = fields(item);
        if !fields.is_empty() {
            what.push(fields);
        }
        let heads = ["/fromHead", "/toHead"].map(|at| text(item, at));
        if heads[0] != heads[1] {
            what.push(format!("head {}", arrow(&heads)));
        }
        let lists = [
            ("entriesAdded", "adds"),
            ("entriesRemoved", "removes"),
            ("entriesChanged", "changes"),
        ];
        for (list, verb) in lists {
            let names: Vec<_> = item[list]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(code)
                .collect();
            if !names.is_empty() {
                what.push(format!("{verb} {}", names.join(", ")));
            }
        }
        let _ = writeln!(
            rows,
            "| {kind} | {} | {} |",
            code(&text(item, "/name")),
            what.join("; ")
        );
    }
    rows
}

/// The names of the fields that changed, without the default channel, which has a line of its own.
fn fields(item: &Value) -> String {
    let names = item["fields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let names = names
        .filter(|name| *name != "DEFAULT_CHANNEL")
        .map(|name| name.to_lowercase().replace('_', " "));
    names.collect::<Vec<_>>().join(", ")
}

fn heads(item: &Value) -> String {
    let heads = ["/fromHead", "/toHead"].map(|at| text(item, at));
    if heads[0] == heads[1] {
        String::new()
    } else {
        heads.join(" -> ")
    }
}

/// Returns what was and what is, of which one may be nothing.
fn arrow(sides: &[String; 2]) -> String {
    let side = |side: &String| {
        if side.is_empty() {
            "none".to_owned()
        } else {
            code(side)
        }
    };
    format!("{} → {}", side(&sides[0]), side(&sides[1]))
}

/// Returns a name in the font of code. A bar would end the cell of a table.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('`', "'").replace('|', "\\|"))
}

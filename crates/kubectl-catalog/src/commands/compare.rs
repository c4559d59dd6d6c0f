//! `diff` and `compare`: what differs between two contents, and between two bundles.

use std::process::ExitCode;

use printing::text;
use serde_json::{Value, json};

use super::describe::{BUNDLE_ROWS, api};
use crate::args::DiffArgs;
use crate::context::CommandContext;
use crate::documents::{BUNDLE, DIFF};
use crate::error::{CommandError, ExitStatus};
use crate::output::{ObjectList, TableColumn, column, hint, is_structured, name, print_object};

/// What a digest begins with.
const DIGEST: &str = "sha256:";

const CHANGE_COLUMNS: [TableColumn; 6] = [
    column("", |item| sign(&text(item, "/change"))),
    column("KIND", |item| text(item, "/kind")),
    column("PACKAGE", |item| text(item, "/package")),
    column("NAME", |item| text(item, "/name")),
    column("BEFORE", |item| text(item, "/before")),
    column("AFTER", |item| text(item, "/after")),
];

const DIFFERENCE_COLUMNS: [TableColumn; 4] = [
    column("SECTION", |item| text(item, "/section")),
    column("NAME", |item| text(item, "/name")),
    column("BEFORE", |item| text(item, "/before")),
    column("AFTER", |item| text(item, "/after")),
];

fn sign(change: &str) -> String {
    match change {
        "ADDED" => "+",
        "REMOVED" => "-",
        _ => "~",
    }
    .to_owned()
}

/// Shows what differs between two contents.
pub(super) async fn diff(
    context: &CommandContext,
    args: &DiffArgs,
) -> Result<ExitCode, CommandError> {
    let side = |named: &str| {
        if named.starts_with(DIGEST) {
            json!({ "digest": named })
        } else {
            json!({ "name": named })
        }
    };
    let variables =
        json!({ "from": side(&args.from), "to": side(&args.to), "names": args.package });
    let data = context.data(DIFF, &variables).await?;
    let found = &data["diff"];
    if found.is_null() {
        let message = format!(
            "cannot compare {} with {}: one of them is not served or remembered",
            args.from, args.to
        );
        return Err(CommandError::new(ExitStatus::NotFound, message)
            .hint("`kubectl catalog get catalogs -o wide` lists what is served"));
    }
    let items: Vec<_> = found["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(changes)
        .collect();
    let differs = !items.is_empty();
    if is_structured(&context.output) {
        print_object("CatalogDiff", found, &context.output)?;
    } else if differs {
        let shown = |item: &Value| {
            name("", item, &["/kind", "/package", "/name"])
                .trim_start_matches('/')
                .to_owned()
        };
        let listing = ObjectList {
            kind: "Change",
            columns: &CHANGE_COLUMNS,
            name: shown,
            items,
        };
        listing.print(&context.output, context.has_headers)?;
    } else {
        hint("no differences");
    }
    let is_negative = args.exit_code && differs;
    Ok(if is_negative {
        ExitCode::from(ExitStatus::Negative as u8)
    } else {
        ExitCode::SUCCESS
    })
}

/// The changes of a package, of its channels and of its bundles.
fn changes(package: &Value) -> Vec<Value> {
    let change = |kind: &str, item: &Value, before: String, after: String| {
        json!({
            "change": item["change"], "kind": kind, "package": package["name"], "name": item["name"],
            "before": before, "after": after,
        })
    };
    let unless_equal = |item: &Value, before: &str, after: &str| {
        let before = text(item, before);
        let after = text(item, after);
        if before == after {
            (String::new(), String::new())
        } else {
            (before, after)
        }
    };
    let (before, after) = unless_equal(package, "/fromDefaultChannel", "/toDefaultChannel");
    let mut all = vec![change("package", package, before, after)];
    for channel in package["channels"].as_array().into_iter().flatten() {
        let (before, after) = unless_equal(channel, "/fromHead", "/toHead");
        all.push(change("channel", channel, before, after));
    }
    for bundle in package["bundles"].as_array().into_iter().flatten() {
        all.push(change(
            "bundle",
            bundle,
            String::new(),
            text(bundle, "/fields"),
        ));
    }
    all
}

/// Compares two bundles of a package.
pub(super) async fn compare(
    context: &CommandContext,
    package: &str,
    a: &str,
    b: &str,
) -> Result<(), CommandError> {
    let chosen = context.choose(package).await?;
    let names = [
        context.bundle_name(&chosen, a).await?,
        context.bundle_name(&chosen, b).await?,
    ];
    let variables =
        json!({ "catalogs": [chosen.catalog], "packages": [chosen.package], "names": names });
    let data = context.data(BUNDLE, &variables).await?;
    let bundles = data["bundles"]["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let find = |name: &String| {
        bundles
            .iter()
            .find(|bundle| bundle["name"] == **name)
            .cloned()
            .unwrap_or_default()
    };
    let before = find(&names[0]);
    let after = find(&names[1]);
    let items = differences(&before, &after);
    if is_structured(&context.output) {
        let object = json!({ "from": before, "to": after, "differences": items });
        return print_object("BundleComparison", &object, &context.output);
    }
    if items.is_empty() {
        hint("no differences");
        return Ok(());
    }
    let shown = |item: &Value| {
        name("", item, &["/section", "/name"])
            .trim_start_matches('/')
            .to_owned()
    };
    let listing = ObjectList {
        kind: "Difference",
        columns: &DIFFERENCE_COLUMNS,
        name: shown,
        items,
    };
    listing.print(&context.output, context.has_headers)
}

fn differences(before: &Value, after: &Value) -> Vec<Value> {
    let made = |section: &str, name: &str, before: String, after: String| {
        (before != after)
            .then(|| json!({ "section": section, "name": name, "before": before, "after": after }))
    };
    let rows = BUNDLE_ROWS.iter();
    let mut all: Vec<_> = rows
        .filter_map(|(label, at)| {
            let section = if at.starts_with("/metadata") {
                "metadata"
            } else {
                "bundle"
            };
            made(section, label, text(before, at), text(after, at))
        })
        .collect();
    let requirement = |item: &Value| (text(item, "/text"), "required".to_owned());
    let image = |item: &Value| (text(item, "/name"), text(item, "/image"));
    all.extend(list_differences(
        "provides",
        &before["providedApis"],
        &after["providedApis"],
        |item| (api(item), "yes".to_owned()),
    ));
    all.extend(list_differences(
        "requires",
        &before["requirements"],
        &after["requirements"],
        requirement,
    ));
    all.extend(list_differences(
        "images",
        &before["relatedImages"],
        &after["relatedImages"],
        image,
    ));
    all
}

/// What one list has and the other has not, or with another value.
fn list_differences(
    section: &str,
    before: &Value,
    after: &Value,
    entry: impl Fn(&Value) -> (String, String),
) -> Vec<Value> {
    let entries = |list: &Value| {
        let items = list.as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(&entry)
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = entries(before);
    let after = entries(after);
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name));
    differing
        .map(|name| json!({ "section": section, "name": name, "before": before.get(name), "after": after.get(name) }))
        .collect()
}

//! `compare`: differences between two bundles of a package.

use commands::CommandError;
use commands::args::SupportArgs;
use commands::describe::{BUNDLE_ROWS, api};
use commands::documents::BUNDLE;
use commands::output::{ObjectList, TableColumn, column, hint, is_structured, name, print_object};
use printing::text;
use serde_json::{Value, json};

use crate::context::{ServerSession, bundle_name};

const DIFFERENCE_COLUMNS: [TableColumn; 4] = [
    column("SECTION", |item| text(item, "/section")),
    column("NAME", |item| text(item, "/name")),
    column("BEFORE", |item| text(item, "/before")),
    column("AFTER", |item| text(item, "/after")),
];

/// Compares two bundles of a package.
pub(super) async fn compare(
    session: &ServerSession,
    package: &str,
    a: &str,
    b: &str,
) -> Result<(), CommandError> {
    let chosen = session.choose(package).await?;
    let names = [
        bundle_name(session, &chosen, a).await?,
        bundle_name(session, &chosen, b).await?,
    ];
    let mut variables =
        json!({ "catalogs": [chosen.catalog], "packages": [chosen.package], "names": names });
    SupportArgs::default().add_to(&mut variables);
    let data = session.data(BUNDLE, &variables).await?;
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
    if is_structured(&session.output) {
        let object = json!({ "from": before, "to": after, "differences": items });
        return print_object("BundleComparison", &object, &session.output);
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
        columns: DIFFERENCE_COLUMNS.into(),
        name: shown,
        items,
    };
    listing.print(&session.output, session.has_headers)
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

/// Returns the entries that only one list has, or that have different values.
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

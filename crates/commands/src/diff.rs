//! `diff`: differences between two contents, as a table, as Markdown for a pull request, or as the
//! object of the API.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::DiffArgs;
use crate::documents::DIFF;
use crate::output::print_object;
use crate::output::{ObjectList, OutputFormat, TableColumn, column, hint, is_structured, print};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Prefix of a digest.
const DIGEST: &str = "sha256:";

const CHANGE_COLUMNS: [TableColumn<ChangeRow>; 6] = [
    column("", |row: &ChangeRow| sign(&row.change)),
    column("KIND", |row: &ChangeRow| row.kind.to_owned()),
    column("PACKAGE", |row: &ChangeRow| row.package.clone()),
    column("NAME", |row: &ChangeRow| row.name.clone()),
    column("BEFORE", |row: &ChangeRow| row.before.clone()),
    column("AFTER", |row: &ChangeRow| row.after.clone()),
];

/// The two contents that are compared, each by the name of its catalog or by its digest.
#[derive(Clone, Copy, Debug)]
pub struct DiffSides<'a> {
    /// The older content.
    pub from: &'a str,
    /// The newer content.
    pub to: &'a str,
}

/// Differences in one package.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PackageChange {
    name: String,
    change: String,
    fields: Vec<String>,
    from_default_channel: Option<String>,
    to_default_channel: Option<String>,
    channels: Vec<ChannelChange>,
    bundles: Vec<BundleChange>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ChannelChange {
    name: String,
    change: String,
    from_head: Option<String>,
    to_head: Option<String>,
    entries_added: Vec<String>,
    entries_removed: Vec<String>,
    entries_changed: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BundleChange {
    name: String,
    change: String,
    fields: Vec<String>,
}

/// Row of the table: a package, a channel or a bundle.
#[derive(Debug, Serialize)]
struct ChangeRow {
    change: String,
    kind: &'static str,
    package: String,
    name: String,
    before: String,
    after: String,
}

/// Prints the differences between two contents.
pub async fn diff<T: GraphqlTransport>(
    session: &CommandSession<T>,
    sides: DiffSides<'_>,
    args: &DiffArgs,
) -> Result<ExitStatus, CommandError> {
    let side = |named: &str| {
        if named.starts_with(DIGEST) {
            json!({ "digest": named })
        } else {
            json!({ "name": named })
        }
    };
    let variables =
        json!({ "from": side(sides.from), "to": side(sides.to), "names": args.package });
    let data = session.data(DIFF, &variables).await?;
    let found = &data["diff"];
    if found.is_null() {
        let names = [sides.from, sides.to].into_iter().map(str::to_owned);
        let names: Vec<_> = names.filter(|name| !name.starts_with(DIGEST)).collect();
        session.check_catalogs(&names).await?;
        let message = format!(
            "cannot compare {} with {}: one of them is not served or remembered",
            sides.from, sides.to
        );
        let hint = format!("`{}` lists what is served", session.help.list_catalogs);
        return Err(CommandError::new(ExitStatus::NotFound, message).hint(hint));
    }

    let packages = Vec::<PackageChange>::deserialize(&found["packages"]).unwrap_or_default();
    let unchanged = args
        .package
        .iter()
        .filter(|name| packages.iter().all(|package| package.name != **name));
    check_exist(session, sides, unchanged.collect()).await?;
    if is_structured(&session.output) {
        print_object("CatalogDiff", found, &session.output)?;
    } else if session.output == OutputFormat::Markdown {
        print(&markdown(&packages))?;
    } else if packages.is_empty() {
        // With the flag, the exit status says so.
        if !args.exit_code {
            hint("no differences");
        }
    } else {
        let list = ObjectList {
            kind: "Change",
            columns: CHANGE_COLUMNS.into(),
            name: |row: &ChangeRow| format!("{}/{}/{}", row.kind, row.package, row.name),
            items: packages.iter().flat_map(rows).collect(),
        };
        list.print(&session.output, session.has_headers)?;
    }
    Ok(ExitStatus::negative_if(
        args.exit_code && !packages.is_empty(),
    ))
}

/// Fails if one of the packages without differences is in neither content. Contents that only have
/// a digest cannot be searched.
async fn check_exist<T: GraphqlTransport>(
    session: &CommandSession<T>,
    sides: DiffSides<'_>,
    packages: Vec<&String>,
) -> Result<(), CommandError> {
    let side = [sides.to, sides.from];
    let side = side.into_iter().find(|side| !side.starts_with(DIGEST));
    let (Some(catalog), false) = (side, packages.is_empty()) else {
        return Ok(());
    };
    // One side is enough: a package that only the other has would be a difference.
    let catalogs = [catalog.to_owned()];
    match session.unknown_package(&catalogs, packages).await? {
        Some(name) => Err(session.no_package(&format!("{catalog}/{name}")).await),
        None => Ok(()),
    }
}

fn sign(change: &str) -> String {
    match change {
        "ADDED" => "+",
        "REMOVED" => "-",
        _ => "~",
    }
    .to_owned()
}

/// Returns the rows of a package, of its channels and of its bundles.
fn rows(package: &PackageChange) -> Vec<ChangeRow> {
    let row = |kind, name: &str, change: &str| ChangeRow {
        change: change.to_owned(),
        kind,
        package: package.name.clone(),
        name: name.to_owned(),
        before: String::new(),
        after: String::new(),
    };
    // Values that did not change are left out.
    let with_values = |row: ChangeRow, before: &Option<String>, after: &Option<String>| {
        if before == after {
            return row;
        }
        ChangeRow {
            before: before.clone().unwrap_or_default(),
            after: after.clone().unwrap_or_default(),
            ..row
        }
    };

    let mut rows = vec![with_values(
        row("package", &package.name, &package.change),
        &package.from_default_channel,
        &package.to_default_channel,
    )];
    rows.extend(package.channels.iter().map(|channel| {
        with_values(
            row("channel", &channel.name, &channel.change),
            &channel.from_head,
            &channel.to_head,
        )
    }));
    rows.extend(package.bundles.iter().map(|bundle| ChangeRow {
        after: bundle.fields.join(", "),
        ..row("bundle", &bundle.name, &bundle.change)
    }));
    rows
}

/// Returns a section for each package, with a table of its channels and bundles.
fn markdown(packages: &[PackageChange]) -> String {
    if packages.is_empty() {
        return "The catalogs do not differ.\n".to_owned();
    }
    let counts = [
        ("ADDED", "added"),
        ("REMOVED", "removed"),
        ("CHANGED", "changed"),
    ]
    .map(|(change, word)| {
        let changed = packages.iter().filter(|package| package.change == change);
        format!("{} {word}", changed.count())
    });
    let mut out = format!("Packages: {}.\n", counts.join(", "));
    for package in packages {
        let change = package.change.to_lowercase();
        let _infallible = write!(out, "\n### `{}` {change}\n", package.name);
        let fields = fields(&package.fields);
        if !fields.is_empty() {
            let _infallible = write!(out, "\nChanged: {fields}.\n");
        }
        let before = package.from_default_channel.as_deref();
        let after = package.to_default_channel.as_deref();
        if package.change == "CHANGED" && before != after {
            let _infallible = write!(out, "\nDefault channel: {}.\n", arrow(before, after));
        }
        let rows = markdown_rows(package);
        if !rows.is_empty() {
            let _infallible = write!(out, "\n| | | what |\n|---|---|---|\n{rows}");
        }
    }
    out
}

fn markdown_rows(package: &PackageChange) -> String {
    let mut rows = String::new();
    for channel in &package.channels {
        let mut changes = vec![channel.change.to_lowercase()];
        let before = channel.from_head.as_deref();
        let after = channel.to_head.as_deref();
        if before != after {
            changes.push(format!("head {}", arrow(before, after)));
        }
        let lists = [
            (&channel.entries_added, "adds"),
            (&channel.entries_removed, "removes"),
            (&channel.entries_changed, "changes"),
        ];
        for (names, verb) in lists.iter().filter(|(names, _)| !names.is_empty()) {
            let names: Vec<_> = names.iter().map(|name| code(name)).collect();
            changes.push(format!("{verb} {}", names.join(", ")));
        }
        let name = code(&channel.name);
        let _infallible = writeln!(rows, "| channel | {name} | {} |", changes.join("; "));
    }
    for bundle in &package.bundles {
        let change = bundle.change.to_lowercase();
        let fields = fields(&bundle.fields);
        let separator = if fields.is_empty() { "" } else { "; " };
        let name = code(&bundle.name);
        let _infallible = writeln!(rows, "| bundle | {name} | {change}{separator}{fields} |");
    }
    rows
}

/// Returns the names of changed fields, without the default channel, which has a line of its own.
fn fields(names: &[String]) -> String {
    let names = names.iter().filter(|name| *name != "DEFAULT_CHANNEL");
    let names = names.map(|name| name.to_lowercase().replace('_', " "));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the former and the new value, either of which may be absent.
fn arrow(before: Option<&str>, after: Option<&str>) -> String {
    let side = |side: Option<&str>| side.map_or_else(|| "none".to_owned(), code);
    format!("{} → {}", side(before), side(after))
}

/// Returns a name in the font of code.
fn code(name: &str) -> String {
    // A bar would end the cell of a table.
    format!("`{}`", name.replace('`', "'").replace('|', "\\|"))
}

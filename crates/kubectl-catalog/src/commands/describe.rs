//! `describe`: all that catalogs say of one package or bundle, as `kubectl describe` prints it.

use console::style;
use printing::text;
use serde_json::{Value, json};

use crate::context::CommandContext;
use crate::documents::{BUNDLE, PACKAGE};
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, is_structured, print};

/// Width of the labels with the space behind them, in letters.
const LABELS: usize = 20;

/// Rows of a description: a label and the JSON pointer of its value.
const PACKAGE_ROWS: [(&str, &str); 14] = [
    ("Display name", "/displayName"),
    ("Summary", "/summary"),
    ("Default channel", "/defaultChannel/name"),
    ("Head", "/latest/name"),
    ("Version", "/latest/version"),
    ("Provider", "/metadata/provider/name"),
    ("Capability level", "/metadata/capabilityLevel"),
    ("Categories", "/metadata/categories"),
    ("Keywords", "/metadata/keywords"),
    ("Min. Kubernetes", "/metadata/minKubeVersion"),
    ("Install modes", "/metadata/installModes"),
    ("Architectures", "/metadata/architectures"),
    ("Repository", "/metadata/repository"),
    ("Image", "/latest/image"),
];

pub(super) const BUNDLE_ROWS: [(&str, &str); 13] = [
    ("Version", "/version"),
    ("Release", "/release"),
    ("Channels", "/channelNames"),
    ("Created", "/metadata/createdAt"),
    ("Provider", "/metadata/provider/name"),
    ("Capability level", "/metadata/capabilityLevel"),
    ("Min. Kubernetes", "/metadata/minKubeVersion"),
    ("Max. Kubernetes", "/metadata/maxKubeVersion"),
    ("Max. OpenShift", "/maxOpenShiftVersion"),
    ("Install modes", "/metadata/installModes"),
    ("Architectures", "/metadata/architectures"),
    ("Repository", "/metadata/repository"),
    ("Image", "/image"),
];

/// Describes a package of each catalog that has it.
pub(super) async fn package(context: &CommandContext, named: &str) -> Result<(), CommandError> {
    let (catalogs, name) = context.split(named);
    let data = context
        .data(PACKAGE, &json!({ "catalogs": catalogs, "names": [name] }))
        .await?;
    let items = data["packages"]["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if items.is_empty() {
        return Err(context.no_package(named).await);
    }
    describe(context, "Package", &items, |package| {
        let mut out =
            row("Name", &text(package, "/name")) + &row("Catalog", &text(package, "/catalog/name"));
        out += &deprecation(package);
        out += &rows(package, &PACKAGE_ROWS);
        out += &list("Maintainers", &package["metadata"]["maintainers"], |item| {
            pair(&text(item, "/name"), &text(item, "/email"))
        });
        out += &list("Links", &package["metadata"]["links"], |item| {
            pair(&text(item, "/name"), &text(item, "/url"))
        });
        out + &list("Channels", &package["channels"], channel)
    })
}

/// Describes a bundle of each catalog that has it.
pub(super) async fn bundle(
    context: &CommandContext,
    name: &str,
    package: Option<&str>,
) -> Result<(), CommandError> {
    let (catalogs, packages) = match package {
        Some(package) => {
            let (catalogs, package) = context.split(package);
            (catalogs, vec![package])
        }
        None => (context.catalogs.clone(), vec![]),
    };
    let variables = json!({ "catalogs": catalogs, "packages": packages, "names": [name] });
    let data = context.data(BUNDLE, &variables).await?;
    let items = data["bundles"]["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if items.is_empty() {
        context.check_catalogs(&catalogs).await?;
        let failure = CommandError::new(ExitStatus::NotFound, format!("bundle `{name}` not found"));
        return Err(
            failure.hint("`kubectl catalog versions PACKAGE` lists the bundles of a package")
        );
    }
    describe(context, "Bundle", &items, |bundle| {
        let mut out = row("Name", &text(bundle, "/name"));
        out += &row("Package", &text(bundle, "/package/name"));
        out += &row("Catalog", &text(bundle, "/catalog/name"));
        out += &deprecation(bundle);
        out += &rows(bundle, &BUNDLE_ROWS);
        out += &list("Provides", &bundle["providedApis"], api);
        out += &list("Requires", &bundle["requirements"], |item| {
            text(item, "/text")
        });
        out + &list("Related images", &bundle["relatedImages"], |image| {
            pair(&text(image, "/name"), &text(image, "/image"))
        })
    })
}

/// Prints descriptions, with an empty line between two; or the objects as data.
fn describe(
    context: &CommandContext,
    kind: &str,
    items: &[Value],
    text: impl Fn(&Value) -> String,
) -> Result<(), CommandError> {
    if is_structured(&context.output) {
        let list = json!({ "items": items });
        return crate::output::print_object(&format!("{kind}List"), &list, &context.output);
    }
    if !matches!(context.output, OutputFormat::Table | OutputFormat::Wide) {
        return Err(CommandError::new(
            ExitStatus::Usage,
            "`describe` prints text, json, yaml or jsonpath=TEMPLATE",
        ));
    }
    print(&items.iter().map(text).collect::<Vec<_>>().join("\n"))
}

/// An API as text: `group/version, Kind`.
pub(super) fn api(item: &Value) -> String {
    format!(
        "{}/{}, {}",
        text(item, "/group"),
        text(item, "/version"),
        text(item, "/kind")
    )
}

fn channel(channel: &Value) -> String {
    let head = [
        text(channel, "/name"),
        text(channel, "/head/bundle/version"),
    ]
    .join(" ");
    let marks = [
        ("default", channel["isDefault"] == true),
        ("deprecated", !channel["deprecation"].is_null()),
    ];
    let marks: Vec<_> = marks
        .iter()
        .filter(|(_, holds)| *holds)
        .map(|(mark, _)| *mark)
        .collect();
    if marks.is_empty() {
        head
    } else {
        format!("{head} ({})", marks.join(", "))
    }
}

fn deprecation(item: &Value) -> String {
    let message = text(item, "/deprecation/message");
    if message.is_empty() {
        return message;
    }
    // The label is padded before its colour, whose escape sequences count as letters.
    row("Deprecated", &message).replacen("Deprecated", &style("Deprecated").yellow().to_string(), 1)
}

/// The rows that have a value.
fn rows(item: &Value, rows: &[(&str, &str)]) -> String {
    let rows = rows
        .iter()
        .map(|(label, pointer)| (label, text(item, pointer)))
        .filter(|(_, value)| !value.is_empty());
    rows.map(|(label, value)| row(label, &value)).collect()
}

fn row(label: &str, value: &str) -> String {
    let space = " ".repeat(LABELS.saturating_sub(label.len() + 1).max(1));
    // Further lines of a text are below its first.
    format!(
        "{label}:{space}{}\n",
        value
            .trim_end()
            .replace('\n', &format!("\n{}", " ".repeat(LABELS)))
    )
}

/// A list with an item a line.
fn list(label: &str, items: &Value, show: impl Fn(&Value) -> String) -> String {
    let lines: Vec<_> = items.as_array().into_iter().flatten().map(show).collect();
    if lines.is_empty() {
        String::new()
    } else {
        row(label, &lines.join("\n"))
    }
}

fn pair(name: &str, place: &str) -> String {
    if name.is_empty() || place.is_empty() {
        format!("{name}{place}")
    } else {
        format!("{name} <{place}>")
    }
}

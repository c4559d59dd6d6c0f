//! `show` (`describe` of the plugin): all that catalogs say of one package or bundle, in the form of
//! `kubectl describe`.

use console::style;
use printing::text;
use serde_json::{Value, json};

use crate::args::SupportArgs;
use crate::documents::{BUNDLE, PACKAGE};
use crate::list::bundle_hint;
use crate::output::{OutputFormat, is_structured, print, print_object, support_phase};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Width of the labels with the space behind them, in letters.
const LABELS: usize = 20;

/// Rows of the description of a package: a label and the JSON pointer of its value.
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

/// Rows of the description of a bundle, likewise.
pub const BUNDLE_ROWS: [(&str, &str); 14] = [
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
    ("OLM v1", "/olmV1/installable"),
    ("Repository", "/metadata/repository"),
    ("Image", "/image"),
];

/// Describes a package of each catalog that has it.
pub async fn package<T: GraphqlTransport>(
    session: &CommandSession<T>,
    named: &str,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    let (catalogs, name) = session.split(named);
    let mut variables = json!({ "catalogs": catalogs, "names": [name] });
    support.add_to(&mut variables);
    let data = session.data(PACKAGE, &variables).await?;
    let items = data["packages"]["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if items.is_empty() {
        return Err(session.no_package(named).await);
    }
    print_descriptions(session, "Package", &items, package_text)
}

/// Describes a bundle of each catalog that has it; of any package if none is named.
pub async fn bundle<T: GraphqlTransport>(
    session: &CommandSession<T>,
    name: &str,
    package: Option<&str>,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    let (catalogs, packages) = match package {
        Some(package) => {
            let (catalogs, package) = session.split(package);
            (catalogs, vec![package.to_owned()])
        }
        None => (session.catalogs.clone(), vec![]),
    };
    let mut variables = json!({ "catalogs": catalogs, "packages": packages, "names": [name] });
    support.add_to(&mut variables);
    let data = session.data(BUNDLE, &variables).await?;
    let items = data["bundles"]["nodes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if items.is_empty() {
        session.check_catalogs(&catalogs).await?;
        session
            .check_packages(&packages, std::iter::empty())
            .await?;
        let error = CommandError::new(ExitStatus::NotFound, format!("bundle `{name}` not found"));
        return Err(bundle_hint(session, &packages, name, error).await);
    }
    print_descriptions(session, "Bundle", &items, bundle_text)
}

fn package_text(package: &Value) -> String {
    let mut out = row("Name", &text(package, "/name"));
    out += &row("Catalog", &text(package, "/catalog/name"));
    out += &deprecation(package);
    out += &rows(package, &PACKAGE_ROWS);
    out += &support_row(&package["latest"]);
    out += &list("Maintainers", &package["metadata"]["maintainers"], |item| {
        pair(&text(item, "/name"), &text(item, "/email"))
    });
    out += &list("Links", &package["metadata"]["links"], |item| {
        pair(&text(item, "/name"), &text(item, "/url"))
    });
    out + &list("Channels", &package["channels"], channel)
}

fn bundle_text(bundle: &Value) -> String {
    let mut out = row("Name", &text(bundle, "/name"));
    out += &row("Package", &text(bundle, "/package/name"));
    out += &row("Catalog", &text(bundle, "/catalog/name"));
    out += &deprecation(bundle);
    out += &rows(bundle, &BUNDLE_ROWS);
    out += &support_row(bundle);
    out += &list("Provides", &bundle["providedApis"], api);
    out += &list("Requires", &bundle["requirements"], |item| {
        text(item, "/text")
    });
    out += &list("OLM v1 blockers", &bundle["olmV1"]["blockers"], |item| {
        format!("{}: {}", text(item, "/code"), text(item, "/detail"))
    });
    out + &list("Related images", &bundle["relatedImages"], |image| {
        pair(&text(image, "/name"), &text(image, "/image"))
    })
}

/// Prints descriptions, with an empty line between two; or the objects as data.
fn print_descriptions<T>(
    session: &CommandSession<T>,
    kind: &str,
    items: &[Value],
    describe: impl Fn(&Value) -> String,
) -> Result<(), CommandError> {
    if is_structured(&session.output) {
        let list = json!({ "items": items });
        return print_object(&format!("{kind}List"), &list, &session.output);
    }
    if !matches!(session.output, OutputFormat::Table | OutputFormat::Wide) {
        return Err(CommandError::new(
            ExitStatus::Usage,
            "descriptions are printed as text, json, yaml or jsonpath=TEMPLATE",
        ));
    }
    print(&items.iter().map(describe).collect::<Vec<_>>().join("\n"))
}

/// Returns an API as text: `group/version, Kind`.
pub fn api(item: &Value) -> String {
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

/// Returns the row with the phase of support of a bundle; nothing if it was not asked for.
fn support_row(bundle: &Value) -> String {
    let Some(lifecycle) = bundle.get("lifecycle") else {
        return String::new();
    };
    let phase = support_phase(lifecycle);
    let shown = if phase.is_empty() {
        "unknown, the catalog has no life cycle of the version"
    } else {
        &phase
    };
    row("Support", shown)
}

/// Returns the rows that have a value.
fn rows(item: &Value, rows: &[(&str, &str)]) -> String {
    let rows = rows
        .iter()
        .map(|(label, pointer)| (label, shown_value(item, pointer)))
        .filter(|(_, value)| !value.is_empty());
    rows.map(|(label, value)| row(label, &value)).collect()
}

/// Returns the value at a JSON pointer; enums as Kubernetes and OLM write them.
fn shown_value(item: &Value, pointer: &str) -> String {
    let value = text(item, pointer);
    match pointer.rsplit('/').next() {
        Some("installModes") => enum_words(&value, ""),
        Some("capabilityLevel" | "installable") => enum_words(&value, " "),
        _ => value,
    }
}

/// Returns a list of names of enums in words: with `""` between the words of a name,
/// `OWN_NAMESPACE` becomes `OwnNamespace`; with `" "`, `DEEP_INSIGHTS` becomes `Deep Insights`.
fn enum_words(values: &str, between: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first: String = letters.next().into_iter().collect();
        first + &letters.as_str().to_lowercase()
    };
    let value = |value: &str| value.split('_').map(word).collect::<Vec<_>>().join(between);
    let values: Vec<_> = values.split(", ").map(value).collect();
    values.join(", ")
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

/// Returns a list with an item a line; nothing if it is empty.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enums_are_written_as_kubernetes_and_olm_write_them() {
        assert_eq!(
            enum_words("OWN_NAMESPACE, ALL_NAMESPACES", ""),
            "OwnNamespace, AllNamespaces"
        );
        assert_eq!(enum_words("DEEP_INSIGHTS", " "), "Deep Insights");
        assert_eq!(enum_words("", " "), "");
    }
}

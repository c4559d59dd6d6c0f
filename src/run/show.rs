//! `catalogql show`: prints what catalogs say of one package, or of one of its bundles.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use console::style;
use serde_json::{Value, json};

use super::queries::{EVERYTHING, engine, items, package_names, print_items, text};
use super::similar::similar_names;
use crate::args::ShowArgs;

/// Width of the labels with the space behind them, in letters.
const LABELS: usize = 20;

const PACKAGE: &str = "query($names: [String!]) { packages(filter: {names: $names}) { nodes {
    name displayName summary catalog { name } deprecation { message } defaultChannel { name }
    latest { name version image metadata {
        provider { name url } capabilityLevel categories keywords minKubeVersion installModes architectures
        suggestedNamespace repository maintainers { name email } links { name url } } }
    channels { name isDefault entryCount head { name bundle { version } } deprecation { message } }
    } } }";

const BUNDLE: &str = "query($names: [String!], $bundle: String!) { packages(filter: {names: $names}) { nodes {
    name catalog { name } bundle(name: $bundle) {
        name version release image channelNames deprecation { message }
        providedApis { group version kind } requiredApis { group version kind }
        requiredPackages { package: packageName versionRange }
        metadata { displayName summary provider { name url } minKubeVersion maxKubeVersion installModes architectures
            createdAt repository }
        relatedImages { name image } }
    } } }";

/// Rows of a description: a label and the pointer of its value.
const PACKAGE_ROWS: [(&str, &str); 12] = [
    ("Default channel", "/defaultChannel/name"),
    ("Its head", "/latest/name"),
    ("Version", "/latest/version"),
    ("Provider", "/latest/metadata/provider/name"),
    ("Capability level", "/latest/metadata/capabilityLevel"),
    ("Categories", "/latest/metadata/categories"),
    ("Min. Kubernetes", "/latest/metadata/minKubeVersion"),
    ("Install modes", "/latest/metadata/installModes"),
    ("Architectures", "/latest/metadata/architectures"),
    ("Namespace", "/latest/metadata/suggestedNamespace"),
    ("Repository", "/latest/metadata/repository"),
    ("Image", "/latest/image"),
];

const BUNDLE_ROWS: [(&str, &str); 11] = [
    ("Version", "/version"),
    ("Release", "/release"),
    ("Channels", "/channelNames"),
    ("Created", "/metadata/createdAt"),
    ("Provider", "/metadata/provider/name"),
    ("Min. Kubernetes", "/metadata/minKubeVersion"),
    ("Max. Kubernetes", "/metadata/maxKubeVersion"),
    ("Install modes", "/metadata/installModes"),
    ("Architectures", "/metadata/architectures"),
    ("Repository", "/metadata/repository"),
    ("Image", "/image"),
];

/// Prints a package of each catalog that has it, or its bundle.
pub(super) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let engine = engine(&args.catalogs.sources, &args.images)?;
    let document = if args.bundle.is_some() {
        BUNDLE
    } else {
        PACKAGE
    };
    let variables = json!({"names": [&args.package], "bundle": &args.bundle});
    let packages = items(&engine, document, &variables, "/packages/nodes")?;
    if packages.is_empty() {
        let names = package_names(&engine)?;
        bail!(
            "package {:?} not found{}",
            args.package,
            similar_names(&args.package, names.iter().map(String::as_str))
        );
    }
    let Some(bundle) = &args.bundle else {
        return print_items(&packages, args.output, |packages| each(packages, package));
    };
    let with_bundle: Vec<_> = packages
        .into_iter()
        .filter(|package| !package["bundle"].is_null())
        .collect();
    if with_bundle.is_empty() {
        let bundles = "query($names: [String!], $first: Int) { bundles(packages: $names, first: $first) { nodes { name } } }";
        let bundles = items(
            &engine,
            bundles,
            &json!({"names": [&args.package], "first": EVERYTHING}),
            "/bundles/nodes",
        )?;
        let names: Vec<_> = bundles.iter().map(|bundle| text(bundle, "/name")).collect();
        let similar = similar_names(bundle, names.iter().map(String::as_str));
        bail!(
            "package {:?}, bundle {bundle:?} not found{similar}",
            args.package
        );
    }
    print_items(&with_bundle, args.output, |packages| {
        each(packages, self::bundle)
    })
}

/// Descriptions, with an empty line between two.
fn each(items: &[Value], describe: impl Fn(&Value) -> String) -> String {
    items.iter().map(describe).collect::<Vec<_>>().join("\n")
}

fn package(package: &Value) -> String {
    let mut out = heading(&text(package, "/displayName"), package);
    out += &paragraph(&text(package, "/summary"));
    out += &deprecation(package);
    out += &rows(package, &PACKAGE_ROWS);
    out += &list(
        "Maintainers",
        package,
        "/latest/metadata/maintainers",
        |item| pair(&text(item, "/name"), &text(item, "/email")),
    );
    out += &list("Links", package, "/latest/metadata/links", |item| {
        pair(&text(item, "/name"), &text(item, "/url"))
    });
    out += &list("Channels", package, "/channels", |channel| {
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
    });
    out
}

fn bundle(package: &Value) -> String {
    let bundle = &package["bundle"];
    let api = |item: &Value| {
        format!(
            "{}/{} {}",
            text(item, "/group"),
            text(item, "/version"),
            text(item, "/kind")
        )
    };
    let mut out = heading(&text(bundle, "/name"), package);
    out += &paragraph(&text(bundle, "/metadata/summary"));
    out += &deprecation(bundle);
    out += &rows(bundle, &BUNDLE_ROWS);
    out += &list("Provides", bundle, "/providedApis", api);
    out += &list("Requires", bundle, "/requiredApis", api);
    out += &list("Requires packages", bundle, "/requiredPackages", |item| {
        format!("{} {}", text(item, "/package"), text(item, "/versionRange"))
    });
    out += &list("Related images", bundle, "/relatedImages", |item| {
        text(item, "/image")
    });
    out
}

fn heading(title: &str, package: &Value) -> String {
    let place = format!(
        "package {} of catalog {}",
        text(package, "/name"),
        text(package, "/catalog/name")
    );
    format!("{} ({place})\n", style(title).bold())
}

fn paragraph(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{text}\n\n")
    }
}

fn deprecation(item: &Value) -> String {
    if item["deprecation"].is_null() {
        return String::new();
    }
    row(
        &style("Deprecated").yellow().to_string(),
        "Deprecated".len(),
        &text(item, "/deprecation/message"),
    )
}

/// The rows that have a value.
fn rows(item: &Value, rows: &[(&str, &str)]) -> String {
    let shown = |pointer: &str| match pointer.rsplit('/').next() {
        Some("installModes") => words(&text(item, pointer), ""),
        Some("capabilityLevel") => words(&text(item, pointer), " "),
        _ => text(item, pointer),
    };
    let rows = rows
        .iter()
        .map(|(label, pointer)| (label, shown(pointer)))
        .filter(|(_, value)| !value.is_empty());
    rows.map(|(label, value)| row(label, label.len(), &value))
        .collect()
}

/// Values of enums as Kubernetes and OLM write them: `OWN_NAMESPACE` becomes `OwnNamespace`,
/// `DEEP_INSIGHTS` becomes `Deep Insights`.
fn words(values: &str, between: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    let value = |value: &str| value.split('_').map(word).collect::<Vec<_>>().join(between);
    values
        .split(", ")
        .filter(|text| !text.is_empty())
        .map(value)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A label of this width, which excludes escape sequences, and a value.
fn row(label: &str, width: usize, value: &str) -> String {
    let space = " ".repeat(LABELS.saturating_sub(width + 1).max(1));
    // Further lines of a text are below its first.
    format!(
        "{label}:{space}{}\n",
        value
            .trim_end()
            .replace('\n', &format!("\n{}", " ".repeat(LABELS)))
    )
}

/// A list with an item a line.
fn list(label: &str, item: &Value, pointer: &str, show: impl Fn(&Value) -> String) -> String {
    let items = item
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut out = String::new();
    for (at, item) in items.enumerate() {
        if at == 0 {
            out += &row(label, label.len(), &show(item));
        } else {
            writeln!(out, "{}{}", " ".repeat(LABELS), show(item))
                .expect("a string takes what is written");
        }
    }
    out
}

fn pair(name: &str, place: &str) -> String {
    if name.is_empty() || place.is_empty() {
        format!("{name}{place}")
    } else {
        format!("{name} <{place}>")
    }
}

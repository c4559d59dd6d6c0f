//! A real catalog, cut into three versions of itself, and what a cluster might have installed of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fbc::Catalog;
use platform_upgrade::ClusterBundle;
use serde_json::Value;
use testing::corpus::REFUSED;
use testing::fixture::{catalog_of, read_file};

/// Reads the canonical lines of a directory, one folder for each package.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate is pure; its tests read the corpus"
)]
pub(crate) fn lines(directory: &Path) -> String {
    let mut lines = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(directory)
        .expect("the corpus can be read")
        .map(|entry| entry.expect("the corpus can be read").path())
        .collect();
    folders.retain(|folder| folder.is_dir() && !REFUSED.iter().any(|name| folder.ends_with(name)));
    folders.sort();
    for folder in folders {
        for entry in fs::read_dir(folder).expect("the corpus can be read") {
            let path = entry.expect("the corpus can be read").path();
            if path.is_file() {
                let file = fs::read(&path).expect("the corpus can be read");
                read_file(&path.to_string_lossy(), &file, &mut lines);
            }
        }
    }
    String::from_utf8(lines).expect("JSON is UTF-8")
}

/// Returns the minor version in the property with the last version of `OpenShift`.
fn max_minor(bundle: &Value) -> Option<u32> {
    let properties = bundle["properties"].as_array()?;
    let max = properties
        .iter()
        .find(|property| property["type"] == "olm.maxOpenShiftVersion")?;
    let text = match &max["value"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim_matches('"').split_once('.')?.1.parse().ok()
}

/// Cuts the catalog of a version of `OpenShift` out of a catalog: without bundles for versions
/// before it, without the channels that its number drops, and without what is empty then.
fn cut(objects: &[(Value, &str)], minor: u32) -> Catalog {
    let key = |object: &Value| {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        (text("package"), text("name"))
    };
    let is_kept = |object: &Value| match object["schema"].as_str() {
        Some("olm.bundle") => max_minor(object).is_none_or(|max| max >= minor),
        // A third of the channels other than the first of a package end with each version.
        Some("olm.channel") => {
            let (package, name) = key(object);
            let sum: u32 = package.bytes().chain(name.bytes()).map(u32::from).sum();
            minor == 16 || sum % 7 + 16 != minor
        }
        _ => true,
    };
    let bundles: BTreeSet<_> = objects
        .iter()
        .filter(|(object, _)| object["schema"] == "olm.bundle" && is_kept(object))
        .map(|(object, _)| key(object))
        .collect();
    let mut lines = String::new();
    for (object, line) in objects {
        if !is_kept(object) {
            continue;
        }
        if object["schema"] != "olm.channel" {
            lines.push_str(line);
            lines.push('\n');
            continue;
        }
        let mut channel = object.clone();
        let (package, _) = key(object);
        if let Some(entries) = channel["entries"].as_array_mut() {
            entries.retain(|entry| {
                let name = entry["name"].as_str().unwrap_or_default().to_owned();
                bundles.contains(&(package.clone(), name))
            });
            if entries.is_empty() {
                continue;
            }
        }
        lines.push_str(&channel.to_string());
        lines.push('\n');
    }
    catalog_of(&lines)
}

/// Cuts the catalogs of `OpenShift` 4.16, 4.17 and 4.18 out of the lines of a catalog.
pub(crate) fn three_versions(lines: &str) -> Vec<Catalog> {
    let objects: Vec<(Value, &str)> = lines
        .lines()
        .map(|line| (serde_json::from_str(line).expect("a line is JSON"), line))
        .collect();
    (16..=18).map(|minor| cut(&objects, minor)).collect()
}

/// Returns what a cluster might have installed: of each package the head of its default channel and
/// a lower bundle of it.
pub(crate) fn installed(catalog: &Catalog) -> Vec<ClusterBundle<'_>> {
    let mut installed = Vec::new();
    for package in catalog.packages() {
        let Some(channel) = package.default_channel() else {
            continue;
        };
        let mut bundles: Vec<_> = channel
            .entries()
            .filter_map(fbc::ChannelEntry::bundle)
            .collect();
        bundles.sort_by_key(|bundle| bundle.place());
        for bundle in [bundles.first(), bundles.get(bundles.len() / 2)] {
            installed.extend(bundle.map(|bundle| ClusterBundle {
                package: package.name(),
                name: Some(bundle.name()),
                version: bundle.version(),
                channels: vec![channel.name()],
                ..ClusterBundle::default()
            }));
        }
    }
    installed
}

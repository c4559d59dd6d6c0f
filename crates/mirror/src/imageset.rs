//! The `ImageSetConfiguration` with which oc-mirror selects exactly a set.
//!
//! A candidate is only returned if the rules of oc-mirror select the same with it.

use std::fmt::Write as _;

use fbc::Catalog;
use fbc::work::{Step, Work, WorkStopped};
use fbc_grammar::version::Version;

use crate::configuration::{
    API_VERSIONS, CatalogSelection, ChannelSelection, KIND, MirrorConfiguration, PackageSelection,
};
use crate::mirror_set::{MirrorSet, MirroredChannel, MirroredPackage, ReasonKind};
use crate::need::PackageNeed;
use crate::plan::PlannedPackage;
use crate::range::MirrorRange;
use crate::select::{MirrorRules, select};

/// Steps that a selected bundle is charged as, for its form in plans that are compared.
const PLANNED_BUNDLE_PRICE: usize = 60;

/// No configuration of oc-mirror selects exactly the set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageSetError {
    /// The configuration is refused.
    #[error("the configuration of `{0}` is refused")]
    Refused(String),
    /// oc-mirror selects something else with each candidate.
    #[error(
        "no configuration of oc-mirror selects exactly this part of `{catalog}`: the versions of {packages} have holes"
    )]
    None {
        /// Reference of the catalog.
        catalog: String,
        /// Packages that differ.
        packages: String,
    },
}

/// Returns the text of a configuration for the items of another one, each with its catalog and the
/// reference to write for it.
///
/// # Errors
/// If the work was stopped.
pub fn image_set(
    configuration: &MirrorConfiguration,
    items: &[(&CatalogSelection, &Catalog, String)],
    rules: MirrorRules,
    work: &Work<'_>,
) -> Result<Result<String, ImageSetError>, WorkStopped> {
    let mut text = format!(
        "apiVersion: {}\nkind: {KIND}\nmirror:\n  operators:\n",
        API_VERSIONS[1]
    );
    for (item, catalog, reference) in items {
        let set = select(catalog, item, rules, work)?;
        if set.is_refused() {
            return Ok(Err(ImageSetError::Refused(item.catalog.clone())));
        }
        let found = match find(item, catalog, &set, work)? {
            Ok(found) => found,
            Err(packages) => {
                return Ok(Err(ImageSetError::None {
                    catalog: item.catalog.clone(),
                    packages,
                }));
            }
        };
        write_item(&mut text, &found, reference);
    }
    let blocked = configuration.blocked_texts();
    if !blocked.is_empty() {
        text.push_str("  blockedImages:\n");
        for pattern in blocked {
            let _ = writeln!(text, "  - name: {}", quoted(pattern));
        }
    }
    Ok(Ok(text))
}

/// Finds the selection with which oc-mirror selects a set; or, as error, the packages that differ.
fn find(
    item: &CatalogSelection,
    catalog: &Catalog,
    set: &MirrorSet<'_>,
    work: &Work<'_>,
) -> Result<Result<CatalogSelection, String>, WorkStopped> {
    let bundles: usize = set
        .packages
        .iter()
        .map(|package| package.bundles.len())
        .sum();
    work.draw(Step::Bundle, PLANNED_BUNDLE_PRICE * bundles)?;
    let wanted: Vec<_> = set.packages.iter().map(PlannedPackage::from).collect();
    let mut differences = String::new();
    for spell in [as_configured, by_versions] {
        let candidate = candidate(item, set, spell);
        let selected = select(catalog, &candidate, MirrorRules::OcMirror, work)?;
        let got: Vec<_> = selected.packages.iter().map(PlannedPackage::from).collect();
        if got == wanted {
            return Ok(Ok(candidate));
        }
        let differs = |package: &&PlannedPackage| !got.contains(package);
        let names: Vec<_> = wanted
            .iter()
            .filter(differs)
            .map(|package| format!("`{}`", package.name))
            .collect();
        differences = names.join(", ");
    }
    Ok(Err(differences))
}

/// Range of a channel of a candidate.
type Spelling = fn(
    Option<&PackageSelection>,
    &MirroredChannel<'_>,
    &MirroredPackage<'_>,
) -> Option<MirrorRange>;

fn candidate(item: &CatalogSelection, set: &MirrorSet<'_>, spell: Spelling) -> CatalogSelection {
    let packages = set.packages.iter().filter_map(|package| {
        // Without packages in the item, all are selected.
        let named = package.selection.map(|at| &item.packages[at]);
        if named.is_none() && item.packages.is_empty() {
            return None;
        }
        let channels = package.channels.iter().map(|channel| ChannelSelection {
            line: None,
            name: channel.channel.name().to_owned(),
            range: spell(named, channel, package),
        });
        let channels: Vec<_> = channels.collect();
        let has_all = channels.len() == package.package.channels().len();
        let is_plain = channels.iter().all(|channel| channel.range.is_none());
        let own_default = package.package.default_channel_name();
        Some(PackageSelection {
            line: None,
            name: package.package.name().to_owned(),
            default_channel: (package.default_channel != own_default)
                .then(|| package.default_channel.clone()),
            range: None,
            channels: if has_all && is_plain {
                Vec::new()
            } else {
                channels
            },
            need: PackageNeed::default(),
        })
    });
    CatalogSelection {
        packages: packages.collect(),
        ..item.clone()
    }
}

/// Returns the range that the configuration has for a channel.
fn as_configured(
    named: Option<&PackageSelection>,
    channel: &MirroredChannel<'_>,
    _: &MirroredPackage<'_>,
) -> Option<MirrorRange> {
    let named = named?;
    let own = channel
        .selection
        .and_then(|at| named.channels[at].range.as_ref());
    own.or(named.range.as_ref()).cloned()
}

/// Returns the range from the lowest to the highest version of a channel; `None` if only its head is
/// selected.
fn by_versions(
    _: Option<&PackageSelection>,
    channel: &MirroredChannel<'_>,
    package: &MirroredPackage<'_>,
) -> Option<MirrorRange> {
    let name = channel.channel.name();
    let is_head = |one: &crate::mirror_set::MirrorReason<'_>| {
        one.channel == Some(name) && one.kind == ReasonKind::Head
    };
    let has_head = package
        .bundles
        .iter()
        .any(|one| one.reasons.iter().any(is_head));
    if has_head && channel.entries.len() == 1 {
        return None;
    }
    let texts = channel
        .entries
        .iter()
        .filter_map(|entry| entry.bundle()?.version());
    let mut versions: Vec<_> = texts.filter_map(|text| Version::parse(text).ok()).collect();
    versions.sort_by(Version::precedence);
    let first = versions.first()?.to_string();
    let last = versions.last()?.to_string();
    MirrorRange::new(Some(&first), Some(&last)).ok().flatten()
}

fn write_item(text: &mut String, item: &CatalogSelection, reference: &str) {
    let _ = writeln!(text, "  - catalog: {}", quoted(reference));
    if item.is_full {
        text.push_str("    full: true\n");
    }
    for (member, value) in [
        ("targetCatalog", &item.target_catalog),
        ("targetTag", &item.target_tag),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "    {member}: {}", quoted(value));
        }
    }
    if item.packages.is_empty() {
        return;
    }
    text.push_str("    packages:\n");
    for package in &item.packages {
        let _ = writeln!(text, "    - name: {}", quoted(&package.name));
        if let Some(channel) = &package.default_channel {
            let _ = writeln!(text, "      defaultChannel: {}", quoted(channel));
        }
        if package.channels.is_empty() {
            continue;
        }
        text.push_str("      channels:\n");
        for channel in &package.channels {
            let _ = writeln!(text, "      - name: {}", quoted(&channel.name));
            let bounds = channel
                .range
                .as_ref()
                .map(|range| (range.minimum(), range.maximum()));
            let (minimum, maximum) = bounds.unwrap_or_default();
            for (member, value) in [("minVersion", minimum), ("maxVersion", maximum)] {
                if let Some(value) = value {
                    let _ = writeln!(text, "        {member}: {}", quoted(value));
                }
            }
        }
    }
}

/// Quotes a text, so that YAML takes it for nothing else.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

//! Channels by version: `candidate-v1.2`, `stable-v1` and the like, with their upgrade edges.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fbc_grammar::version::Version;

use super::{RenderImage, TemplateError, field, list};
use crate::draft::{DraftBlob, DraftBundle, DraftChannel, DraftEntry};
use crate::value::BlobValue;

/// Stages of channels, lowest first.
const STAGES: [&str; 3] = ["candidate", "fast", "stable"];

/// Bundles of a stage with the entries that list them, in the order of their versions.
struct TemplateStage {
    name: &'static str,
    members: Vec<StageMember>,
}

struct StageMember {
    version: MinorVersion,
    entry: DraftEntry,
}

/// A major and minor version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MinorVersion {
    major: u64,
    minor: u64,
}

/// Fields of a template that say which channels are made.
struct ChannelOptions {
    /// A channel for each major version, such as `stable-v1`.
    major: bool,
    /// A channel for each minor version, such as `stable-v1.2`.
    minor: bool,
    prefers_major_default: bool,
}

/// A channel with its rank among those that may be the default.
struct RankedChannel {
    rank: ChannelRank,
    channel: DraftChannel,
}

/// Rank of a channel; the highest one becomes the default channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ChannelRank {
    /// Index of the stage.
    stage: usize,
    major: u64,
    /// 0 for a channel of a major version.
    minor: u64,
    is_preferred: bool,
}

pub(super) fn render(
    template: &BlobValue,
    render_image: RenderImage<'_>,
) -> Result<Vec<BlobValue>, TemplateError> {
    let options = ChannelOptions::from_template(template)?;
    let mut blobs: BTreeMap<String, BlobValue> = BTreeMap::new();
    let mut stages: Vec<TemplateStage> = Vec::new();
    let mut package: Option<String> = None;
    for name in STAGES {
        let items = field(template, name)
            .map(|stage| list(stage, "bundles"))
            .unwrap_or_default();
        let mut bundles = Vec::new();
        for item in items {
            let image = field(item, "image")
                .and_then(BlobValue::as_str)
                .unwrap_or_default();
            let blob = render_image(image).map_err(TemplateError::Image)?;
            // The first bundle names the package; all others must be of it.
            package.get_or_insert_with(|| blob.str("package").to_owned());
            let members = blob.clone().into_members();
            bundles.push(DraftBundle::from_members(DraftBlob::new(members)));
            blobs.insert(blob.str("name").to_owned(), blob);
        }
        stages.push(TemplateStage {
            name,
            members: link(bundles)?,
        });
    }

    let Some(package) = package else {
        return Err(TemplateError::NoBundles);
    };
    let mut packages = blobs.values().map(|blob| blob.str("package"));
    if let Some(other) = packages.find(|other| *other != package) {
        return Err(TemplateError::SemverBundles(format!(
            "bundle {other:?} does not belong to this package: {package:?}"
        )));
    }

    let channels = channels(&package, &stages, &options);
    let default = channels
        .iter()
        .max_by_key(|channel| channel.rank)
        .map(|channel| channel.channel.name.clone())
        .unwrap_or_default();
    let mut result = vec![BlobValue::object([
        ("schema", BlobValue::text("olm.package")),
        ("name", BlobValue::text(package)),
        ("defaultChannel", BlobValue::text(default)),
    ])];
    result.extend(channels.iter().map(|channel| channel.channel.value()));
    result.extend(blobs.into_values());
    Ok(result)
}

impl ChannelOptions {
    fn from_template(template: &BlobValue) -> Result<Self, TemplateError> {
        let fields = [
            "schema",
            "generateMajorChannels",
            "generateMinorChannels",
            "defaultChannelTypePreference",
            "candidate",
            "fast",
            "stable",
        ];
        let is_unknown =
            |key: &&String| !fields.iter().any(|field| field.eq_ignore_ascii_case(key));
        let mut keys = template
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key);
        if let Some(key) = keys.find(is_unknown) {
            return Err(TemplateError::SemverFile(format!(
                "error unmarshaling JSON: while decoding JSON: json: unknown field {key:?}"
            )));
        }

        let is_set = |name: &str| match field(template, name) {
            None | Some(BlobValue::Null) => Ok(false),
            Some(BlobValue::Bool(is_set)) => Ok(*is_set),
            Some(_) => Err(TemplateError::SemverFile(format!(
                "{name} must be true or false"
            ))),
        };
        let major = is_set("generateMajorChannels")?;
        // A template that asks for no channels gets those of minor versions.
        let minor = is_set("generateMinorChannels")? || !major;
        let preference = field(template, "defaultChannelTypePreference")
            .and_then(BlobValue::as_str)
            .unwrap_or_default();
        let is_missing = match preference {
            "" => false,
            "major" => !major,
            "minor" => !minor,
            other => {
                return Err(TemplateError::SemverFile(format!(
                    "unknown DefaultChannelTypePreference: {other:?}\nValid values are 'major' or 'minor'"
                )));
            }
        };
        if is_missing {
            return Err(TemplateError::SemverFile(format!(
                "schema attribute mismatch: DefaultChannelTypePreference set to '{preference}' doesn't make sense if not generating \
                 {preference}-version channels"
            )));
        }
        Ok(Self {
            major,
            minor,
            prefers_major_default: preference == "major",
        })
    }
}

/// Sorts the bundles of a stage and links those of each major version: the highest of each minor
/// version replaces that of the minor version before it, and skips every other lower one.
fn link(mut bundles: Vec<DraftBundle>) -> Result<Vec<StageMember>, TemplateError> {
    check_unique(&bundles)?;
    bundles.sort_by(DraftBundle::compare);
    check_order(&bundles)?;

    let versions: Vec<_> = bundles.iter().map(MinorVersion::from_bundle).collect();
    let mut members = Vec::new();
    for (at, bundle) in bundles.iter().enumerate() {
        let mut entry = DraftEntry {
            name: bundle.name.clone(),
            ..DraftEntry::default()
        };
        let version = versions[at];
        // The highest of its minor version.
        if versions.get(at + 1) != Some(&version) {
            let lower: Vec<_> = (0..at)
                .filter(|lower| versions[*lower].major == version.major)
                .collect();
            let replaced = lower
                .iter()
                .rev()
                .find(|lower| versions[**lower] != version);
            entry.replaces = replaced
                .map(|at| bundles[*at].name.clone())
                .unwrap_or_default();
            let others = lower.iter().filter(|lower| Some(*lower) != replaced);
            entry.skips = others.map(|at| bundles[*at].name.clone()).collect();
            // `opm` sorts them by name, not by version.
            entry.skips.sort();
        }
        members.push(StageMember { version, entry });
    }
    Ok(members)
}

/// Checks that the bundles of a stage have different names, and valid versions.
fn check_unique(bundles: &[DraftBundle]) -> Result<(), TemplateError> {
    for (at, bundle) in bundles.iter().enumerate() {
        if bundles[..at].iter().any(|other| other.name == bundle.name) {
            return Err(TemplateError::SemverBundles(format!(
                "duplicate bundle name {:?}",
                bundle.name
            )));
        }
        if let Err(reason) = Version::parse(&bundle.version) {
            return Err(TemplateError::SemverBundles(format!(
                "bundle {:?} has invalid version: {reason}",
                bundle.name
            )));
        }
    }
    Ok(())
}

/// Checks that sorted bundles have an order by version alone.
fn check_order(bundles: &[DraftBundle]) -> Result<(), TemplateError> {
    for pair in bundles.windows(2) {
        if precedence(&pair[0], &pair[1]) == Ordering::Equal {
            return Err(TemplateError::SemverBundles(format!(
                "encountered bundle versions which differ only by build metadata, which cannot be ordered: bundle version {:?} \
                 cannot be compared to {:?}",
                pair[0].version,
                pair[1].version.split('+').next().unwrap_or_default()
            )));
        }
    }
    Ok(())
}

fn precedence(a: &DraftBundle, b: &DraftBundle) -> Ordering {
    match (Version::parse(&a.version), Version::parse(&b.version)) {
        (Ok(a), Ok(b)) => a.precedence(&b),
        _ => a.version.cmp(&b.version),
    }
}

impl MinorVersion {
    fn from_bundle(bundle: &DraftBundle) -> Self {
        Version::parse(&bundle.version)
            .map(|version| Self {
                major: version.major(),
                minor: version.minor(),
            })
            .unwrap_or_default()
    }
}

/// Makes the channels of a package, in the order of their first bundles.
fn channels(
    package: &str,
    stages: &[TemplateStage],
    options: &ChannelOptions,
) -> Vec<RankedChannel> {
    let mut channels: Vec<RankedChannel> = Vec::new();
    let mut add = |name: String, rank: ChannelRank, entry: &DraftEntry| {
        let existing = channels
            .iter()
            .position(|channel| channel.channel.name == name);
        let at = existing.unwrap_or_else(|| {
            channels.push(RankedChannel {
                rank,
                channel: DraftChannel::new(package, &name),
            });
            channels.len() - 1
        });
        channels[at].channel.entries.push(entry.clone());
    };

    for (index, stage) in stages.iter().enumerate() {
        for StageMember { version, entry } in &stage.members {
            let MinorVersion { major, minor } = *version;
            if options.major {
                let rank = ChannelRank {
                    stage: index,
                    major,
                    minor: 0,
                    is_preferred: options.prefers_major_default,
                };
                add(format!("{}-v{major}", stage.name), rank, entry);
            }
            if options.minor {
                let rank = ChannelRank {
                    stage: index,
                    major,
                    minor,
                    is_preferred: !options.prefers_major_default,
                };
                add(format!("{}-v{major}.{minor}", stage.name), rank, entry);
            }
        }
    }
    channels
}

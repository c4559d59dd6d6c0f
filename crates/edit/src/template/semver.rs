//! Channels by version: `candidate-v1.2`, `stable-v1` and the like, with their upgrade edges.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fbc_grammar::version::Version;

use super::{RenderImage, TemplateError, field, list};
use crate::state::{Blob, Bundle, Channel, Entry};
use crate::value::Value;

/// The stages of a bundle, lowest first.
const STAGES: [&str; 3] = ["candidate", "fast", "stable"];

/// The bundles of a stage, in the order of their versions, with their entries.
type Stage = Vec<(Bundle, Entry)>;

pub(super) fn render(
    template: &Value,
    image: RenderImage<'_>,
) -> Result<Vec<Value>, TemplateError> {
    let [major, minor] = kinds(template)?;
    let mut blobs: BTreeMap<String, Value> = BTreeMap::new();
    let mut stages: Vec<(&str, Stage)> = Vec::new();
    let mut package: Option<String> = None;
    for stage in STAGES {
        let mut bundles = Vec::new();
        for item in field(template, stage)
            .map(|stage| list(stage, "bundles"))
            .unwrap_or_default()
        {
            let name = field(item, "image")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let blob = image(name).map_err(TemplateError::Image)?;
            package.get_or_insert_with(|| blob.str("package").to_owned());
            let members = blob.as_object().cloned().unwrap_or_default();
            bundles.push(Bundle::read(Blob::new(members)));
            blobs.insert(blob.str("name").to_owned(), blob);
        }
        stages.push((stage, linked(bundles)?));
    }
    let Some(package) = package else {
        return Err(TemplateError::NoBundles);
    };
    if let Some(other) = blobs
        .values()
        .map(|blob| blob.str("package"))
        .find(|other| *other != package)
    {
        let fault = format!("bundle {other:?} does not belong to this package: {package:?}");
        return Err(TemplateError::SemverBundles(fault));
    }
    let mut all = channels(&package, &stages, major, minor);
    let prefers_major =
        field(template, "defaultChannelTypePreference").and_then(Value::as_str) == Some("major");
    let default = all
        .iter()
        .max_by_key(|(rank, _)| (rank.0, rank.1, rank.2, rank.3 == prefers_major));
    let default = default
        .map(|(_, channel)| channel.name.clone())
        .unwrap_or_default();
    let members = [
        ("schema", "olm.package"),
        ("name", &package),
        ("defaultChannel", &default),
    ]
    .map(|(key, text)| (key, Value::text(text)));
    let mut result = vec![Value::object(members)];
    result.extend(all.drain(..).map(|(_, channel)| channel.value()));
    result.extend(blobs.into_values());
    Ok(result)
}

/// Reads which channels are made: by major version, by minor version.
fn kinds(template: &Value) -> Result<[bool; 2], TemplateError> {
    let fields = [
        "schema",
        "generateMajorChannels",
        "generateMinorChannels",
        "defaultChannelTypePreference",
        "candidate",
        "fast",
        "stable",
    ];
    let unknown = |key: &&String| !fields.iter().any(|field| field.eq_ignore_ascii_case(key));
    if let Some(key) = template
        .as_object()
        .and_then(|members| members.keys().find(unknown))
    {
        let fault =
            format!("error unmarshaling JSON: while decoding JSON: json: unknown field {key:?}");
        return Err(TemplateError::SemverFile(fault));
    }
    let is_set = |name: &str| field(template, name) == Some(&Value::Bool(true));
    let major = is_set("generateMajorChannels");
    let mut minor = is_set("generateMinorChannels");
    minor |= !major;
    let preference = field(template, "defaultChannelTypePreference")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_missing = match preference {
        "" => false,
        "major" => !major,
        "minor" => !minor,
        other => {
            let fault = format!(
                "unknown DefaultChannelTypePreference: {other:?}\nValid values are 'major' or 'minor'"
            );
            return Err(TemplateError::SemverFile(fault));
        }
    };
    if is_missing {
        return Err(TemplateError::SemverFile(format!(
            "schema attribute mismatch: DefaultChannelTypePreference set to '{preference}' doesn't make sense if not generating \
             {preference}-version channels"
        )));
    }
    Ok([major, minor])
}

/// Sorts the bundles of a stage, and links those of each major version: the highest of each minor
/// version replaces that of the minor version before it, and skips every other lower one.
fn linked(mut bundles: Vec<Bundle>) -> Result<Stage, TemplateError> {
    for (at, bundle) in bundles.iter().enumerate() {
        if bundles[..at].iter().any(|other| other.name == bundle.name) {
            return Err(TemplateError::SemverBundles(format!(
                "duplicate bundle name {:?}",
                bundle.name
            )));
        }
        if let Err(fault) = Version::parse(&bundle.version) {
            return Err(TemplateError::SemverBundles(format!(
                "bundle {:?} has invalid version: {fault}",
                bundle.name
            )));
        }
    }
    bundles.sort_by(Bundle::compare);
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
    let streams: Vec<_> = bundles.iter().map(stream).collect();
    let mut entries = Vec::new();
    for (at, bundle) in bundles.iter().enumerate() {
        let mut entry = Entry {
            name: bundle.name.clone(),
            ..Entry::default()
        };
        if streams.get(at + 1) != Some(&streams[at]) {
            let lower: Vec<_> = (0..at)
                .filter(|lower| streams[*lower].0 == streams[at].0)
                .collect();
            let replaced = lower
                .iter()
                .rev()
                .find(|lower| streams[**lower] != streams[at]);
            entry.replaces = replaced
                .map(|at| bundles[*at].name.clone())
                .unwrap_or_default();
            let others = lower.iter().filter(|lower| Some(*lower) != replaced);
            entry.skips = others.map(|at| bundles[*at].name.clone()).collect();
            entry.skips.sort();
        }
        entries.push(entry);
    }
    Ok(bundles.into_iter().zip(entries).collect())
}

fn precedence(a: &Bundle, b: &Bundle) -> Ordering {
    match (Version::parse(&a.version), Version::parse(&b.version)) {
        (Ok(a), Ok(b)) => a.precedence(&b),
        _ => a.version.cmp(&b.version),
    }
}

/// The major and minor version of a bundle.
fn stream(bundle: &Bundle) -> (u64, u64) {
    Version::parse(&bundle.version)
        .map(|version| (version.major(), version.minor()))
        .unwrap_or_default()
}

/// Rank of a channel among those that may be the default: stage, versions, whether it is of a major
/// version.
type Rank = (usize, u64, u64, bool);

fn channels(
    package: &str,
    stages: &[(&str, Stage)],
    major: bool,
    minor: bool,
) -> Vec<(Rank, Channel)> {
    let mut channels: Vec<(Rank, Channel)> = Vec::new();
    for (number, (stage, bundles)) in stages.iter().enumerate() {
        for (bundle, entry) in bundles {
            let (x, y) = stream(bundle);
            let wanted = [
                (major, (number, x, 0, true), format!("{stage}-v{x}")),
                (minor, (number, x, y, false), format!("{stage}-v{x}.{y}")),
            ];
            for (_, rank, name) in wanted.into_iter().filter(|(is_made, ..)| *is_made) {
                let at = channels
                    .iter()
                    .position(|(_, channel)| channel.name == name)
                    .unwrap_or_else(|| {
                        channels.push((rank, Channel::new(package, &name)));
                        channels.len() - 1
                    });
                channels[at].1.entries.push(entry.clone());
            }
        }
    }
    channels
}

//! Each recorded sequence of edits gives what `opm` gave, or differs on purpose.

use std::collections::{BTreeMap, BTreeSet};

use edit::bundle::{Migration, RenderedBundle, render};
use edit::{CatalogBlobs, Operation, apply};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Bundle, lines};

#[derive(Deserialize)]
struct Sequence {
    name: String,
    ops: Vec<Value>,
    steps: Vec<Step>,
    #[serde(default, rename = "alsoSeen")]
    also_seen: Vec<Vec<Step>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    error: Option<String>,
    catalog: Option<Vec<Value>>,
    render_error: Option<String>,
    #[serde(default)]
    unchanged: bool,
}

/// Compared facts of the blobs of a catalog, by schema, package and name.
type Facts = BTreeMap<String, Value>;

/// An intended difference of a step from the result of `opm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// `opm` drops bundles that the chain from the head does not reach, without a word. They are
    /// named, and dropped if that is asked for: clusters may have them.
    Stranded,
    /// `opm` reads the edges of all bundles from their CSVs at each addition: it loses those that
    /// were made by version, and takes bundles into channels that did not have them. Edges stay as
    /// channels have them.
    EdgesStay,
    /// `opm` does the same where a channel gets a bundle whose entries in other channels differ. It
    /// is refused, because none of them is right for sure.
    EdgesUnknown,
    /// `opm` makes the entries of skipped bundles anew, without edges. They keep theirs: clusters
    /// that have such a bundle upgrade all the same, and the entry is right again when nothing
    /// skips it any more.
    SkippedEdgesStay,
    /// `opm` forgets what `semver-skippatch` skipped at the next addition. Skips stay.
    SkipsStay,
    /// `opm` fails, and leaves the graph half changed, when a channel has bundles that others skip.
    /// The new entry replaces the greatest lower one that is not skipped.
    InvalidGraph,
    /// `opm` takes the default channel of the bundle that is added last, in a batch by chance. It
    /// moves with a new highest version alone, so that a fix of an old version does not move it.
    DefaultChannel,
    /// `opm` makes a channel ` two` of `one, two`. Names are trimmed.
    Trimmed,
    /// `opm` says `open .: no such file or directory` of a bundle without annotations. What is
    /// missing is named.
    MissingNamed,
    /// `opm` stores a bundle that skips a bundle through which its own chain passes, and refuses to
    /// read what it stored from then on. The bundle is refused, with what to write instead.
    SkipsOwnChain,
    /// `opm` stores a channel without a name, and refuses to read it. The bundle that names it is
    /// refused.
    UnnamedChannel,
    /// `opm` stores two bundles of one version in different channels, and refuses to read them. The
    /// second one is refused.
    VersionTwice,
    /// `opm` writes two `olm.package` properties for a bundle with a release, which it refuses to
    /// read. There is one.
    Release,
}

/// Steps that differ on purpose, by the number of the step counted from 0. Later steps of the
/// sequence are left out.
const DIFFERENCES: [(&str, usize, Difference); 36] = [
    ("bundle/no-annotations", 0, Difference::MissingNamed),
    ("bundle/release-field", 0, Difference::Release),
    ("default/empty-channel-name", 0, Difference::UnnamedChannel),
    ("default/spaces-in-channels", 0, Difference::Trimmed),
    ("random/000", 3, Difference::Stranded),
    ("random/001", 1, Difference::EdgesStay),
    ("random/002", 5, Difference::SkipsOwnChain),
    ("random/006", 1, Difference::EdgesStay),
    ("random/009", 2, Difference::SkipsStay),
    ("random/013", 2, Difference::SkipsStay),
    ("random/016", 5, Difference::Stranded),
    ("random/017", 2, Difference::EdgesStay),
    ("random/018", 2, Difference::Stranded),
    ("random/022", 4, Difference::EdgesStay),
    ("random/024", 4, Difference::EdgesStay),
    ("random/025", 5, Difference::EdgesStay),
    ("random/028", 3, Difference::Stranded),
    ("random/030", 2, Difference::EdgesStay),
    ("random/033", 5, Difference::EdgesUnknown),
    ("random/041", 1, Difference::SkippedEdgesStay),
    ("random/042", 2, Difference::EdgesStay),
    ("random/046", 5, Difference::SkipsOwnChain),
    ("random/048", 3, Difference::DefaultChannel),
    ("random/049", 3, Difference::EdgesUnknown),
    ("random/054", 5, Difference::Stranded),
    (
        "replaces/new-head-replaces-nothing",
        1,
        Difference::Stranded,
    ),
    ("replaces/revive-a-pruned-bundle", 1, Difference::Stranded),
    ("replaces/skip-range-only", 1, Difference::Stranded),
    (
        "replaces/skip-strands-what-is-below",
        1,
        Difference::SkipsOwnChain,
    ),
    ("semver/after-replaces", 1, Difference::DefaultChannel),
    (
        "semver/after-replaces-below-skips",
        1,
        Difference::InvalidGraph,
    ),
    (
        "semver/after-replaces-with-skips",
        1,
        Difference::InvalidGraph,
    ),
    (
        "semver/same-version-other-channel",
        1,
        Difference::VersionTwice,
    ),
    ("skippatch/minor-then-patches", 2, Difference::InvalidGraph),
    ("skippatch/older-patch", 2, Difference::SkipsStay),
    ("skippatch/two-minors-below", 2, Difference::InvalidGraph),
];

impl Difference {
    /// Tells whether a result differs from a recorded step in this way.
    fn explains(self, found: &Result<CatalogBlobs, String>, step: &Step) -> bool {
        let error = step.error.as_deref().unwrap_or_default();
        let unreadable = step.render_error.as_deref().unwrap_or_default();
        match (self, found, &step.catalog) {
            (Self::Stranded, Err(found), Some(_)) => found.contains(" would be in no channel: "),
            // What opm makes of it is a valid catalog by chance.
            (Self::EdgesUnknown, Err(found), catalog) => {
                (catalog.is_some() || unreadable.contains(" one or more stranded bundles: "))
                    && found.contains(" from another channel: its entries in ")
            }
            // Both refuse the chain that they see.
            (Self::EdgesStay, Err(found), None) => {
                found.starts_with("add prunes bundle ")
                    && ["add prunes ", "Invalid "]
                        .iter()
                        .any(|t| error.starts_with(t))
            }
            (Self::SkipsOwnChain, Err(found), None) => {
                unreadable.contains(" one or more stranded bundles: ")
                    && found.contains(", below which its chain goes on to ")
            }
            (Self::UnnamedChannel, Err(found), None) => {
                unreadable.contains("channel name must not be empty")
                    && found.contains(": one of its channels has no name:")
            }
            (Self::VersionTwice, Err(found), None) => {
                unreadable.contains("duplicate versions found in bundles: ")
                    && found.starts_with("the catalog would be invalid: ")
            }
            (Self::MissingNamed, Err(found), None) => found == "Could not find annotations file",
            (Self::Release, Ok(_), None) => step.render_error.is_some(),
            (Self::InvalidGraph, Ok(_), None) => error.contains("Invalid graph: "),
            (_, Ok(found), Some(catalog)) => {
                self.explains_facts(&facts(&values(found)), &facts(catalog))
            }
            _ => false,
        }
    }

    fn explains_facts(self, found: &Facts, expected: &Facts) -> bool {
        let of = |facts: &Facts, schemas: &[&str]| -> Facts {
            let is_of =
                |(key, _): &(&String, &Value)| schemas.iter().any(|schema| key.starts_with(schema));
            facts
                .iter()
                .filter(is_of)
                .map(|(key, fact)| (key.replace("  ", " "), fact.clone()))
                .collect()
        };
        let is_equal = |schemas: &[&str]| of(found, schemas) == of(expected, schemas);
        match self {
            Self::Trimmed => is_equal(&["olm."]),
            Self::DefaultChannel => is_equal(&["olm.channel", "olm.bundle"]),
            // What the other edges lead to is there too.
            Self::EdgesStay | Self::SkippedEdgesStay => {
                let bundles = of(found, &["olm.bundle"]);
                is_equal(&["olm.package"])
                    && of(expected, &["olm.bundle"])
                        .iter()
                        .all(|(key, bundle)| bundles.get(key) == Some(bundle))
            }
            Self::SkipsStay => {
                is_equal(&["olm.bundle"]) && !skips(found).is_subset(&skips(expected))
            }
            _ => false,
        }
    }
}

/// Lists what the entries of channels skip.
fn skips(facts: &Facts) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    for (channel, entries) in facts
        .iter()
        .filter(|(key, _)| key.starts_with("olm.channel "))
    {
        for entry in entries.as_array().unwrap() {
            let skips = entry["skips"].as_array().into_iter().flatten();
            all.extend(
                skips.map(|skip| (channel.clone(), entry["name"].to_string(), skip.to_string())),
            );
        }
    }
    all
}

#[test]
fn every_recorded_sequence_is_done_as_opm_does_it() {
    let bundles: BTreeMap<String, Bundle> = lines::<Bundle>("bundles.jsonl.gz")
        .into_iter()
        .map(|bundle| (bundle.id.clone(), bundle))
        .collect();
    let sequences: Vec<Sequence> = lines("sequences.jsonl.gz");
    let mut faults = Vec::new();
    let mut compared = 0;
    let mut left_out = 0;
    for sequence in &sequences {
        let mut content = CatalogBlobs::default();
        for (at, op) in sequence.ops.iter().enumerate() {
            let known = DIFFERENCES
                .iter()
                .find(|(name, step, _)| *name == sequence.name && *step == at);
            let expected: Vec<&Step> = std::iter::once(&sequence.steps)
                .chain(&sequence.also_seen)
                .filter_map(|steps| steps.get(at))
                .collect();
            let found = run(&content, op, &bundles);
            let fault = compare(&content, &found, &expected);
            compared += 1;
            let is_explained = |(.., difference): &(&str, usize, Difference)| {
                expected
                    .iter()
                    .any(|step| difference.explains(&found, step))
            };
            match (&fault, known) {
                (Some(fault), known) if !known.is_some_and(is_explained) => {
                    faults.push(format!("{} {at}: {known:?}: {fault}", sequence.name));
                }
                (None, Some(_)) => {
                    faults.push(format!("{} {at}: is no difference any more", sequence.name));
                }
                _ => {}
            }
            // What opm stored although it cannot be rendered is no state to go on from.
            if fault.is_some() || expected.iter().any(|step| step.render_error.is_some()) {
                left_out += sequence.ops.len() - at - 1;
                break;
            }
            content = found.unwrap_or(content);
        }
    }
    assert_eq!(sequences.len(), 156);
    assert!(
        faults.is_empty(),
        "{} of {compared}, {left_out} left out:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert_eq!((compared, left_out), (407, 19));
}

/// Does a recorded operation; the error is its text.
fn run(
    content: &CatalogBlobs,
    op: &Value,
    bundles: &BTreeMap<String, Bundle>,
) -> Result<CatalogBlobs, String> {
    let mut op = op.clone();
    let name = op["op"].as_str().unwrap().to_owned();
    if name == "deprecatetruncate" {
        let ids = op["bundles"].as_array().cloned().unwrap_or_default();
        let images = ids
            .iter()
            .map(|id| json!(bundles[id.as_str().unwrap()].image));
        let images: Vec<_> = images
            .chain(op["images"].as_array().cloned().unwrap_or_default())
            .collect();
        op.as_object_mut().unwrap().remove("bundles");
        op["images"] = images.into();
    }
    if name == "prune" {
        op["allowEmpty"] = true.into();
    }
    let operation: Operation<String> =
        serde_json::from_value(op).map_err(|error| error.to_string())?;
    let rendered = |id: String| -> Result<RenderedBundle, String> {
        let bundle = &bundles[&id];
        render(&bundle.files(), &bundle.image, Migration::None).map_err(|error| error.to_string())
    };
    let operation = operation.try_map(rendered)?;
    apply(content, &[operation]).map_err(|refusal| refusal.to_string())
}

/// Says how a result differs from all of those that were seen.
fn compare(
    before: &CatalogBlobs,
    found: &Result<CatalogBlobs, String>,
    expected: &[&Step],
) -> Option<String> {
    let former = facts(&values(before));
    let mut fault = None;
    for step in expected {
        let is_equal = match (found, &step.catalog) {
            (Err(error), _) => step
                .error
                .as_ref()
                .is_some_and(|expected| is_same(error, expected)),
            (Ok(after), Some(catalog)) => facts(&values(after)) == facts(catalog),
            (Ok(after), None) => step.unchanged && facts(&values(after)) == former,
        };
        if is_equal {
            return None;
        }
        let shown = match found {
            Ok(content) => json!(facts(&values(content))).to_string(),
            Err(error) => error.clone(),
        };
        let wanted = match step {
            Step {
                error: Some(error), ..
            }
            | Step {
                render_error: Some(error),
                ..
            } => error.clone(),
            Step {
                catalog: Some(catalog),
                ..
            } => json!(facts(catalog)).to_string(),
            _ => "unchanged".to_owned(),
        };
        fault = Some(format!("expected {wanted}\n   found {shown}"));
    }
    fault
}

/// Compares messages: of several the order is chance, and opm prints a Go map of structs in one.
fn is_same(found: &str, expected: &str) -> bool {
    let beginning = "unable to determine default channel among channel heads: ";
    let sorted = |text: &str| {
        let inner = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        inner
            .split(", ")
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    found == expected
        || sorted(found) == sorted(expected)
        || (found.starts_with(beginning) && expected.starts_with(beginning))
}

fn values(content: &CatalogBlobs) -> Vec<Value> {
    content
        .blobs()
        .iter()
        .map(|blob| serde_json::from_str(&blob.line).unwrap())
        .collect()
}

/// Collects the compared facts of a catalog: default channels, entries, and the properties of
/// bundles but those that opm's database loses. Bundles where a package was truncated are left out,
/// as opm renders them; entries that others skip have no edges.
fn facts(blobs: &[Value]) -> Facts {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let kinds = |bundle: &Value| -> BTreeSet<String> {
        bundle["properties"]
            .as_array()
            .unwrap()
            .iter()
            .map(|property| text(property, "type"))
            .collect()
    };
    let truncated: BTreeSet<String> = blobs
        .iter()
        .filter(|blob| blob["schema"] == "olm.bundle" && kinds(blob).contains("olm.deprecated"))
        .map(|blob| text(blob, "name"))
        .collect();
    let mut facts = BTreeMap::new();
    for blob in blobs {
        let key = ["schema", "package", "name"]
            .map(|key| text(blob, key))
            .join(" ");
        let fact = match &*text(blob, "schema") {
            "olm.package" => blob["defaultChannel"].clone(),
            "olm.channel" => entries(blob, &truncated),
            "olm.bundle" if truncated.contains(&text(blob, "name")) => continue,
            "olm.bundle" => properties(blob),
            _ => blob.clone(),
        };
        facts.insert(key, fact);
    }
    facts
}

fn entries(channel: &Value, truncated: &BTreeSet<String>) -> Value {
    let entries = channel["entries"].as_array().unwrap();
    let is_skipped = |name: &Value| {
        entries.iter().any(|entry| {
            entry["skips"]
                .as_array()
                .is_some_and(|skips| skips.contains(name))
        })
    };
    let mut shown: Vec<Value> = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| !truncated.contains(entry["name"].as_str().unwrap()))
    {
        let mut entry = if is_skipped(&entry["name"]) {
            json!({ "name": entry["name"] })
        } else {
            entry.clone()
        };
        if let Some(skips) = entry.get_mut("skips").and_then(Value::as_array_mut) {
            skips.sort_by_key(ToString::to_string);
        }
        shown.push(entry);
    }
    shown.sort_by_key(|entry| entry["name"].to_string());
    shown.into()
}

fn properties(bundle: &Value) -> Value {
    let lost = ["olm.bundle.object", "olm.constraint"];
    let properties = bundle["properties"].as_array().unwrap().iter();
    let mut kept: Vec<_> = properties
        .filter(|property| !lost.contains(&property["type"].as_str().unwrap()))
        .cloned()
        .collect();
    kept.sort_by_key(ToString::to_string);
    json!({ "image": bundle["image"], "properties": kept })
}

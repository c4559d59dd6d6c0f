//! Each recorded sequence of edits gives what `opm` gave, or differs on purpose.

use std::collections::{BTreeMap, BTreeSet};

use edit::bundle::{Migration, RenderedBundle, render};
use edit::{Content, Operation, apply};
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

const STRANDED: &str = "bundles that would be in no channel are told instead of dropped";
const EDGES_STAY: &str = "edges stay as channels have them, and are not read from CSVs again";
const SKIPS_STAY: &str = "skips stay when other bundles are added by version";
const INVALID_GRAPH: &str = "works; the new entry replaces the greatest lower one that is not skipped";
const DEFAULT_CHANNEL: &str = "the default channel moves only with a new highest version";
const TRIMMED: &str = "names of channels are trimmed, and empty ones left out";

/// Steps that differ on purpose, by the number of the step counted from 0, with the reason. Later steps of
/// the sequence are left out.
const DIFFERENCES: [(&str, usize, &str); 31] = [
    ("bundle/no-annotations", 0, "what is missing is named"),
    ("bundle/release-field", 0, "the release is part of the one property"),
    ("default/empty-channel-name", 0, TRIMMED),
    ("default/spaces-in-channels", 0, TRIMMED),
    ("random/000", 3, STRANDED),
    ("random/001", 1, EDGES_STAY),
    ("random/006", 1, EDGES_STAY),
    ("random/009", 2, SKIPS_STAY),
    ("random/013", 2, SKIPS_STAY),
    ("random/016", 5, STRANDED),
    ("random/017", 2, EDGES_STAY),
    ("random/018", 2, STRANDED),
    ("random/022", 4, EDGES_STAY),
    ("random/024", 4, EDGES_STAY),
    ("random/025", 5, EDGES_STAY),
    ("random/028", 3, STRANDED),
    ("random/030", 2, EDGES_STAY),
    ("random/033", 5, EDGES_STAY),
    ("random/041", 1, "bundles that are skipped keep their edges"),
    ("random/042", 2, EDGES_STAY),
    ("random/048", 3, DEFAULT_CHANNEL),
    ("random/054", 5, STRANDED),
    ("replaces/new-head-replaces-nothing", 1, STRANDED),
    ("replaces/revive-a-pruned-bundle", 1, STRANDED),
    ("replaces/skip-range-only", 1, STRANDED),
    ("semver/after-replaces", 1, DEFAULT_CHANNEL),
    ("semver/after-replaces-below-skips", 1, INVALID_GRAPH),
    ("semver/after-replaces-with-skips", 1, INVALID_GRAPH),
    ("skippatch/minor-then-patches", 2, INVALID_GRAPH),
    ("skippatch/older-patch", 2, SKIPS_STAY),
    ("skippatch/two-minors-below", 2, INVALID_GRAPH),
];

#[test]
fn every_recorded_sequence_is_done_as_opm_does_it() {
    let bundles: BTreeMap<String, Bundle> =
        lines::<Bundle>("bundles.jsonl.gz").into_iter().map(|bundle| (bundle.id.clone(), bundle)).collect();
    let sequences: Vec<Sequence> = lines("sequences.jsonl.gz");
    let (mut faults, mut compared, mut left_out) = (Vec::new(), 0, 0);
    for sequence in &sequences {
        let mut content = Content::default();
        for (at, op) in sequence.ops.iter().enumerate() {
            let known = DIFFERENCES.iter().any(|(name, step, _)| *name == sequence.name && *step == at);
            let expected: Vec<&Step> =
                std::iter::once(&sequence.steps).chain(&sequence.also_seen).filter_map(|steps| steps.get(at)).collect();
            let found = run(&content, op, &bundles);
            let fault = compare(&content, &found, &expected);
            compared += 1;
            match (&fault, known) {
                (Some(fault), false) => faults.push(format!("{} {at}: {fault}", sequence.name)),
                (None, true) => faults.push(format!("{} {at}: is no difference any more", sequence.name)),
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
    assert!(faults.is_empty(), "{} of {compared}, {left_out} left out:\n{}", faults.len(), faults.join("\n"));
    assert_eq!((compared, left_out), (407, 19));
}

/// Does a recorded operation; the error is its text.
fn run(content: &Content, op: &Value, bundles: &BTreeMap<String, Bundle>) -> Result<Content, String> {
    let mut op = op.clone();
    let name = op["op"].as_str().unwrap().to_owned();
    if name == "deprecatetruncate" {
        let ids = op["bundles"].as_array().cloned().unwrap_or_default();
        let images = ids.iter().map(|id| json!(bundles[id.as_str().unwrap()].image));
        let images: Vec<_> = images.chain(op["images"].as_array().cloned().unwrap_or_default()).collect();
        op.as_object_mut().unwrap().remove("bundles");
        op["images"] = images.into();
    }
    if name == "prune" {
        op["allowEmpty"] = true.into();
    }
    let operation: Operation<String> = serde_json::from_value(op).map_err(|error| error.to_string())?;
    let rendered = |id: String| -> Result<RenderedBundle, String> {
        let bundle = &bundles[&id];
        render(&bundle.files(), &bundle.image, Migration::None).map_err(|error| error.to_string())
    };
    let operation = operation.try_map(rendered)?;
    apply(content, &[operation]).map_err(|refusal| refusal.to_string())
}

/// Says how a result differs from all of those that were seen.
fn compare(before: &Content, found: &Result<Content, String>, expected: &[&Step]) -> Option<String> {
    let former = facts(&values(before));
    let mut fault = None;
    for step in expected {
        let is_equal = match (found, &step.catalog) {
            (Err(error), _) => {
                step.render_error.is_some() || step.error.as_ref().is_some_and(|expected| is_same(error, expected))
            }
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
            Step { error: Some(error), .. } | Step { render_error: Some(error), .. } => error.clone(),
            Step { catalog: Some(catalog), .. } => json!(facts(catalog)).to_string(),
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
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        inner.split(", ").map(str::to_owned).collect::<BTreeSet<_>>()
    };
    found == expected
        || sorted(found) == sorted(expected)
        || (found.starts_with(beginning) && expected.starts_with(beginning))
}

fn values(content: &Content) -> Vec<Value> {
    content.metas().iter().map(|meta| serde_json::from_str(&meta.line).unwrap()).collect()
}

/// What is compared of a catalog: default channels, entries, and the properties of bundles but those that opm's database
/// loses. Bundles where a package was truncated are left out, as opm renders them; entries that others skip have no edges.
fn facts(metas: &[Value]) -> BTreeMap<String, Value> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let kinds = |bundle: &Value| -> BTreeSet<String> {
        bundle["properties"].as_array().unwrap().iter().map(|property| text(property, "type")).collect()
    };
    let truncated: BTreeSet<String> = metas
        .iter()
        .filter(|meta| meta["schema"] == "olm.bundle" && kinds(meta).contains("olm.deprecated"))
        .map(|meta| text(meta, "name"))
        .collect();
    let mut facts = BTreeMap::new();
    for meta in metas {
        let key = ["schema", "package", "name"].map(|key| text(meta, key)).join(" ");
        let fact = match &*text(meta, "schema") {
            "olm.package" => meta["defaultChannel"].clone(),
            "olm.channel" => entries(meta, &truncated),
            "olm.bundle" if truncated.contains(&text(meta, "name")) => continue,
            "olm.bundle" => properties(meta),
            _ => meta.clone(),
        };
        facts.insert(key, fact);
    }
    facts
}

fn entries(channel: &Value, truncated: &BTreeSet<String>) -> Value {
    let entries = channel["entries"].as_array().unwrap();
    let is_skipped =
        |name: &Value| entries.iter().any(|entry| entry["skips"].as_array().is_some_and(|skips| skips.contains(name)));
    let mut shown: Vec<Value> = Vec::new();
    for entry in entries.iter().filter(|entry| !truncated.contains(entry["name"].as_str().unwrap())) {
        let mut entry = if is_skipped(&entry["name"]) { json!({ "name": entry["name"] }) } else { entry.clone() };
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
    let mut kept: Vec<_> =
        properties.filter(|property| !lost.contains(&property["type"].as_str().unwrap())).cloned().collect();
    kept.sort_by_key(ToString::to_string);
    json!({ "image": bundle["image"], "properties": kept })
}

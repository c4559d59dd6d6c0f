//! How much memory solving takes at most: worlds that come close to its limits, and beyond them.

use std::env;
use std::path::Path;

use fbc::Catalog;
use fbc::work::Work;
use serde_json::{Value, json};
use solve::{MAX_LITERALS, MAX_VARIABLES, SolveOutcome, SolveRequest, SourceCatalog, solve};
use testing::Folders;

use crate::{HEAP, LOAD, MIB, read, run};

/// The test that a process with a world runs.
const NAME: &str = "solving::solving_takes_at_most_128_mib_of_memory_whatever_the_catalogs_say";

/// Most bytes that solving may take.
const MOST: usize = 128 * MIB;

/// A world: its blobs, and what the outcome says.
type World = (&'static str, fn() -> String, &'static str);

const WORLDS: [World; 11] = [
    (
        "as many bundles as may be chosen from",
        || wide(MAX_VARIABLES - 1_000),
        "solved",
    ),
    (
        "too many bundles to choose from",
        || wide(MAX_VARIABLES),
        "bundles to choose from",
    ),
    (
        "as many bundles as constraints may name",
        || square(MAX_LITERALS / 1_000 - 20),
        "solved",
    ),
    (
        "constraints that name too many bundles",
        || square(MAX_LITERALS / 1_000),
        "bundles named in constraints",
    ),
    (
        "forbidden alternatives within alternatives",
        nested,
        "solved",
    ),
    ("alternatives that any bundle may meet", anything, "solved"),
    (
        "many APIs of a bundle in many channels",
        apis,
        "bundles named in constraints",
    ),
    (
        "rules that copy as many values as they may",
        || ruled(&copying(2), 10, &maps(16_000)),
        "solved",
    ),
    (
        "a rule that copies as many texts as it may",
        || ruled(&copying(2), 1, &texts(48_000)),
        "solved",
    ),
    (
        "a rule that copies properties hundreds of times",
        || ruled(&copying(370), 1, &maps(7_500)),
        "steps of CEL rules",
    ),
    (
        "properties of as many values as rules may look at",
        || ruled("false", 30, &maps(16_000)),
        "conflicts",
    ),
];

#[test]
fn solving_takes_at_most_128_mib_of_memory_whatever_the_catalogs_say() {
    if let Some(folder) = env::var_os(LOAD) {
        return solve_folder(Path::new(&folder));
    }
    let mut missed = Vec::new();
    for (name, blobs, outcome) in WORLDS {
        let folders = Folders::new();
        folders.write("catalog/catalog.json", blobs());
        let (peak, found) = run(NAME, &folders.path("catalog"));
        println!(
            "{name}: {} KiB of memory, at most {}: {found}",
            peak / 1024,
            MOST / 1024
        );
        if peak > MOST || !found.contains(outcome) {
            missed.push((name, peak, found));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Solves for the package `wanted` of these files, and prints how much more than before was on the
/// heap at most.
fn solve_folder(folder: &Path) {
    let content = read(folder).expect("the files are a catalog");
    content.catalog.prepare();
    let before = HEAP.allocated();
    let outcome = outcome(&content.catalog);
    println!("\npeak {} {outcome}", HEAP.max_allocated() - before);
}

fn outcome(catalog: &Catalog) -> String {
    let wanted = json!({"name": "wanted", "package": "wanted", "channel": "stable"});
    let request = json!({"namespaces": ["olm"], "subscriptions": [wanted]});
    let request: SolveRequest =
        serde_json::from_value(request).expect("the request is well-formed");
    let catalogs = [SourceCatalog {
        name: "world",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog,
    }];
    match solve(&request, &catalogs, u64::MAX, &Work::unlimited())
        .expect("an account without limit stops nothing")
    {
        SolveOutcome::Solution(_) => "solved".to_owned(),
        SolveOutcome::Conflict(_) => "conflicts".to_owned(),
        SolveOutcome::Refusal(refusal) => refusal.message,
    }
}

/// Writes a package whose only channel has these bundles, from the first to the last, each with
/// these properties.
fn package(name: &str, bundles: usize, properties: &str) -> String {
    let entry = |at: usize| match at.checked_sub(1) {
        Some(former) => {
            json!({"name": format!("{name}.v{at}"), "replaces": format!("{name}.v{former}")})
        }
        None => json!({"name": format!("{name}.v{at}")}),
    };
    let entries: Vec<_> = (0..bundles).map(entry).collect();
    let mut blobs = vec![
        json!({"schema": "olm.package", "name": name, "defaultChannel": "stable"}).to_string(),
        json!({"schema": "olm.channel", "package": name, "name": "stable", "entries": entries})
            .to_string(),
    ];
    blobs.extend((0..bundles).map(|at| {
        let own = json!({"type": "olm.package", "value": {"packageName": name, "version": format!("0.0.{at}")}});
        format!(
            "{{\"schema\":\"olm.bundle\",\"package\":\"{name}\",\"name\":\"{name}.v{at}\",\"image\":\"i\",\
             \"properties\":[{own}{properties}]}}"
        )
    }));
    blobs.join("\n") + "\n"
}

/// A bundle that requires any bundle of a package with so many.
fn wide(bundles: usize) -> String {
    package("wanted", 1, &required()) + &package("needed", bundles, "")
}

/// A package with so many bundles that each require any of a thousand others.
fn square(bundles: usize) -> String {
    package("wanted", bundles, &required()) + &package("needed", 1_000, "")
}

/// A bundle with a constraint of many alternatives, all of which it forbids.
fn nested() -> String {
    let one = json!({"package": {"packageName": "needed", "versionRange": ">=0.0.1"}});
    let any = json!({"any": {"constraints": vec![one; 10]}});
    let all = json!({"all": {"constraints": vec![any; 60]}});
    let value = json!({"failureMessage": "no", "not": {"constraints": [all]}});
    let forbidden = format!(",{}", json!({"type": "olm.constraint", "value": value}));
    package("wanted", 1, &(forbidden + &required())) + &package("needed", 1_000, "")
}

/// A bundle with a constraint that has many alternatives, each of which every bundle meets.
fn anything() -> String {
    let value =
        json!({"failureMessage": "no", "any": {"constraints": vec![json!({"all": {}}); 11_000]}});
    let constraint = format!(",{}", json!({"type": "olm.constraint", "value": value}));
    package("wanted", 1, &constraint) + &package("needed", 5_000, "")
}

/// A bundle that requires another one, which is in a thousand channels and provides many APIs.
fn apis() -> String {
    let api = |at: usize| {
        format!(
            ",{}",
            json!({"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": format!("K{at}")}})
        )
    };
    let provided: String = (0..50_000).map(api).collect();
    let channel = |at: usize| {
        let entries = [json!({"name": "needed.v0"})];
        json!({"schema": "olm.channel", "package": "needed", "name": format!("c{at}"), "entries": entries}).to_string()
            + "\n"
    };
    package("wanted", 1, &required())
        + &package("needed", 1, &provided)
        + &(0..1_000).map(channel).collect::<String>()
}

/// A bundle with a rule that looks at so many others, each of which has a large property.
fn ruled(rule: &str, bundles: usize, value: &Value) -> String {
    let constraint = json!({"failureMessage": "no", "cel": {"rule": rule}});
    let constraint = format!(
        ",{}",
        json!({"type": "olm.constraint", "value": constraint})
    );
    package("wanted", 1, &constraint)
        + &package(
            "needed",
            bundles,
            &format!(",{}", json!({"type": "large", "value": value})),
        )
}

/// A rule that is met, and copies all properties so many times.
fn copying(times: usize) -> String {
    format!("[{}] != []", vec!["properties"; times].join(","))
}

/// Maps, each of which counts as three values and takes three hundred bytes.
fn maps(count: usize) -> Value {
    vec![json!({"a": 0}); count].into()
}

/// Texts as long as one value may be.
fn texts(count: usize) -> Value {
    vec!["x".repeat(255); count].into()
}

/// The property of a bundle that requires any bundle of `needed`, behind a comma.
fn required() -> String {
    let value = json!({"packageName": "needed", "versionRange": ">=0.0.0"});
    format!(
        ",{}",
        json!({"type": "olm.package.required", "value": value})
    )
}

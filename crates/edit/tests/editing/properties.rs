//! What holds for every edit: nothing becomes invalid, nothing is stranded, order does not count,
//! and what is taken back leaves the bytes that were there.

use std::collections::{BTreeMap, BTreeSet};

use edit::bundle::{Migration, RenderedBundle, render};
use edit::file::{self, ChangeError, SourceFile};
use edit::{CatalogBlobs, Operation, apply};
use fastrand::Rng;
use fbc::Catalog;
use fbc_read::Origins;
use fbc_read::origin::FileOrigin;
use fbc_read::problem::Severity;
use serde_json::json;

use crate::support::{Bundle, lines};

/// Number of seeded sequences.
const SEQUENCES: u64 = 1_000;

fn rendered() -> Vec<RenderedBundle> {
    let bundles: Vec<Bundle> = lines("bundles.jsonl.gz");
    let rendered = bundles
        .iter()
        .map(|bundle| render(&bundle.files(), &bundle.image, Migration::CsvMetadata));
    rendered.filter_map(Result::ok).collect()
}

fn operation(value: serde_json::Value) -> Operation<RenderedBundle> {
    let operation: Operation<String> = serde_json::from_value(value).unwrap();
    operation.try_map(|_| Err(())).unwrap()
}

fn add(bundles: Vec<RenderedBundle>, mode: &str) -> Operation<RenderedBundle> {
    let Operation::Add(mut add) = operation(json!({ "op": "add", "bundles": [], "mode": mode }))
    else {
        panic!("an add")
    };
    add.bundles = bundles;
    Operation::Add(add)
}

/// Returns the errors of a content, as `opm validate` finds them.
fn errors(content: &CatalogBlobs) -> Vec<String> {
    let lines: Vec<_> = content.blobs().iter().map(|blob| &*blob.line).collect();
    let text = lines.join("\n") + if lines.is_empty() { "" } else { "\n" };
    let file = FileOrigin {
        lines: vec![1; content.blobs().len()],
        bytes: text.len() as u64,
        ..FileOrigin::default()
    };
    let origins = Origins {
        files: vec![file],
        ..Origins::default()
    };
    let catalog = Catalog::build(text.into_bytes().into(), &origins).unwrap();
    let problems = catalog
        .problems()
        .iter()
        .filter(|problem| problem.severity() == Severity::Error);
    problems.map(|problem| problem.message.clone()).collect()
}

/// Chooses an operation on what there is, or an addition.
fn choose(
    random: &mut Rng,
    content: &CatalogBlobs,
    bundles: &[RenderedBundle],
) -> Operation<RenderedBundle> {
    let names: Vec<_> = content.packages().into_iter().collect();
    let package = random
        .choice(&names)
        .map_or_else(|| "none".to_owned(), ToString::to_string);
    let of = |schema: &str| -> Vec<String> {
        let blobs = content
            .blobs()
            .iter()
            .filter(|blob| &*blob.schema == schema && *blob.package == *package);
        blobs.map(|blob| blob.name.to_string()).collect()
    };
    let channels = of("olm.channel");
    let members = of("olm.bundle");
    let channel = random.choice(&channels).cloned().unwrap_or_default();
    let bundle = random.choice(&members).cloned().unwrap_or_default();
    let image = random
        .choice(bundles)
        .map(|bundle| bundle.blob.str("image").to_owned())
        .unwrap_or_default();
    match random.u8(0..16) {
        0 => operation(json!({ "op": "rm", "packages": [package] })),
        1 => operation(
            json!({ "op": "delete-latest", "package": package, "dropEmptyChannels": random.bool() }),
        ),
        2 => operation(
            json!({ "op": "delete-bundle", "package": package, "bundle": bundle, "policy": "reconnect" }),
        ),
        3 => operation(
            json!({ "op": "promote", "package": package, "bundle": bundle, "channel": channel }),
        ),
        4 => operation(
            json!({ "op": "remove-channel", "package": package, "channel": channel, "pruneStranded": true }),
        ),
        5 => {
            operation(json!({ "op": "deprecate-truncate", "images": [image], "permissive": true }))
        }
        6 => {
            operation(json!({ "op": "set-package", "package": package, "defaultChannel": channel }))
        }
        _ => {
            let count = random.usize(1..4);
            let chosen = (0..count)
                .filter_map(|_| random.choice(bundles).cloned())
                .collect();
            let mode = ["replaces", "replaces", "semver", "semver-skippatch"][random.usize(0..4)];
            add(chosen, mode)
        }
    }
}

#[test]
fn no_sequence_of_edits_makes_a_catalog_invalid_or_strands_a_bundle() {
    let all = rendered();
    let mut by_package: BTreeMap<String, Vec<RenderedBundle>> = BTreeMap::new();
    for bundle in all {
        by_package
            .entry(bundle.blob.str("package").to_owned())
            .or_default()
            .push(bundle);
    }
    let packages: Vec<_> = by_package
        .values()
        .filter(|bundles| bundles.len() > 3)
        .collect();
    let mut done = 0;
    let mut refused = 0;
    for seed in 0..SEQUENCES {
        let mut random = Rng::with_seed(seed);
        let mut content = CatalogBlobs::default();
        let first = random.usize(0..packages.len());
        let second = random.usize(0..packages.len());
        let bundles: Vec<_> = packages[first]
            .iter()
            .chain(packages[second])
            .cloned()
            .collect();
        for step in 0..6 {
            let operation = choose(&mut random, &content, &bundles);
            let Ok(after) = apply(&content, std::slice::from_ref(&operation)) else {
                refused += 1;
                continue;
            };
            done += 1;
            assert_eq!(
                errors(&after),
                Vec::<String>::new(),
                "seed {seed}, step {step}: {operation:?}"
            );
            content = after;
        }
    }
    assert!(
        done > 1_000 && refused > 500,
        "{done} done, {refused} refused"
    );
}

#[test]
fn the_order_of_a_batch_does_not_count() {
    let bundles = rendered();
    let kiwis: Vec<_> = ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0"]
        .map(|version| {
            let image = format!("registry.test/kiwi:{version}");
            bundles
                .iter()
                .find(|bundle| bundle.blob.str("image") == image)
                .unwrap()
                .clone()
        })
        .into();
    for mode in ["replaces", "semver", "semver-skippatch"] {
        let results: BTreeSet<Vec<String>> = (0..20)
            .map(|seed| {
                let mut batch = kiwis.clone();
                Rng::with_seed(seed).shuffle(&mut batch);
                let content = apply(&CatalogBlobs::default(), &[add(batch, mode)]).unwrap();
                content
                    .blobs()
                    .iter()
                    .map(|blob| blob.line.to_string())
                    .collect()
            })
            .collect();
        assert_eq!(results.len(), 1, "{mode}");
    }
}

#[test]
fn what_is_added_and_deleted_again_leaves_the_bytes_that_were_there() {
    let bundles = rendered();
    let kiwi = |version: &str| {
        let image = format!("registry.test/kiwi:{version}");
        bundles
            .iter()
            .find(|bundle| bundle.blob.str("image") == image)
            .unwrap()
            .clone()
    };
    let first = apply(
        &CatalogBlobs::default(),
        &[add(vec![kiwi("0.1.0"), kiwi("0.2.0")], "replaces")],
    )
    .unwrap();
    for format in [edit::FileFormat::Json, edit::FileFormat::Yaml] {
        let mut text = String::new();
        first
            .blobs()
            .iter()
            .for_each(|blob| format.write(&blob.value().unwrap(), &mut text));
        let path = format!("kiwi/catalog.{}", format.extension());
        let edited = |text: String, batch: &[Operation<RenderedBundle>]| {
            let files = [SourceFile::read(&path, text.as_bytes()).unwrap()];
            let content = file::catalog(&files);
            let mut changes =
                file::changes(&files, &content, &apply(&content, batch).unwrap(), |_| {
                    Ok::<_, ChangeError>(text.clone().into())
                })
                .unwrap();
            String::from_utf8(changes.remove(0).after.unwrap()).unwrap()
        };
        // A channel that only the new bundle is in goes with it.
        let more = edited(text.clone(), &[add(vec![kiwi("0.3.0")], "semver")]);
        let set_default =
            operation(json!({ "op": "set-package", "package": "kiwi", "defaultChannel": "alpha" }));
        let delete = operation(
            json!({ "op": "delete-latest", "package": "kiwi", "dropEmptyChannels": true }),
        );
        assert_ne!(more, text);
        assert_eq!(edited(more, &[set_default, delete]), text);
    }
}

#[test]
fn a_real_catalog_is_written_so_that_it_is_read_back_equal() {
    let yaml = testing::corpus::folder().join("community-v4.18-yaml");
    let is_yaml = yaml.is_dir();
    let folder = if is_yaml {
        yaml
    } else {
        testing::corpus::part_of_community()
    };
    let mut folders: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    let mut documents = 0;
    let mut as_they_were = 0;
    for path in folders
        .iter()
        .map(|folder| {
            folder.join(if is_yaml {
                "catalog.yaml"
            } else {
                "catalog.json"
            })
        })
        .filter(|path| path.is_file())
        .step_by(5)
    {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = SourceFile::read(name, &bytes).unwrap();
        for format in [edit::FileFormat::Yaml, edit::FileFormat::Json] {
            let mut written = String::new();
            for line in file.lines() {
                let before = written.len();
                format.write(&edit::BlobValue::parse(line).unwrap(), &mut written);
                documents += 1;
                as_they_were += usize::from(text.contains(&written[before..]));
            }
            let again = SourceFile::read(
                &format!("catalog.{}", format.extension()),
                written.as_bytes(),
            )
            .unwrap();
            assert!(
                again.lines() == file.lines(),
                "{} as {format:?}",
                path.display()
            );
        }
    }
    assert!(documents > if is_yaml { 200 } else { 50 }, "{documents}");
    assert!(
        !is_yaml || as_they_were * 10 > documents * 4,
        "{as_they_were} of {documents} documents are written as they were"
    );
}

#[test]
fn a_batch_gives_what_its_operations_give_one_after_the_other() {
    let mut by_package: BTreeMap<String, Vec<RenderedBundle>> = BTreeMap::new();
    for bundle in rendered() {
        by_package
            .entry(bundle.blob.str("package").to_owned())
            .or_default()
            .push(bundle);
    }
    let packages: Vec<_> = by_package
        .values()
        .filter(|bundles| bundles.len() > 3)
        .collect();
    let mut longest = 0;
    for seed in 0..SEQUENCES / 4 {
        let mut random = Rng::with_seed(seed);
        let chosen = [0, 0, 0].map(|_| packages[random.usize(0..packages.len())]);
        let bundles: Vec<_> = chosen.into_iter().flatten().cloned().collect();
        let mut content = CatalogBlobs::default();
        let mut batch = Vec::new();
        for _ in 0..12 {
            let operation = choose(&mut random, &content, &bundles);
            if let Ok(edited) = apply(&content, std::slice::from_ref(&operation)) {
                content = edited;
                batch.push(operation);
            }
        }
        let lines = |content: &CatalogBlobs| -> Vec<_> {
            content
                .blobs()
                .iter()
                .map(|blob| blob.line.clone())
                .collect()
        };
        let at_once = apply(&CatalogBlobs::default(), &batch)
            .unwrap_or_else(|refusal| panic!("{seed}: {refusal}"));
        assert_eq!(lines(&at_once), lines(&content), "{seed}: {batch:#?}");
        longest = longest.max(batch.len());
    }
    assert!(longest > 6, "{longest}");
}

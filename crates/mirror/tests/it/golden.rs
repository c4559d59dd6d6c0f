//! Selections as oc-mirror makes them: see `testdata/golden/README.md`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use fbc::Catalog;
use fbc::work::Work;
use fbc_read::{Origins, Severity};
use mirror::filtered::filtered_blobs;
use mirror::{MirrorConfiguration, MirrorProblemCode, MirrorRules, MirrorSet, select};
use serde_json::{Value, json};
use testing::corpus::whole_or_part;

/// Folder of the recordings.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden");

/// The recorded cases of a file.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    testing::golden::cases(format!("{GOLDEN}/{name}"))
}

/// Builds a catalog of one file.
pub(crate) fn catalog(path: &str, file: &[u8]) -> Catalog {
    let mut lines = Vec::new();
    let origin = testing::fixture::read_file(path, file, &mut lines);
    let origins = Origins {
        files: vec![origin],
        ..Origins::default()
    };
    Catalog::build(Bytes::from(lines), &origins).unwrap()
}

/// The catalog of a made case: a list of blobs.
pub(crate) fn made_catalog(case: &Value) -> Catalog {
    let blobs = case["blobs"].as_array().unwrap();
    let lines: Vec<_> = blobs.iter().map(Value::to_string).collect();
    catalog("catalog.json", lines.join("\n").as_bytes())
}

/// A configuration with one item.
fn configuration(operator: &Value) -> String {
    let mut operator = operator.clone();
    operator["catalog"] = "registry.example.com/catalog:v1".into();
    json!({
        "kind": "ImageSetConfiguration",
        "apiVersion": "mirror.openshift.io/v2alpha1",
        "mirror": { "operators": [operator] },
    })
    .to_string()
}

/// Selects by the rules of oc-mirror and returns the result in the form of the recorded ones,
/// without `invalidByOpm` and with the code of a refusal in place of its text.
fn answer(catalog: &Catalog, operator: &Value) -> Value {
    let configuration = match MirrorConfiguration::parse(&configuration(operator)) {
        Ok(configuration) => configuration,
        Err(problems) => return json!({ "kind": problems[0].code.as_str() }),
    };
    let selection = &configuration.operators[0];
    let set = select(
        catalog,
        selection,
        MirrorRules::OcMirror,
        &Work::unlimited(),
    )
    .unwrap();
    match set.problems.first() {
        Some(problem) => json!({ "kind": problem.code.as_str() }),
        None => json!({ "packages": packages(&set) }),
    }
}

/// The selected packages in the form of the recorded ones.
fn packages(set: &MirrorSet<'_>) -> Vec<Value> {
    let packages = set.packages.iter().map(|package| {
        let channels: Vec<_> = package
            .channels
            .iter()
            .map(|channel| {
                let entries: Vec<_> = channel.entries.iter().map(|entry| entry.name()).collect();
                json!({ "name": channel.channel.name(), "entries": entries })
            })
            .collect();
        let bundles: Vec<_> = package
            .bundles
            .iter()
            .map(|one| one.bundle.name())
            .collect();
        let deprecations: Vec<_> = package
            .deprecations
            .iter()
            .map(|one| format!("{}/{}", one.schema, one.name))
            .collect();
        let mut value = json!({
            "name": package.package.name(),
            "defaultChannel": package.default_channel,
            "channels": channels,
            "bundles": bundles,
        });
        if !deprecations.is_empty() {
            value["deprecations"] = deprecations.into();
        }
        value
    });
    packages.collect()
}

/// The recorded result without what only people read.
fn expected(case: &Value) -> Value {
    let mut result = case["result"].clone();
    let members = result.as_object_mut().unwrap();
    members.remove("error");
    members.remove("invalidByOpm");
    result
}

/// Compares the results of cases; panics with the first differences.
fn compare(cases: &[Value], catalog_of: impl Fn(&Value) -> Rc<Catalog>) -> usize {
    let mut differences = Vec::new();
    for case in cases {
        let catalog = catalog_of(case);
        let got = answer(&catalog, &case["operator"]);
        let want = expected(case);
        if got != want {
            differences.push(format!("{}\n  got  {got}\n  want {want}", case["operator"]));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        cases.len(),
        differences[..differences.len().min(5)].join("\n")
    );
    cases.len()
}

#[test]
fn every_recorded_selection_of_a_made_catalog_is_made_as_oc_mirror_makes_it() {
    let cases = cases("made.jsonl.gz");
    assert_eq!(compare(&cases, |case| Rc::new(made_catalog(case))), 750);
}

/// Packages of the corpus, each read once.
struct RealCatalogs {
    directory: PathBuf,
    read: RefCell<HashMap<String, Rc<Catalog>>>,
}

impl RealCatalogs {
    fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            read: RefCell::default(),
        }
    }

    /// The package of a case as a catalog.
    fn get(&self, case: &Value) -> Rc<Catalog> {
        let package = package_of(case);
        let mut read = self.read.borrow_mut();
        let found = read.entry(package.to_owned()).or_insert_with(|| {
            let file = fs::read(self.directory.join(package).join("catalog.json")).unwrap();
            Rc::new(catalog(&format!("{package}/catalog.json"), &file))
        });
        Rc::clone(found)
    }
}

#[test]
fn every_recorded_selection_of_a_real_catalog_is_made_as_oc_mirror_makes_it() {
    let directory = testing::corpus::community();
    let cases = real_cases(&directory);
    let expected = whole_or_part(&directory, 1_200, 134);
    let catalogs = RealCatalogs::new(directory);
    assert_eq!(compare(&cases, |case| catalogs.get(case)), expected);
}

/// The recorded selections of packages of a directory.
fn real_cases(directory: &Path) -> Vec<Value> {
    let mut cases = cases("real.jsonl.gz");
    cases.retain(|case| directory.join(package_of(case)).is_dir());
    cases
}

/// The package that a recorded selection of the real catalog is from.
fn package_of(case: &Value) -> &str {
    let catalog = case["catalog"].as_str().unwrap();
    catalog.strip_prefix("community/").unwrap()
}

/// Selects by our rules; returns the packages, or the code of the first error.
fn our_answer<'a>(
    catalog: &'a Catalog,
    operator: &Value,
) -> Result<MirrorSet<'a>, MirrorProblemCode> {
    let configuration = match MirrorConfiguration::parse(&configuration(operator)) {
        Ok(configuration) => configuration,
        Err(problems) => return Err(problems[0].code),
    };
    let selection = &configuration.operators[0];
    let set = select(
        catalog,
        selection,
        MirrorRules::Catalogql,
        &Work::unlimited(),
    )
    .unwrap();
    match set.problems.iter().find(|problem| problem.is_error()) {
        Some(problem) => Err(problem.code),
        None => Ok(set),
    }
}

/// Builds the catalog that has only what is selected.
fn filtered(catalog: &Catalog, set: &MirrorSet<'_>) -> Catalog {
    let content = std::str::from_utf8(catalog.content()).unwrap();
    let lines: Vec<_> = content.lines().collect();
    let blobs = filtered_blobs(catalog, &set.packages).into_iter();
    let blobs = blobs.map(|blob| blob.line.unwrap_or_else(|| lines[blob.meta].to_owned()) + "\n");
    testing::fixture::catalog_of(&blobs.collect::<String>())
}

/// The messages of the errors of a catalog.
fn errors(catalog: &Catalog) -> Vec<&str> {
    let problems = catalog.problems().iter();
    problems
        .filter(|problem| problem.severity() == Severity::Error)
        .map(|problem| &*problem.message)
        .collect()
}

/// Compares our rules with recorded results: a valid catalog is the same; an invalid one is
/// repaired or refused. Returns how often each happened.
fn compare_ours(
    cases: &[Value],
    catalog_of: impl Fn(&Value) -> Rc<Catalog>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for case in cases {
        let catalog = catalog_of(case);
        let want = expected(case);
        let recorded = match (&want["kind"], &case["result"]["invalidByOpm"]) {
            (Value::String(kind), _) => kind.as_str(),
            (_, Value::Bool(true)) => "invalid",
            _ => "valid",
        };
        let answer = our_answer(&catalog, &case["operator"]);
        if let Ok(set) = &answer {
            assert_eq!(
                errors(&filtered(&catalog, set)),
                [""; 0],
                "{}",
                case["operator"]
            );
        }
        let ours = match answer {
            Ok(set) if recorded == "valid" => {
                assert_eq!(
                    Value::from(packages(&set)),
                    want["packages"],
                    "{}",
                    case["operator"]
                );
                "same"
            }
            Ok(_) => "repaired",
            Err(code) => code.as_str(),
        };
        *counts.entry(format!("{recorded}: {ours}")).or_insert(0) += 1;
    }
    counts
}

/// How our rules answer the made cases, by what is recorded.
const MADE: [(&str, usize); 6] = [
    ("EMPTY_DEFAULT: EMPTY_DEFAULT", 20),
    ("MULTIPLE_HEADS: MULTIPLE_HEADS", 190),
    ("invalid: EMPTY_DEFAULT", 43),
    // A kept entry is stranded.
    ("invalid: INVALID_CATALOG", 30),
    ("invalid: repaired", 30),
    ("valid: same", 437),
];

/// How our rules answer the real cases, by what is recorded.
const REAL: [(&str, usize); 9] = [
    ("CONFIG: CONFIG", 25),
    ("DEFAULT_FILTERED: DEFAULT_FILTERED", 60),
    ("DEFAULT_UNKNOWN: DEFAULT_UNKNOWN", 10),
    ("EMPTY_DEFAULT: EMPTY_DEFAULT", 14),
    ("FULL_RANGE: FULL_RANGE", 19),
    ("invalid: EMPTY_DEFAULT", 27),
    // These packages were invalid before: their skip ranges or images are malformed.
    ("invalid: INVALID_CATALOG", 34),
    ("invalid: repaired", 38),
    ("valid: same", 973),
];

/// How our rules answer those of the real cases that are about the part.
const PART: [(&str, usize); 9] = [
    ("CONFIG: CONFIG", 4),
    ("DEFAULT_FILTERED: DEFAULT_FILTERED", 10),
    ("DEFAULT_UNKNOWN: DEFAULT_UNKNOWN", 1),
    ("EMPTY_DEFAULT: EMPTY_DEFAULT", 2),
    ("FULL_RANGE: FULL_RANGE", 2),
    ("invalid: EMPTY_DEFAULT", 5),
    ("invalid: INVALID_CATALOG", 10),
    ("invalid: repaired", 4),
    ("valid: same", 96),
];

#[test]
fn our_rules_differ_only_where_oc_mirror_makes_an_invalid_catalog_or_refuses() {
    let made = compare_ours(&cases("made.jsonl.gz"), |case| Rc::new(made_catalog(case)));
    assert_eq!(made, counts(&MADE));
    let directory = testing::corpus::community();
    let cases = real_cases(&directory);
    let expected = whole_or_part(&directory, &REAL[..], &PART);
    let catalogs = RealCatalogs::new(directory);
    let real = compare_ours(&cases, |case| catalogs.get(case));
    assert_eq!(real, counts(expected));
}

fn counts(expected: &[(&str, usize)]) -> BTreeMap<String, usize> {
    let counts = expected
        .iter()
        .map(|(kind, count)| ((*kind).to_owned(), *count));
    counts.collect()
}

//! The rules of validation against `opm validate`: see `testdata/golden/README.md`.
//!
//! Upstream answers with one text (stages `load` and `convert`) or with a tree of all faults (stage
//! `model`). Every text and every leaf is a problem of ours. Where upstream made a tree, ours has
//! nothing beside its leaves.

use std::collections::{BTreeMap, BTreeSet};

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use fbc::{Catalog, Head};
use fbc_grammar::go_quote;
use fbc_grammar::ignore::{IGNORE_FILE, IgnoreRules, compare_paths};
use fbc_read::origin::FileOrigin;
use fbc_read::{FileReader, Origins, Problem, ProblemCode, ReadEvent, ReadLimits, Severity};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// Cases with a channel entry whose bundle is not there, in a channel that is not the last of its
/// package. Upstream looks for such entries in the last channel only; in the others it finds a
/// bundle without properties and image. Ours tells all of them as missing bundles, which is what
/// they are.
const MISSING_BUNDLE: [&str; 2] = [
    "an entry without a bundle in the first of three channels",
    "an empty channel after a channel with a missing bundle hides it from the first check",
];

/// Cases with a document that holds nothing. Upstream says that a schema is missing in it; ours
/// says what it is, because there is no blob that could have a schema.
const EMPTY_DOCUMENT: [&str; 9] = [
    "two separators at the very start",
    "three separators between documents",
    "a blank line before the first separator",
    "a trailing separator and a comment",
    "two trailing separators",
    "a file of spaces",
    "a file of comments",
    "a file of one separator",
    "json null at the top level",
];

/// A case where both refuse an inline manifest that is no YAML, each in the words of its own
/// parser.
const MANIFEST: &str = "an inline manifest that is bad yaml";

/// One fault with its place; empty where it has none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    package: String,
    channel: String,
    bundle: String,
    message: String,
}

#[test]
fn every_rule_speaks_as_upstream_does() {
    let cases = include_str!("../testdata/golden/fbc/validation.jsonl");
    assert_eq!(check_cases(cases), 183);
}

#[test]
fn whatever_can_be_read_is_refused_exactly_where_upstream_refuses_it() {
    let cases = include_str!("../testdata/golden/fbc/reading.jsonl");
    assert_eq!(check_cases(cases), 256);
}

#[test]
fn a_problem_names_the_file_and_line_of_its_blob() {
    let lines = [
        json!({"schema": "olm.package", "name": "foo", "defaultChannel": "a"}),
        json!({"schema": "olm.channel", "package": "foo", "name": "a", "entries": [{"name": "x"}]}),
        json!({"schema": "olm.channel", "package": "foo", "name": "b", "entries": [{"name": "y", "skipRange": "v"}]}),
    ];
    let catalog = build(&lines, &[("a.json", &[1, 7]), ("b.json", &[3])]);
    let told: Vec<_> = catalog
        .problems()
        .iter()
        .map(|problem| {
            (
                problem.code,
                problem.channel.as_deref(),
                problem.file.as_deref(),
                problem.line,
            )
        })
        .collect();
    let expected = [
        (
            ProblemCode::ChannelEntryBundleMissing,
            Some("a"),
            Some("a.json"),
            Some(7),
        ),
        (
            ProblemCode::ChannelEntryBundleMissing,
            Some("b"),
            Some("b.json"),
            Some(3),
        ),
        (
            ProblemCode::EntrySkipRangeInvalid,
            Some("b"),
            Some("b.json"),
            Some(3),
        ),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_tree_is_read_whatever_names_are_in_it() {
    let tree = "invalid index:\n└── invalid package \"a\\a\\x00\\\"\\\\\\u00a0\\U000e0001\":\n    └── \
                invalid channel \"é\":\n        └── no heads";
    let expected = Fault {
        package: "a\x07\0\"\\\u{a0}\u{e0001}".to_owned(),
        channel: "é".to_owned(),
        bundle: String::new(),
        message: "no heads".to_owned(),
    };
    assert_eq!(leaves(tree), BTreeSet::from([expected]));
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_text_that_is_quoted_as_go_quotes_is_read_again(text in any::<String>()) {
        prop_assert_eq!(go_unquote(&go_quote(&text).to_string()), text);
    }

    #[test]
    fn an_update_graph_has_a_head_or_one_fault(
        entries in prop::collection::vec(("[a-e]?", "[a-f]?", prop::collection::vec("[a-f]?", 0..3)), 1..7),
    ) {
        let entries: Vec<Value> = entries
            .into_iter()
            .map(|(name, replaces, skips)| json!({"name": name, "replaces": replaces, "skips": skips}))
            .collect();
        let lines = [
            json!({"schema": "olm.package", "name": "foo", "defaultChannel": "a"}),
            json!({"schema": "olm.channel", "package": "foo", "name": "a", "entries": entries}),
        ];
        let catalog = build(&lines, &[("a.json", &[1, 2])]);
        let is_duplicate = |problem: &Problem| problem.code == ProblemCode::ChannelEntryDuplicate;
        prop_assume!(!catalog.problems().iter().any(is_duplicate));
        let count = |codes: &[ProblemCode]| catalog.problems().iter().filter(|problem| codes.contains(&problem.code)).count();
        let headless = count(&[ProblemCode::ChannelWithoutHead, ProblemCode::ChannelMultipleHeads]);
        let below = count(&[ProblemCode::ChannelCycle, ProblemCode::ChannelStranded]);
        let has_head = matches!(catalog.package("foo").unwrap().channel("a").unwrap().head(), Head::One(_));
        prop_assert_eq!(headless, usize::from(!has_head));
        prop_assert!(headless + below <= 1);
    }
}

/// The catalog of these lines in these files, each with the lines on which its blobs begin.
fn build(lines: &[Value], files: &[(&str, &[u32])]) -> Catalog {
    let file = |&(path, lines): &(&str, &[u32])| FileOrigin {
        path: path.to_owned(),
        lines: lines.to_vec(),
        ..FileOrigin::default()
    };
    let content: Vec<u8> = lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
    Catalog::build(
        Bytes::from(content),
        &Origins {
            files: files.iter().map(file).collect(),
            ..Origins::default()
        },
    )
    .unwrap()
}

/// The same cases in every run.
fn seeded() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(0),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Checks every case and answers how many there are.
fn check_cases(cases: &str) -> usize {
    let mut wrong = Vec::new();
    for case in cases
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        if let Err(message) = check_case(&case) {
            wrong.push(format!("{}: {message}", case["name"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    cases.lines().count()
}

fn check_case(case: &Value) -> Result<(), String> {
    let Some(catalog) = catalog(case) else {
        return case["validate"]
            .as_str()
            .map(drop)
            .ok_or_else(|| "refused".to_owned());
    };
    let problems: Vec<&Problem> = catalog
        .problems()
        .iter()
        .filter(|problem| problem.severity() == Severity::Error)
        .collect();
    let name = case["name"].as_str().unwrap();
    let is_only =
        |code| problems.iter().all(|problem| problem.code == code) && !problems.is_empty();
    let is_known_difference = EMPTY_DOCUMENT.contains(&name) && is_only(ProblemCode::DocumentEmpty)
        || name == MANIFEST && is_manifest_told(case, &problems);
    if is_known_difference {
        return Ok(());
    }
    let Some(expected) = case["validate"].as_str() else {
        return if problems.is_empty() {
            Ok(())
        } else {
            Err(format!("problems {problems:?}"))
        };
    };
    if case["stage"] == "model" {
        return check_tree(case, expected, &problems);
    }
    let told: Vec<&str> = problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    // Where upstream's answer varies, each of its answers is one of ours.
    let varying = case["validate_set"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    match varying.chain([expected]).find(|text| !told.contains(text)) {
        None => Ok(()),
        Some(text) => Err(format!("not told {text:?}, but {told:?}")),
    }
}

fn is_manifest_told(case: &Value, problems: &[&Problem]) -> bool {
    let before = |text: &str| {
        text.split_once(" to JSON: ")
            .map(|(before, _)| before.to_owned())
    };
    let expected = case["validate"].as_str().and_then(before);
    matches!(problems, [problem] if expected.is_some() && before(&problem.message) == expected)
}

fn check_tree(case: &Value, tree: &str, problems: &[&Problem]) -> Result<(), String> {
    let mut expected = leaves(tree);
    let mut told: BTreeSet<Fault> = problems.iter().map(|problem| fault(problem)).collect();
    if MISSING_BUNDLE.contains(&case["name"].as_str().unwrap()) {
        let is_empty_bundle = |fault: &Fault| {
            [
                "must be exactly one property with type \"olm.package\"",
                "bundle image must be set",
            ]
            .contains(&fault.message.as_str())
        };
        expected.retain(|fault| !is_empty_bundle(fault));
        let missing = Fault {
            package: "foo".to_owned(),
            channel: "a".to_owned(),
            bundle: String::new(),
            message:
                "no olm.bundle blobs found in package \"foo\" for olm.channel entries [foo.v2.0.0]"
                    .to_owned(),
        };
        if !told.remove(&missing) {
            return Err(format!("not told {missing:?}, but {told:?}"));
        }
    }
    if expected == told {
        Ok(())
    } else {
        Err(format!("expected {expected:?}, told {told:?}"))
    }
}

/// The leaves of upstream's tree, each with the package, channel and bundle above it.
fn leaves(tree: &str) -> BTreeSet<Fault> {
    let mut above: Vec<String> = Vec::new();
    let mut leaves = BTreeSet::new();
    let mut lines = tree.lines();
    assert_eq!(lines.next(), Some("invalid index:"));
    for line in lines {
        let text = line.trim_start_matches(['│', '├', '└', '─', ' ', '\u{a0}']);
        let depth = (line.chars().count() - text.chars().count()) / 4;
        above.truncate(depth - 1);
        let node = ["package", "channel", "bundle"].iter().find_map(|what| {
            text.strip_prefix(&format!("invalid {what} "))?
                .strip_suffix(':')
        });
        if let Some(name) = node {
            above.push(go_unquote(name));
            continue;
        }
        let mut above = above.iter().cloned();
        let mut next = || above.next().unwrap_or_default();
        leaves.insert(Fault {
            package: next(),
            channel: next(),
            bundle: next(),
            message: text.to_owned(),
        });
    }
    leaves
}

/// Reads a text as Go's `%q` writes it.
fn go_unquote(quoted: &str) -> String {
    let mut rest = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .expect("a quoted text");
    let mut text = String::new();
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let digits = match &escape[..1] {
            "x" => 2,
            "u" => 4,
            "U" => 8,
            _ => 0,
        };
        let code = || u32::from_str_radix(&escape[1..=digits], 16).expect("hexadecimal digits");
        text.push(match &escape[..1] {
            "a" => '\x07',
            "b" => '\x08',
            "f" => '\x0c',
            "n" => '\n',
            "r" => '\r',
            "t" => '\t',
            "v" => '\x0b',
            "x" | "u" | "U" => char::from_u32(code()).expect("a character"),
            other => other.chars().next().expect("an escaped character"),
        });
        rest = &escape[1 + digits..];
    }
    text + rest
}

fn fault(problem: &Problem) -> Fault {
    let place = |name: &Option<std::sync::Arc<str>>| name.as_deref().unwrap_or_default().to_owned();
    Fault {
        package: place(&problem.package),
        channel: place(&problem.channel),
        bundle: place(&problem.bundle),
        message: problem.message.clone(),
    }
}

/// The catalog of a case; `None` when it cannot be read.
fn catalog(case: &Value) -> Option<Catalog> {
    let tree = Tree::new(case);
    let is_ignore_file = |path: &str| path.rsplit('/').next() == Some(IGNORE_FILE);
    let mut rules = IgnoreRules::new();
    for path in tree.paths().filter(|path| is_ignore_file(path)) {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        rules.add(directory, &tree.read(path)?).ok()?;
    }
    let mut paths: Vec<&str> = tree
        .paths()
        .filter(|path| !rules.is_ignored(path))
        .collect();
    paths.sort_by(|a, b| compare_paths(a, b));
    let mut content = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        files.push(read_file(path, &tree.read(path)?, &mut content)?);
    }
    Some(
        Catalog::build(
            Bytes::from(content),
            &Origins {
                files,
                ..Origins::default()
            },
        )
        .unwrap(),
    )
}

fn read_file(path: &str, bytes: &[u8], content: &mut Vec<u8>) -> Option<FileOrigin> {
    let mut origin = FileOrigin {
        path: path.to_owned(),
        ..FileOrigin::default()
    };
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(bytes);
    reader.finish();
    loop {
        match reader.next().ok()? {
            ReadEvent::Blob(blob) => {
                content.extend_from_slice(blob.line);
                origin.lines.push(blob.at);
            }
            ReadEvent::Notice(notice) => origin.notices.push(notice),
            ReadEvent::NeedInput | ReadEvent::End => return Some(origin),
        }
    }
}

/// The files of a case.
struct Tree {
    /// The directory that is the catalog, with a slash; empty when all of it is.
    root: String,
    nodes: BTreeMap<String, Node>,
}

enum Node {
    File(Vec<u8>),
    Link(String),
}

impl Tree {
    fn new(case: &Value) -> Self {
        let mut nodes = BTreeMap::new();
        for file in case["files"].as_array().unwrap() {
            let node = match (&file["text"], &file["base64"], &file["symlink"]) {
                (Value::String(text), _, _) => Node::File(text.clone().into_bytes()),
                (_, Value::String(text), _) => Node::File(BASE64_STANDARD.decode(text).unwrap()),
                (_, _, Value::String(target)) => Node::Link(target.clone()),
                _ => continue,
            };
            nodes.insert(file["path"].as_str().unwrap().to_owned(), node);
        }
        let root = case["root"]
            .as_str()
            .map_or(String::new(), |root| format!("{root}/"));
        Self { root, nodes }
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.nodes
            .keys()
            .filter_map(|path| path.strip_prefix(self.root.as_str()))
    }

    /// The bytes of a file; `None` when a link to it leads to nothing or to a directory.
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let mut parts: Vec<String> = Vec::new();
        let mut left: Vec<String> = format!("{}{path}", self.root)
            .split('/')
            .rev()
            .map(str::to_owned)
            .collect();
        let mut followed = 0;
        while let Some(part) = left.pop() {
            if part == ".." {
                parts.pop();
                continue;
            }
            parts.push(part);
            if let Some(Node::Link(target)) = self.nodes.get(&parts.join("/")) {
                followed += 1;
                if followed > 40 {
                    return None;
                }
                parts.pop();
                left.extend(target.split('/').rev().map(str::to_owned));
            }
        }
        match self.nodes.get(&parts.join("/"))? {
            Node::File(bytes) => Some(bytes.clone()),
            Node::Link(_) => None,
        }
    }
}

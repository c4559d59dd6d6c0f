//! Reading against what upstream reads: the vectors of `testdata/golden/fbc/reading.jsonl`.
//!
//! Stored lines must be equal once numbers are doubles; errors must be of upstream's kind and in
//! its place. Where we differ on purpose, the case is named here with its reason.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fbc_grammar::ignore::{IGNORE_FILE, IgnoreError, IgnoreRules, compare_paths};
use fbc_read::problem::ProblemCode;
use fbc_read::{FileReader, ReadErrorKind, ReadEvent, ReadLimits};
use serde::Deserialize;
use serde_json::{Value, json};

/// Cases about links that lead to no file, or out of the catalog. Reading gets paths and bytes;
/// what a link is, is decided before it, and tested there.
const LINKS: [&str; 4] = [
    "a link to a directory fails the load",
    "a dangling link fails the load",
    "a link to itself fails the load",
    "a link to a file outside the root is followed",
];

/// Cases with text that upstream drops without a word. The lines are the same; we say that
/// something was not read.
const UNREAD: [&str; 6] = [
    "text after a document end marker is dropped",
    "of json objects on lines after a byte order mark only the first is kept",
    "json objects in a row after a byte order mark",
    "objects after a trailing comma in the second json object are dropped",
    "a second flow mapping in a yaml document is dropped",
    "a word after a flow mapping",
];

/// Nested more deeply than `serde_json` reads, so compared as text.
const DEEP: &str = "deep nesting of nine thousand arrays in json";

/// The one document with an error that does not begin with its file, and how many lines stand
/// before it.
const LATER_DOCUMENT: (&str, u32) = ("an error in a later document of one file", 6);

#[derive(Deserialize)]
struct Case {
    name: String,
    files: Vec<File>,
    stored: Option<Vec<String>>,
    #[serde(default)]
    null_documents: usize,
    error: Option<String>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    text: Option<String>,
    base64: Option<String>,
    symlink: Option<String>,
}

/// What reading the files of a case gives.
#[derive(Debug, Default)]
struct Outcome {
    lines: Vec<String>,
    notices: Vec<ProblemCode>,
    /// The file, the line and what is wrong there.
    error: Option<(String, u32, ReadErrorKind)>,
}

#[test]
fn lines_and_notices_are_those_of_upstream() {
    let mut wrong = Vec::new();
    let mut unread = Vec::new();
    for case in cases() {
        let (Some(stored), false) = (&case.stored, LINKS.contains(&&*case.name)) else {
            continue;
        };
        let outcome = read(&case).unwrap();
        let count = |code| {
            outcome
                .notices
                .iter()
                .filter(|&&notice| notice == code)
                .count()
        };
        if count(ProblemCode::TextNotRead) > 0 {
            unread.push(case.name.clone());
        }
        let is_deep = case.name == DEEP;
        let same = stored.len() == outcome.lines.len()
            && stored.iter().zip(&outcome.lines).all(|(stored, line)| {
                line.strip_suffix('\n').is_some_and(|line| {
                    if is_deep {
                        line == stored
                    } else {
                        doubles(line) == doubles(stored)
                    }
                })
            });
        let expected_notices = case.null_documents + usize::from(UNREAD.contains(&&*case.name));
        if !same
            || outcome.error.is_some()
            || count(ProblemCode::DocumentEmpty) != case.null_documents
            || outcome.notices.len() != expected_notices
        {
            wrong.push(format!("{}: {stored:?}\n{outcome:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    unread.sort_unstable();
    let mut expected = UNREAD;
    expected.sort_unstable();
    assert_eq!(unread, expected);
}

#[test]
fn errors_are_of_upstreams_kind_and_in_its_place() {
    let mut wrong = Vec::new();
    let mut told = Vec::new();
    for case in cases() {
        let (Some(upstream), false) = (&case.error, LINKS.contains(&&*case.name)) else {
            continue;
        };
        let (file, line, kind) = match read(&case) {
            Ok(outcome) => outcome
                .error
                .unwrap_or_else(|| panic!("{}: no error", case.name)),
            Err(IgnoreError::LineTooLong { line, .. }) => {
                assert_eq!(upstream, "bufio.Scanner: token too long");
                told.push(format!("{} | {IGNORE_FILE}:{line}", case.name));
                continue;
            }
            Err(refused) => panic!("{}: {refused}", case.name),
        };
        let before = if case.name == LATER_DOCUMENT.0 {
            LATER_DOCUMENT.1
        } else {
            0
        };
        // Upstream's parser counts the lines of some of its errors from 0.
        let is_near =
            upstream_line(upstream).is_none_or(|there| (there + before).abs_diff(line) <= 1);
        if !is_near || !is_alike(&kind, upstream) {
            wrong.push(format!("{}: {upstream}\n{file}:{line}: {kind}", case.name));
        }
        told.push(format!("{} | {file}:{line}: {kind}", case.name));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let expected = include_str!("../../../fbc/tests/testdata/reading-errors.txt");
    assert_eq!(told, expected.lines().collect::<Vec<_>>());
}

#[test]
fn every_case_is_tested() {
    let cases = cases();
    let tested = |case: &&Case| !LINKS.contains(&&*case.name);
    assert_eq!(cases.len(), 256);
    assert_eq!(cases.iter().filter(tested).count(), 256 - LINKS.len());
    assert!(
        cases
            .iter()
            .all(|case| case.stored.is_some() != case.error.is_some())
    );
}

/// Whether an error of ours says what upstream's text says.
fn is_alike(kind: &ReadErrorKind, upstream: &str) -> bool {
    match kind {
        ReadErrorKind::Json(text) => upstream.ends_with(text),
        ReadErrorKind::Yaml(_) => {
            upstream.starts_with("error converting YAML to JSON: yaml: line ")
        }
        ReadErrorKind::Utf8 => upstream.contains("UTF-8 octet") || upstream.contains("UTF-16"),
        ReadErrorKind::ControlCharacter(_) => {
            upstream.ends_with("control characters are not allowed")
        }
        ReadErrorKind::Alias(_) => {
            upstream.contains("unknown anchor") || upstream.contains("aliasing")
        }
        ReadErrorKind::Key(_) => upstream.contains("map key") || upstream.ends_with("expected key"),
        ReadErrorKind::NotAMapping(what) => upstream.contains(&format!(
            "cannot unmarshal {what} into Go value of type map"
        )),
        ReadErrorKind::KeyType { key, .. } => upstream.contains(&format!(
            "expected value for key {key:?} to be a string, got "
        )),
        ReadErrorKind::Depth(_) => upstream.ends_with("exceeded max depth"),
        ReadErrorKind::Separator(_)
        | ReadErrorKind::Merge
        | ReadErrorKind::Tag(_)
        | ReadErrorKind::NonFinite(_)
        | ReadErrorKind::DuplicateKeys(_) => upstream == kind.to_string(),
        ReadErrorKind::NumberRange(_)
        | ReadErrorKind::TooManyMembers(_)
        | ReadErrorKind::TooLarge(_)
        | ReadErrorKind::TooManyIndicators(_) => false,
    }
}

/// The line that a text of upstream names, in its document.
fn upstream_line(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("yaml: line ")?;
    rest.split_once(':')?.0.parse().ok()
}

/// A line with all numbers as doubles.
fn doubles(line: &str) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Number(number) => *value = json!(number.as_f64()),
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(members) => members.values_mut().for_each(walk),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(line).unwrap();
    walk(&mut value);
    value
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../../fbc/tests/testdata/golden/fbc/reading.jsonl");
    let cases = text.lines().map(|line| serde_json::from_str(line).unwrap());
    cases.collect()
}

/// Reads the files of a case as a walk finds them, up to the first error.
fn read(case: &Case) -> Result<Outcome, IgnoreError> {
    let files: BTreeMap<&str, &File> = case.files.iter().map(|file| (&*file.path, file)).collect();
    let mut rules = IgnoreRules::new();
    for path in files.keys() {
        let dir = path
            .strip_suffix(IGNORE_FILE)
            .map(|dir| dir.trim_end_matches('/'));
        if let (Some(dir), Some(text)) = (dir, bytes(&files, path)) {
            rules.add(dir, &text)?;
        }
    }
    let mut paths: Vec<&str> = files
        .keys()
        .copied()
        .filter(|path| !rules.is_ignored(path))
        .collect();
    paths.sort_by(|a, b| compare_paths(a, b));
    let mut outcome = Outcome::default();
    for path in paths {
        let Some(bytes) = bytes(&files, path) else {
            continue;
        };
        read_file(path, &bytes, &mut outcome);
        if outcome.error.is_some() {
            break;
        }
    }
    Ok(outcome)
}

fn read_file(path: &str, bytes: &[u8], outcome: &mut Outcome) {
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(bytes);
    reader.finish();
    loop {
        match reader.next() {
            Ok(ReadEvent::NeedInput) => panic!("the file is finished"),
            Ok(ReadEvent::Blob(blob)) => {
                let line = String::from_utf8(blob.line.to_vec()).unwrap();
                outcome.lines.push(line);
            }
            Ok(ReadEvent::Notice(notice)) => outcome.notices.push(notice.code),
            Ok(ReadEvent::End) => return,
            Err(error) => {
                outcome.error = Some((path.to_owned(), error.line, error.kind));
                return;
            }
        }
    }
}

/// What stands in a file, following links; none for an empty directory.
fn bytes(files: &BTreeMap<&str, &File>, path: &str) -> Option<Vec<u8>> {
    let mut dir = String::new();
    let mut rest = path.to_owned();
    loop {
        let (part, after) = rest.split_once('/').unwrap_or((&rest, ""));
        let here = if dir.is_empty() {
            part.to_owned()
        } else {
            format!("{dir}/{part}")
        };
        let target = files.get(&*here).and_then(|file| file.symlink.as_deref());
        match target {
            Some(target) if after.is_empty() => target.clone_into(&mut rest),
            Some(target) => rest = format!("{target}/{after}"),
            None if after.is_empty() => {
                let file = files.get(&*here)?;
                let encoded = file
                    .base64
                    .as_ref()
                    .map(|text| STANDARD.decode(text).unwrap());
                return encoded.or_else(|| file.text.clone().map(String::into_bytes));
            }
            None => (dir, rest) = (here, after.to_owned()),
        }
    }
}

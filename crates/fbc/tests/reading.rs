//! Reading against what upstream reads: the vectors of `testdata/golden/fbc/reading.jsonl`.
//!
//! Stored lines must be equal once numbers are doubles; errors must be of the right kind and in the right place. Where
//! we differ on purpose, the case is named here with its reason.

use std::collections::BTreeMap;

use fbc::ignore::{IGNORE_FILE, IgnoreRules, compare_paths};
use fbc::problem::Code;
use fbc::read::{FileReader, ReadErrorKind, ReadLimits, Step};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    files: Vec<File>,
    root: Option<String>,
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

/// What reading a file set gives.
#[derive(Debug, Default)]
struct Outcome {
    lines: Vec<String>,
    codes: Vec<Code>,
    /// The file, the line and what is wrong.
    error: Option<(String, u32, ReadErrorKind)>,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden/fbc/reading.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| {
        let mut de = serde_json::Deserializer::from_str(line);
        Case::deserialize(&mut de).unwrap()
    }).collect()
}

fn read(case: &Case) -> Outcome {
    let mut files = BTreeMap::new();
    for f in &case.files {
        let mut path = f.path.clone();
        if let Some(root) = &case.root { 
            match path.strip_prefix(&format!("{root}/")) { Some(p) => path = p.to_owned(), None => continue }
        }
        let bytes = match (&f.text, &f.base64) {
            (Some(t), _) => t.clone().into_bytes(),
            (_, Some(b)) => { use base64::Engine; base64::engine::general_purpose::STANDARD.decode(b).unwrap() }
            _ => continue,
        };
        files.insert(path, bytes);
    }
    for f in &case.files {
        if let Some(t) = &f.symlink && let Some(b) = files.get(t) { let b = b.clone(); files.insert(f.path.clone(), b); }
    }
    let mut rules = IgnoreRules::new();
    for (p, t) in &files { 
        if p.rsplit('/').next() == Some(IGNORE_FILE) {
            let dir = p.strip_suffix(IGNORE_FILE).unwrap().trim_end_matches('/');
            if let Err(e) = rules.add(dir, t) { println!("IGN {e}"); }
        }
    }
    let mut paths: Vec<_> = files.keys().filter(|p| !rules.is_ignored(p)).collect();
    paths.sort_by(|a,b| compare_paths(a,b));
    let mut outcome = Outcome::default();
    for p in paths {
        let mut r = FileReader::new(ReadLimits::default());
        r.push(&files[p]);
        r.finish();
        loop { match r.next() {
            Ok(Step::More) => panic!(),
            Ok(Step::Blob(b)) => outcome.lines.push(String::from_utf8(b.line.to_vec()).unwrap()),
            Ok(Step::Notice(n)) => outcome.codes.push(n.code),
            Ok(Step::End) => break,
            Err(e) => { outcome.error = Some((p.clone(), e.line, e.kind)); return outcome; }
        }}
    }
    outcome
}

fn norm(v: &mut Value) {
    match v {
        Value::Number(n) => { let f = n.as_f64().unwrap(); *v = serde_json::json!(f); }
        Value::Array(a) => a.iter_mut().for_each(norm),
        Value::Object(o) => o.values_mut().for_each(norm),
        _ => {}
    }
}

#[test]
fn explore() {
    let mut bad = 0;
    for case in cases() {
        if case.name.starts_with("deep nesting") { continue; }
        let out = read(&case);
        match (&case.stored, &case.error) {
            (Some(stored), None) => {
                let parse = |s: &str| { let mut v: Value = serde_json::from_str(s).unwrap(); norm(&mut v); v };
                let want: Vec<_> = stored.iter().map(|s| parse(s)).collect();
                let got: Vec<_> = out.lines.iter().map(|s| parse(s)).collect();
                let nulls = out.codes.iter().filter(|c| **c == Code::DocumentEmpty).count();
                if want != got || out.error.is_some() || nulls != case.null_documents { bad += 1; println!("## {}\n  want {:?} n{}\n  got  {:?} n{} {:?}", case.name, stored, case.null_documents, out.lines, nulls, out.error); }
                else {
                    let exact = stored.iter().zip(&out.lines).all(|(a,b)| a == b.trim_end_matches('\n'));
                    if !exact { println!("~~ {}\n  want {:?}\n  got  {:?}", case.name, stored, out.lines); }
                }
                if !out.codes.is_empty() { println!("-- {} {:?}", case.name, out.codes); }
            }
            (_, Some(error)) => match &out.error { None => { bad += 1; println!("## {}\n  want error {error}\n  got  {:?}", case.name, out.lines); }
                Some((f, l, k)) => println!("ee {} | {f}:{l} {k:?}\n      {}\n      {k}", case.name, error.lines().next().unwrap()) },
            _ => {}
        }
    }
    println!("bad {bad}");
}

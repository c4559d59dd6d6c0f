//! What holds for the reading of any file.

use std::collections::BTreeMap;

use fbc_read::{FileReader, ReadEvent, ReadLimits};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

/// A JSON value whose objects may name a key twice.
#[derive(Clone, Debug)]
enum Json {
    Word(&'static str),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x0fbc),
        ..Config::default()
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        "[a-z \"\\\\/\n\t\u{0}-\u{1f}\u{7f}\u{e9}\u{2027}-\u{202a}\u{1f600}]{0,12}",
        "[x]{5,40}[\"\\\\é]?[y]{0,9}",
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        prop_oneof![Just("null"), Just("true"), Just("false")].prop_map(Json::Word),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,5})?([eE][-+]?[0-9]{1,2})?".prop_map(Json::Number),
        text().prop_map(Json::Text),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            prop::collection::vec((text(), inner), 0..6).prop_map(Json::Object),
        ]
    })
}

/// The canonical text, by the plainest means.
fn canonical(value: &Json) -> String {
    match value {
        Json::Word(word) => (*word).to_owned(),
        Json::Number(number) => number.clone(),
        Json::Text(text) => canonical_text(text),
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().map(|(key, value)| (key, value)).collect();
            let members = members.iter().map(|(key, value)| {
                let key = canonical_text(key);
                let value = canonical(value);
                format!("{key}:{value}")
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}

fn canonical_text(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\x08' => "\\b".to_owned(),
        '\x0c' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(c)),
        _ => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Writes a value as an author may: each choice decides on one spelling, in turn.
fn written(value: &Json, choices: &mut impl Iterator<Item = u8>) -> String {
    let mut choose = |count: u8| choices.next().unwrap_or_default() % count;
    let space = [" ", "", "\n", "", "\t \r\n"][usize::from(choose(5))];
    let text = |text: &str, choose: &mut dyn FnMut(u8) -> u8| {
        let mut units = [0; 2];
        let escaped = text.chars().map(|c| match (choose(4), c) {
            (0, _) => {
                let units = c.encode_utf16(&mut units);
                units
                    .iter()
                    .fold(String::new(), |text, unit| format!("{text}\\u{unit:04X}"))
            }
            (1, '/') => "\\/".to_owned(),
            (_, '"' | '\\' | '\0'..='\x1f') => {
                let quoted = canonical_text(&c.to_string());
                quoted[1..quoted.len() - 1].to_owned()
            }
            _ => c.to_string(),
        });
        format!("\"{}\"", escaped.collect::<String>())
    };
    let body = match value {
        Json::Word(word) => (*word).to_owned(),
        Json::Number(number) => number.clone(),
        Json::Text(value) => text(value, &mut choose),
        Json::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| written(item, choices)).collect();
            format!("[{space}{}]", items.join(","))
        }
        Json::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let key = text(key, &mut |count| choices.next().unwrap_or_default() % count);
                format!("{space}{key}{space}:{}", written(value, choices))
            });
            format!("{{{}{space}}}", members.collect::<Vec<_>>().join(","))
        }
    };
    format!("{space}{body}{space}")
}

/// All that reading a file gives, one thing a line, when it comes in pieces of these sizes.
fn read(file: &[u8], pieces: &[usize]) -> Vec<String> {
    let mut reader = FileReader::new(ReadLimits {
        blob_bytes: 64 * 1024,
        ..ReadLimits::default()
    });
    let mut found = Vec::new();
    let mut rest = file;
    let mut sizes = pieces.iter().copied().cycle();
    loop {
        match reader.next() {
            Ok(ReadEvent::NeedInput) if rest.is_empty() => reader.finish(),
            Ok(ReadEvent::NeedInput) => {
                let size = sizes.next().unwrap_or(rest.len()).clamp(1, rest.len());
                let (piece, later) = rest.split_at(size);
                reader.push(piece);
                rest = later;
            }
            Ok(ReadEvent::Blob(blob)) => {
                let line = std::str::from_utf8(blob.line).unwrap();
                assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
                found.push(format!("{}: {line}", blob.at));
            }
            Ok(ReadEvent::Notice(notice)) => found.push(format!("{notice:?}")),
            Ok(ReadEvent::End) => return found,
            Err(error) => found.push(error.to_string()),
        }
    }
}

fn pieces() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(1..40_usize, 1..8),
        prop::collection::vec(1..4_000_usize, 1..4),
    ]
}

/// What means something in YAML or JSON.
const PARTS: &[&str] = &[
    "a",
    "b: ",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "---\n",
    "...\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "?",
    "\"",
    "'",
    "\\",
    "|\n",
    ">-\n",
    "&x ",
    "*x",
    "<<: ",
    "!!int ",
    "!t ",
    "#c",
    " ",
    "\t",
    "%YAML 1.1\n",
    "null",
    "1.5",
    "\u{feff}",
    "é",
    "\u{85}",
    "\u{2028}",
    "\r\n",
    "schema: s\n",
    "{\"a\":1}\n",
    "\"x\\u00e9\"",
    "? ",
    "@",
    "`",
];

fn confusing() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        9 => prop::sample::select(PARTS).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn json_in_any_form_becomes_the_canonical_line(
        value in json(), choices in prop::collection::vec(any::<u8>(), 1..200), pieces in pieces(),
    ) {
        let blob = Json::Object(vec![("v".to_owned(), value)]);
        let expected = canonical(&blob);
        let file = written(&blob, &mut choices.into_iter().cycle());
        let line = 1 + file.split('{').next().unwrap_or_default().matches('\n').count();
        prop_assert_eq!(read(file.as_bytes(), &pieces), [format!("{line}: {expected}\n")]);
        prop_assert_eq!(read(expected.as_bytes(), &pieces), [format!("1: {expected}\n")]);
    }

    #[test]
    fn pieces_of_any_size_give_the_same(file in confusing(), pieces in pieces()) {
        let whole = read(&file, &[]);
        prop_assert_eq!(read(&file, &pieces), whole);
    }

    #[test]
    fn bytes_of_any_kind_come_to_an_end(file in prop::collection::vec(any::<u8>(), 0..300), brace in any::<bool>()) {
        let file = [if brace { b"{".as_slice() } else { b"" }, &file].concat();
        read(&file, &[]);
    }
}

//! YAML documents and the JSON they mean; anchors, merges, faults.

use std::fmt::Write;

use super::*;

fn limits() -> ReadLimits {
    ReadLimits {
        blob_bytes: 4096,
        depth: 20,
        members: 50,
        indicators: 1_000,
    }
}

/// The line of a document and where text is unread, or the line and text of its fault; lines from
/// 0.
fn convert(text: &str) -> Result<(String, Option<usize>), String> {
    let mut writer = CanonicalWriter::default();
    let read = super::convert(text.as_bytes(), &limits(), &mut writer);
    let read = read.map_err(|fault| format!("{}: {}", fault.line, fault.kind))?;
    writer.finish();
    let line = String::from_utf8(writer.line().to_vec()).unwrap();
    Ok((line.trim_end().to_owned(), read.unread))
}

fn line(text: &str) -> String {
    match convert(text) {
        Ok((line, None)) => line,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn fault(text: &str) -> String {
    let fault = convert(text).unwrap_err();
    fault.replace("error converting YAML to JSON: ", "")
}

#[test]
fn a_document_becomes_one_line() {
    assert_eq!(
        line("---\nb: [x, yes, 010, 1.50, ~]\na:\n  z: |\n    one\n    two\n  y: {}\n"),
        r#"{"a":{"true":{},"z":"one\ntwo\n"},"b":["x",true,8,1.5,null]}"#
    );
}

#[test]
fn a_document_without_a_node_is_null() {
    for text in ["", " \n", "# c\n", "---\n", "~", "--- # c\n\n"] {
        assert_eq!(line(text), "null", "{text:?}");
    }
}

#[test]
fn only_the_first_node_counts_and_the_rest_is_told() {
    let table = [
        ("{a: b}\n{c: d}\n", r#"{"a":"b"}"#, 1),
        ("{a: b}\n\nc: d\n", r#"{"a":"b"}"#, 2),
        ("a: b\n...\nc: d\n", r#"{"a":"b"}"#, 2),
        ("{a: b}\nc\n", r#"{"a":"b"}"#, 1),
        ("---\n%YAML 1.1\n", "null", 1),
    ];
    for (text, expected, unread) in table {
        assert_eq!(
            convert(text),
            Ok((expected.to_owned(), Some(unread))),
            "{text:?}"
        );
    }
    assert_eq!(line("a: b\n...\n# c\n"), r#"{"a":"b"}"#);
}

#[test]
fn keys_become_text() {
    assert_eq!(
        line("v: {1: a, -2: b, on: c, 1.50: d, 2001-01-01: e, .inf: f, '~': g}"),
        r#"{"v":{"-2":"b",".inf":"f","1":"a","1.5":"d","2001-01-01":"e","true":"c","~":"g"}}"#
    );
    for key in ["~", "18446744073709551615", "{a: b}", "[a]"] {
        let text = format!("v:\n  ? {key}\n  : 1\n");
        assert!(
            fault(&text).starts_with("1: unsupported map key: "),
            "{key}"
        );
    }
}

#[test]
fn different_keys_with_the_same_text_are_told() {
    let mut writer = CanonicalWriter::default();
    let text = "1: a\n'1': b\ntrue: c\nyes: d\nx: e\nx: f\n";
    super::convert(text.as_bytes(), &limits(), &mut writer).unwrap();
    assert_eq!(writer.take_collisions(), (vec!["1".to_owned()], 0));
    writer.finish();
    assert_eq!(writer.line(), b"{\"1\":\"b\",\"true\":\"d\",\"x\":\"f\"}\n");
}

#[test]
fn an_alias_stands_for_a_key_or_a_value() {
    assert_eq!(
        line("a: &k 1.0\nb: &m {y: [*k], x: &k two}\nc: *m\nd: {*k : *k}\n"),
        r#"{"a":1,"b":{"true":[1],"x":"two"},"c":{"true":[1],"x":"two"},"d":{"two":"two"}}"#
    );
    assert_eq!(line("&a k: *a\n"), r#"{"k":"k"}"#);
    assert_eq!(fault("a: *b\n"), "0: yaml: unknown anchor referenced");
    assert_eq!(
        fault("a: 1\nb: &b [*b]\n"),
        "1: yaml: anchor value contains itself"
    );
    assert_eq!(
        fault("a: &a [1]\nb: {*a : 1}\n"),
        "1: unsupported map key: a mapping or a sequence"
    );
}

#[test]
fn merged_members_count_where_the_merge_key_stands() {
    let table = [
        (
            "b: &b {x: 1, z: 2}\nv: {<<: *b, z: 3}",
            r#"{"b":{"x":1,"z":2},"v":{"x":1,"z":3}}"#,
        ),
        (
            "b: &b {x: 1, z: 2}\nv: {z: 3, <<: *b}",
            r#"{"b":{"x":1,"z":2},"v":{"x":1,"z":2}}"#,
        ),
        (
            "<<: {c: {z: 1, b: 2}, a: 1}\nb: 2",
            r#"{"a":1,"b":2,"c":{"b":2,"z":1}}"#,
        ),
        ("<<: [{a: 1, b: 1}, {b: 2, c: 2}]", r#"{"a":1,"b":1,"c":2}"#),
        (
            "a: &a {x: 1}\nb: &b {<<: *a, w: 2}\nc: {<<: [*b], v: 3}",
            r#"{"a":{"x":1},"b":{"w":2,"x":1},"c":{"v":3,"w":2,"x":1}}"#,
        ),
        ("'<<': 1\na: <<", r#"{"<<":1,"a":"<<"}"#),
        ("!!merge <<: {a: 1}", r#"{"a":1}"#),
        ("v: {<<: {}}", r#"{"v":{}}"#),
    ];
    for (text, expected) in table {
        assert_eq!(line(text), expected, "{text}");
    }
    for value in ["1", "[1]", "[[{a: 1}]]", "*s", "[*s]", "*l"] {
        let text = format!("s: &s 1\nl: &l [1]\nv: {{<<: {value}}}");
        assert!(
            fault(&text).starts_with("2: yaml: map merge requires"),
            "{value}"
        );
    }
}

#[test]
fn aliases_may_bring_much_but_not_explode() {
    let tree = |levels: usize, text: &mut String| {
        text.push_str("a0: &a0 [z,z,z,z,z,z,z,z,z]\n");
        for i in 1..levels {
            let above = vec![format!("*a{}", i - 1); 9].join(",");
            writeln!(text, "a{i}: &a{i} [{above}]").unwrap();
        }
    };
    let convert = |levels, blob_bytes| {
        let mut text = String::new();
        tree(levels, &mut text);
        let limits = ReadLimits {
            blob_bytes,
            ..ReadLimits::default()
        };
        let mut writer = CanonicalWriter::default();
        super::convert(text.as_bytes(), &limits, &mut writer).map_err(|fault| fault.kind)
    };
    assert!(convert(3, 1 << 20).is_ok());
    let excessive = "document contains excessive aliasing".to_owned();
    assert_eq!(convert(5, 1 << 30), Err(ReadErrorKind::Alias(excessive)));
    assert_eq!(convert(3, 3000), Err(ReadErrorKind::TooLarge(3000)));
}

#[test]
fn text_further_left_than_yaml_1_2_allows_is_read() {
    let table = [
        ("a: {\n}\n", r#"{"a":{}}"#),
        ("v:\n  a: [\n\"x\",\n  'z'\n]\n", r#"{"v":{"a":["x","z"]}}"#),
        ("v:\n  a: {b: 1,\nc: 2}\n", r#"{"v":{"a":{"b":1,"c":2}}}"#),
        (
            "v:\n  a: \"x\n y\n\n  \\\"z\"\n  b: 'it''s\n\n  é'\n",
            r#"{"v":{"a":"x y\n\"z","b":"it's\né"}}"#,
        ),
        (
            "a:\tb\nc:\t\t1\nd: 'x:\ty'\n",
            r#"{"a":"b","c":1,"d":"x:\ty"}"#,
        ),
    ];
    for (text, expected) in table {
        assert_eq!(line(text), expected, "{text:?}");
    }
    let many = |lines: usize| format!("a: [{}\n]\n", "\n'x',".repeat(lines));
    // Each repair indents by more than the one before.
    let growing = |count: usize| {
        let scalars = (0..count).map(|at| format!("  b{at}: \"x{}\"\n", "\ny".repeat(3)));
        format!(
            "{}\na:\n{}",
            " ".repeat(100_000),
            scalars.collect::<String>()
        )
    };
    assert_eq!(line(&growing(1)), r#"{"a":{"b0":"x y y y"}}"#);
    assert!(fault(&growing(9)).ends_with("invalid indentation in quoted scalar"));
    assert_eq!(line(&many(50)).len(), 8 + 50 * 4 - 1);
    assert_eq!(fault(&many(200)), "100: yaml: invalid indentation");
}

#[test]
fn what_yaml_1_1_does_not_know_is_refused() {
    assert_eq!(
        fault("a: 1\nb: \"é/\\/\"\n"),
        "1: yaml: found unknown escape character"
    );
    assert_eq!(line("a: '\\/'\nb: \"\\\\/\"\n"), r#"{"a":"\\/","b":"\\/"}"#);
    assert_eq!(
        fault("a: \"\\ud800\"\n"),
        "0: yaml: found invalid Unicode character escape code"
    );
    for c in ['\0', '\u{1}', '\u{7f}', '\u{84}', '\u{fffe}'] {
        let expected = format!(
            "1: yaml: control characters are not allowed (U+{:04X})",
            u32::from(c)
        );
        assert_eq!(fault(&format!("a: 1\n# {c}\n")), expected);
    }
    assert_eq!(line("a: \"x\u{85}y\"\n"), r#"{"a":"x y"}"#);
}

#[test]
fn collections_are_nested_up_to_the_limit() {
    let nested = |depth: usize| "- ".repeat(depth - 1) + "[]";
    assert_eq!(line(&nested(20)).len(), 40);
    assert_eq!(fault(&nested(21)), "0: exceeded max depth of 20");
}

#[test]
fn open_objects_have_members_up_to_the_limit() {
    let object = |members: usize| "a: 1\n".repeat(members);
    assert_eq!(line(&object(50)), r#"{"a":1}"#);
    assert_eq!(
        fault(&object(51)),
        "50: the objects around one place have more than 50 members"
    );
}

#[test]
fn a_large_document_has_indicators_up_to_the_limit() {
    let document = |indicators: usize| {
        let limits = ReadLimits {
            blob_bytes: 1 << 20,
            ..limits()
        };
        let text = format!(
            "a: {}{}",
            "x".repeat(256 * 1024),
            "!".repeat(indicators - 1)
        );
        let mut writer = CanonicalWriter::default();
        let read = super::convert(text.as_bytes(), &limits, &mut writer);
        read.map(|_| ()).map_err(|fault| fault.kind)
    };
    // One for each 16 bytes: of 262,147 and of the indicators themselves, all but the colon.
    let limit = 1_000 + (256 * 1024 + 2 + 18_545) / 16;
    assert_eq!((limit, document(limit)), (18_543, Ok(())));
    assert_eq!(
        document(limit + 1),
        Err(ReadErrorKind::TooManyIndicators(limit))
    );
}

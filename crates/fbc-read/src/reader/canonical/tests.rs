//! What a canonical line looks like: the order of its members, repeated keys, escapes.

use super::*;

/// Writes an object from its members: name, and a number or an object of its own.
fn member(writer: &mut CanonicalWriter, key: &str, value: &str) {
    let out = writer.begin_key(KeyKind::String);
    let from = out.len();
    write_text(out, key);
    let is_escaped = out.len() - from != key.len() + 2;
    writer.end_key(is_escaped);
    writer.value().extend_from_slice(value.as_bytes());
}

fn line(writer: &mut CanonicalWriter) -> String {
    writer.finish();
    String::from_utf8(writer.line().to_vec()).unwrap()
}

#[test]
fn the_members_of_each_object_are_put_in_order() {
    let mut writer = CanonicalWriter::default();
    writer.open(true);
    member(&mut writer, "b", "1");
    member(&mut writer, "c", "");
    writer.open(true);
    member(&mut writer, "z", "2");
    member(&mut writer, "y", "");
    writer.open(false);
    writer.open(true);
    member(&mut writer, "n", "3");
    member(&mut writer, "m", "4");
    writer.close();
    writer.value().push(b'5');
    writer.close();
    writer.close();
    member(&mut writer, "a", "6");
    writer.close();
    assert_eq!(
        line(&mut writer),
        "{\"a\":6,\"b\":1,\"c\":{\"y\":[{\"m\":4,\"n\":3},5],\"z\":2}}\n"
    );
}

#[test]
fn keys_are_ordered_by_their_bytes_and_not_by_their_escapes() {
    let mut writer = CanonicalWriter::default();
    writer.open(true);
    for key in [
        "é",
        "b",
        "a\u{2028}",
        "a",
        "",
        "abcdefgh2",
        "abcdefgh1",
        "a\n",
        "a!",
        "a\"",
        "Z",
    ] {
        member(&mut writer, key, "0");
    }
    writer.close();
    assert_eq!(
        line(&mut writer),
        "{\"\":0,\"Z\":0,\"a\":0,\"a\\n\":0,\"a!\":0,\"a\\\"\":0,\"abcdefgh1\":0,\"abcdefgh2\":0,\"a\\u2028\":0,\
         \"b\":0,\"é\":0}\n"
    );
}

#[test]
fn the_last_of_equal_keys_counts() {
    let mut writer = CanonicalWriter::default();
    writer.open(true);
    member(&mut writer, "a", "1");
    member(&mut writer, "a", "2");
    member(&mut writer, "b", "3");
    member(&mut writer, "a", "4");
    writer.close();
    assert_eq!(line(&mut writer), "{\"a\":4,\"b\":3}\n");
    assert_eq!(writer.take_collisions(), (vec![], 0));
}

#[test]
fn a_value_that_is_repeated_keeps_its_order_wherever_it_comes_to_stand() {
    let mut writer = CanonicalWriter::default();
    writer.open(true);
    member(&mut writer, "z", "");
    let from = writer.written().len();
    writer.open(true);
    member(&mut writer, "b", "1");
    member(&mut writer, "a", "2");
    writer.close();
    let value = from..writer.written().len();
    member(&mut writer, "y", "");
    writer.repeat(value);
    writer.close();
    assert_eq!(
        line(&mut writer),
        "{\"y\":{\"a\":2,\"b\":1},\"z\":{\"a\":2,\"b\":1}}\n"
    );
}

#[test]
fn a_writer_begins_anew() {
    let mut writer = CanonicalWriter::default();
    writer.open(true);
    member(&mut writer, "b", "1");
    member(&mut writer, "a", "2");
    writer.close();
    assert_eq!(line(&mut writer), "{\"a\":2,\"b\":1}\n");
    writer.clear();
    writer.open(true);
    writer.close();
    assert_eq!(line(&mut writer), "{}\n");
}

#[test]
fn text_is_escaped_as_go_does_it() {
    let table = [
        ("plain", r#""plain""#),
        ("<b>&'</b>/", r#""<b>&'</b>/""#),
        ("\"\\", r#""\"\\""#),
        ("\u{8}\u{c}\n\r\t", r#""\b\f\n\r\t""#),
        ("\0\u{1f}\u{7f}", "\"\\u0000\\u001f\u{7f}\""),
        (
            "\u{2027}\u{2028}\u{2029}\u{202a}",
            "\"\u{2027}\\u2028\\u2029\u{202a}\"",
        ),
        ("é日😀", "\"é日😀\""),
    ];
    for (text, expected) in table {
        for before in 0..20 {
            let text = "x".repeat(before) + text + "yyyyyyyyyyyyyyyyyyyy";
            let mut out = Vec::new();
            write_text(&mut out, &text);
            let inner = &expected[1..expected.len() - 1];
            let expected = format!("\"{}{inner}yyyyyyyyyyyyyyyyyyyy\"", "x".repeat(before));
            assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
            assert_eq!(unescape(&out[1..out.len() - 1]), text.as_bytes());
        }
    }
}

#[test]
fn a_plain_prefix_ends_at_the_first_special_byte() {
    for special in [b'"', b'\\', 0, 0x1f, 0x80, 0xff] {
        for at in 0..200 {
            let mut text = vec![b'x'; 230];
            text[at] = special;
            assert_eq!(plain_prefix(&text), at);
            assert_eq!(plain_prefix(&text[..at]), at);
        }
    }
    let all: Vec<u8> = (b' '..0x80)
        .filter(|byte| !b"\"\\".contains(byte))
        .collect();
    assert_eq!(plain_prefix(&all), all.len());
}

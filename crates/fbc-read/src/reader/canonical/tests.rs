//! What a canonical line looks like: the order of its members, repeated keys, escapes.

use super::*;
use crate::json::encode::write_text;

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

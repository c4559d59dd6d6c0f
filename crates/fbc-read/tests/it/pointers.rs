//! JSON pointers into raw values, as RFC 6901 has them.

use fbc_read::json::{JsonPointerError, resolve_pointer};
use testing::fixture;

/// The example of section 5 of RFC 6901, in canonical JSON.
const EXAMPLE: &str =
    r#"{"":0," ":7,"a/b":1,"c%d":2,"e^f":3,"foo":["bar","baz"],"g|h":4,"i\\j":5,"k\"l":6,"m~n":8}"#;

#[track_caller]
fn leads(value: &str, pointer: &str, to: Option<&str>) {
    let found = resolve_pointer(value.as_bytes(), pointer).unwrap();
    assert_eq!(found, to.map(str::as_bytes), "{pointer} in {value}");
}

#[test]
fn the_examples_of_the_rfc_lead_where_it_says() {
    for (pointer, part) in [
        ("", EXAMPLE),
        ("/foo", r#"["bar","baz"]"#),
        ("/foo/0", "\"bar\""),
        ("/", "0"),
        ("/a~1b", "1"),
        ("/c%d", "2"),
        ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"),
        ("/k\"l", "6"),
        ("/ ", "7"),
        ("/m~0n", "8"),
    ] {
        leads(EXAMPLE, pointer, Some(part));
    }
}

#[test]
fn an_escape_is_resolved_once() {
    leads(r#"{"/":1,"~1":2,"~01":3,"~":4}"#, "/~1", Some("1"));
    leads(r#"{"/":1,"~1":2,"~01":3,"~":4}"#, "/~01", Some("2"));
    leads(r#"{"/":1,"~1":2,"~01":3,"~":4}"#, "/~001", Some("3"));
    leads(r#"{"/":1,"~1":2,"~01":3,"~":4}"#, "/~0", Some("4"));
}

#[test]
fn what_is_not_there_is_nothing() {
    for pointer in [
        "/x", "/FOO", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/+1", "/foo/1 ",
        "/foo/",
    ] {
        leads(EXAMPLE, pointer, None);
    }
    for pointer in [
        "/foo/0/0",
        "//0",
        "/foo/bar",
        "/foo/99999999999999999999",
        "/foo/0x0",
        "/foo/١",
    ] {
        leads(EXAMPLE, pointer, None);
    }
    for value in ["null", "true", "1", "\"a\"", "[]", "{}"] {
        leads(value, "/0", None);
        leads(value, "", Some(value));
    }
}

#[test]
fn a_pointer_leads_as_deep_as_a_value_is_nested() {
    let value = format!("{}1{}", "{\"a\":[".repeat(5_000), "]}".repeat(5_000));
    leads(&value, &"/a/0".repeat(5_000), Some("1"));
    leads(&value, &"/a/0".repeat(5_001), None);
    leads(&value, &"/a/1".repeat(5_000), None);
}

#[test]
fn a_text_that_is_no_pointer_is_refused_wherever_it_would_lead() {
    for pointer in ["foo", " /foo", "#/foo", "0"] {
        assert_eq!(
            resolve_pointer(b"{}", pointer),
            Err(JsonPointerError::NoSlash(pointer.to_owned()))
        );
    }
    for pointer in ["/~", "/a~", "/~2", "/x/~a", "/~~0"] {
        assert_eq!(
            resolve_pointer(b"1", pointer),
            Err(JsonPointerError::BadEscape(pointer.to_owned()))
        );
    }
    let message = resolve_pointer(b"1", "a").unwrap_err().to_string();
    assert_eq!(message, "the pointer \"a\" does not begin with a slash");
}

#[test]
fn a_part_of_a_blob_is_cut_from_its_line() {
    let catalog = fixture::catalog("package a default=stable\nchannel stable: v1.0.0 <- v1.1.0");
    let blob = catalog
        .package("a")
        .unwrap()
        .channel("stable")
        .unwrap()
        .meta()
        .blob();
    let part = blob.pointer("/entries/1/replaces").unwrap().unwrap();
    assert_eq!(part.raw(), b"\"a.v1.0.0\"");
    assert!(
        catalog
            .content()
            .as_ptr_range()
            .contains(&part.raw().as_ptr())
    );
    assert_eq!(blob.pointer("/entries/2").unwrap(), None);
}

//! Paths before and after, as Go's `ServeMux` cleans them.

use super::*;

#[test]
fn a_path_is_cleaned_as_go_does() {
    let cases = [
        ("/", "/"),
        ("", "/"),
        ("//", "/"),
        ("/a", "/a"),
        ("/a/", "/a/"),
        ("//a", "/a"),
        ("/a//b", "/a/b"),
        ("/a//", "/a/"),
        ("/./a", "/a"),
        ("/a/.", "/a"),
        ("/a/./", "/a/"),
        ("/a/../b", "/b"),
        ("/a/..", "/"),
        ("/../../etc", "/etc"),
        ("/..", "/"),
        ("/a/...", "/a/..."),
        ("/%2e%2e/a", "/%2e%2e/a"),
    ];
    for (path, expected) in cases {
        assert_eq!(clean(path), expected, "{path}");
        assert_eq!(clean(expected), expected, "clean is clean");
    }
}

#[test]
fn a_location_is_ascii() {
    assert_eq!(
        encode_non_ascii("/größe?a=1&b=%20"),
        "/gr%C3%B6%C3%9Fe?a=1&b=%20"
    );
}

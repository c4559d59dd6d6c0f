//! Names in paths, and what is said of those that can be none.

use super::*;

fn named(path: &str) -> Result<String, CatalogdError> {
    parse_name(&path.parse().unwrap())
}

#[test]
fn a_name_is_decoded_and_checked() {
    let longest = "a".repeat(253);
    for (segment, name) in [
        ("a", "a"),
        ("a.b-c", "a.b-c"),
        ("golden-%6Dain", "golden-main"),
        (&longest, &longest),
    ] {
        assert_eq!(
            named(&format!("/catalogs/{segment}/api/v1/all")),
            Ok(name.to_owned())
        );
    }
    let bad = |faults: &str| Err(CatalogdError::Name(faults.to_owned()));
    for segment in [
        "A",
        "a_b",
        "-a",
        ".",
        "a..b",
        "a%2Fb",
        "%00",
        "%ff",
        "%zz",
        "gr%C3%B6sse",
        "a+b",
        "",
    ] {
        assert_eq!(
            named(&format!("/catalogs/{segment}/api/v1/all")),
            bad(NOT_A_SUBDOMAIN),
            "{segment}"
        );
    }
    assert_eq!(
        named(&format!("/catalogs/{longest}a/all.json")),
        bad(TOO_LONG)
    );
    let both = format!("{TOO_LONG}; {NOT_A_SUBDOMAIN}");
    assert_eq!(named(&format!("/catalogs/{longest}_/all.json")), bad(&both));
}

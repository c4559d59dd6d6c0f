//! Queries as Go reads them, but for what it leaves out.

use serde_json::Value;

use super::*;
use crate::OPENAPI;

/// Schema, package and name of a query.
fn read(query: &str) -> Option<[Option<String>; 3]> {
    let parameters = Parameters::parse(query)?;
    Some(
        parameters
            .texts()
            .map(|text| text.map(|text| String::from_utf8_lossy(text).into_owned())),
    )
}

#[test]
fn a_query_is_read_as_go_reads_it() {
    let cases = [
        ("", [None, None, None]),
        ("&&", [None, None, None]),
        ("schema", [None, None, None]),
        ("schema=&name=", [None, None, None]),
        ("schema=a", [Some("a"), None, None]),
        (
            "schema=a&package=b&name=c",
            [Some("a"), Some("b"), Some("c")],
        ),
        ("&name=c&&", [None, None, Some("c")]),
        ("schema=a&schema=b", [Some("a"), None, None]),
        ("schema=&schema=b", [None, None, None]),
        ("package=a+b%2Bc%20d", [None, Some("a b+c d"), None]),
        ("sch%65ma=%6f", [Some("o"), None, None]),
        ("name=a=b", [None, None, Some("a=b")]),
        ("name=größe", [None, None, Some("größe")]),
        ("name=a%00", [None, None, Some("a\0")]),
    ];
    for (query, expected) in cases {
        assert_eq!(
            read(query),
            Some(expected.map(|text| text.map(str::to_owned))),
            "{query}"
        );
    }
}

#[test]
fn what_cannot_be_read_or_is_unknown_is_refused() {
    let queries = [
        "Schema=a",
        "schema=a&x=1",
        "x",
        "=x",
        "schema[]=a",
        "?schema=a",
        "schema=%zz",
        "schema=%",
        "schema=%4",
        "schema=%+4",
        "name=%é",
        "schema=a;name=b",
        "%zz=a",
        "schema=a&schema=%zz",
    ];
    for query in queries {
        assert_eq!(read(query), None, "{query}");
    }
}

#[test]
fn what_is_no_unicode_selects_nothing() {
    assert_eq!(Parameters::parse("name=%FF").unwrap().filter(), None);
    let filter = MetaFilter {
        schema: Some("a"),
        package: None,
        name: Some("b"),
    };
    assert_eq!(
        Parameters::parse("schema=a&name=b").unwrap().filter(),
        Some(filter)
    );
}

#[test]
fn the_parameters_of_blobs_are_in_the_openapi_document() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let parameters = document["paths"]["/catalogs/{catalog}/api/v1/metas"]["get"]["parameters"]
        .as_array()
        .unwrap();
    let queries = parameters
        .iter()
        .filter(|one| one["in"] == "query")
        .map(|one| one["name"].as_str().unwrap());
    assert_eq!(queries.collect::<Vec<_>>(), PARAMETERS);
}

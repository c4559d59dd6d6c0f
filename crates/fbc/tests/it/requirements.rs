//! What bundles require, in words, and what meets it.

use fbc::work::Work;
use fbc::{Bundle, Catalog, Requirement};
use fbc_read::Origins;
use fbc_read::origin::FileOrigin;

/// A catalog with packages `a`, whose bundle `a.v0` has these properties besides, and `b`.
fn catalog(properties: &str) -> Catalog {
    let bundle = |package: &str, name: &str, version: &str, more: &str| {
        format!(
            r#"{{"name":"{name}","package":"{package}","properties":[{{"type":"olm.package","value":{{"packageName":"{package}","version":"{version}"}}}}{more}],"schema":"olm.bundle"}}"#
        )
    };
    let provides = r#",{"type":"olm.gvk","value":{"group":"g","kind":"K","version":"v1"}}"#;
    let lines = [
        r#"{"name":"a","schema":"olm.package"}"#.to_owned(),
        r#"{"name":"b","schema":"olm.package"}"#.to_owned(),
        bundle("a", "a.v0", "0.1.0", &format!(",{properties}")),
        bundle("a", "a.v1", "1.0.0", provides),
        bundle("a", "a.v2", "2.0.0", ""),
        bundle("b", "b.v1", "1.5.0", provides),
    ];
    let file = FileOrigin {
        path: "c.json".into(),
        lines: (1..=6).collect(),
        ..FileOrigin::default()
    };
    let content: String = lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect();
    Catalog::build(
        content.into(),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .unwrap()
}

fn of_first(catalog: &Catalog) -> Vec<Requirement<'_>> {
    catalog
        .package("a")
        .unwrap()
        .bundle("a.v0")
        .unwrap()
        .requirements()
}

/// The names of the bundles that meet each requirement; nothing where that is not evaluated.
fn meeting(catalog: &Catalog) -> Vec<Option<Vec<&str>>> {
    let places = |requirement: &Requirement<'_>| {
        catalog
            .bundles_meeting(&requirement.rule, &Work::unlimited())
            .unwrap()
    };
    let names = |places: Vec<u32>| {
        places
            .into_iter()
            .map(|place| catalog.bundle_at(place as usize))
            .map(Bundle::name)
    };
    of_first(catalog)
        .iter()
        .map(|requirement| Some(names(places(requirement)?).collect()))
        .collect()
}

#[test]
fn requirements_are_written_in_the_words_of_olm() {
    let catalog = catalog(concat!(
        r#"{"type":"olm.package.required","value":{"packageName":"b","versionRange":">=1.0.0"}},"#,
        r#"{"type":"olm.gvk.required","value":{"group":"g","kind":"K","version":"v2"}},"#,
        r#"{"type":"olm.label.required","value":{"label":"blue"}},{"type":"olm.label","value":{"label":"blue"}},"#,
        r#"{"type":"olm.label.required","value":{"label":1}},"#,
        r#"{"type":"olm.constraint","value":{"all":{"constraints":[{"any":{"constraints":["#,
        r#"{"package":{"packageName":"b","versionRange":"<2.0.0"}},{"gvk":{"group":"g","kind":"K","version":"v1"}}]}},"#,
        r#"{"not":{"constraints":[{"cel":{"rule":"true"}}]}}]},"failureMessage":"x"}},"#,
        r#"{"type":"olm.constraint","value":{}},{"type":"other","value":1}"#,
    ));
    let words: Vec<_> = of_first(&catalog)
        .iter()
        .map(|requirement| requirement.rule.to_string())
        .collect();
    let expected = [
        "with package: b and with version in range: >=1.0.0",
        "providing an API with group: g, version: v2, kind: K",
        "with label: blue",
        "malformed",
        "with package: b and with version in range: <2.0.0 or providing an API with group: g, version: v1, kind: K \
         and with constraint: \"true\" and message: \"\"",
        "malformed",
    ];
    assert_eq!(words, expected);
    let expected = [
        Some(vec!["b.v1"]),
        Some(vec![]),
        Some(vec!["a.v0"]),
        Some(vec![]),
        None,
        Some(vec![]),
    ];
    assert_eq!(meeting(&catalog), expected);
}

#[test]
fn a_condition_is_met_by_what_meets_its_parts() {
    let [gvk, package] = [
        r#"{"gvk":{"group":"g","kind":"K","version":"v1"}}"#,
        r#"{"package":{"packageName":"a","versionRange":">=1.0.0"}}"#,
    ];
    let compound = |kind: &str, parts: &str| format!(r#"{{"{kind}":{{"constraints":[{parts}]}}}}"#);
    let both = format!("{gvk},{package}");
    for (condition, expected) in [
        (gvk.to_owned(), &["a.v1", "b.v1"][..]),
        (package.to_owned(), &["a.v2", "a.v1"]),
        (compound("all", &both), &["a.v1"]),
        (compound("any", &both), &["a.v2", "a.v1", "b.v1"]),
        (compound("not", &both), &["a.v0"]),
        (compound("all", ""), &["a.v2", "a.v1", "a.v0", "b.v1"]),
        (compound("any", ""), &[]),
    ] {
        let catalog = catalog(&format!(
            r#"{{"type":"olm.constraint","value":{condition}}}"#
        ));
        assert_eq!(meeting(&catalog), [Some(expected.to_vec())], "{condition}");
    }
}

//! What is read of a configuration, and what is refused with which place.

use mirror::configuration::{API_VERSIONS, MAX_CONFIGURATION_BYTES};
use mirror::{MirrorConfiguration, MirrorProblemCode};

/// A configuration with these members of `mirror`, which begin at line 4.
fn text(mirror: &str) -> String {
    format!(
        "kind: ImageSetConfiguration\napiVersion: {}\nmirror:\n{mirror}",
        API_VERSIONS[1]
    )
}

/// The places and messages for which a configuration is refused; all are `CONFIG`.
fn refusals(text: &str) -> Vec<(String, String)> {
    let Err(problems) = MirrorConfiguration::parse(text) else {
        return Vec::new();
    };
    let places = problems.into_iter().map(|problem| {
        assert_eq!(problem.code, MirrorProblemCode::Config);
        let line = problem
            .line
            .map(|line| format!("{line}: "))
            .unwrap_or_default();
        (format!("{line}{}", problem.path), problem.message)
    });
    places.collect()
}

fn refused_at(mirror: &str) -> Vec<String> {
    refusals(&text(mirror))
        .into_iter()
        .map(|(place, _)| place)
        .collect()
}

#[test]
fn both_versions_of_the_api_are_read_and_no_other() {
    let mirror = "mirror: {operators: [{catalog: a.io/catalog:v1}]}";
    for version in API_VERSIONS {
        let text = format!("kind: ImageSetConfiguration\napiVersion: {version}\n{mirror}");
        assert_eq!(refusals(&text), [], "{version}");
    }
    let text = format!("kind: ImageSet\napiVersion: mirror.openshift.io/v3\n{mirror}");
    let places: Vec<_> = refusals(&text)
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    assert_eq!(places, ["1: kind", "2: apiVersion"]);
}

#[test]
fn an_item_has_its_packages_channels_and_ranges() {
    let configuration = MirrorConfiguration::parse(&text(
        r#"  operators:
  - catalog: a.io/catalog:v1
    targetCatalog: my/catalog
    targetTag: "1"
    skipDependencies: true
    packages:
    - name: etcd
      defaultChannel: beta
      channels:
      - name: beta
        minVersion: v1.2
        maxVersion: "1.4.0"
      - name: alpha
    - name: vault
      minVersion: "1"
"#,
    ))
    .unwrap();
    let [item] = &*configuration.operators else {
        panic!("there is one item");
    };
    assert_eq!(
        (
            &*item.catalog,
            item.is_full,
            item.target_catalog.as_deref(),
            item.target_tag.as_deref()
        ),
        ("a.io/catalog:v1", false, Some("my/catalog"), Some("1"))
    );
    let packages: Vec<_> = item
        .packages
        .iter()
        .map(|package| {
            let channels: Vec<_> = package
                .channels
                .iter()
                .map(|channel| {
                    let range = channel.range.as_ref();
                    (
                        &*channel.name,
                        range.and_then(|range| range.minimum()),
                        range.and_then(|range| range.maximum()),
                    )
                })
                .collect();
            (
                &*package.name,
                package.default_channel.as_deref(),
                package.range.as_ref().and_then(|range| range.minimum()),
                channels,
            )
        })
        .collect();
    assert_eq!(
        packages,
        [
            (
                "etcd",
                Some("beta"),
                None,
                vec![("beta", Some("v1.2"), Some("1.4.0")), ("alpha", None, None)]
            ),
            ("vault", None, Some("1"), Vec::new()),
        ]
    );
    assert_eq!(
        item.channel_path(0, 1),
        "mirror.operators[0].packages[0].channels[1]"
    );
}

#[test]
fn other_parts_are_ignored_with_a_warning_each() {
    let configuration = MirrorConfiguration::parse(&text(
        "  operators: [{catalog: a}]\n  platform: {graph: true}\n  additionalImages: []\n",
    ))
    .unwrap();
    let notices: Vec<_> = configuration
        .notices
        .iter()
        .map(|notice| {
            (
                notice.code.as_str(),
                &*notice.path,
                notice.line,
                notice.is_error(),
            )
        })
        .collect();
    assert_eq!(
        notices,
        [
            ("PART_IGNORED", "mirror.platform", Some(5), false),
            ("PART_IGNORED", "mirror.additionalImages", Some(6), false),
        ]
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let package = "  operators:\n  - catalog: a\n    packages:\n";
    let cases: [(String, &[&str]); 14] = [
        ("  operators: []\n".to_owned(), &["4: mirror.operators"]),
        (
            "  operators: [{}]\n".to_owned(),
            &["4: mirror.operators[0]"],
        ),
        (
            "  operators: {catalog: a}\n".to_owned(),
            &["4: mirror.operators"],
        ),
        (
            "  operators: [catalog]\n".to_owned(),
            &["4: mirror.operators[0]"],
        ),
        (
            "  operators:\n  - catalog: a\n  - catalog: a\n".to_owned(),
            &["6: mirror.operators[1]"],
        ),
        (
            "  operators:\n  - catalog: a\n    fulll: true\n".to_owned(),
            &["6: mirror.operators[0].fulll"],
        ),
        (
            "  operators:\n  - catalog: a\n    full: \"yes\"\n".to_owned(),
            &["6: mirror.operators[0].full"],
        ),
        (
            format!("{package}    - minVersion: 1.2.3\n"),
            &["7: mirror.operators[0].packages[0]"],
        ),
        (
            format!("{package}    - name: p\n    - name: p\n"),
            &["8: mirror.operators[0].packages[1]"],
        ),
        (
            format!("{package}    - name: p\n      channels: [{{name: c}}, {{name: c}}]\n"),
            &["8: mirror.operators[0].packages[0].channels[1]"],
        ),
        (
            format!("{package}    - name: p\n      minVersion: not a version\n"),
            &["8: mirror.operators[0].packages[0].minVersion"],
        ),
        (
            format!("{package}    - name: p\n      maxVersion: 1.2\n"),
            &["8: mirror.operators[0].packages[0].maxVersion"],
        ),
        (
            format!(
                "{package}    - name: p\n      minVersion: v1\n      channels:\n      - name: c\n        maxVersion: v2\n"
            ),
            &["10: mirror.operators[0].packages[0].channels[0]"],
        ),
        (
            "  operators: [{catalog: a}]\n  blockedImages:\n  - name: '('\n  - name: '\\Qa.b\\E'\n"
                .to_owned(),
            &[
                "6: mirror.blockedImages[0].name",
                "7: mirror.blockedImages[1].name",
            ],
        ),
    ];
    for (mirror, places) in cases {
        assert_eq!(refused_at(&mirror), places, "{mirror}");
    }
}

#[test]
fn a_number_in_place_of_a_version_is_refused_with_the_way_to_write_it() {
    let mirror = "  operators:\n  - catalog: a\n    packages:\n    - {name: p, maxVersion: 1.2}\n";
    let messages: Vec<_> = refusals(&text(mirror))
        .into_iter()
        .map(|(_, message)| message)
        .collect();
    assert_eq!(
        messages,
        ["`maxVersion` must be a text, not a number: write \"1.2\", with quotes"]
    );
}

#[test]
fn syntax_that_go_and_this_program_read_differently_is_refused_by_name() {
    for (pattern, name) in [
        (r"\Qa.b\E", r"`\Q` (quoted text)"),
        (r"a\C", r"`\C` (a single byte)"),
        ("[a-z&&[^b]]", "`&&` (an intersection of classes)"),
    ] {
        let mirror =
            format!("  operators: [{{catalog: a}}]\n  blockedImages: [{{name: '{pattern}'}}]\n");
        let refusals = refusals(&text(&mirror));
        let [(_, message)] = &*refusals else {
            panic!("{pattern} is refused");
        };
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn patterns_match_anywhere_in_a_reference() {
    let mirror =
        "  operators: [{catalog: a}]\n  blockedImages: [{name: 'internal/'}, {name: '^b.io/'}]\n";
    let configuration = MirrorConfiguration::parse(&text(mirror)).unwrap();
    let blocked =
        ["a.io/internal/x:1", "b.io/x:1", "a.io/b.io/x:1"].map(|one| configuration.blocks(one));
    assert_eq!(blocked, [true, true, false]);
}

#[test]
fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
    let mirror = "  operators: [{catalog: a}]\n  blockedImages: [{name: '^(a+)+$'}]\n";
    let configuration = MirrorConfiguration::parse(&text(mirror)).unwrap();
    assert!(!configuration.blocks(&format!("{}!", "a".repeat(100_000))));
}

#[test]
fn a_hundred_thousand_packages_are_read() {
    let items: Vec<_> = (0..100_000)
        .map(|at| format!("    - name: p{at}\n"))
        .collect();
    let items = items.concat();
    let mirror = format!("  operators:\n  - catalog: a\n    packages:\n{items}");
    let configuration = MirrorConfiguration::parse(&text(&mirror)).unwrap();
    assert_eq!(configuration.operators[0].packages.len(), 100_000);
}

#[test]
fn a_configuration_that_is_too_long_is_refused_before_it_is_read() {
    let too_long = format!("#{}", "x".repeat(MAX_CONFIGURATION_BYTES));
    let messages: Vec<_> = refusals(&too_long)
        .into_iter()
        .map(|(_, message)| message)
        .collect();
    assert_eq!(
        messages,
        [format!(
            "the configuration has more than {MAX_CONFIGURATION_BYTES} bytes"
        )]
    );
}

//! CEL rules take no more time and memory than is counted before.

use std::fmt::Write as _;

use fbc::Catalog;
use solve::{MAX_RULE_VALUES, OperatorProperty, SolveOutcome, SolveRefusalCode, evaluate_rule};
use testing::fixture::{catalog, catalog_of};

use crate::bounds::{constrained, refusal, rule, wanted, with_outcome};

/// The budget of a `solve` over HTTP, in nanoseconds.
const BUDGET: u64 = 50_000_000;

/// Returns whether a refusal is about the steps of rules, and not about other work.
fn is_of_steps(message: &str) -> bool {
    message.contains("steps of CEL rules")
}

/// A catalog whose package `pear` has a rule over its own large properties, which `fig` has too.
fn with_large_properties(rule_text: &str, value: &serde_json::Value) -> Catalog {
    let lines: String = ["pear", "fig"]
        .map(|package| {
            let name = format!("{package}.v1.0.0");
            let mut properties =
                vec![serde_json::json!({"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}})];
            properties.extend((0..20).map(|at| serde_json::json!({"type": format!("large.{at}"), "value": value})));
            if package == "pear" {
                properties.push(serde_json::json!({"type": "olm.constraint", "value": rule(rule_text)}));
            }
            [
                serde_json::json!({"schema": "olm.package", "name": package, "defaultChannel": "stable"}),
                serde_json::json!({"schema": "olm.channel", "package": package, "name": "stable",
                    "entries": [{"name": name}]}),
                serde_json::json!({"schema": "olm.bundle", "package": package, "name": name,
                    "image": "registry.test/image", "properties": properties}),
            ]
            .map(|blob| format!("{blob}\n"))
            .concat()
        })
        .concat();
    catalog_of(&lines)
}

#[test]
fn rules_that_look_at_large_values_again_and_again_are_refused_before_they_are_evaluated() {
    let list = serde_json::json!(vec![1; 2_000]);
    let text = serde_json::json!("x".repeat(32_000));
    for (rule_text, value) in [
        (
            "properties.all(a, properties.all(b, a.value == b.value))",
            &list,
        ),
        (
            "properties.all(a, properties.all(b, properties.all(c, !(a.value < b.value))))",
            &text,
        ),
        (
            "properties.all(a, properties.all(b, !(a.type in b.value)))",
            &list,
        ),
        ("properties.exists(a, a.value.map(x, x).size() == 0)", &list),
        (
            "[properties, properties].map(a, a.map(b, b.value + b.value)) == [properties.map(c, c.value)]",
            &list,
        ),
        (
            "properties.all(a, properties.all(b, properties.all(c, !a.value.contains(string(b.value)))))",
            &text,
        ),
        ("properties.all(a, !a.value.matches('(x+x+)+y'))", &text),
    ] {
        let (code, message) = refusal(
            &with_large_properties(rule_text, value),
            &wanted(&["pear"]),
            50_000_000,
        );
        assert_eq!(
            (code, is_of_steps(&message)),
            (SolveRefusalCode::Limit, true),
            "{rule_text}: {message}"
        );
    }
    let small = "properties.exists(a, a.value == 'certified' || 'x' in a.value || a.type.matches('^large'))";
    with_outcome(
        &with_large_properties(small, &serde_json::json!(["x"])),
        &wanted(&["pear"]),
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
        },
    );
}

/// A list of maps, each of which takes some hundred bytes.
fn maps(count: usize) -> serde_json::Value {
    serde_json::json!(vec![serde_json::json!({"a": 0}); count])
}

#[test]
fn rules_that_copy_large_values_again_and_again_are_refused_before_they_are_evaluated() {
    let repeated = |text: &str, count: usize| vec![text; count].join(",");
    for rule_text in [
        format!("[{}] == []", repeated("properties", 370)),
        format!("[{}].map(x, properties) == []", repeated("1", 1_500)),
        format!("[{}].exists(x, [properties] == [])", repeated("1", 1_500)),
        "properties.all(a, properties.all(b, properties.all(c, true)))".to_owned(),
        format!("({}) == []", vec!["properties"; 100].join(" + ")),
        format!(
            "{{{}}} == {{}}",
            (0..100)
                .map(|at| format!("{at}: properties"))
                .collect::<Vec<_>>()
                .join(",")
        ),
    ] {
        let (code, message) = refusal(
            &with_large_properties(&rule_text, &maps(700)),
            &wanted(&["pear"]),
            u64::MAX,
        );
        assert_eq!(
            (code, is_of_steps(&message)),
            (SolveRefusalCode::Limit, true),
            "{rule_text}: {message}"
        );
    }
}

#[test]
fn one_evaluation_may_take_so_many_steps_and_no_more() {
    let copies = |count: usize| {
        let rule_text = format!("[{}] != []", vec!["properties"; count].join(","));
        with_large_properties(&rule_text, &maps(700))
    };
    // All properties have 42,000 values.
    with_outcome(&copies(2), &wanted(&["pear"]), u64::MAX, |outcome| {
        assert!(
            matches!(outcome, SolveOutcome::Solution(_)),
            "two copies are few"
        );
    });
    let (code, message) = refusal(&copies(3), &wanted(&["pear"]), u64::MAX);
    assert_eq!(
        (
            code,
            message.contains("more than 100000 steps of CEL rules")
        ),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn macros_that_make_lists_copy_each_item_but_not_the_list() {
    let text = format!(
        "[{}].map(x, x + 1).filter(x, x > 5000).size() == 0",
        vec!["1"; 1_000].join(",")
    );
    assert_eq!(evaluate_rule(&text, &[]), Ok(true));
}

#[test]
fn properties_of_a_bundle_may_have_so_many_values_and_no_more() {
    let values = usize::try_from(MAX_RULE_VALUES).unwrap();
    let evaluate = |items: usize| {
        let value = serde_json::value::to_raw_value(&vec![1; items]).unwrap();
        evaluate_rule(
            "properties.size() == 1",
            &[OperatorProperty {
                type_name: "large".to_owned(),
                value,
            }],
        )
    };
    // The list, the property with its type, and the list in it.
    assert_eq!(evaluate(values - 4), Ok(true));
    assert_eq!(evaluate(values - 3), Err("too many values".to_owned()));
    let list = serde_json::json!(vec![1; values]);
    let (code, message) = refusal(
        &with_large_properties("properties.size() > 1", &list),
        &wanted(&["pear"]),
        u64::MAX,
    );
    assert_eq!(
        (code, message.contains("more than 50000 values")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn properties_that_are_not_kept_are_read_again_for_each_rule() {
    // Each has 12,000 values, and only some can be kept.
    let mut lines = String::from("package pear default=stable\nchannel stable: v1.0.0?\n");
    let constraint =
        |text: &str| serde_json::json!({"type": "olm.constraint", "value": rule(text)});
    let package = |name: &str| serde_json::json!({"type": "olm.package", "value": {"packageName": name, "version": "1.0.0"}});
    let has = "properties.exists(p, p.type == 'large' && p.value.size() == 11999)";
    let properties = [
        package("pear"),
        constraint(has),
        constraint("properties.exists(p, p.type == 'last')"),
    ];
    let bundle = |package: &str, name: &str, properties: &[serde_json::Value]| {
        let image = format!("{name}/image");
        serde_json::json!({"schema": "olm.bundle", "package": package, "name": name, "image": image,
            "properties": properties})
    };
    writeln!(
        lines,
        "{}\npackage fig default=stable\nchannel stable: {}",
        bundle("pear", "pear.v1.0.0", &properties),
        (0..12)
            .map(|at| format!("v1.{at}.0?"))
            .collect::<Vec<_>>()
            .join(" <- ")
    )
    .unwrap();
    for at in 0..12 {
        let large = serde_json::json!({"type": "large", "value": vec![0; 11_999]});
        let last =
            serde_json::json!({"type": if at == 11 { "last" } else { "other" }, "value": null});
        writeln!(
            lines,
            "{}",
            bundle(
                "fig",
                &format!("fig.v1.{at}.0"),
                &[package("fig"), large, last]
            )
        )
        .unwrap();
    }
    with_outcome(&catalog(&lines), &wanted(&["pear"]), u64::MAX, |outcome| {
        let SolveOutcome::Solution(solution) = outcome else {
            panic!("{outcome:?}")
        };
        let names: Vec<_> = solution
            .steps
            .iter()
            .map(|step| step.placed.entry.name())
            .collect();
        assert_eq!(names, ["fig.v1.11.0", "pear.v1.0.0"]);
    });
}

/// A catalog with a package `pear` that has a constraint, and a package with so many bundles.
fn with_bundles(constraint: &serde_json::Value, count: usize) -> Catalog {
    let properties = serde_json::json!([
        {"type": "olm.package", "value": {"packageName": "pear", "version": "1.0.0"}},
        {"type": "olm.constraint", "value": constraint},
    ]);
    let pear = serde_json::json!({"schema": "olm.bundle", "package": "pear", "name": "pear.v1.0.0", "image": "i",
        "properties": properties});
    let names: Vec<_> = (0..count).map(|at| format!("v1.{at}.0")).collect();
    catalog(&format!(
        "package pear default=stable\nchannel stable: v1.0.0?\n{pear}\npackage fig default=stable\nchannel stable: {}\n",
        names.join(" <- ")
    ))
}

#[test]
fn estimating_the_steps_of_a_rule_is_paid_for_each_bundle() {
    let sum = vec!["1"; 190].join("+");
    let text = format!("[].all(x, [].all(y, [].all(z, {sum} == 1)))");
    with_outcome(
        &with_bundles(&rule(&text), 20),
        &wanted(&["pear"]),
        BUDGET,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
        },
    );
    let (code, message) = refusal(&with_bundles(&rule(&text), 400), &wanted(&["pear"]), BUDGET);
    assert_eq!(
        (code, message.contains("more work than its budget")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn compiling_rules_and_their_patterns_is_paid_before() {
    let any = |texts: Vec<String>| {
        let constraints: Vec<_> = texts
            .iter()
            .map(|text| serde_json::json!({"cel": {"rule": text}}))
            .collect();
        constrained(
            &serde_json::json!({"failureMessage": "no", "any": {"constraints": constraints}}),
        )
    };
    // They differ, and none of them is looked at for longer than the first one.
    let long = |at: usize| format!("true || [{}] == [{at}]", vec!["1"; 1_500].join(","));
    let patterns = |pattern: &str, count: usize| {
        let matched = format!("properties.all(p, p.type.matches('{pattern}'))");
        vec![format!("true || {matched}"); count]
    };
    for (few, many) in [
        (
            any((0..1).map(long).collect()),
            any((0..30).map(long).collect()),
        ),
        (
            any(patterns("^olm", 20)),
            any(patterns("(?i)[^\\\\D]{1,9}", 20)),
        ),
    ] {
        with_outcome(&few, &wanted(&["pear"]), BUDGET, |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
        });
        let (code, message) = refusal(&many, &wanted(&["pear"]), BUDGET);
        assert_eq!(
            (code, message.contains("more work than its budget")),
            (SolveRefusalCode::Limit, true),
            "{message}"
        );
    }
}

#[test]
fn patterns_without_classes_can_be_looked_for_in_many_properties() {
    let property = |at: usize| {
        let value = serde_json::value::RawValue::from_string("null".to_owned()).unwrap();
        OperatorProperty {
            type_name: format!("example.com.property{at}"),
            value,
        }
    };
    let properties: Vec<_> = (0..50).map(property).collect();
    assert_eq!(
        evaluate_rule(
            "properties.exists(p, p.type.matches('property49$'))",
            &properties
        ),
        Ok(true)
    );
}

//! Hostile worlds end with a refusal.

use std::fmt::Write as _;
use std::time::Duration;

use fbc::Catalog;
use fbc::work::Work;
use solve::{
    MAX_INSTALLED_OPERATORS, MAX_OPERATOR_PROPERTY_BYTES, MAX_RULE_BYTES, MAX_RULE_DEPTH,
    MAX_RULE_OPERATORS, MAX_WANTED_PACKAGES, SolveOutcome, SolveRefusalCode, SolveRequest,
    SourceCatalog, solve,
};
use testing::fixture::{catalog, catalog_of};

/// Most CPU time that work on some ten thousand items may take, in a build without optimization.
const MOST_CPU: Duration = Duration::from_millis(2_500);

/// Does some work, which must not take longer than that.
pub(crate) fn in_little_time<R>(work: impl FnOnce() -> R) -> R {
    let before = cpu();
    let result = work();
    let taken = cpu().saturating_sub(before);
    assert!(taken < MOST_CPU, "it took {taken:?} of CPU time");
    result
}

/// CPU time of this thread.
pub(crate) fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

/// A request for packages of the catalog `main`, any channel.
pub(crate) fn wanted(packages: &[&str]) -> SolveRequest {
    let subscriptions: Vec<_> = packages
        .iter()
        .map(|name| serde_json::json!({"name": name, "package": name, "catalog": "main", "catalogNamespace": "olm"}))
        .collect();
    serde_json::from_value(
        serde_json::json!({"namespaces": ["olm"], "subscriptions": subscriptions}),
    )
    .unwrap()
}

pub(crate) fn with_outcome<R>(
    catalog: &Catalog,
    request: &SolveRequest,
    budget: u64,
    read: impl FnOnce(SolveOutcome<'_>) -> R,
) -> R {
    let catalogs = [SourceCatalog {
        name: "main",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog,
    }];
    read(solve(request, &catalogs, budget, &Work::unlimited()).unwrap())
}

/// The code and the message of a refusal.
pub(crate) fn refusal(
    catalog: &Catalog,
    request: &SolveRequest,
    budget: u64,
) -> (SolveRefusalCode, String) {
    with_outcome(catalog, request, budget, |outcome| match outcome {
        SolveOutcome::Refusal(refusal) => (refusal.code, refusal.message),
        SolveOutcome::Solution(solution) => panic!("{solution:?}"),
        SolveOutcome::Conflict(conflict) => panic!("{conflict:?}"),
    })
}

/// A catalog with a package `pear` whose bundle has a constraint, and one other package.
pub(crate) fn constrained(constraint: &serde_json::Value) -> Catalog {
    let mut lines = String::new();
    for (package, properties) in [
        (
            "pear",
            serde_json::json!([{"type": "olm.constraint", "value": constraint}]),
        ),
        ("fig", serde_json::json!([])),
    ] {
        let mut all = vec![
            serde_json::json!({"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}}),
        ];
        all.extend(properties.as_array().unwrap().iter().cloned());
        for blob in [
            serde_json::json!({"schema": "olm.package", "name": package, "defaultChannel": "stable"}),
            serde_json::json!({"schema": "olm.channel", "package": package, "name": "stable",
                "entries": [{"name": format!("{package}.v1.0.0")}]}),
            serde_json::json!({"schema": "olm.bundle", "package": package, "name": format!("{package}.v1.0.0"),
                "image": "registry.test/image", "properties": all}),
        ] {
            writeln!(lines, "{blob}").unwrap();
        }
    }
    catalog_of(&lines)
}

pub(crate) fn rule(text: &str) -> serde_json::Value {
    serde_json::json!({"failureMessage": "no", "cel": {"rule": text}})
}

/// A rule with macros inside of one another.
fn nested(levels: usize) -> String {
    (0..levels).fold("true".to_owned(), |inner, level| {
        format!("properties.all(p{level}, {inner})")
    })
}

#[test]
fn a_rule_may_nest_so_many_macros_and_no_more() {
    let request = wanted(&["pear"]);
    with_outcome(
        &constrained(&rule(&nested(MAX_RULE_DEPTH))),
        &request,
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)));
        },
    );
    let (code, message) = refusal(
        &constrained(&rule(&nested(MAX_RULE_DEPTH + 1))),
        &request,
        u64::MAX,
    );
    assert_eq!(code, SolveRefusalCode::Limit);
    assert!(message.contains("nests more than 3 macros"), "{message}");
}

#[test]
fn a_rule_may_have_so_many_bytes_and_no_more() {
    let sized = |bytes: usize| format!("true{}", " ".repeat(bytes - 4));
    let request = wanted(&["pear"]);
    with_outcome(
        &constrained(&rule(&sized(MAX_RULE_BYTES))),
        &request,
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)));
        },
    );
    let (code, _) = refusal(
        &constrained(&rule(&sized(MAX_RULE_BYTES + 1))),
        &request,
        u64::MAX,
    );
    assert_eq!(code, SolveRefusalCode::Limit);
}

#[test]
fn rules_as_deep_as_they_may_be_are_evaluated_on_a_small_stack() {
    let deepest_rules = || {
        let request = wanted(&["pear"]);
        let sum = |count: usize| format!("0{} != 1", "+0".repeat(count));
        // Two characters are those of the comparison.
        with_outcome(
            &constrained(&rule(&sum(MAX_RULE_OPERATORS - 2))),
            &request,
            u64::MAX,
            |outcome| {
                assert!(matches!(outcome, SolveOutcome::Solution(_)));
            },
        );
        assert_eq!(
            refusal(
                &constrained(&rule(&sum(MAX_RULE_OPERATORS - 1))),
                &request,
                u64::MAX
            )
            .0,
            SolveRefusalCode::Limit
        );
        for deep in [
            "!".repeat(398),
            "-".repeat(398),
            "(".repeat(398),
            "[".repeat(398),
            "properties".to_owned() + &".x".repeat(398),
        ] {
            let catalog = constrained(&rule(&deep));
            with_outcome(&catalog, &request, u64::MAX, |outcome| {
                assert!(matches!(outcome, SolveOutcome::Refusal(_)));
            });
        }
    };
    // Half of what threads of the server have.
    std::thread::Builder::new()
        .stack_size(1024 * 1024)
        .spawn(deepest_rules)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn a_rule_that_multiplies_texts_is_refused_before_it_is_evaluated() {
    let list = ["'x'"; 100].join(",");
    let text = format!("[{list}].map(a, [{list}].map(b, [{list}].map(c, 'y'))).size() == 0");
    let (code, message) = refusal(&constrained(&rule(&text)), &wanted(&["pear"]), u64::MAX);
    assert_eq!(
        (code, message.contains("steps of CEL rules")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn a_pattern_is_a_literal_of_so_many_bytes_compiled_and_no_more() {
    let sized =
        |repeats: usize| format!("properties.all(p, !p.type.matches('(abcdefgh){{{repeats}}}'))");
    let request = wanted(&["pear"]);
    with_outcome(
        &constrained(&rule(&sized(10))),
        &request,
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)));
        },
    );
    for text in [
        sized(1_000),
        "properties.all(p, p.type.matches(p.type))".to_owned(),
    ] {
        assert_eq!(
            refusal(&constrained(&rule(&text)), &request, u64::MAX).0,
            SolveRefusalCode::Limit,
            "{text}"
        );
    }
}

#[test]
fn nests_of_any_and_not_are_read_as_deep_as_json_is() {
    let nest = |levels: usize| {
        (0..levels).fold(
            serde_json::json!({"package": {"packageName": "fig", "versionRange": ">=1.0.0"}}),
            |inner, level| {
                let kind = if level % 2 == 0 { "any" } else { "not" };
                serde_json::json!({kind: {"constraints": [inner]}})
            },
        )
    };
    with_outcome(
        &constrained(&nest(16)),
        &wanted(&["pear"]),
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Solution(_)));
        },
    );
    let (code, message) = refusal(&constrained(&nest(60)), &wanted(&["pear"]), u64::MAX);
    assert_eq!(
        (code, message.contains("recursion limit")),
        (SolveRefusalCode::BadRequirement, true),
        "{message}"
    );
}

/// A package with so many alternatives for another package, none of which is possible.
pub(crate) fn alternatives(count: usize) -> Catalog {
    let mut lines = String::from(
        "package pear default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 needs=fig@>=1.0.0\n",
    );
    lines.push_str("package fig default=stable\nchannel stable: ");
    let names: Vec<_> = (0..count).map(|at| format!("v1.{at}.0")).collect();
    lines.push_str(&names.join(" <- "));
    for at in 0..count {
        write!(lines, "\nbundle v1.{at}.0 needs=missing@>=1.0.0").unwrap();
    }
    catalog(&lines)
}

#[test]
fn ten_thousand_impossible_alternatives_are_refused_at_the_end_of_the_budget() {
    let request = wanted(&["pear"]);
    with_outcome(&alternatives(100), &request, u64::MAX, |outcome| {
        let SolveOutcome::Conflict(conflict) = outcome else {
            panic!("they are impossible")
        };
        // The package that is wanted, what serves it, what that requires, and why each alternative
        // is impossible.
        assert_eq!(conflict.reasons.len(), 3 + 100);
    });
    let many = alternatives(10_000);
    for budget in [5_000_000, 50_000_000] {
        let (code, message) = refusal(&many, &request, budget);
        assert_eq!(
            (code, message.contains("more work than its budget")),
            (SolveRefusalCode::Limit, true),
            "{message}"
        );
    }
}

#[test]
fn a_request_may_name_so_many_packages_and_no_more() {
    let names: Vec<String> = (0..=MAX_WANTED_PACKAGES)
        .map(|at| format!("package{at}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fig = alternatives(1);
    with_outcome(
        &fig,
        &wanted(&names[..MAX_WANTED_PACKAGES]),
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Conflict(_)));
        },
    );
    assert_eq!(
        refusal(&fig, &wanted(&names), u64::MAX).0,
        SolveRefusalCode::Limit
    );
    assert_eq!(
        refusal(&fig, &SolveRequest::default(), u64::MAX).0,
        SolveRefusalCode::InvalidRequest
    );
    assert_eq!(
        refusal(&fig, &wanted(&["fig", "fig"]), u64::MAX).0,
        SolveRefusalCode::InvalidRequest
    );
}

#[test]
fn a_version_is_compared_with_each_constraint_of_a_range_and_that_is_paid() {
    let ranges = |count: usize| {
        let range: Vec<_> = (0..count).map(|at| format!("!=2.{at}.0")).collect();
        catalog(&format!(
            "package pear default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 needs=\"fig@{}\"\n\
             package fig default=stable\nchannel stable: {}",
            range.join(" "),
            (0..1_000)
                .map(|at| format!("v1.{at}.0"))
                .collect::<Vec<_>>()
                .join(" <- "),
        ))
    };
    with_outcome(&ranges(10), &wanted(&["pear"]), 50_000_000, |outcome| {
        assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
    });
    let (code, message) = refusal(&ranges(1_000), &wanted(&["pear"]), 50_000_000);
    assert_eq!(
        (code, message.contains("more work than its budget")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn reading_the_skip_ranges_of_upgrades_is_paid() {
    let skipping = |count: usize| {
        let range = (0..count)
            .map(|at| format!("!=2.{at}.0"))
            .collect::<Vec<_>>()
            .join(" ");
        let entries: Vec<_> = (0..200)
            .map(|at| format!("v1.{at}.0 range=\"{range}\""))
            .collect();
        catalog(&format!(
            "package fig default=stable\nchannel stable: {}",
            entries.join(" <- ")
        ))
    };
    let request: SolveRequest = serde_json::from_value(serde_json::json!({
        "namespaces": ["olm"],
        "subscriptions": [{"name": "fig", "package": "fig", "installedCSV": "fig.v1.0.0"}],
        "installed": [{"name": "fig.v1.0.0", "version": "1.0.0"}],
    }))
    .unwrap();
    with_outcome(&skipping(2), &request, 50_000_000, |outcome| {
        assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
    });
    let (code, message) = refusal(&skipping(2_000), &request, 50_000_000);
    assert_eq!(
        (code, message.contains("more work than its budget")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn fifty_thousand_malformed_requirements_take_no_time_of_their_square() {
    let mut lines = String::from("package fig default=stable\nchannel stable: ");
    let names: Vec<_> = (0..50_000).map(|at| format!("v1.{at}.0")).collect();
    lines.push_str(&names.join(" <- "));
    for name in &names {
        write!(lines, "\nbundle {name} needs=pear@{name}x").unwrap();
    }
    let world = catalog(&lines);
    let (code, message) = in_little_time(|| refusal(&world, &wanted(&["fig"]), u64::MAX));
    assert_eq!(
        (code, message.matches(", ").count()),
        (SolveRefusalCode::BadRequirement, names.len() - 1)
    );
}

#[test]
fn alternatives_that_any_bundle_may_meet_are_looked_for_once() {
    let alternatives = vec![serde_json::json!({"all": {}}); 8_000];
    let constraint =
        serde_json::json!({"failureMessage": "no", "any": {"constraints": alternatives}});
    let pear = serde_json::json!({"schema": "olm.bundle", "package": "pear", "name": "pear.v1.0.0", "image": "i",
        "properties": [{"type": "olm.constraint", "value": constraint}]});
    let names: Vec<_> = (0..3_000).map(|at| format!("v1.{at}.0")).collect();
    let world = catalog(&format!(
        "package pear default=stable\nchannel stable: v1.0.0?\n{pear}\npackage fig default=stable\nchannel stable: {}",
        names.join(" <- ")
    ));
    let is_solved = |outcome: SolveOutcome<'_>| matches!(outcome, SolveOutcome::Solution(_));
    assert!(in_little_time(|| with_outcome(
        &world,
        &wanted(&["pear"]),
        u64::MAX,
        is_solved
    )));
}

#[test]
fn looking_for_requirements_among_properties_is_paid_for_each_channel_of_a_bundle() {
    let channels = |count: usize| {
        let mut lines = String::from("package fig default=c0\n");
        for at in 0..count {
            writeln!(lines, "channel c{at}: v1.0.0?").unwrap();
        }
        let properties = vec![serde_json::json!({"type": "other", "value": null}); 20_000];
        let bundle = serde_json::json!({"schema": "olm.bundle", "package": "fig", "name": "fig.v1.0.0", "image": "i",
            "properties": properties});
        writeln!(lines, "{bundle}").unwrap();
        catalog(&lines)
    };
    with_outcome(&channels(2), &wanted(&["fig"]), 50_000_000, |outcome| {
        assert!(matches!(outcome, SolveOutcome::Solution(_)), "{outcome:?}");
    });
    let (code, message) = refusal(&channels(100), &wanted(&["fig"]), 50_000_000);
    assert_eq!(
        (code, message.contains("more work than its budget")),
        (SolveRefusalCode::Limit, true),
        "{message}"
    );
}

#[test]
fn a_request_may_have_so_many_installed_operators_and_no_more() {
    let with = |count: usize| {
        let mut request = wanted(&["fig"]);
        let operator =
            |at: usize| serde_json::json!({"name": format!("operator{at}"), "version": "1.0.0"});
        request.installed = serde_json::from_value((0..count).map(operator).collect()).unwrap();
        request
    };
    let fig = alternatives(1);
    with_outcome(&fig, &with(MAX_INSTALLED_OPERATORS), u64::MAX, |outcome| {
        assert!(matches!(outcome, SolveOutcome::Conflict(_)), "{outcome:?}");
    });
    assert_eq!(
        refusal(&fig, &with(MAX_INSTALLED_OPERATORS + 1), u64::MAX).0,
        SolveRefusalCode::Limit
    );
}

#[test]
fn an_installed_operator_may_have_properties_of_so_many_bytes_and_no_more() {
    let with = |bytes: usize| {
        let mut request = wanted(&["fig"]);
        // The type has five bytes, and the quotes two.
        let properties = serde_json::json!([{"type": "other", "value": "x".repeat(bytes - 7)}]);
        let operator =
            serde_json::json!({"name": "operator", "version": "1.0.0", "properties": properties});
        request.installed = serde_json::from_value(serde_json::json!([operator])).unwrap();
        request
    };
    let fig = alternatives(1);
    with_outcome(
        &fig,
        &with(MAX_OPERATOR_PROPERTY_BYTES),
        u64::MAX,
        |outcome| {
            assert!(matches!(outcome, SolveOutcome::Conflict(_)), "{outcome:?}");
        },
    );
    assert_eq!(
        refusal(&fig, &with(MAX_OPERATOR_PROPERTY_BYTES + 1), u64::MAX).0,
        SolveRefusalCode::Limit
    );
}

//! The policy of OLM v1: the bundles that it would install, and those that they require.

use std::collections::BTreeMap;

use fbc::Catalog;
use fbc::work::Work;
use solve::{SolveOutcome, SolveRefusalCode, SolveRequest, SourceCatalog, solve};
use testing::fixture::catalog;

use crate::bounds::in_little_time;

/// A shop that needs a database, whose newest version is in no default channel.
fn world() -> Catalog {
    catalog(
        "package shop default=stable
         channel stable: v1.0.0 <- v1.1.0
         channel fast: v1.1.0 <- v2.0.0
         bundle v1.0.0
         bundle v1.1.0 needs=database@>=1.0.0
         bundle v2.0.0 needs=database@>=2.0.0
         package database default=stable
         channel stable: v1.0.0 <- v1.5.0
         channel fast: v1.5.0 <- v2.0.0 <- v2.1.0
         bundle v1.0.0
         bundle v1.5.0
         bundle v2.0.0
         bundle v2.1.0",
    )
}

/// The names of the steps of a solution, or the message of a conflict or a refusal.
fn answer(catalog: &Catalog, request: serde_json::Value) -> String {
    let mut request: SolveRequest = serde_json::from_value(request).unwrap();
    request.namespaces = vec!["olm".to_owned()];
    let labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
    let catalogs = [SourceCatalog {
        name: "main",
        namespace: "olm",
        priority: 0,
        labels: Some(&labels),
        catalog,
    }];
    match solve(&request, &catalogs, u64::MAX, &Work::unlimited()).unwrap() {
        SolveOutcome::Solution(solution) => {
            let steps =
                solution
                    .steps
                    .iter()
                    .map(|step| match step.replaces.filter(|_| step.is_upgrade) {
                        Some(old) => format!("{old} -> {}", step.placed.entry.name()),
                        None => step.placed.entry.name().to_owned(),
                    });
            steps.collect::<Vec<_>>().join(", ")
        }
        SolveOutcome::Conflict(conflict) => conflict.message,
        SolveOutcome::Refusal(refusal) => refusal.message,
    }
}

fn extension(more: &serde_json::Value) -> serde_json::Value {
    let mut wanted = serde_json::json!({"name": "shop", "package": "shop"});
    wanted
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::json!({"policy": "OLM_V1", "subscriptions": [wanted]})
}

#[test]
fn an_extension_gets_the_highest_version_of_any_channel_after_what_that_needs() {
    let world = world();
    assert_eq!(
        answer(&world, extension(&serde_json::json!({}))),
        "database.v2.1.0, shop.v2.0.0"
    );
    let v0 = serde_json::json!({"subscriptions": [{"name": "shop", "package": "shop"}]});
    assert_eq!(answer(&world, v0), "database.v1.5.0, shop.v1.1.0");
}

#[test]
fn an_extension_is_narrowed_by_range_channels_and_labels() {
    let world = world();
    let with = |more: serde_json::Value| answer(&world, extension(&more));
    assert_eq!(with(serde_json::json!({"version": "<1.1"})), "shop.v1.0.0");
    assert_eq!(
        with(serde_json::json!({"channels": ["stable"]})),
        "database.v2.1.0, shop.v1.1.0"
    );
    assert_eq!(
        with(serde_json::json!({"selector": "tier=gold"})),
        "database.v2.1.0, shop.v2.0.0"
    );
    assert_eq!(
        with(serde_json::json!({"selector": "tier=silver"})),
        "constraints not satisfiable: ClusterExtension shop exists, no bundles found for package \"shop\""
    );
}

#[test]
fn an_installed_operator_is_upgraded_along_the_catalog_and_meets_requirements() {
    let operator = |name: &str, package: &str, version: &str| {
        serde_json::json!({"name": name, "version": version, "properties":
            [{"type": "olm.package", "value": {"packageName": package, "version": version}}]})
    };
    let mut request = extension(&serde_json::json!({"installedCSV": "shop.v1.0.0"}));
    request["installed"] = serde_json::json!([
        operator("shop.v1.0.0", "shop", "1.0.0"),
        operator("database.v1.5.0", "database", "1.5.0")
    ]);
    // 2.0.0 is no successor of 1.0.0.
    assert_eq!(
        answer(&world(), request.clone()),
        "shop.v1.0.0 -> shop.v1.1.0"
    );
    request["installed"] = serde_json::json!([operator("shop.v2.0.0", "shop", "2.0.0")]);
    request["subscriptions"][0]["installedCSV"] = "shop.v2.0.0".into();
    assert_eq!(answer(&world(), request), "");
}

#[test]
fn a_version_that_olm_v1_picks_is_not_given_up_for_an_older_one_that_would_fit() {
    let world = catalog(
        "package shop default=stable
         channel stable: v1.0.0 <- v1.1.0
         bundle v1.0.0
         bundle v1.1.0 needs=database@>=9.0.0
         package database default=stable
         channel stable: v1.0.0
         bundle v1.0.0",
    );
    assert_eq!(
        answer(&world, extension(&serde_json::json!({}))),
        "constraints not satisfiable: ClusterExtension shop exists, ClusterExtension shop requires \
         main/olm/stable/shop.v1.1.0, bundle shop.v1.1.0 requires an operator with package: database and with version \
         in range: >=9.0.0"
    );
    let v0 = serde_json::json!({"subscriptions": [{"name": "shop", "package": "shop"}]});
    assert_eq!(answer(&world, v0), "shop.v1.0.0");
}

#[test]
fn a_malformed_version_or_selector_is_refused_and_no_conflict() {
    let refusal = |more: serde_json::Value| {
        let mut request: SolveRequest = serde_json::from_value(extension(&more)).unwrap();
        request.namespaces = vec!["olm".to_owned()];
        let world = world();
        let catalogs = [SourceCatalog {
            name: "main",
            namespace: "olm",
            priority: 0,
            labels: None,
            catalog: &world,
        }];
        match solve(&request, &catalogs, u64::MAX, &Work::unlimited()).unwrap() {
            SolveOutcome::Refusal(refusal) => (refusal.code, refusal.message),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refusal(serde_json::json!({"version": "nonsense"})),
        (
            SolveRefusalCode::InvalidRequest,
            "desired version range \"nonsense\" is invalid: improper constraint: \"nonsense\""
                .to_owned()
        )
    );
    assert_eq!(
        refusal(serde_json::json!({"selector": "tier in gold"})),
        (
            SolveRefusalCode::InvalidRequest,
            "unable to parse requirement: found 'gold' expected: '('".to_owned()
        )
    );
}

#[test]
fn twenty_thousand_bundles_of_one_channel_that_meet_a_requirement_take_no_time_of_their_square() {
    const COUNT: usize = 20_000;
    let versions: Vec<_> = (0..COUNT).map(|at| format!("v1.{at}.0")).collect();
    let world = catalog(&format!(
        "package shop default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 needs=database@>=1.0.0\n\
         package database default=stable\nchannel stable: {}\n",
        versions.join(" <- ")
    ));
    let answer = in_little_time(|| answer(&world, extension(&serde_json::json!({}))));
    assert_eq!(answer, "database.v1.19999.0, shop.v1.0.0");
}

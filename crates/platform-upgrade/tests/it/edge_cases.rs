//! Every case of which the walk has to be sure, by name.

use fbc::Platform;
use platform_upgrade::{
    Approval, ClusterBundle, OlmRules, PlanAction, PlatformStep, PlatformUpgradeRequest,
    UpgradeVerdict, package_matrix,
};
use testing::fixture::catalog;

use crate::world::{World, installed, planned, said, step_catalog, unserved};

/// Returns the line of a bundle of package `p` with properties.
fn bundle(version: &str, max_openshift: &str) -> String {
    let max = if max_openshift.is_empty() {
        String::new()
    } else {
        format!(r#",{{"type":"olm.maxOpenShiftVersion","value":"{max_openshift}"}}"#)
    };
    format!(
        r#"{{"image":"a.io/p:{version}","name":"p.v{version}","package":"p","properties":[{{"type":"olm.package","value":{{"packageName":"p","version":"{version}"}}}}{max}],"schema":"olm.bundle"}}"#
    )
}

/// Returns the line of a bundle of package `p` with metadata of its `ClusterServiceVersion`.
fn described(version: &str, csv: &str) -> String {
    format!(
        r#"{{"image":"a.io/p:{version}","name":"p.v{version}","package":"p","properties":[{{"type":"olm.package","value":{{"packageName":"p","version":"{version}"}}}},{{"type":"olm.csv.metadata","value":{{{csv}}}}}],"schema":"olm.bundle"}}"#
    )
}

/// Returns a fixture of package `p`: its channels, then its bundles. Names of channels without a
/// line for their bundles end in `?`.
fn fixture(default: &str, channels: &[&str], bundles: &[String]) -> String {
    let channels: Vec<_> = channels
        .iter()
        .map(|channel| format!("channel {channel}\n"))
        .collect();
    format!(
        "package p default={default}\n{}{}",
        channels.concat(),
        bundles.join("\n")
    )
}

fn openshift(fixtures: &[String]) -> World {
    let fixtures: Vec<_> = fixtures.iter().map(String::as_str).collect();
    World::openshift(&fixtures)
}

#[test]
fn a_channel_that_all_catalogs_have_needs_nothing() {
    let one = fixture(
        "stable",
        &["stable: v1.0.0? <- v1.1.0?"],
        &[bundle("1.0.0", ""), bundle("1.1.0", "")],
    );
    let world = openshift(&[one.clone(), one.clone(), one]);
    assert_eq!(world.said(installed("p.v1.0.0", "stable")), "STAYS");
    let request = world.request(vec![installed("p.v1.0.0", "stable")]);
    let plan = planned(&request);
    assert_eq!(plan.packages[0].unconfirmed_steps, [1, 2]);
    assert_eq!(
        plan.order,
        [PlanAction::Platform(1), PlanAction::Platform(2)]
    );
    assert_eq!(plan.verdict(), UpgradeVerdict::Stays);
}

#[test]
fn upgrades_in_the_channel_are_made_before_the_step_that_needs_them() {
    let catalog = |versions: &[&str]| {
        fixture(
            "stable",
            &["stable: v1.0.0? <- v1.1.0? <- v1.2.0?"],
            &[
                bundle("1.0.0", versions[0]),
                bundle("1.1.0", versions[1]),
                bundle("1.2.0", versions[2]),
            ],
        )
    };
    let all = catalog(&["4.16", "4.17", "4.18"]);
    let world = openshift(&[all.clone(), all.clone(), all]);
    // The head is reached at once: two upgrades before the first step are as cheap, and come first.
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0; before 1: p.v1.1.0 -> p.v1.2.0"
    );
    let request = world.request(vec![installed("p.v1.0.0", "stable")]);
    let plan = planned(&request);
    assert_eq!(
        plan.conditions,
        [
            Some(
                "ClusterServiceVersions blocking minor version upgrades to 4.17.0 or higher:\n\
                 - maximum supported OCP version for ns/p.v1.0.0 is 4.16"
                    .to_owned()
            ),
            None
        ]
    );
    assert_eq!(
        plan.order,
        [
            PlanAction::Move {
                package: 0,
                index: 0
            },
            PlanAction::Move {
                package: 0,
                index: 1
            },
            PlanAction::Platform(1),
            PlanAction::Platform(2)
        ]
    );
    assert_eq!(
        plan.packages[0].moves[0].message,
        "p.v1.0.0 supports OpenShift up to 4.16, not OpenShift 4.17"
    );
}

#[test]
fn an_upgrade_may_have_to_wait_for_the_catalog_between_two_steps() {
    let world = openshift(&[
        fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "4.17")]),
        fixture(
            "stable",
            &["stable: v1.0.0? <- v1.1.0?"],
            &[bundle("1.0.0", "4.17"), bundle("1.1.0", "4.18")],
        ),
        fixture("stable", &["stable: v1.1.0?"], &[bundle("1.1.0", "4.18")]),
    ]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "FOLLOWS; before 2: p.v1.0.0 -> p.v1.1.0"
    );
}

#[test]
fn a_default_channel_that_is_renamed_is_switched_after_the_step() {
    let world = openshift(&[
        fixture("4.16", &["4.16: v1.0.0?"], &[bundle("1.0.0", "")]),
        fixture(
            "4.17",
            &["4.17: v1.1.0? replaces=v1.0.0"],
            &[bundle("1.1.0", "")],
        ),
    ]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "4.16")),
        "SWITCHES; after 1: switch to 4.17"
    );
    let request = world.request(vec![installed("p.v1.0.0", "4.16")]);
    assert_eq!(
        planned(&request).packages[0].moves[0].message,
        "p has no channel 4.16 in the catalogs of OpenShift 4.17 (catalog)"
    );
}

#[test]
fn a_channel_of_both_catalogs_is_switched_to_before_the_step_if_that_is_needed() {
    let both = fixture(
        "4.16",
        &["4.16: v1.0.0?", "4.17: v1.1.0? replaces=v1.0.0"],
        &[bundle("1.0.0", "4.16"), bundle("1.1.0", "4.17")],
    );
    let world = openshift(&[both.clone(), both]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "4.16")),
        "SWITCHES; before 1: switch to 4.17; before 1: p.v1.0.0 -> p.v1.1.0"
    );
}

#[test]
fn a_subscription_without_channel_follows_the_default_channel_of_each_catalog() {
    let world = openshift(&[
        fixture("4.16", &["4.16: v1.0.0?"], &[bundle("1.0.0", "")]),
        fixture(
            "4.17",
            &["4.17: v1.1.0? replaces=v1.0.0"],
            &[bundle("1.1.0", "")],
        ),
    ]);
    assert_eq!(world.said(installed("p.v1.0.0", "")), "STAYS");
}

#[test]
fn a_head_whose_successor_is_only_in_the_next_catalog_stays_blocked() {
    let world = openshift(&[
        fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "4.16")]),
        fixture(
            "stable",
            &["stable: v1.1.0? replaces=v1.0.0"],
            &[bundle("1.1.0", "4.17")],
        ),
    ]);
    let request = world.request(vec![installed("p.v1.0.0", "stable")]);
    let plan = planned(&request);
    assert_eq!(said(&plan.packages[0]), "BLOCKED MAX_OPENSHIFT 1 p.v1.0.0");
    assert_eq!(
        plan.packages[0].message,
        "p.v1.0.0 supports OpenShift up to 4.16, not OpenShift 4.17; no version that can be reached on \
         OpenShift 4.16 does: the vendor must publish one in a catalog of that version"
    );
    assert_eq!((plan.reachable_step, plan.order.len()), (0, 0));
}

#[test]
fn an_invalid_limit_blocks_each_minor_upgrade() {
    let one = fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "4.18.1")]);
    let world = openshift(&[one.clone(), one]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "BLOCKED INVALID_MAX_OPENSHIFT 1 p.v1.0.0"
    );
}

#[test]
fn what_the_cluster_says_of_a_bundle_counts_more_than_its_catalog() {
    let one = fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "4.16")]);
    let world = openshift(&[one.clone(), one]);
    let newer = ClusterBundle {
        max_openshift: Some(vec!["\"4.17\""]),
        ..installed("p.v1.0.0", "stable")
    };
    assert_eq!(world.said(newer), "STAYS");
}

#[test]
fn a_bundle_that_no_catalog_has_follows_a_skip_range_of_the_next() {
    let world = openshift(&[
        fixture("stable", &["stable: v0.9.0?"], &[bundle("0.9.0", "")]),
        fixture(
            "stable",
            &[r#"stable: v2.0.0? range=">=1.0.0 <2.0.0""#],
            &[bundle("2.0.0", "")],
        ),
    ]);
    assert_eq!(world.said(installed("p.v1.0.0", "stable")), "STAYS");
    assert_eq!(
        world.said(installed("p.v0.8.0", "stable")),
        "BLOCKED NO_EDGE 1 p.v0.8.0"
    );
}

#[test]
fn a_package_or_a_channel_that_is_gone_blocks() {
    let first = fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "")]);
    let gone = openshift(&[
        first.clone(),
        "package q default=a\nchannel a: v1.0.0".to_owned(),
    ]);
    assert_eq!(
        gone.said(installed("p.v1.0.0", "stable")),
        "BLOCKED PACKAGE_GONE 1 p.v1.0.0"
    );
    let renamed = openshift(&[
        first,
        fixture("fast", &["fast: v3.0.0?"], &[bundle("3.0.0", "")]),
    ]);
    assert_eq!(
        renamed.said(installed("p.v1.0.0", "stable")),
        "BLOCKED CHANNEL_GONE 1 p.v1.0.0"
    );
}

#[test]
fn a_package_without_way_in_the_first_step_or_a_catalog_that_is_not_served_is_unknown() {
    let one = fixture("stable", &["stable: v1.0.0?"], &[bundle("1.0.0", "")]);
    let world = openshift(&[one.clone(), one]);
    let request = world.request(vec![ClusterBundle {
        package: "q",
        ..installed("q.v1", "")
    }]);
    let plan = planned(&request);
    assert_eq!(said(&plan.packages[0]), "UNKNOWN");
    assert_eq!(
        plan.packages[0].message,
        "cannot plan `q`: no catalog of OpenShift 4.16 has it"
    );

    let mut request = world.request(vec![installed("p.v1.0.0", "stable")]);
    request.steps[1].catalogs.push(unserved("later"));
    let plan = planned(&request);
    assert_eq!(said(&plan.packages[0]), "UNKNOWN");
    assert_eq!(
        plan.packages[0].message,
        "cannot plan `p`: catalog `later` of OpenShift 4.17 is not served"
    );
    assert_eq!(plan.verdict(), UpgradeVerdict::Unknown);
}

#[test]
fn of_two_catalogs_the_present_one_counts_and_otherwise_the_priority() {
    let [low, high] = ["1.0.0", "2.0.0"].map(|version| {
        catalog(&fixture(
            "stable",
            &[&format!("stable: v{version}?")],
            &[bundle(version, "")],
        ))
    });
    let step = |version: &str| PlatformStep {
        platform: Platform {
            openshift: version.parse().ok(),
            ..Platform::default()
        },
        catalogs: vec![
            step_catalog("low", &low),
            platform_upgrade::StepCatalog {
                priority: 1,
                ..step_catalog("high", &high)
            },
        ],
    };
    let said_of = |bundle| {
        let request = PlatformUpgradeRequest {
            steps: vec![step("4.16"), step("4.17")],
            installed: vec![bundle],
        };
        said(&planned(&request).packages[0])
    };
    let present = ClusterBundle {
        catalog: Some("low"),
        ..installed("p.v1.0.0", "stable")
    };
    assert_eq!(said_of(present), "STAYS");
    assert_eq!(
        said_of(installed("p.v1.0.0", "stable")),
        "BLOCKED NO_EDGE 1 p.v1.0.0"
    );
}

#[test]
fn a_catalog_under_another_name_is_found_by_its_place() {
    let [left, right] = ["1.0.0", "2.0.0"].map(|version| {
        catalog(&fixture(
            "stable",
            &[&format!("stable: v{version}?")],
            &[bundle(version, "")],
        ))
    });
    let step = |version: &str, names: [&'static str; 2]| PlatformStep {
        platform: Platform {
            openshift: version.parse().ok(),
            ..Platform::default()
        },
        catalogs: vec![
            step_catalog(names[0], &left),
            step_catalog(names[1], &right),
        ],
    };
    let request = PlatformUpgradeRequest {
        steps: vec![step("4.16", ["a", "b"]), step("4.17", ["a-next", "b-next"])],
        installed: vec![ClusterBundle {
            catalog: Some("b"),
            ..installed("p.v2.0.0", "stable")
        }],
    };
    assert_eq!(said(&planned(&request).packages[0]), "STAYS");
}

#[test]
fn each_upgrade_of_a_manual_subscription_is_an_approval_and_two_subscriptions_are_two_rows() {
    let both = fixture(
        "stable",
        &["stable: v1.0.0? <- v1.1.0?"],
        &[bundle("1.0.0", "4.16"), bundle("1.1.0", "4.17")],
    );
    let world = openshift(&[both.clone(), both]);
    let manual = ClusterBundle {
        approval: Approval::Manual,
        namespace: "other",
        ..installed("p.v1.0.0", "stable")
    };
    let request = world.request(vec![manual, installed("p.v1.1.0", "stable")]);
    let plan = planned(&request);
    assert_eq!(
        plan.packages.iter().map(said).collect::<Vec<_>>(),
        ["FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0 approved", "STAYS"]
    );
}

#[test]
fn of_equal_ways_the_one_to_the_highest_version_is_taken() {
    let both = fixture(
        "stable",
        &[r#"stable: v1.0.0? <- v1.1.0? <- v1.2.0? range=">=1.0.0 <1.2.0""#],
        &[
            bundle("1.0.0", "4.16"),
            bundle("1.1.0", "4.17"),
            bundle("1.2.0", "4.17"),
        ],
    );
    let world = openshift(&[both.clone(), both]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "FOLLOWS; before 1: p.v1.0.0 -> p.v1.2.0"
    );
}

#[test]
fn a_dependency_names_what_requires_it() {
    let text = "package app default=a\nchannel a: v1.0.0\nbundle v1.0.0 needs=p@>=1.0.0\n\
                package p default=a\nchannel a: v1.0.0";
    let world = World::openshift(&[text, text]);
    let app = ClusterBundle {
        package: "app",
        ..installed("app.v1.0.0", "a")
    };
    let dependency = ClusterBundle {
        is_dependency: true,
        ..installed("p.v1.0.0", "a")
    };
    let request = world.request(vec![app, dependency]);
    let plan = planned(&request);
    assert_eq!(plan.packages[1].required_by, [0]);
    assert!(plan.packages[0].required_by.is_empty());
}

#[test]
fn names_lead_on_where_versions_are_no_semver() {
    let text = "package p default=a\nchannel a: one <- two\nbundle one version=one\nbundle two version=two";
    let first = format!("{text}\n");
    let world = World::openshift(&[
        &first,
        "package p default=a\nchannel a: two replaces=one\nbundle two version=two",
    ]);
    let one = ClusterBundle {
        package: "p",
        name: Some("p.one"),
        version: Some("one"),
        channels: vec!["a"],
        ..ClusterBundle::default()
    };
    assert_eq!(world.said(one), "STAYS");
}

#[test]
fn openshift_4_23_and_5_0_are_one_version() {
    let one = fixture("a", &["a: v1.0.0?"], &[bundle("1.0.0", "4.23")]);
    let versions = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let world = World::new(versions(&["4.22", "4.23", "5.0"]), &[&one, &one, &one]);
    assert_eq!(world.said(installed("p.v1.0.0", "a")), "STAYS");
    let world = World::new(versions(&["4.22", "5.0", "5.1"]), &[&one, &one, &one]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "a")),
        "BLOCKED MAX_OPENSHIFT 2 p.v1.0.0"
    );
}

#[test]
fn clusters_without_openshift_have_limits_of_kubernetes() {
    let csv = |min: &str, max: &str| {
        format!(
            r#""annotations":{{"operatorhub.io/ui-metadata-max-k8s-version":"{max}"}},"minKubeVersion":"{min}""#
        )
    };
    let content = catalog(&fixture(
        "a",
        &["a: v1.0.0? <- v1.1.0? <- v1.2.0?"],
        &[
            described("1.0.0", &csv("1.20.0", "1.29")),
            described("1.1.0", &csv("1.20.0", "1.30")),
            described("1.2.0", &csv("1.30.0", "1.40")),
        ],
    ));
    let step = |version: &str| PlatformStep {
        platform: Platform {
            kubernetes: version.parse().ok(),
            ..Platform::default()
        },
        catalogs: vec![step_catalog("c", &content)],
    };
    let said_to = |versions: &[&str], bundle| {
        let request = PlatformUpgradeRequest {
            steps: versions.iter().map(|version| step(version)).collect(),
            installed: vec![bundle],
        };
        let plan = planned(&request);
        assert_eq!(plan.conditions, vec![None; versions.len() - 1]);
        said(&plan.packages[0])
    };
    assert_eq!(
        said_to(&["1.29", "1.30"], installed("p.v1.0.0", "a")),
        "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0"
    );
    // 1.2.0 needs Kubernetes 1.30, so that it cannot be installed before that.
    assert_eq!(
        said_to(&["1.29", "1.30", "1.31"], installed("p.v1.0.0", "a")),
        "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0; before 2: p.v1.1.0 -> p.v1.2.0"
    );
    assert_eq!(
        said_to(&["1.40", "1.41"], installed("p.v1.2.0", "a")),
        "BLOCKED MAX_KUBERNETES 1 p.v1.2.0"
    );
    assert_eq!(
        said_to(&["1.18", "1.19"], installed("p.v1.0.0", "a")),
        "BLOCKED MIN_KUBERNETES 1 p.v1.0.0"
    );
}

#[test]
fn upgrades_are_to_bundles_for_the_architecture_of_the_nodes() {
    let labels = |architecture: &str| {
        format!(r#""labels":{{"operatorframework.io/arch.{architecture}":"supported"}}"#)
    };
    let content = catalog(&fixture(
        "a",
        &["a: v1.0.0? <- v1.1.0?", "b: v1.2.0? replaces=v1.0.0"],
        &[
            described(
                "1.0.0",
                r#""annotations":{"operatorhub.io/ui-metadata-max-k8s-version":"1.29"}"#,
            ),
            described("1.1.0", &labels("arm64")),
            described("1.2.0", &labels("s390x")),
        ],
    ));
    let step = |version: &str, architecture| PlatformStep {
        platform: Platform {
            kubernetes: version.parse().ok(),
            architecture,
            ..Platform::default()
        },
        catalogs: vec![step_catalog("c", &content)],
    };
    for (architecture, line) in [
        (None, "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0"),
        (Some("arm64"), "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0"),
        (
            Some("s390x"),
            "SWITCHES; before 1: switch to b; before 1: p.v1.0.0 -> p.v1.2.0",
        ),
        (Some("ppc64le"), "BLOCKED MAX_KUBERNETES 1 p.v1.0.0"),
    ] {
        let request = PlatformUpgradeRequest {
            steps: vec![step("1.29", architecture), step("1.30", architecture)],
            installed: vec![installed("p.v1.0.0", "a")],
        };
        assert_eq!(said(&planned(&request).packages[0]), line);
    }
}

#[test]
fn an_upgrade_is_the_one_nearest_to_the_head_as_olm_makes_it() {
    let both = fixture(
        "stable",
        &[r#"stable: v1.0.0? <- v1.1.0? <- v1.2.0? range=">=1.0.0 <1.2.0""#],
        &[
            bundle("1.0.0", "4.16"),
            bundle("1.1.0", "4.17"),
            bundle("1.2.0", "4.16"),
        ],
    );
    let world = openshift(&[both.clone(), both]);
    // 1.1.0 would run on 4.17, and OLM passes it over.
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "BLOCKED MAX_OPENSHIFT 1 p.v1.2.0"
    );
}

#[test]
fn olm_makes_no_upgrade_in_a_channel_with_several_heads() {
    let both = fixture(
        "stable",
        &[
            "stable: v1.0.0? <- v1.1.0? , v2.0.0? <- v2.1.0?",
            "fast: v1.0.0? <- v1.1.0?",
        ],
        &[
            bundle("1.0.0", "4.16"),
            bundle("1.1.0", "4.17"),
            bundle("2.0.0", "4.17"),
            bundle("2.1.0", "4.17"),
        ],
    );
    let world = openshift(&[both.clone(), both]);
    assert_eq!(
        world.said(installed("p.v1.0.0", "stable")),
        "SWITCHES; before 1: switch to fast; before 1: p.v1.0.0 -> p.v1.1.0"
    );
    assert_eq!(world.said(installed("p.v2.0.0", "stable")), "STAYS");
}

#[test]
fn the_life_cycle_of_the_next_catalog_counts() {
    let lifecycle = |versions: &str| {
        format!(
            r#"{{"package":"p","schema":"io.openshift.operators.lifecycles.v1alpha1","versions":[{{"name":"1.0","platformCompatibility":[{{"name":"openshift","versions":[{versions}]}}]}}]}}"#
        )
    };
    let text = |versions: &str| {
        fixture(
            "a",
            &["a: v1.0.0?"],
            &[bundle("1.0.0", ""), lifecycle(versions)],
        )
    };
    let world = openshift(&[
        text(r#""4.16""#),
        text(r#""4.16","4.17""#),
        text(r#""4.16","4.17""#),
    ]);
    let request = world.request(vec![installed("p.v1.0.0", "a")]);
    let plan = planned(&request);
    assert_eq!(said(&plan.packages[0]), "BLOCKED LIFE_CYCLE 2 p.v1.0.0");
    assert_eq!(plan.packages[0].unconfirmed_steps, Vec::<usize>::new());
    assert_eq!(plan.reachable_step, 1);
}

#[test]
fn a_cluster_extension_goes_where_its_controller_would_resolve_to() {
    let both = fixture(
        "a",
        &[r#"a: v1.0.0? , v1.1.0? range="<1.1.0" , v1.2.0? range="<1.2.0""#],
        &[
            bundle("1.0.0", "4.16"),
            bundle("1.1.0", "4.17"),
            bundle("1.2.0", "4.16"),
        ],
    );
    let world = openshift(&[both.clone(), both]);
    let extension = |range: &'static str| ClusterBundle {
        rules: OlmRules::V1,
        version_range: range,
        ..installed("p.v1.0.0", "")
    };
    assert_eq!(
        world.said(extension("")),
        "BLOCKED MAX_OPENSHIFT 1 p.v1.2.0"
    );
    assert_eq!(
        world.said(extension("<1.2.0")),
        "FOLLOWS; before 1: p.v1.0.0 -> p.v1.1.0"
    );
    // A ClusterExtension is not in the condition of OLM v0.
    let request = world.request(vec![extension("")]);
    assert_eq!(planned(&request).conditions, [None]);
}

#[test]
fn the_matrix_has_common_and_other_channels_and_default_channels_that_change() {
    let first = catalog("package p default=4.16\nchannel 4.16: v1.0.0\nchannel stable: v1.0.0");
    let second = catalog(
        "package p default=4.17\nchannel 4.17: v1.1.0\nchannel stable: v1.1.0\npackage q default=a\nchannel a: v1",
    );
    let work = fbc::work::Work::unlimited();
    let matrix = package_matrix(&[&first, &second], &[], &work).expect("the work is not limited");
    let shown: Vec<_> = matrix
        .iter()
        .map(|package| {
            let catalogs = package.catalogs.iter().map(|catalog| {
                catalog.as_ref().map(|catalog| {
                    let heads = catalog
                        .channels
                        .iter()
                        .map(|channel| (channel.name, channel.head.map(fbc::Bundle::name)));
                    (
                        heads.collect::<Vec<_>>(),
                        catalog.other_channels.clone(),
                        catalog.is_default_channel_changed,
                    )
                })
            });
            (
                package.name,
                package.common_channels.clone(),
                catalogs.collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (
                "p",
                vec!["stable"],
                vec![
                    Some((
                        vec![("4.16", Some("p.v1.0.0")), ("stable", Some("p.v1.0.0"))],
                        vec!["4.16"],
                        false
                    )),
                    Some((
                        vec![("4.17", Some("p.v1.1.0")), ("stable", Some("p.v1.1.0"))],
                        vec!["4.17"],
                        true
                    )),
                ]
            ),
            (
                "q",
                vec!["a"],
                vec![None, Some((vec![("a", Some("q.v1"))], vec![], false))]
            ),
        ]
    );
    let named = package_matrix(&[&first, &second], &["q", "none"], &work);
    let named = named.expect("the work is not limited");
    assert_eq!(
        named.iter().map(|package| package.name).collect::<Vec<_>>(),
        ["q"]
    );
}

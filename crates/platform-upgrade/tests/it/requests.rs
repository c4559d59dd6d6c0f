//! Requests that are refused, by name.

use fbc::Platform;
use fbc::work::Work;
use platform_upgrade::{
    ClusterBundle, MAX_INSTALLED_BUNDLES, MAX_STEPS, OlmRules, PlatformStep,
    PlatformUpgradeRequest, plan,
};

use crate::world::installed;

fn openshift(versions: &[&str]) -> PlatformUpgradeRequest<'static> {
    let step = |version: &&str| PlatformStep {
        platform: Platform {
            openshift: Some(version.parse().expect("it is a version")),
            ..Platform::default()
        },
        catalogs: Vec::new(),
    };
    PlatformUpgradeRequest {
        steps: versions.iter().map(step).collect(),
        installed: Vec::new(),
    }
}

fn kubernetes(versions: &[&str]) -> PlatformUpgradeRequest<'static> {
    let mut request = openshift(versions);
    for step in &mut request.steps {
        step.platform.kubernetes = step.platform.openshift.take();
    }
    request
}

/// Returns the message of the refusal; empty when the request is planned.
fn refusal(request: &PlatformUpgradeRequest<'_>) -> String {
    let planned = plan(request, &Work::unlimited()).expect("the work is not limited");
    planned
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn steps_go_forwards_by_one_minor_version() {
    for (request, message) in [
        (openshift(&["4.16", "4.17", "4.18"]), ""),
        (openshift(&["4.16.3", "4.16.9", "4.17.1"]), ""),
        (openshift(&["4.22", "4.23", "5.0", "5.1"]), ""),
        (openshift(&["4.22", "5.0"]), ""),
        (kubernetes(&["1.29", "1.30.2"]), ""),
        (
            openshift(&["4.17", "4.16"]),
            "`steps[1]` goes backwards from 4.17 to 4.16",
        ),
        (
            openshift(&["4.17.9", "4.17.3"]),
            "`steps[1]` goes backwards from 4.17.9 to 4.17.3",
        ),
        (
            openshift(&["4.16", "4.17", "4.19"]),
            "`steps[2]` skips a minor version between 4.17 and 4.19: the control plane takes one at a time",
        ),
        (
            openshift(&["4.22", "5.1"]),
            "`steps[1]` skips a minor version between 4.22 and 5.1: the control plane takes one at a time",
        ),
        (
            kubernetes(&["1.31", "1.30"]),
            "`steps[1]` goes backwards from 1.31 to 1.30",
        ),
        (
            kubernetes(&["1.29", "1.31"]),
            "`steps[1]` skips a minor version between 1.29 and 1.31: the control plane takes one at a time",
        ),
    ] {
        assert_eq!(refusal(&request), message);
    }
}

#[test]
fn each_step_has_a_version_of_the_same_platform() {
    let mut mixed = openshift(&["4.16", "4.17"]);
    mixed.steps[1].platform = Platform {
        kubernetes: Some("1.30".parse().expect("it is a version")),
        ..Platform::default()
    };
    let message = "`steps[1].platform` has no version: give `openshift` or `kubernetes`, the same in each step";
    assert_eq!(refusal(&mixed), message);
    mixed.steps[1].platform = Platform::default();
    assert_eq!(refusal(&mixed), message);
}

#[test]
fn the_limits_of_a_request_are_named() {
    let versions: Vec<_> = (10..=10 + MAX_STEPS)
        .map(|minor| format!("4.{minor}"))
        .collect();
    let versions: Vec<_> = versions.iter().map(String::as_str).collect();
    assert_eq!(refusal(&openshift(&versions[..MAX_STEPS])), "");
    assert_eq!(
        refusal(&openshift(&versions)),
        "`steps` must have 2 to 10 versions, the present one included, and has 11"
    );
    assert_eq!(
        refusal(&openshift(&versions[..1])),
        "`steps` must have 2 to 10 versions, the present one included, and has 1"
    );
    let mut request = openshift(&["4.16", "4.17"]);
    request.installed = vec![installed("p.v1.0.0", ""); MAX_INSTALLED_BUNDLES];
    assert_eq!(refusal(&request), "");
    request.installed.push(installed("p.v1.0.0", ""));
    assert_eq!(
        refusal(&request),
        "`installed` has 501 items; at most 500 are allowed"
    );
}

#[test]
fn what_is_installed_has_a_name_or_a_version_and_one_channel() {
    let mut request = openshift(&["4.16", "4.17"]);
    request.installed = vec![ClusterBundle {
        package: "p",
        ..ClusterBundle::default()
    }];
    assert_eq!(
        refusal(&request),
        "`installed[0]` has neither `name` nor `version`"
    );
    request.installed = vec![ClusterBundle {
        channels: vec!["a", "b"],
        ..installed("p.v1.0.0", "")
    }];
    assert_eq!(
        refusal(&request),
        "`installed[0].channels` has several items: a Subscription follows one channel"
    );
    request.installed[0].rules = OlmRules::V1;
    assert_eq!(refusal(&request), "");
}

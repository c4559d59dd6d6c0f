//! What consoles show beyond names and texts: support over time, descriptions of APIs, permissions
//! and webhooks.

use serde_json::{Value, json};

use super::fixture::{ask, data, delta, engine_of};
use crate::Engine;
use crate::limits::Limits;

fn lens() -> Engine {
    engine_of([delta()], Limits::default())
}

fn of_lens(selection: &str) -> Value {
    data(
        &lens(),
        &format!("{{ package(catalog: \"delta\", name: \"lens\") {{ {selection} }} }}"),
    )["package"]
        .take()
}

#[test]
fn support_is_told_by_version_by_day_and_of_a_bundle() {
    let phases = "phases { name startDate endDate } supportEndDate platforms { name versions }";
    let answer = of_lens(&format!(
        r#"lifecycle {{ version {phases} }}
        latest {{ lifecycle {{
            version
            before: phase(on: "2025-09-30") {{ name }}
            now: phase(on: "2026-11-21") {{ name endDate }}
        }} }}
        catalog {{ schemas {{ schema known }} }}"#
    ));
    let full = json!({"name": "Full support", "startDate": "2025-10-01", "endDate": "2026-05-25"});
    let rest =
        json!({"name": "Maintenance support", "startDate": "2026-05-26", "endDate": "2027-04-01"});
    let platforms = json!([{"name": "openshift", "versions": ["4.19", "4.20"]}]);
    let first = json!({"version": "1.2", "phases": [full, rest], "supportEndDate": "2027-04-01", "platforms": platforms});
    let second = json!({"version": "1.3", "phases": [], "supportEndDate": null, "platforms": []});
    assert_eq!(answer["lifecycle"], json!([first, second]));
    let now = json!({"name": "Maintenance support", "endDate": "2027-04-01"});
    assert_eq!(
        answer["latest"]["lifecycle"],
        json!({"version": "1.2", "before": null, "now": now})
    );
    let schema = json!({"schema": "io.openshift.operators.lifecycles.v1alpha1", "known": true});
    assert_eq!(answer["catalog"]["schemas"][0], schema);
}

#[test]
fn a_day_that_is_none_is_bad_input() {
    let query = "{ package(catalog: \"delta\", name: \"lens\") { lifecycle { version phase(on: \"21.11.2026\") { name } } } }";
    let answer = ask(&lens(), query);
    let versions = json!([{"version": "1.2", "phase": null}, {"version": "1.3", "phase": null}]);
    assert_eq!(answer["data"]["package"]["lifecycle"], versions);
    let message = "`on` is malformed: \"21.11.2026\" is not a day, such as 2026-11-21";
    assert_eq!(answer["errors"][0]["message"], message);
    assert_eq!(super::fixture::code(&answer), "BAD_USER_INPUT");
}

#[test]
fn a_cluster_that_the_life_cycle_does_not_list_is_not_compatible() {
    let bundles = |openshift: &str| {
        let answer = of_lens(&format!(
            "bundles(filter: {{compatibleWith: {{openshift: {openshift:?}}}}}) {{ totalCount }}"
        ));
        answer["bundles"]["totalCount"].clone()
    };
    assert_eq!(
        [
            bundles("4.18"),
            bundles("4.19"),
            bundles("4.20.3"),
            bundles("4.21")
        ]
        .map(|count| count == 1),
        [false, true, true, false]
    );
}

#[test]
fn custom_resources_have_resources_and_descriptors() {
    let descriptor = "{ path displayName description xDescriptors }";
    let answer = of_lens(&format!(
        "metadata {{
            ownedCrds {{
                name isInternal resources {{ name version kind }}
                specDescriptors {descriptor} statusDescriptors {descriptor}
            }}
            ownedApiServices {{ name group version kind displayName description deploymentName }}
            requiredApiServices {{ name }}
        }}"
    ));
    let hints = ["urn:alm:descriptor:com.tectonic.ui:podCount"];
    let size =
        json!({"path": "size", "displayName": "Size", "description": null, "xDescriptors": hints});
    let phase =
        json!({"path": "phase", "displayName": null, "description": "State", "xDescriptors": []});
    let lens = json!({
        "name": "lenses.lens.io",
        "isInternal": false,
        "resources": [{"name": "", "version": "v1", "kind": "Pod"}],
        "specDescriptors": [size],
        "statusDescriptors": [phase],
    });
    let part = json!({
        "name": "parts.lens.io",
        "isInternal": true,
        "resources": [],
        "specDescriptors": [],
        "statusDescriptors": [],
    });
    let focus = json!({
        "name": "v1.focus.io",
        "group": "focus.io",
        "version": "v1",
        "kind": "Focus",
        "displayName": null,
        "description": null,
        "deploymentName": "lens",
    });
    let expected =
        json!({"ownedCrds": [lens, part], "ownedApiServices": [focus], "requiredApiServices": []});
    assert_eq!(answer["metadata"], expected);
}

#[test]
fn permissions_and_webhooks_are_those_of_the_manifest() {
    let rules =
        "serviceAccountName rules { apiGroups resources resourceNames verbs nonResourceUrls }";
    let selection = format!(
        "metadata {{
            permissions {{ {rules} }}
            clusterPermissions {{ {rules} }}
            webhooks {{
                name type deploymentName path failurePolicy conversionCrds
                rules {{ apiGroups apiVersions resources operations }}
            }}
        }}"
    );
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str], urls: &[&str]| {
        let rule = json!({
            "apiGroups": groups,
            "resources": resources,
            "resourceNames": [],
            "verbs": verbs,
            "nonResourceUrls": urls,
        });
        json!([{"serviceAccountName": "lens", "rules": [rule]}])
    };
    let requests = json!({"apiGroups": ["lens.io"], "apiVersions": ["v1"], "resources": ["lenses"], "operations": ["CREATE"]});
    let webhook = json!({
        "name": "vlens.io",
        "type": "VALIDATING",
        "deploymentName": "lens",
        "path": "/validate",
        "failurePolicy": "Fail",
        "conversionCrds": [],
        "rules": [requests],
    });
    let expected = json!({
        "permissions": rule(&[""], &["pods"], &["get", "list"], &[]),
        "clusterPermissions": rule(&[], &[], &["get"], &["/metrics"]),
        "webhooks": [webhook],
    });
    assert_eq!(of_lens(&selection)["metadata"], expected);
}

//! Plans of a made answer: what is asked, and what is printed.

use serde_json::json;

use super::*;
use crate::args::parse_planned;

fn answer(verdict: &str) -> Value {
    json!({
        "verdict": verdict, "reachableStep": 1,
        "steps": [
            {"platform": "OpenShift 4.16", "condition": "no <way>:\n- maximum"},
            {"platform": "OpenShift 4.17", "condition": null},
        ],
        "packages": [
            {"index": 0, "packageName": "etcd", "namespace": "ns", "verdict": "SWITCHES", "finalName": "etcd.v2",
             "finalVersion": "2.0.0", "message": null, "block": null,
             "finalBundle": {"lifecycle": {"phase": {"name": "Full support", "endDate": "2027-01-01"}}},
             "moves": [{"kind": "SWITCH", "channel": "4.17"}]},
            {"index": 1, "packageName": "zoo", "namespace": null, "verdict": "BLOCKED", "finalName": "zoo.v1",
             "finalVersion": null, "message": "zoo.v1 | ends", "block": {"cause": "NO_EDGE"},
             "finalBundle": null, "moves": []},
        ],
        "order": [
            {"platformStep": null, "package": 0, "move": {"kind": "SWITCH", "channel": "4.17", "message": "why"}},
            {"platformStep": null, "package": 0, "move": {"kind": "UPGRADE", "channel": "4.17", "approval": "MANUAL",
                "fromVersion": "1.0.0", "to": {"version": "2.0.0"}, "message": null}},
            {"platformStep": 1, "package": null, "move": null},
        ],
    })
}

fn report<'a>(plan: &'a Value, installed: &'a [Value]) -> PlanReport<'a> {
    PlanReport {
        plan,
        installed,
        has_support: true,
    }
}

#[test]
fn a_plan_is_printed_as_a_table_with_its_order_and_what_olm_says() {
    let plan = answer("BLOCKED");
    let installed = [json!({"version": "1.0.0"}), json!({"name": "zoo.v1"})];
    let expected = "\
PACKAGE  NAMESPACE  INSTALLED  VERDICT   ENDS-WITH  SUPPORT                        REASON
etcd     ns         1.0.0      SWITCHES  2.0.0      Full support until 2027-01-01  switch to channel 4.17
zoo      <none>     zoo.v1     BLOCKED   zoo.v1     <none>                         NO_EDGE: zoo.v1 | ends

1. switch etcd to channel 4.17: why
2. approve the upgrade of etcd from 1.0.0 to 2.0.0
3. upgrade the platform to OpenShift 4.17

OLM on OpenShift 4.16:
no <way>:
- maximum
";
    assert_eq!(report(&plan, &installed).table(true, true), expected);
}

#[test]
fn markdown_and_pages_escape_what_catalogs_say() {
    let plan = answer("BLOCKED");
    let installed = [json!({"version": "1.0.0"}), json!({"name": "zoo.v1"})];
    let markdown = report(&plan, &installed).markdown();
    assert!(
        markdown.starts_with(
            "Upgrade plan: **BLOCKED**\n\n| PACKAGE | NAMESPACE | INSTALLED | VERDICT | ENDS-WITH | SUPPORT | REASON |\n|---|---|---|---|---|---|---|\n"
        ),
        "{markdown}"
    );
    assert!(
        markdown.contains("| zoo | &lt;none&gt; | zoo.v1 | BLOCKED | zoo.v1 | &lt;none&gt; | NO_EDGE: zoo.v1 \\| ends |"),
        "{markdown}"
    );
    let html = report(&plan, &installed).html();
    assert!(
        html.contains("<tr class=\"SWITCHES\"><td>etcd</td><td>ns</td>"),
        "{html}"
    );
    assert!(
        html.contains("<pre>no &lt;way&gt;:\n- maximum</pre>"),
        "{html}"
    );
}

#[test]
fn the_status_says_whether_somebody_must_act() {
    for (verdict, expected) in [
        ("STAYS", ExitStatus::Success),
        ("FOLLOWS", ExitStatus::Success),
        ("SWITCHES", ExitStatus::Negative),
        ("BLOCKED", ExitStatus::Negative),
        ("UNKNOWN", ExitStatus::Usage),
        ("NEWER", ExitStatus::Usage),
    ] {
        assert_eq!(
            status(&json!({ "verdict": verdict })),
            expected,
            "{verdict}"
        );
    }
}

#[test]
fn objects_of_a_cluster_become_what_is_installed() {
    let subscription = |name: &str, csv: &str| {
        json!({
            "kind": "Subscription",
            "metadata": {"name": name, "namespace": "ns", "annotations": {"olm.generated-by": "install-x"}},
            "spec": {"name": "etcd", "channel": "stable", "source": "redhat", "installPlanApproval": "Manual"},
            "status": {"installedCSV": csv, "currentCSV": "etcd.v2"},
        })
    };
    let operator = |name: &str, reason: &str| {
        let properties = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.18"},{"type":"olm.gvk","value":{}}]}"#;
        json!({
            "kind": "ClusterServiceVersion",
            "metadata": {"name": name, "namespace": "ns", "annotations": {"operatorframework.io/properties": properties}},
            "spec": {"version": "1.0.0"},
            "status": {"reason": reason},
        })
    };
    let extension = json!({
        "kind": "ClusterExtension",
        "metadata": {"name": "zoo"},
        "spec": {"namespace": "zoos", "source": {"catalog": {"packageName": "zoo", "channels": ["a", "b"]}}},
        "status": {"install": {"bundle": {"name": "zoo.v1", "version": "1.0.0"}}},
    });
    let mut labelled = operator("labelled.v1", "");
    labelled["metadata"]["labels"] = json!({"olm.copiedFrom": "elsewhere"});
    let mut objects = InstalledObjects::default();
    let list = json!({"kind": "List", "items": [
        subscription("etcd", "etcd.v1"), subscription("waiting", ""), extension,
        operator("etcd.v1", "InstallSucceeded"), operator("alone.v1", ""), operator("copy.v1", "Copied"), labelled,
    ]});
    assert!(objects.add(list));
    assert!(
        objects
            .add(json!({"steps": [], "installed": [{"packageName": "given", "version": "1.2.3"}]}))
    );
    assert!(!objects.add(json!({"kind": "Pod"})));
    let (inputs, hints) = objects.into_input(&["redhat".to_owned()]);
    assert_eq!(
        inputs,
        [
            json!({"packageName": "given", "version": "1.2.3"}),
            json!({"packageName": "etcd", "name": "etcd.v1", "version": "1.0.0", "namespace": "ns",
                "channels": ["stable"], "catalog": "redhat", "approval": "MANUAL", "dependency": true,
                "properties": [{"type": "olm.maxOpenShiftVersion", "value": "4.18"}]}),
            json!({"packageName": "zoo", "name": "zoo.v1", "version": "1.0.0", "namespace": "zoos",
                "channels": ["a", "b"], "versionRange": null, "olm": "V1"}),
        ]
    );
    assert_eq!(
        hints,
        [
            "the InstallPlan for etcd.v2 of Subscription ns/etcd waits for approval",
            "no Subscription has installed these ClusterServiceVersions, which are left out: ns/alone.v1",
        ]
    );
}

#[test]
fn an_installed_package_is_named_with_its_version_and_channel() {
    let parsed = |text| {
        parse_planned(text)
            .map(|planned| (planned.package, planned.version, planned.channel))
            .ok()
    };
    let text = str::to_owned;
    for (argument, expected) in [
        ("etcd@0.9.2", Some((text("etcd"), text("0.9.2"), None))),
        (
            "etcd@0.9.2:stable",
            Some((text("etcd"), text("0.9.2"), Some(text("stable")))),
        ),
        ("etcd", None),
        ("@1", None),
        ("etcd@", None),
    ] {
        assert_eq!(parsed(argument), expected, "{argument}");
    }
}

#[test]
fn the_images_of_all_upgrades_are_listed_once() {
    let upgrade = |images: &[&str]| {
        let related: Vec<_> = images[1..]
            .iter()
            .map(|image| json!({ "image": image }))
            .collect();
        json!({"kind": "UPGRADE", "to": {"image": images[0], "relatedImages": related}})
    };
    let plan = json!({"packages": [
        {"moves": [upgrade(&["b:2", "operand:1"]), {"kind": "SWITCH", "to": null}]},
        {"moves": [upgrade(&["a:1", "operand:1", "b:2"])]},
        {"moves": []},
    ]});
    let images: Vec<_> = report(&plan, &[]).images().into_iter().collect();
    assert_eq!(images, ["a:1", "b:2", "operand:1"]);
}

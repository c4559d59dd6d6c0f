//! The control plane itself: what the other tests take for granted.

use serde_json::{Value, json};
use testing::{ControlPlane, eventually};

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

fn service_account(namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } })
}

#[test]
fn objects_survive_a_restart_of_the_api_server_and_a_compaction() {
    let Some(mut plane) = ControlPlane::start() else {
        return;
    };
    plane.apply(&[namespace("kept")]);
    plane.stop_api_server();
    assert!(!plane.try_kubectl(&["get", "namespace", "kept"], "").success);
    plane.start_api_server();
    plane.compact();
    assert_eq!(
        plane.get(&["namespace", "kept"])["metadata"]["name"],
        "kept"
    );
    assert_eq!(plane.get(&["namespace", "none"]), Value::Null);
}

#[test]
fn a_watch_from_before_a_compaction_is_answered_with_gone() {
    let Some(mut plane) = ControlPlane::start() else {
        return;
    };
    let before = plane.get(&["namespace", "default"])["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    plane.apply(&[namespace("later")]);
    plane.compact();
    plane.stop_api_server();
    plane.start_api_server();
    let watch = format!("/api/v1/namespaces?watch=true&timeoutSeconds=1&resourceVersion={before}");
    let output = plane.kubectl(&["get", "--raw", &watch]);
    let event: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"]),
        (&json!("ERROR"), &json!(410)),
        "{event}"
    );
}

#[test]
fn a_service_account_may_do_what_its_role_names_and_the_audit_log_says_what_it_asked() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let name = "system:serviceaccount:team:reader";
    plane.apply(&[namespace("team"), service_account("team", "reader")]);
    plane.kubectl(&[
        "create",
        "clusterrole",
        "reader",
        "--verb=list",
        "--resource=namespaces",
    ]);
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=reader",
        "--serviceaccount=team:reader",
    ]);
    let kubeconfig = plane.service_account_kubeconfig("team", "reader", plane.address);
    let ask = |resource: &str| {
        plane.try_kubectl(
            &[
                "get",
                resource,
                "--kubeconfig",
                kubeconfig.to_str().unwrap(),
            ],
            "",
        )
    };
    // The API server learns of roles by a watch.
    eventually(|| ask("namespaces").success.then_some(()));
    let refused = ask("secrets");
    assert!(
        refused
            .stderr
            .contains(&format!("User \"{name}\" cannot list resource \"secrets\"")),
        "{refused:?}"
    );

    let log = plane.audit_log();
    let asked = log
        .iter()
        .filter(|event| event["user"]["username"] == name && !event["objectRef"].is_null());
    let mut asked: Vec<_> = asked
        .map(|event| {
            (
                event["objectRef"]["resource"].as_str().unwrap(),
                event["responseStatus"]["code"].clone(),
            )
        })
        .collect();
    asked.dedup();
    assert!(
        asked.ends_with(&[("namespaces", json!(200)), ("secrets", json!(403))]),
        "{asked:?}"
    );
}

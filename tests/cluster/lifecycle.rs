//! What becomes of a catalog that is changed or deleted, and of what others write to its object.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testing::{CONFIGS_LABEL, Proxy, eventually, respond};

use crate::support::{
    Cluster, PACKAGES, Replica, catalog, condition, graphql, image, image_of, package, packages,
    with,
};

/// Asks what the objects of catalogs say of them.
const METADATA: &str = "{ catalogs { name priority displayName publisher labels { key value } } }";

/// Sets the availability mode of a catalog.
fn set_mode(cluster: &Cluster, name: &str, mode: &str) {
    let patch = json!({ "spec": { "availabilityMode": mode } }).to_string();
    cluster.plane.kubectl(&[
        "patch",
        "clustercatalog",
        name,
        "--type=merge",
        "-p",
        &patch,
    ]);
}

/// The events about a catalog: how often each kind of condition had each reason.
fn events(cluster: &Cluster, name: &str) -> BTreeMap<(String, String), usize> {
    let list = cluster
        .plane
        .get(&["events.events.k8s.io", "--namespace=default"]);
    let mut counts = BTreeMap::new();
    for event in list["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|event| event["regarding"]["name"] == name)
    {
        let text = |field: &str| event[field].as_str().expect("a string").to_owned();
        *counts.entry((text("action"), text("reason"))).or_default() += 1;
    }
    counts
}

#[test]
fn a_change_of_availability_is_served_and_told_by_one_event_each() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let replica = Replica::start(&cluster, "one", &[]);
    cluster.wait_for("etcd", "Serving", "Available");
    assert_eq!(
        graphql(replica.address, PACKAGES),
        packages(&[("etcd", "etcd")])
    );
    set_mode(&cluster, "etcd", "Unavailable");
    let status = cluster.wait_for("etcd", "Serving", "UserSpecifiedUnavailable");
    assert_eq!(graphql(replica.address, PACKAGES), packages(&[]));
    assert_eq!(
        (
            &status["resolvedSource"],
            &status["urls"],
            &status["lastUnpacked"]
        ),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    set_mode(&cluster, "etcd", "Available");
    cluster.wait_for("etcd", "Serving", "Available");
    assert_eq!(
        graphql(replica.address, PACKAGES),
        packages(&[("etcd", "etcd")])
    );

    // What changes no condition is told by none.
    cluster
        .plane
        .kubectl(&["label", "clustercatalog", "etcd", "team=a"]);
    let labelled = json!({ "key": "team", "value": "a" });
    let has_label = |data: &Value| {
        data["catalogs"][0]["labels"]
            .as_array()
            .is_some_and(|all| all.contains(&labelled))
    };
    eventually(|| has_label(&graphql(replica.address, METADATA)).then_some(()));
    let expected = [
        ("Progressing", "Succeeded", 1),
        ("Serving", "Available", 2),
        ("Serving", "UserSpecifiedUnavailable", 1),
    ];
    let expected =
        expected.map(|(kind, reason, count)| ((kind.to_owned(), reason.to_owned()), count));
    assert_eq!(events(&cluster, "etcd"), BTreeMap::from(expected));
}

#[test]
fn what_an_object_says_of_a_catalog_is_in_answers() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    let object = with(
        catalog("etcd", &reference),
        &["spec", "priority"],
        json!(-7),
    );
    let object = with(object, &["metadata", "labels"], json!({ "team": "a" }));
    let names = json!({ "catalogql.io/display-name": "The etcd", "catalogql.io/publisher": "Us" });
    cluster
        .plane
        .apply(&[with(object, &["metadata", "annotations"], names)]);
    let replica = Replica::start(&cluster, "one", &[]);
    let own = json!({ "key": "olm.operatorframework.io/metadata.name", "value": "etcd" });
    let expected = |priority: i32| {
        json!({ "catalogs": [{
            "name": "etcd", "priority": priority, "displayName": "The etcd", "publisher": "Us",
            "labels": [own, { "key": "team", "value": "a" }],
        }] })
    };
    replica.answers(METADATA, &expected(-7));
    cluster.plane.kubectl(&[
        "patch",
        "clustercatalog",
        "etcd",
        "--type=merge",
        "-p",
        r#"{"spec":{"priority":5}}"#,
    ]);
    replica.answers(METADATA, &expected(5));
}

#[test]
fn a_deleted_catalog_is_withdrawn_and_no_deletion_waits_for_a_process() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    let names = ["one", "two", "three"];
    cluster
        .plane
        .apply(&names.map(|name| catalog(name, &reference)));
    let replica = Replica::start(&cluster, "one", &[]);
    for name in names {
        cluster.wait_for(name, "Serving", "Available");
    }
    cluster
        .plane
        .kubectl(&["delete", "clustercatalog", "one", "--timeout=30s"]);
    replica.answers(PACKAGES, &packages(&[("three", "etcd"), ("two", "etcd")]));

    // As catalogd has left it.
    let patch = r#"{"metadata":{"finalizers":["olm.operatorframework.io/delete-server-cache"]}}"#;
    cluster.plane.kubectl(&[
        "patch",
        "clustercatalog",
        "two",
        "--type=merge",
        "-p",
        patch,
    ]);
    cluster
        .plane
        .kubectl(&["delete", "clustercatalog", "two", "--timeout=30s"]);
    replica.answers(PACKAGES, &packages(&[("three", "etcd")]));

    drop(replica);
    cluster
        .plane
        .kubectl(&["delete", "clustercatalog", "three", "--timeout=30s"]);
    let replica = Replica::start(&cluster, "one", &[]).ready();
    replica.answers(PACKAGES, &packages(&[]));
}

#[test]
fn a_moved_tag_is_served_within_one_poll_and_broken_content_keeps_the_old() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let failing = Proxy::start(cluster.registry.address, |_| respond(500, &[], "it fails"));
    let objects = ["moved", "broken"].map(|name| {
        let reference = cluster.push(&format!("ns/{name}"), "v1", &package("etcd"));
        with(
            catalog(name, &reference),
            &["spec", "source", "image", "pollIntervalMinutes"],
            json!(1),
        )
    });
    cluster.plane.apply(&objects);
    let replica = Replica::start(
        &cluster,
        "one",
        &["--insecure-registry", &failing.address.to_string()],
    );
    let before = ["moved", "broken"].map(|name| cluster.wait_for(name, "Serving", "Available"));
    cluster.plane.apply(&[catalog(
        "failing",
        &format!("{}/ns/etcd:v1", failing.address),
    )]);
    cluster.wait_for("failing", "Progressing", "Retrying");
    let failed = cluster.plane.get(&["clustercatalog", "failing"]);
    let requests = failing.requests().len();
    cluster.push("ns/moved", "v1", &package("argo"));
    let labels = [(CONFIGS_LABEL, "/configs")];
    cluster.push_image("ns/broken", "v1", &image_of("{\"schema\":", &labels));
    replica.answers(
        PACKAGES,
        &packages(&[("broken", "etcd"), ("moved", "argo")]),
    );

    let message = "error storing fbc: catalog.json:1: unexpected EOF";
    let status = cluster.wait_for("broken", "Progressing", "Retrying");
    let expected = [
        ("Progressing", ["True", "Retrying", message]),
        (
            "Serving",
            [
                "True",
                "Available",
                "Serving desired content from resolved source",
            ],
        ),
        ("Valid", ["False", "Unreadable", message]),
    ];
    for (kind, expected) in expected {
        assert_eq!(condition(&status, kind), Some(expected));
    }
    for field in ["resolvedSource", "urls", "lastUnpacked"] {
        assert_eq!(status[field], before[1][field]);
    }
    let digest = image(&package("argo")).digest();
    let resolved = json!(format!("{}/ns/moved@{digest}", cluster.registry.address));
    eventually(|| {
        (cluster.status("moved")["resolvedSource"]["image"]["ref"] == resolved).then_some(())
    });
    // It was tried again meanwhile, and nothing new was to be said.
    eventually(|| (failing.requests().len() > requests).then_some(()));
    assert_eq!(cluster.plane.get(&["clustercatalog", "failing"]), failed);
}

#[test]
fn fields_of_newer_versions_and_conditions_of_others_survive() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    // The definition of a later version: a field of the spec and one of the status more.
    let more = ["spec", "status"].map(|part| {
        json!({
            "op": "add", "value": { "type": "string" },
            "path": format!("/spec/versions/0/schema/openAPIV3Schema/properties/{part}/properties/newer"),
        })
    });
    let definition = [
        "patch",
        "crd",
        "clustercatalogs.olm.operatorframework.io",
        "--type=json",
        "-p",
    ];
    cluster
        .plane
        .kubectl(&[&definition[..], &[&json!(more).to_string()]].concat());
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    let object = with(
        catalog("etcd", &reference),
        &["spec", "newer"],
        json!("kept"),
    );
    eventually(|| {
        cluster.plane.apply(std::slice::from_ref(&object));
        (cluster.plane.get(&["clustercatalog", "etcd"])["spec"]["newer"] == "kept").then_some(())
    });
    let other = json!({
        "type": "Mirrored", "status": "True", "reason": "Done", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = json!({ "status": { "newer": "kept too", "conditions": [other] } }).to_string();
    let status = [
        "patch",
        "clustercatalog",
        "etcd",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    cluster.plane.kubectl(&status);

    let _replica = Replica::start(&cluster, "one", &[]);
    cluster.wait_for("etcd", "Serving", "Available");
    let object = cluster.plane.get(&["clustercatalog", "etcd"]);
    assert_eq!(
        (&object["spec"]["newer"], &object["status"]["newer"]),
        (&json!("kept"), &json!("kept too"))
    );
    assert_eq!(
        condition(&object["status"], "Mirrored"),
        Some(["True", "Done", ""])
    );
}

#[test]
fn what_catalogd_said_and_is_not_so_is_removed() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let labels = [(CONFIGS_LABEL, "/configs")];
    let broken = cluster.push_image("ns/broken", "v1", &image_of("{\"schema\":", &labels));
    cluster.plane.apply(&[catalog("broken", &broken)]);
    let digest = image(&package("etcd")).digest();
    let conditions = [("Progressing", "Succeeded"), ("Serving", "Available")].map(|(kind, reason)| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    });
    let status = json!({ "status": {
        "conditions": conditions,
        "resolvedSource": { "type": "Image", "image": { "ref": format!("registry.example.com/ns/broken@{digest}") } },
        "urls": { "base": "https://catalogd-service.olmv1-system.svc/catalogs/broken" },
        "lastUnpacked": "2026-01-01T00:00:00Z",
    } });
    let mut object = catalog("broken", &broken);
    object["status"] = status["status"].clone();
    let arguments = [
        "apply",
        "--server-side",
        "--subresource=status",
        "--field-manager=catalogd",
        "-f",
        "-",
    ];
    let output = cluster.plane.try_kubectl(&arguments, &object.to_string());
    assert!(output.success, "{}", output.stderr);
    assert!(!cluster.status("broken")["urls"].is_null());

    let _replica = Replica::start(&cluster, "one", &[]);
    let status = cluster.wait_for("broken", "Progressing", "Retrying");
    assert_eq!(
        condition(&status, "Serving"),
        Some(["False", "Unavailable", ""])
    );
    let gone = ["resolvedSource", "urls", "lastUnpacked"];
    eventually(|| {
        gone.iter()
            .all(|field| cluster.status("broken")[*field].is_null())
            .then_some(())
    });
}

#[test]
fn an_object_that_cannot_be_written_keeps_no_other_from_its_status() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    // The URL of its content is longer than the definition allows, and its name than a label may
    // be.
    let long = vec!["a".repeat(59); 4].join(".");
    let unlabelled = "b".repeat(60) + ".bbbb";
    cluster
        .plane
        .apply(&[&long, "z", &unlabelled].map(|name| catalog(name, &reference)));
    let address = "catalogs.".repeat(32) + "example.com";
    let replica = Replica::start(&cluster, "one", &["--external-address", &address]);
    eventually(|| {
        replica
            .log()
            .contains("cannot write to a ClusterCatalog")
            .then_some(())
    });
    for name in ["z", unlabelled.as_str()] {
        cluster.wait_for(name, "Serving", "Available");
    }
    assert_eq!(cluster.status(&long), Value::Null);
}

//! Several replicas: who writes status, and that one goes on where another is gone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::{eventually, exchange};

use crate::support::{
    Cluster, LEASE_DURATION, Load, NAMESPACE, PACKAGES, Replica, SERVICE_ACCOUNT, catalog,
    condition, graphql, package, packages,
};

/// What may pass besides until another replica has noticed, taken the Lease and written, on a
/// machine that is busy.
const SLACK: Duration = Duration::from_secs(6);

/// How many queries are answered before something is done to a replica, and after it.
const QUERIES: usize = 20;

/// The name of the replica that holds the Lease.
fn holder(cluster: &Cluster) -> Option<String> {
    let lease = cluster
        .plane
        .get(&["lease", "catalogql", "--namespace", NAMESPACE]);
    let (name, _) = lease["spec"]["holderIdentity"].as_str()?.rsplit_once('_')?;
    Some(name.to_owned())
}

fn is_answer(answer: &str, data: &Value) -> bool {
    serde_json::from_str::<Value>(answer)
        .is_ok_and(|answer| answer["data"] == *data && answer["errors"].is_null())
}

/// Queries to a replica, each of which must have this answer.
fn load(replica: &Replica, data: &Value) -> Load {
    let data = data.clone();
    Load::start(replica.address, PACKAGES, move |answer| {
        is_answer(answer, &data)
    })
}

#[test]
fn status_is_written_again_within_the_time_of_the_lease_when_its_holder_is_killed() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let etcd = cluster.push("ns/etcd", "v1", &package("etcd"));
    let argo = cluster.push("ns/argo", "v1", &package("argo"));
    cluster.plane.apply(&[catalog("etcd", &etcd)]);
    let mut replicas: Vec<_> = ["one", "two", "three"]
        .map(|name| (name, Replica::start(&cluster, name, &[]).ready()))
        .into();
    cluster.wait_for("etcd", "Serving", "Available");
    let name = eventually(|| holder(&cluster));
    let at = replicas
        .iter()
        .position(|(other, _)| *other == name)
        .expect("a replica holds it");
    let (_, killed) = replicas.remove(at);

    let expected = packages(&[("etcd", "etcd")]);
    // What is created meanwhile is served by the others at once, whoever writes status.
    let is_right = move |answer: &str| {
        is_answer(answer, &expected)
            || is_answer(answer, &packages(&[("argo", "argo"), ("etcd", "etcd")]))
    };
    let loads: Vec<_> = replicas
        .iter()
        .map(|(_, replica)| Load::start(replica.address, PACKAGES, is_right.clone()))
        .collect();
    for load in &loads {
        load.answers(QUERIES);
    }
    // The process is killed, as all are in the end.
    drop(killed);
    let died = Instant::now();
    cluster.plane.apply(&[catalog("argo", &argo)]);
    cluster.wait_for("argo", "Serving", "Available");
    let waited = died.elapsed();
    assert!(
        waited < LEASE_DURATION + SLACK,
        "status was written after {waited:?}"
    );
    assert_ne!(holder(&cluster), Some(name));
    for load in &loads {
        load.answers(QUERIES);
    }
    for load in loads {
        assert!(load.finish() >= 2 * QUERIES);
    }
}

#[test]
fn a_replica_answers_no_former_content_once_the_status_names_another_image() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    // After its end, no replica writes status.
    let leader = Replica::start(&cluster, "one", &["--leader-elect-lease-duration=10m"]);
    cluster.wait_for("etcd", "Serving", "Available");
    let replica = Replica::start(&cluster, "two", &["--leader-elect-lease-duration=10m"]).ready();
    drop(leader);
    let status = || {
        let request = "GET /catalogs/etcd/api/v1/all HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        exchange(replica.address, request.as_bytes(), false).status
    };
    assert_eq!(status(), 200);

    let write = |image: &str| {
        let patch = json!({ "status": { "resolvedSource": { "image": { "ref": image } } } });
        let patch = format!("--patch={patch}");
        cluster.plane.kubectl(&[
            "patch",
            "clustercatalog",
            "etcd",
            "--subresource=status",
            "--type=merge",
            &patch,
        ]);
    };
    let object = cluster.plane.get(&["clustercatalog", "etcd"]);
    let served = &object["status"]["resolvedSource"]["image"]["ref"];
    // Without the registry, the replica cannot load what another one serves.
    cluster.registry.stop();
    for number in 1..=20 {
        let image = format!("registry.example.com/ns/etcd@sha256:{number:064x}");
        write(&image);
        assert_eq!(status(), 503, "{image}");
    }
    write(served.as_str().expect("it is text"));
    assert_eq!(status(), 200);
    cluster.plane.stop_api_server();
    assert_eq!(status(), 200);
}

#[test]
fn a_holder_that_ends_gives_the_lease_up() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let first = Replica::start(&cluster, "one", &["--leader-elect-lease-duration=10m"]);
    eventually(|| (holder(&cluster)? == "one").then_some(()));
    let second = Replica::start(&cluster, "two", &[]);
    first.end();
    eventually(|| (holder(&cluster)? == "two").then_some(()));
    second.end();
}

#[test]
fn a_rolling_restart_without_registry_and_api_server_answers_every_query() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let kubeconfig =
        cluster
            .plane
            .service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, cluster.plane.address);
    let start =
        |cluster: &Cluster, name: &str| Replica::start_at(cluster, name, &kubeconfig, &[]).ready();
    let mut one = start(&cluster, "one");
    let two = start(&cluster, "two");
    cluster.wait_for("etcd", "Serving", "Available");
    let data = packages(&[("etcd", "etcd")]);
    cluster.registry.stop();
    for is_alone in [false, true] {
        if is_alone {
            cluster.plane.stop_api_server();
        }
        let on_two = load(&two, &data);
        on_two.answers(QUERIES);
        one.end();
        one = start(&cluster, "one");
        // Its first answer is right: it was not ready before.
        assert_eq!(graphql(one.address, PACKAGES), data);
        on_two.answers(QUERIES);
        on_two.finish();
    }
}

#[test]
fn a_replica_without_a_catalog_that_another_serves_is_ready_when_its_time_is_up() {
    const READY_AFTER: Duration = Duration::from_secs(5);
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let _one = Replica::start(&cluster, "one", &[]);
    cluster.wait_for("etcd", "Serving", "Available");
    cluster.registry.stop();
    let started = Instant::now();
    let arguments = ["--ready-after", &format!("{}s", READY_AFTER.as_secs())];
    let two = Replica::start(&cluster, "two", &arguments).ready();
    assert!(
        started.elapsed() >= READY_AFTER,
        "it was ready after {:?}",
        started.elapsed()
    );
    assert_eq!(graphql(two.address, PACKAGES), packages(&[]));
    // Status says what the holder of the Lease serves.
    assert_eq!(
        condition(&cluster.status("etcd"), "Serving").map(|[status, ..]| status),
        Some("True")
    );
}

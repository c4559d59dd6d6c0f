//! Who may read the metrics of a replica, as the API server says, and what they say of the
//! controller.

use std::net::SocketAddr;

use testing::{HttpResponse, eventually, send_request};

use crate::support::{Cluster, Replica, catalog, package};

/// Flags of a replica that serves metrics to those who may read them.
pub(crate) const METRICS: &str = "--metrics-listen=127.0.0.1:0";

/// Lets the controller ask about callers, and a service account read metrics. Another one may read
/// nothing.
pub(crate) fn grant(cluster: &Cluster) {
    cluster.add_access();
    let plane = &cluster.plane;
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "reads",
        "--clusterrole=catalogql-metrics-reader",
        "--serviceaccount=default:reader",
    ]);
    for name in ["reader", "stranger"] {
        plane.kubectl(&["create", "serviceaccount", name, "--namespace=default"]);
    }
}

/// A token of a service account, which lives no longer than what it is bound to.
pub(crate) fn token(cluster: &Cluster, name: &str, bound: &[&str]) -> String {
    let arguments = [&["create", "token", name, "--namespace=default"], bound].concat();
    cluster.plane.kubectl(&arguments).trim().to_owned()
}

pub(crate) fn metrics_address(replica: &Replica) -> SocketAddr {
    eventually(|| {
        let log = replica.log();
        let line = log.lines().find(|line| line.contains("serving metrics"))?;
        line.split("\"address\":\"")
            .nth(1)?
            .split('"')
            .next()?
            .parse()
            .ok()
    })
}

pub(crate) fn scrape(address: SocketAddr, token: Option<&str>) -> HttpResponse {
    let header = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<_> = header
        .iter()
        .map(|value| ("Authorization", value.as_str()))
        .collect();
    send_request(address, "GET", "/metrics", &headers)
}

fn text(response: &HttpResponse) -> (u16, String) {
    (
        response.status,
        String::from_utf8_lossy(&response.body)
            .trim_end()
            .to_owned(),
    )
}

#[test]
fn metrics_are_for_those_whom_the_api_server_lets_read_them() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    grant(&cluster);
    // A token that dies with an object is one that can be revoked.
    cluster.plane.kubectl(&[
        "create",
        "secret",
        "generic",
        "lives",
        "--namespace=default",
    ]);
    let revocable = token(
        &cluster,
        "reader",
        &["--bound-object-kind=Secret", "--bound-object-name=lives"],
    );
    let reader = token(&cluster, "reader", &[]);
    let stranger = token(&cluster, "stranger", &[]);
    let replica = Replica::start(&cluster, "one", &[METRICS]).ready();
    let address = metrics_address(&replica);
    // The API server learns of roles by a watch.
    eventually(|| (scrape(address, Some(&reader)).status == 200).then_some(()));
    assert_eq!(
        text(&scrape(address, None)),
        (401, "Unauthorized".to_owned())
    );
    assert_eq!(
        scrape(address, None).header("www-authenticate").as_deref(),
        Some("Bearer")
    );
    assert_eq!(
        text(&scrape(address, Some("invented"))),
        (401, "Unauthorized".to_owned())
    );
    let denied = "Authorization denied for user system:serviceaccount:default:stranger";
    assert_eq!(
        text(&scrape(address, Some(&stranger))),
        (403, denied.to_owned())
    );
    assert_eq!(scrape(address, Some(&revocable)).status, 200);
    cluster
        .plane
        .kubectl(&["delete", "secret", "lives", "--namespace=default"]);
    eventually(|| (scrape(address, Some(&revocable)).status == 401).then_some(()));
    // What was asked lately is known for a few seconds; what was not is denied.
    let new = token(&cluster, "reader", &[]);
    cluster.plane.stop_api_server();
    let (status, said) = text(&scrape(address, Some(&new)));
    assert_eq!(
        (status, said.as_str()),
        (500, "cannot ask the API server: try again")
    );
    cluster.plane.start_api_server();
    eventually(|| (scrape(address, Some(&new)).status == 200).then_some(()));
}

#[test]
fn the_controller_counts_what_it_does_as_others_of_its_kind() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let replica = Replica::start(&cluster, "one", &[METRICS, "--metrics-auth=none"]).ready();
    cluster.wait_for("etcd", "Serving", "Available");
    let address = metrics_address(&replica);
    let page = eventually(|| {
        let page = text(&scrape(address, None)).1;
        let is_done = page.contains("leader_election_master_status{name=\"catalogql\"} 1")
            && page.contains("workqueue_depth{name=\"catalogd-clustercatalog-controller\"} 0");
        is_done.then_some(page)
    });
    for line in [
        "controller_runtime_reconcile_errors_total{controller=\"catalogd-clustercatalog-controller\"} 0",
        "catalogql_catalog_serving{catalog=\"etcd\"} 1",
        "catalogql_catalog_loads_total{catalog=\"etcd\",result=\"loaded\"} 1",
    ] {
        assert!(
            page.lines().any(|other| other == line),
            "{line} is not in {page}"
        );
    }
    let requests = format!("method=\"GET\",host=\"{}\"}}", cluster.plane.address);
    for part in [
        "rest_client_requests_total{code=\"200\",",
        &requests,
        "source_kind=\"registry\"",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let zero = "result=\"success\"} 0";
    assert!(
        !page.lines().any(
            |line| line.starts_with("controller_runtime_reconcile_total") && line.ends_with(zero)
        ),
        "{page}"
    );
    documented(&page);
}

/// Asserts that the reference has each metric that only a controller has, with its type and its
/// labels.
fn documented(page: &str) {
    let reference = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/reference/metrics.md"
    ));
    let reference = reference.expect("there is a reference");
    let (_, section) = reference
        .split_once("## Of the controller")
        .expect("it has a section");
    let rows: Vec<_> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let own = [
        "controller_runtime",
        "workqueue",
        "leader_election",
        "rest_client",
        "catalogql_image_policy",
    ];
    let types = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types: Vec<_> = types
        .filter(|(name, _)| own.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    assert_eq!(rows.len(), types.len(), "{rows:#?} {types:#?}");
    for (name, kind) in types {
        assert!(
            rows.iter()
                .any(|row| row.starts_with(&format!("| `{name}` | {kind} | "))),
            "{name} {kind}"
        );
    }
}

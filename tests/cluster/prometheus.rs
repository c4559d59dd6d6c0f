//! A real Prometheus scrapes real servers under load: every query of the dashboard gives data, and
//! the expression of each alert turns true in a fault that is made, and false again.
//!
//! Time is shortened in the expressions, never in the program.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::{Proxy, ProxyAction, eventually, exchange, fixed_port, report_skipped, send_request};

use crate::support::{Cluster, NAMESPACE, Replica, catalog, package};

/// What Prometheus and Grafana are given.
const MONITORING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/monitoring");

/// Range of time that expressions look back, in place of minutes and hours: long enough for several
/// scrapes.
const RANGE: &str = "[8s]";

/// Ranges of the rules and of the dashboard.
const RANGES: [&str; 5] = [
    "[5m]",
    "[10m]",
    "[1h]",
    "[$__rate_interval]",
    "[$__interval]",
];

/// Variable that makes the faults of all alerts; without it, those are left out that take more than
/// a few seconds.
const ALL_FAULTS: &str = "CATALOGQL_ALL_FAULTS";

/// Time for which a request is held up, so that it counts as slow.
const SLOW: Duration = Duration::from_millis(1_200);

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn spawn(mut command: Command) -> Process {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Process(child.expect("it can be started"))
}

/// A Prometheus that scrapes each second.
struct Prometheus {
    address: SocketAddr,
    _process: Process,
}

impl Prometheus {
    fn start(cluster: &Cluster, jobs: &[Value], rules: &Value) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
        let folders = &cluster.folders;
        folders.write("rules.json", rules.to_string());
        let config = json!({
            "global": { "scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s" },
            "rule_files": [folders.text("rules.json")], "scrape_configs": jobs,
        });
        // JSON is YAML.
        folders.write("prometheus.yaml", config.to_string());
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", folders.text("prometheus.yaml")));
        command.arg(format!(
            "--storage.tsdb.path={}",
            folders.text("prometheus")
        ));
        command
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error");
        let process = spawn(command);
        eventually(|| std::net::TcpStream::connect(address).ok());
        eventually(|| (send_request(address, "GET", "/-/ready", &[]).status == 200).then_some(()));
        Self {
            address,
            _process: process,
        }
    }

    /// The series that an expression gives now.
    fn query(&self, expression: &str) -> Vec<Value> {
        let encoded: String = expression
            .bytes()
            .flat_map(|byte| ['%'].into_iter().chain(hex(byte)))
            .collect();
        let response = send_request(
            self.address,
            "GET",
            &format!("/api/v1/query?query={encoded}"),
            &[],
        );
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        assert_eq!(body["status"], "success", "{expression}: {body}");
        body["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// Waits until an expression gives something, or until it gives nothing.
    fn waits(&self, name: &str, expression: &str, is_true: bool) {
        let started = Instant::now();
        loop {
            let series = self.query(expression);
            if series.is_empty() != is_true {
                return;
            }
            assert!(
                started.elapsed() < testing::TEST_TIMEOUT,
                "{name} is not {is_true}: {expression} gives {series:?}"
            );
            testing::pause();
        }
    }
}

/// The two digits of a byte.
fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).expect("it is below 16"))
}

fn read(name: &str) -> Value {
    let text = fs::read_to_string(Path::new(MONITORING).join(name)).expect("the file is there");
    // JSON is YAML.
    serde_saphyr::from_str(&text).expect("it can be read")
}

fn shortened(expression: &str) -> String {
    let text = RANGES.iter().fold(expression.to_owned(), |text, range| {
        text.replace(range, RANGE)
    });
    text.replace("$namespace", ".*")
}

/// Every rule with its ranges shortened and at once: the file, and the expressions of alerts by
/// name.
fn rules() -> (Value, Vec<(String, String)>) {
    let mut file = read("rules.yaml");
    let mut alerts = Vec::new();
    for group in file["groups"].as_array_mut().expect("rules have groups") {
        for rule in group["rules"].as_array_mut().expect("groups have rules") {
            let expression = shortened(rule["expr"].as_str().expect("a rule has an expression"));
            rule["expr"] = json!(expression);
            rule.as_object_mut()
                .expect("a rule is an object")
                .remove("for");
            if let Some(name) = rule["alert"].as_str() {
                alerts.push((name.to_owned(), expression));
            }
        }
    }
    (file, alerts)
}

/// Every expression below a value.
fn expressions(value: &Value, found: &mut Vec<String>) {
    if let Some(expression) = value["expr"].as_str() {
        found.push(shortened(expression));
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        Value::Object(members) => members
            .values()
            .for_each(|member| expressions(member, found)),
        _ => {}
    }
}

/// The program with these arguments besides, serving without a cluster.
fn serve(cluster: &Cluster, store: &str, metrics: u16, arguments: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    command.args([
        "serve",
        "--metrics-auth=none",
        &format!("--metrics-listen=127.0.0.1:{metrics}"),
    ]);
    command
        .arg("--store")
        .arg(cluster.folders.path(store))
        .args(arguments);
    spawn(command)
}

/// Requests of every kind, again and again.
struct Load {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    fn start(address: SocketAddr) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_over);
        let paths = [
            "/graphql?query=%7Bcatalogs%7Bname%7D%7D",
            "/graphql?query=%7Bnothing%7D",
            "/",
            "/nothing",
            "/catalogs/etcd/api/v1/all",
            "/catalogs/etcd/api/v1/metas?schema=olm.package",
        ];
        let thread = thread::spawn(move || {
            while !shared.load(Ordering::SeqCst) {
                for path in paths {
                    send_request(address, "GET", path, &[]);
                }
                thread::yield_now();
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Nothing is left to do when it panicked.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The servers, the Prometheus and the alerts of one test.
struct Stage {
    cluster: Cluster,
    prometheus: Prometheus,
    alerts: Vec<(String, String)>,
    /// Alerts that turned true and false again.
    done: BTreeSet<String>,
    /// Where another server serves its metrics.
    other: u16,
}

impl Stage {
    /// Waits until an alert is true, or until it is not.
    fn alert(&mut self, name: &str, is_true: bool) {
        let found = self.alerts.iter().find(|(other, _)| other == name);
        let (_, expression) = found.unwrap_or_else(|| panic!("rules.yaml has no {name}"));
        self.prometheus.waits(name, expression, is_true);
        if !is_true {
            self.done.insert(name.to_owned());
        }
    }

    /// Serves the catalog `etcd` of the registry, polled each second, with these arguments.
    fn serve_other(&self, arguments: &[&str]) -> Process {
        let registry = self.cluster.registry.address.to_string();
        let source = format!("etcd={registry}/ns/etcd:v1");
        let own = ["--poll=1s", "--insecure-registry", &registry, &source];
        serve(
            &self.cluster,
            "other",
            self.other,
            &[&own[..], arguments].concat(),
        )
    }
}

/// A service account that may read metrics, and the controller may ask who it is.
fn token(cluster: &Cluster) -> String {
    let plane = &cluster.plane;
    let own = format!("--serviceaccount={NAMESPACE}:catalogql");
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "asks",
        "--clusterrole=system:auth-delegator",
        &own,
    ]);
    plane.kubectl(&[
        "create",
        "clusterrole",
        "metrics-reader",
        "--verb=get",
        "--non-resource-url=/metrics",
    ]);
    let reader = "--serviceaccount=default:prometheus";
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "reads",
        "--clusterrole=metrics-reader",
        reader,
    ]);
    plane.kubectl(&[
        "create",
        "serviceaccount",
        "prometheus",
        "--namespace=default",
    ]);
    plane
        .kubectl(&["create", "token", "prometheus", "--namespace=default"])
        .trim()
        .to_owned()
}

fn job(name: &str, port: u16, more: &Value) -> Value {
    let labels = json!({ "job": "catalogql", "namespace": NAMESPACE, "pod": name });
    let target = json!({ "targets": [format!("127.0.0.1:{port}")], "labels": labels });
    let mut job = json!({ "job_name": name, "static_configs": [target] });
    job.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    job
}

/// Writes a certificate that expires in so many days, and its key.
fn certify(cluster: &Cluster, days: i64) {
    let mut parameters =
        rcgen::CertificateParams::new(["localhost".to_owned()]).expect("it is a name");
    let now = std::time::SystemTime::now();
    parameters.not_after = (now + Duration::from_secs(days.unsigned_abs() * 86_400)).into();
    let key = rcgen::KeyPair::generate().expect("a key can be made");
    let certificate = parameters.self_signed(&key).expect("it can be signed");
    cluster.folders.write("tls.key", key.serialize_pem());
    cluster.folders.write("tls.pem", certificate.pem());
}

#[test]
fn every_query_gives_data_and_every_alert_turns_true_in_its_fault_and_false_again() {
    if Command::new("prometheus")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_err()
    {
        let remedy = "run tests/setup.sh, or install it (Debian: apt-get install prometheus)";
        return report_skipped("prometheus", "prometheus is not installed", remedy);
    }
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let [own, other, secured] = [(), (), ()].map(|()| fixed_port());
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let (rules, alerts) = rules();
    let jobs = [
        job(
            "one",
            own,
            &json!({ "authorization": { "credentials": token(&cluster) } }),
        ),
        job("two", other, &json!({})),
        job(
            "three",
            secured,
            &json!({ "scheme": "https", "tls_config": { "insecure_skip_verify": true } }),
        ),
    ];
    let prometheus = Prometheus::start(&cluster, &jobs, &rules);
    let mut stage = Stage {
        cluster,
        prometheus,
        alerts,
        done: BTreeSet::new(),
        other,
    };

    fault_of_readiness(&mut stage);
    stage.alert("CatalogqlDown", true);
    let flag = format!("--metrics-listen=127.0.0.1:{own}");
    let replica = Replica::start(&stage.cluster, "one", &[&flag]).ready();
    stage.alert("CatalogqlDown", false);
    let makes_all = env::var_os(ALL_FAULTS).is_some();
    if makes_all {
        slow_requests(&mut stage, replica.address);
    }
    let load = Load::start(replica.address);
    faults_of_objects(&mut stage);
    let _secured = faults_of_certificates(&mut stage, secured);
    if makes_all {
        faults_of_sources(&mut stage);
        fault_of_policy(&mut stage);
        faults_of_leaders(&mut stage);
    }

    let mut queries = Vec::new();
    expressions(&read("dashboard.json"), &mut queries);
    assert!(queries.len() > 30, "{queries:?}");
    let _other = stage.serve_other(&["--listen=127.0.0.1:0"]);
    stage.prometheus.waits(
        "the other server",
        "catalogql_catalog_serving{pod=\"two\"} == 1",
        true,
    );
    stage.cluster.push("ns/etcd", "v1", &package("grown"));
    for query in &queries {
        stage.prometheus.waits("the dashboard", query, true);
    }
    drop(load);
    let all: BTreeSet<_> = stage.alerts.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(all.len(), 13);
    assert_eq!(
        stage.done.len(),
        if makes_all { all.len() } else { 5 },
        "{:?}",
        stage.done
    );
}

/// A registry that does not respond holds up the first load of the only catalog. No other server
/// may run.
fn fault_of_readiness(stage: &mut Stage) {
    let silent = Proxy::start(stage.cluster.registry.address, |_| ProxyAction::Hang);
    let waiting = serve_etcd_of(stage, silent.address);
    stage.alert("CatalogqlNotReady", true);
    drop(waiting);
    let _ready = serve_etcd_of(stage, stage.cluster.registry.address);
    stage
        .prometheus
        .waits("the server", "catalogql_ready{pod=\"two\"} == 1", true);
    stage.alert("CatalogqlNotReady", false);
}

fn serve_etcd_of(stage: &Stage, registry: SocketAddr) -> Process {
    let registry = registry.to_string();
    let source = format!("etcd={registry}/ns/etcd:v1");
    let flags = [
        "--listen=127.0.0.1:0",
        "--insecure-registry",
        &registry,
        &source,
    ];
    serve(&stage.cluster, "waiting", stage.other, &flags)
}

/// A request whose body takes long to come is slow.
fn slow_requests(stage: &mut Stage, address: SocketAddr) {
    let slow = thread::spawn(move || {
        let started = Instant::now();
        let mut count = 0;
        while started.elapsed() < SLOW * 4 || count < 3 {
            let begun = Instant::now();
            let mut stream = std::net::TcpStream::connect(address).expect("it listens");
            let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n";
            std::io::Write::write_all(
                &mut stream,
                format!("{head}content-length: 2\r\n\r\n").as_bytes(),
            )
            .expect("it reads");
            eventually(|| (begun.elapsed() > SLOW).then_some(()));
            std::io::Write::write_all(&mut stream, b"{}").expect("it reads");
            count += 1;
        }
    });
    stage.alert("CatalogqlSlow", true);
    slow.join().expect("it does not panic");
    stage.alert("CatalogqlSlow", false);
}

/// A catalog without its image, one with an error, and a controller that may not write.
fn faults_of_objects(stage: &mut Stage) {
    let registry = stage.cluster.registry.address;
    stage
        .cluster
        .plane
        .apply(&[catalog("absent", &format!("{registry}/ns/absent:v1"))]);
    stage.alert("CatalogqlCatalogNotServed", true);
    stage
        .cluster
        .plane
        .kubectl(&["delete", "clustercatalog", "absent", "--timeout=60s"]);
    stage.alert("CatalogqlCatalogNotServed", false);

    stage
        .cluster
        .plane
        .kubectl(&["delete", "clusterrolebinding", "catalogql-manager"]);
    let good = stage.cluster.push("ns/later", "v1", &package("later"));
    stage.cluster.plane.apply(&[catalog("later", &good)]);
    stage.alert("CatalogqlReconcileFailing", true);
    let rights = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/base/rbac.yaml");
    stage
        .cluster
        .plane
        .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", rights]);
    stage.alert("CatalogqlReconcileFailing", false);
}

fn faults_of_certificates(stage: &mut Stage, port: u16) -> Process {
    certify(&stage.cluster, 2);
    let [certificate, key] = ["tls.pem", "tls.key"].map(|name| stage.cluster.folders.text(name));
    stage.cluster.folders.write(
        "plain/catalog.jsonl",
        testing::fixture::lines(&package("plain")),
    );
    let source = stage.cluster.folders.text("plain");
    let flags = [
        "--listen=127.0.0.1:0",
        "--tls-cert-file",
        &certificate,
        "--tls-private-key-file",
        &key,
        &source,
    ];
    let process = serve(&stage.cluster, "secured", port, &flags);
    stage.alert("CatalogqlCertificateExpires", true);
    certify(&stage.cluster, 90);
    stage.alert("CatalogqlCertificateExpires", false);
    process
}

/// A policy that refuses what is stored and served, until it accepts it again.
fn fault_of_policy(stage: &mut Stage) {
    let policy = stage.cluster.folders.text("policy.json");
    for (requirement, is_refused) in [("reject", true), ("insecureAcceptAnything", false)] {
        let text = json!({ "default": [{ "type": requirement }] });
        stage.cluster.folders.write("policy.json", text.to_string());
        let flags = ["--listen=127.0.0.1:0", "--signature-policy", &policy];
        let _other = stage.serve_other(&flags);
        stage.alert("CatalogqlCatalogRefused", is_refused);
    }
}

/// Contents that differ, that are invalid, that are not updated, and that fill the store; requests
/// that take too long.
fn faults_of_sources(stage: &mut Stage) {
    stage.cluster.push(
        "ns/etcd",
        "v1",
        "package etcd default=missing\nchannel stable: v1.0.0",
    );
    let listen = fixed_port();
    let flag = format!("--listen=127.0.0.1:{listen}");
    let other = stage.serve_other(&["--max-seconds=0", &flag]);
    stage.alert("CatalogqlReplicaBehind", true);
    stage.cluster.push("ns/etcd", "v1", &package("etcd"));
    stage.alert("CatalogqlReplicaBehind", false);
    stage.cluster.push(
        "ns/etcd",
        "v1",
        "package etcd default=missing\nchannel stable: v1.0.0",
    );
    stage.alert("CatalogqlContentInvalid", true);
    stage.alert("CatalogqlContentInvalid", false);

    let address = SocketAddr::from(([127, 0, 0, 1], listen));
    let body = r#"{"query":"{ packages { nodes { name } } }"}"#;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let is_over = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&is_over);
    let failing = thread::spawn(move || {
        while !shared.load(Ordering::SeqCst) {
            exchange(address, request.as_bytes(), false);
        }
    });
    stage.alert("CatalogqlErrors", true);
    is_over.store(true, Ordering::SeqCst);
    failing.join().expect("it does not panic");
    stage.alert("CatalogqlErrors", false);

    stage.cluster.registry.stop();
    stage.alert("CatalogqlCatalogStale", true);
    stage.cluster.registry.resume();
    stage.alert("CatalogqlCatalogStale", false);

    let served = stage
        .prometheus
        .query("sum(catalogql_catalog_bytes{pod=\"two\"})");
    let bytes: u64 = served[0]["value"][1]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a number");
    drop(other);
    let full = stage.serve_other(&[
        "--listen=127.0.0.1:0",
        "--store-quota",
        &(bytes + bytes / 10).to_string(),
    ]);
    stage.alert("CatalogqlStoreFull", true);
    drop(full);
    let _larger = stage.serve_other(&["--listen=127.0.0.1:0"]);
    stage.alert("CatalogqlStoreFull", false);
}

/// Somebody else holds the Lease, who does not serve.
fn faults_of_leaders(stage: &mut Stage) {
    let patch = r#"{"spec":{"holderIdentity":"nobody","leaseDurationSeconds":8}}"#;
    stage.cluster.plane.kubectl(&[
        "patch",
        "lease",
        "catalogql",
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        patch,
    ]);
    stage.alert("CatalogqlNoLeader", true);
    stage.alert("CatalogqlNoLeader", false);
}

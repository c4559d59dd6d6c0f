//! The page of metrics of a real server: its names, its size, its cost, and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use http_server::MetricsFormat;

use crate::support::{
    ARGO, ETCD, Folders, HttpResponse, Server, exchange, graphql, lines, report_skipped,
    send_request,
};

/// The page that names every metric.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/metrics.md");

/// Section of [`REFERENCE`] with the metrics that every server has.
const EVERY_SERVER: &str = "## Of every server";

/// Most series of a server without those of its catalogs.
const SERIES: usize = 520;

/// Most series that a catalog adds.
const SERIES_PER_CATALOG: usize = 60;

/// Most CPU time of a scrape in seconds; a build without optimizations has five times as much.
const SCRAPE_SECONDS: f64 = if cfg!(debug_assertions) { 0.005 } else { 0.001 };

/// A metric: its type, the names of its labels, and its help.
pub(crate) type Described = (String, Vec<String>, String);

/// Serves these catalogs, with metrics for everybody.
pub(crate) fn serve(
    folders: &Folders,
    catalogs: &[(&str, &str)],
    arguments: &[&str],
) -> (Server, SocketAddr) {
    let mut all = vec!["--metrics-listen=127.0.0.1:0", "--metrics-auth=none"];
    let sources: Vec<_> = catalogs
        .iter()
        .map(|(name, fixture)| {
            folders.write(&format!("{name}/catalog.jsonl"), lines(fixture));
            format!("{name}={}", folders.text(name))
        })
        .collect();
    all.extend(sources.iter().map(String::as_str));
    all.extend(arguments);
    let server = Server::start(folders, &all);
    let line = server.logs("serving metrics");
    let address = line
        .split("\"address\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("an address");
    (server, address.parse().expect("an address"))
}

/// The page in a format.
fn page(metrics: SocketAddr, format: MetricsFormat) -> String {
    let response = send_request(
        metrics,
        "GET",
        "/metrics",
        &[("Accept", format.content_type())],
    );
    assert_eq!(response.status, 200);
    assert_eq!(
        response.header("content-type").as_deref(),
        Some(format.content_type())
    );
    String::from_utf8(response.body).expect("pages are UTF-8")
}

/// The series of a page with their values, as they are written.
fn series(page: &str) -> BTreeMap<&str, f64> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.map(|line| line.rsplit_once(' ').expect("a sample has a value"));
    samples
        .map(|(name, value)| (name, value.parse().expect("a number")))
        .collect()
}

/// The value of a series, 0 if it is not there.
pub(crate) fn value(metrics: SocketAddr, name: &str) -> f64 {
    let page = page(metrics, MetricsFormat::Prometheus);
    series(&page).get(name).copied().unwrap_or_default()
}

/// The metrics of a page in the text format of Prometheus, by name.
pub(crate) fn described(page: &str) -> BTreeMap<String, Described> {
    let mut all: BTreeMap<String, Described> = BTreeMap::new();
    for line in page.lines() {
        if let Some((name, help)) = line
            .strip_prefix("# HELP ")
            .and_then(|line| line.split_once(' '))
        {
            help.clone_into(&mut all.entry(name.to_owned()).or_default().2);
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|line| line.split_once(' '))
        {
            kind.clone_into(&mut all.entry(name.to_owned()).or_default().0);
        } else if let Some((name, labels)) = line.split_once('{') {
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            let name = family
                .filter(|family| all.contains_key(*family))
                .unwrap_or(name);
            let labels = labels
                .split("=\"")
                .filter_map(|part| part.rsplit(['"', ',', '{']).next());
            let labels = labels
                .filter(|label| !label.is_empty() && *label != "le" && !label.starts_with('}'));
            let known = &mut all
                .get_mut(name)
                .unwrap_or_else(|| panic!("{name} is not described"))
                .1;
            for label in labels {
                if !known.iter().any(|other| other == label) {
                    known.push(label.to_owned());
                }
            }
        }
    }
    all
}

/// Asserts that a section of the reference has these metrics and no others, or writes them there.
pub(crate) fn matches_reference(section: &str, metrics: &BTreeMap<String, Described>) {
    let text = fs::read_to_string(REFERENCE).expect("there is a reference");
    let (before, rest) = text
        .split_once(section)
        .unwrap_or_else(|| panic!("{REFERENCE} has no section {section:?}"));
    let head = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
    let at = rest.find(head).expect("a section has a table") + head.len();
    let end = rest[at..]
        .find("\n\n")
        .map_or(rest.trim_end().len(), |end| at + end);
    let rows = metrics.iter().map(|(name, (kind, labels, help))| {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() {
            "–".to_owned()
        } else {
            labels.join(", ")
        };
        format!("| `{name}` | {kind} | {labels} | {help} |")
    });
    let rows = rows.collect::<Vec<_>>().join("\n");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = format!("{before}{section}{}{rows}{}", &rest[..at], &rest[end..]);
        fs::write(REFERENCE, text).expect("the reference can be written");
    } else {
        let documented = rest[at..end].lines().collect::<Vec<_>>();
        assert_eq!(
            documented,
            rows.lines().collect::<Vec<_>>(),
            "run UPDATE_EXPECT=1 cargo test metrics"
        );
    }
}

fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    send_request(address, "GET", path, headers)
}

/// Sends requests of every kind, so that each metric has its series.
pub(crate) fn ask_everything(address: SocketAddr) {
    let query = "/graphql?query=%7Bcatalogs%7Bname%7D%7D";
    for _ in 0..3 {
        get(address, query, &[]);
    }
    let tag = get(address, query, &[])
        .header("etag")
        .expect("responses to GET have a tag");
    assert_eq!(get(address, query, &[("If-None-Match", &tag)]).status, 304);
    graphql(address, "{ nothing }");
    graphql(address, "{ packages(first: 1000000) { nodes { name } } }");
    let alpha = "POST /catalogs/etcd/api/v1/graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 39\r\n\r\n\
                 {\"query\":\"{summary { totalSchemas } }\"}";
    assert_eq!(exchange(address, alpha.as_bytes(), false).status, 200);
    for path in [
        "/",
        "/schema.graphql",
        "/openapi.json",
        "/icons/none",
        "/nothing",
        "/catalogs/none/api/v1/all",
    ] {
        get(address, path, &[]);
    }
    for path in [
        "/catalogs/etcd/api/v1/all",
        "/catalogs/etcd/api/v1/metas?schema=olm.package",
    ] {
        let tag = get(address, path, &[])
            .header("etag")
            .expect("contents have a tag");
        get(address, path, &[("If-None-Match", &tag)]);
        get(address, path, &[("Range", "bytes=0-1")]);
    }
}

#[test]
fn the_metrics_in_the_reference_are_those_of_a_server() {
    let folders = Folders::new();
    let shared = format!("--shared-store=file://{}", folders.text("shared"));
    let secret = folders.path("webhook-secret");
    std::fs::write(&secret, "a secret of thirty-two bytes ...").expect("it can be written");
    let secret = format!("--webhook-secret-file={}", secret.display());
    // Nobody listens there, and nothing changes.
    let webhook = "--webhook=http://127.0.0.1:9/";
    let flags = [
        "--grpc=127.0.0.1:0",
        "--bundle-images",
        &shared,
        webhook,
        &secret,
    ];
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &flags);
    ask_everything(server.address);
    matches_reference(
        EVERY_SERVER,
        &described(&page(metrics, MetricsFormat::Prometheus)),
    );
}

#[test]
fn a_page_has_a_bounded_number_of_series() {
    let folders = Folders::new();
    let counted = |catalogs: &[(&str, &str)]| {
        let (server, metrics) = serve(&folders, catalogs, &[]);
        ask_everything(server.address);
        let page = page(metrics, MetricsFormat::Prometheus);
        series(&page).len()
    };
    let one = counted(&[("etcd", ETCD)]);
    let two = counted(&[("etcd", ETCD), ("argo", ARGO)]);
    println!(
        "{one} series with one catalog, {} more with another",
        two - one
    );
    assert!(two - one < SERIES_PER_CATALOG, "{one} {two}");
    assert!(one - (two - one) < SERIES, "{one} {two}");
}

#[test]
fn both_formats_have_the_same_samples_and_the_newer_one_has_an_end() {
    let folders = Folders::new();
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &[]);
    ask_everything(server.address);
    let newer = page(metrics, MetricsFormat::OpenMetrics);
    let older = page(metrics, MetricsFormat::Prometheus);
    let names = |page: &str| {
        series(page)
            .into_keys()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&newer), names(&older));
    assert!(newer.ends_with("# EOF\n") && !older.contains("# EOF"));
    assert!(newer.contains("# TYPE catalogql_http_requests counter\n"));
    assert!(older.contains("# TYPE catalogql_http_requests_total counter\n"));
}

#[test]
fn promtool_accepts_the_page() {
    let found = Command::new("promtool")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        let remedy = "run tests/setup.sh, or install it (Debian: apt-get install prometheus)";
        return report_skipped("promtool", "promtool is not installed", remedy);
    }
    let folders = Folders::new();
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &[]);
    ask_everything(server.address);
    let mut command = Command::new("promtool");
    command
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    let page = page(metrics, MetricsFormat::Prometheus);
    child
        .stdin
        .take()
        .expect("it is a pipe")
        .write_all(page.as_bytes())
        .expect("it reads everything");
    let output = child.wait_with_output().expect("it is a child");
    let said = [output.stdout, output.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat();
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn a_thousand_scrapes_cost_little_and_leave_nothing() {
    let folders = Folders::new();
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &[]);
    ask_everything(server.address);
    let cpu = || value(metrics, "process_cpu_seconds_total{}");
    let memory = || value(metrics, "catalogql_memory_bytes{kind=\"anon\"}");
    for _ in 0..100 {
        page(metrics, MetricsFormat::Prometheus);
    }
    let cpu_before = cpu();
    let memory_before = memory();
    for _ in 0..1_000 {
        page(metrics, MetricsFormat::OpenMetrics);
    }
    let seconds = (cpu() - cpu_before) / 1_000.0;
    let growth = memory() - memory_before;
    println!(
        "{:.3} ms of CPU per scrape, connection included; {} KiB more after 1,000",
        seconds * 1e3,
        growth / 1024.0
    );
    assert!(seconds < SCRAPE_SECONDS, "{seconds}");
    assert!(growth < 1024.0 * 1024.0, "{growth}");
}

#[test]
fn each_request_is_counted_by_how_it_ended() {
    let folders = Folders::new();
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &["--max-url", "100"]);
    ask_everything(server.address);
    get(
        server.address,
        &format!("/graphql?query={}", "x".repeat(101)),
        &[],
    );
    let page = page(metrics, MetricsFormat::Prometheus);
    let series = series(&page);
    let outcome = |outcome: &str| {
        let name =
            format!("catalogql_graphql_requests_total{{kind=\"query\",outcome=\"{outcome}\"}}");
        (outcome.to_owned(), series[name.as_str()])
    };
    let counted = [
        "ok",
        "cached",
        "not_modified",
        "invalid",
        "partial",
        "too_large",
        "limited",
    ]
    .map(outcome);
    // The second request of a URL is executed too, and its response cached.
    let expected = [
        ("ok", 2.0),
        ("cached", 2.0),
        ("not_modified", 1.0),
        ("invalid", 1.0),
        ("partial", 1.0),
        ("too_large", 1.0),
    ];
    assert_eq!(
        counted[..6],
        expected.map(|(outcome, count)| (outcome.to_owned(), count)),
        "{page}"
    );
    assert!(
        (series["catalogql_response_cache_hits_total{}"] - 2.0).abs() < f64::EPSILON,
        "{page}"
    );
    for name in [
        "catalogql_http_requests_total{handler=\"graphql\",method=\"GET\",code=\"304\"}",
        "catalogql_http_requests_total{handler=\"graphql\",method=\"GET\",code=\"414\"}",
        "catalogql_http_requests_total{handler=\"all\",method=\"GET\",code=\"206\"}",
        "catalogql_http_requests_total{handler=\"metas\",method=\"GET\",code=\"304\"}",
        "catalogql_graphql_refused_total{code=\"GRAPHQL_VALIDATION_FAILED\"}",
        "catalogql_catalog_loads_total{catalog=\"etcd\",result=\"loaded\"}",
        "catalogql_catalog_serving{catalog=\"etcd\"}",
    ] {
        assert_eq!(series.get(name), Some(&1.0), "{name} {page}");
    }
    assert!(
        !page.contains("nothing"),
        "no path and no document is in the page"
    );
}

#[test]
fn the_access_log_has_a_line_for_each_request_without_what_was_asked() {
    let folders = Folders::new();
    let (server, _) = serve(&folders, &[("etcd", ETCD)], &["--access-log"]);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let response = get(
        server.address,
        "/graphql?query=%7Bcatalogs%7Bname%7D%7D",
        &[("traceparent", trace)],
    );
    get(server.address, "/healthz", &[]);
    let line: serde_json::Value =
        serde_json::from_str(&server.logs("\"request\"")).expect("lines are JSON");
    let mut line = line.as_object().expect("lines are objects").clone();
    assert!(
        line.remove("timestamp")
            .is_some_and(|time| time.as_str().is_some_and(|time| time.ends_with('Z')))
    );
    assert!(
        line.remove("duration_seconds")
            .is_some_and(|time| time.as_f64().is_some_and(|time| time > 0.0))
    );
    let expected = serde_json::json!({
        "level": "INFO", "message": "request", "method": "GET", "handler": "graphql", "status": 200,
        "bytes": response.body.len(), "trace_id": "0af7651916cd43dd8448eb211c80319c", "peer": "127.0.0.1",
    });
    assert_eq!(serde_json::Value::Object(line), expected);
    get(server.address, "/catalogs/etcd/api/v1/all", &[]);
    assert!(
        server.logs("\"request\"").contains("\"handler\":\"all\""),
        "probes are not logged"
    );
}

#[test]
fn metrics_are_served_where_the_flag_says_and_nowhere_else() {
    let folders = Folders::new();
    let (server, metrics) = serve(&folders, &[("etcd", ETCD)], &[]);
    assert_eq!(get(server.address, "/metrics", &[]).status, 404);
    assert_eq!(
        get(metrics, "/graphql?query=%7B__typename%7D", &[]).status,
        404
    );
    assert_eq!(get(metrics, "/healthz", &[]).status, 200);
    // A page of another site cannot read them through a name that leads to this machine.
    assert_eq!(
        get(metrics, "http://other.example.com/metrics", &[]).status,
        421
    );
}

#[test]
fn without_an_api_server_nobody_can_be_asked_who_may_read_metrics() {
    let folders = Folders::new();
    folders.write("etcd/catalog.jsonl", lines(ETCD));
    let mut command = crate::support::catalogql();
    command.args([
        "serve",
        &folders.text("etcd"),
        "--store",
        &folders.text("store"),
        "--listen=127.0.0.1:0",
    ]);
    command
        .args(["--metrics-listen=127.0.0.1:0"])
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST");
    let output = crate::support::run(&mut command);
    assert_eq!(output.status, Some(1));
    assert!(
        output.stderr.contains("--metrics-auth=none"),
        "{}",
        output.stderr
    );
}

//! No request of any dialect holds up a thread that serves connections: probes are answered on the
//! same ones.
//!
//! A whole server runs on a runtime with one such thread. A task that is always ready is polled
//! there between any two other tasks, so that the processor time of the thread between two of its
//! polls is that of one poll of a connection, whatever else the machine does: a busy machine takes
//! the processor away from the thread, and its processor time stands still meanwhile.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Request;
use clap::Parser as _;
use local_commands::run::terminal::Terminal;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use testing::{Folders, TEST_TIMEOUT, eventually, fixed_port};
use tokio::net::TcpStream as Socket;
use tokio::runtime::{Builder, Runtime};

use super::start;
use crate::args::{Args, Command};

/// Longest processor time of a thread that serves connections for one poll.
///
/// The rule is a millisecond: tokio looks for new connections and requests after 61 polls at the
/// latest, so that a probe waits for less than a tenth of a second however many requests are there,
/// and most polls take a hundredth of that. In debug builds the code of this project and most
/// dependencies are not optimized, which takes up to ten times as long: 0.5 to 3.2 ms were seen for
/// these requests on a slow machine of two cores with a load of 4. What this test is for took, when
/// dependencies were optimized, from 2.7 ms (a new document of many fields) over 7 ms (a compressed
/// chunk of a list) to 1.4 s (an object as YAML).
const LONGEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5 } else { 1 });

/// Number of times that each request is sent at most, until its longest poll is short enough: what
/// is not the request's own doing, such as a page fault, an index that is made once, or a neighbour
/// of a virtual machine, is not in each of them.
const ROUNDS: usize = 10;

/// Stands for the number of a round in requests, so that no cache has the response or what a
/// request is parsed to.
const ROUND: &str = "round000";

/// Measures a thread that serves connections.
#[derive(Default)]
struct Stalls {
    /// Longest processor time between two polls, in nanoseconds.
    longest: AtomicU64,
    /// Number of polls.
    polls: AtomicU64,
    /// Set if connections were handed to another thread, as `block_in_place` does: a long poll
    /// before that would not be seen.
    has_moved: AtomicBool,
}

/// A server with every listener, on a runtime with one thread that serves connections.
struct AllListeners {
    main: SocketAddr,
    kube_api: SocketAddr,
    grpc: SocketAddr,
    metrics: SocketAddr,
    stalls: Arc<Stalls>,
    client: Runtime,
    _folders: Folders,
}

/// A request over HTTP/1.1.
struct ExpensiveRequest {
    name: String,
    address: SocketAddr,
    text: String,
    status: u16,
}

impl Stalls {
    /// Measures for as long as the runtime lasts.
    async fn watch(self: Arc<Self>) {
        let mut last = None;
        poll_fn(|context| -> Poll<()> {
            let thread = thread::current().id();
            let now = processor_time();
            match last {
                Some((same, before)) if same == thread => {
                    self.longest.fetch_max(now - before, Ordering::Relaxed)
                }
                Some(_) => u64::from(self.has_moved.swap(true, Ordering::Relaxed)),
                None => 0,
            };
            self.polls.fetch_add(1, Ordering::Release);
            last = Some((thread, processor_time()));
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Returns the longest time since the last call, when the poll has ended that is going on.
    fn take(&self) -> Duration {
        let before = self.polls.load(Ordering::Acquire);
        eventually(|| (self.polls.load(Ordering::Acquire) > before + 1).then_some(()));
        Duration::from_nanos(self.longest.swap(0, Ordering::Relaxed))
    }
}

/// Returns the processor time of this thread in nanoseconds.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

impl AllListeners {
    fn start() -> Self {
        let folders = Folders::new();
        testing::generate::generate(&folders.path("c")).unwrap();
        folders.catalog(
            "edited",
            "package etcd default=stable\nchannel stable: v1.0.0",
        );
        let [main, kube_api, grpc, metrics] =
            std::array::from_fn(|_| SocketAddr::from(([127, 0, 0, 1], fixed_port())));
        let arguments = [
            "catalogql".to_owned(),
            "serve".to_owned(),
            format!("--listen={main}"),
            format!("--kube-api-listen={kube_api}"),
            format!("--grpc=c={grpc}"),
            format!("--metrics-listen={metrics}"),
            "--metrics-auth=none".to_owned(),
            format!("--editable=edited={}", folders.text("edited")),
            format!("--store={}", folders.text("store")),
            folders.text("c"),
        ];
        let Command::Serve(args) = Args::parse_from(arguments).command else {
            panic!("it serves")
        };
        let stalls = Arc::<Stalls>::default();
        let watching = Arc::clone(&stalls);
        thread::spawn(move || {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            runtime.spawn(watching.watch());
            runtime.block_on(start(*args, Terminal::default())).unwrap();
        });
        let client = Builder::new_current_thread().enable_all().build().unwrap();
        let all = Self {
            main,
            kube_api,
            grpc,
            metrics,
            stalls,
            client,
            _folders: folders,
        };
        let ready = Self::get("", main, "/readyz", "", 200);
        eventually(|| (send(&ready, 0).ok()?.0 == 200).then_some(()));
        all
    }

    fn get(
        name: &str,
        address: SocketAddr,
        path: &str,
        headers: &str,
        status: u16,
    ) -> ExpensiveRequest {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
        let name = format!("{name} {path} {}", headers.trim_end());
        ExpensiveRequest {
            name,
            address,
            text: request,
            status,
        }
    }

    /// Returns a request that is answered with 200.
    fn post(&self, name: &str, path: &str, body: &Value, headers: &str) -> ExpensiveRequest {
        let body = body.to_string();
        let mut request =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
        write!(
            request,
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        ExpensiveRequest {
            name: format!("{name} {path} {headers}"),
            address: self.main,
            text: request,
            status: 200,
        }
    }

    /// Returns the most expensive requests of each dialect over HTTP/1.1.
    fn requests(&self) -> Vec<ExpensiveRequest> {
        let mut all = Vec::new();
        for coding in ["", "Accept-Encoding: gzip\r\n", "Accept-Encoding: zstd\r\n"] {
            for path in [
                "all",
                "metas?schema=olm.bundle",
                "metas?package=package-007",
            ] {
                all.push(Self::get(
                    "catalogd",
                    self.main,
                    &format!("/catalogs/c/api/v1/{path}"),
                    coding,
                    200,
                ));
            }
            for path in [
                "catalogmetadata",
                "bundlemetadata",
                "packages",
                "operatorpackages",
            ] {
                let path = format!("/apis/catalogd.operatorframework.io/v1beta1/{path}");
                all.push(Self::get("list", self.kube_api, &path, coding, 200));
            }
            all.push(Self::get("list", self.kube_api, MANIFESTS, coding, 200));
        }
        let blobs = "/apis/catalogd.operatorframework.io/v1beta1/catalogmetadata";
        let requirements = "%21a,".repeat(63);
        let yaml = "Accept: application/yaml\r\n";
        let table = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n";
        all.extend([
            Self::get("YAML", self.kube_api, blobs, yaml, 406),
            Self::get(
                "pretty",
                self.kube_api,
                &format!("{blobs}?pretty=true"),
                "",
                406,
            ),
            Self::get(
                "YAML page",
                self.kube_api,
                &format!("{blobs}?limit=500"),
                yaml,
                200,
            ),
            Self::get(
                "YAML",
                self.kube_api,
                &format!("{MANIFESTS}/package-007"),
                yaml,
                200,
            ),
            Self::get("table", self.kube_api, blobs, table, 200),
            Self::get(
                "selector",
                self.kube_api,
                &format!("{blobs}?labelSelector={requirements}%21b&limit=1"),
                "",
                200,
            ),
            Self::get(
                "watch",
                self.kube_api,
                &format!("{blobs}?watch=true&timeoutSeconds=1"),
                "",
                200,
            ),
            Self::get(
                "watch",
                self.kube_api,
                &format!("{MANIFESTS}?watch=true&timeoutSeconds=1"),
                "",
                200,
            ),
            Self::get("metrics", self.metrics, "/metrics", "", 200),
            Self::get("page", self.main, "/", "", 200),
        ]);
        all.extend(self.graphql());
        let skips = vec!["etcd.v0.0.1"; 100_000];
        let batch = json!({ "operations": [{ "operation": "add", "bundle": {}, "skips": skips }] });
        all.push(ExpensiveRequest {
            status: 400,
            ..self.post("edit", "/catalogs/edited/edits?dryRun=All", &batch, "")
        });
        all
    }

    fn graphql(&self) -> Vec<ExpensiveRequest> {
        let long = r#"{ bundles(first: 500, filter: {versionRange: ">=0.0.0-0"}) { nodes { name metadata { description examples } } } }"#;
        let facets = "{ packages(first: 0) { facets { keywords(first: 100) { value count } } } }";
        let graph = "{ packages(first: 50) { nodes { updateGraph { replaces { reasons } skipRanges { fromCount } } } } }";
        let named = |selection: &str| format!("query {ROUND} {selection}");
        let spread: Vec<_> = (0..600).map(|at| format!("...f{}", at % 8)).collect();
        let spread = spread.join(" ");
        let fragments: Vec<_> = (0..8)
            .map(|at| format!("fragment f{at} on Package {{ name }}"))
            .collect();
        let fragments = fragments.join(" ");
        let document = format!("{{ packages(first: 1) {{ nodes {{ {spread} }} }} }} {fragments}");
        let equal = format!(
            "{{ packages(first: 1) {{ nodes {{ {} }} }} }}",
            "name ".repeat(950)
        );
        let invalid = format!("{{ {} }}", "nothing ".repeat(950));
        let nested =
            "{ __schema { types { fields { type { kind ofType { kind ofType { kind } } } } } } }";
        let strings: Vec<_> = (0..1_000).map(|at| format!("{at:090}")).collect();
        let variables = json!({
            "query": format!("query {ROUND}($names: [String!]) {{ catalogs(names: $names) {{ name }} }}"), "variables": { "names": strings },
        });
        let alpha = "/catalogs/c/api/v1/graphql";
        let unread = json!({ "query": "{ __typename }", "unread": vec![0; 500_000] });
        let mut all = vec![
            self.post("variables", "/graphql", &variables, ""),
            self.post("unread members", alpha, &unread, ""),
        ];
        for coding in ["", "Accept-Encoding: gzip\r\n"] {
            for query in [long, facets, graph, &document, &equal, &invalid, nested] {
                let name = query.chars().take(60).collect::<String>();
                let status = if query == invalid { 400 } else { 200 };
                let accept = format!("{coding}Accept: application/graphql-response+json\r\n");
                let body = json!({ "query": named(query) });
                all.push(ExpensiveRequest {
                    status,
                    ..self.post(&name, "/graphql", &body, &accept)
                });
            }
            for query in [
                "{ olmbundles(limit: 100) { name package properties { type } } }",
                nested,
                &document,
                &invalid,
            ] {
                let name = query.chars().take(60).collect::<String>();
                all.push(self.post(&name, alpha, &json!({ "query": named(query) }), coding));
            }
        }
        all
    }

    /// Makes a call over gRPC, and reads all of the response.
    fn call(&self, method: &str, message: &[u8], coding: &str) -> usize {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let message = Bytes::from([&[0][..], &length, message].concat());
        let request = Request::post(format!("http://localhost/{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-accept-encoding", coding)
            .header("x-acknowledge-experimental", "true");
        self.client.block_on(async {
            let mut client = h2::client::Builder::new();
            client
                .initial_window_size(1 << 30)
                .initial_connection_window_size(1 << 30);
            let socket = Socket::connect(self.grpc).await.unwrap();
            let (requests, connection) = client.handshake(socket).await.unwrap();
            tokio::spawn(connection);
            let mut requests = requests.ready().await.unwrap();
            let (response, mut sending) = requests
                .send_request(request.body(()).unwrap(), false)
                .unwrap();
            sending.send_data(message, true).unwrap();
            let mut body = response.await.unwrap().into_body();
            let mut length = 0;
            while let Some(data) = body.data().await {
                length += data.unwrap().len();
            }
            length
        })
    }
}

/// Path of the packages of all namespaces.
const MANIFESTS: &str = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests";

/// Sends a request, and returns the status of the response and its number of bytes.
fn send(request: &ExpensiveRequest, round: usize) -> std::io::Result<(u16, usize)> {
    let mut stream = TcpStream::connect(request.address)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    stream.write_all(
        request
            .text
            .replace(ROUND, &format!("round{round:03}"))
            .as_bytes(),
    )?;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    let mut status = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok((status, length)),
            read if length == 0 => {
                let line = String::from_utf8_lossy(&buffer[..read.min(12)]).into_owned();
                status = line
                    .split(' ')
                    .nth(1)
                    .and_then(|status| status.parse().ok())
                    .unwrap_or_default();
                length += read;
            }
            read => length += read,
        }
    }
}

#[test]
fn no_poll_of_a_connection_takes_longer_than_a_moment_whatever_is_asked() {
    let all = AllListeners::start();
    let mut report = Vec::new();
    let mut measure = |name: &str, ask: &dyn Fn(usize) -> usize| {
        let mut shortest = Duration::MAX;
        let mut length = 0;
        for round in 1..=ROUNDS {
            all.stalls.take();
            length = ask(round);
            shortest = shortest.min(all.stalls.take());
            if shortest <= LONGEST {
                break;
            }
        }
        eprintln!(
            "{:8.3} ms  {length:10} bytes  {name}",
            shortest.as_secs_f64() * 1000.0
        );
        report.push((shortest, name.to_owned()));
    };
    for request in all.requests() {
        measure(&request.name, &|round| {
            let (status, length) = send(&request, round).expect("it is answered");
            assert_eq!(status, request.status, "{}", request.name);
            length
        });
    }
    for coding in ["identity", "gzip"] {
        for (method, message) in [
            ("api.Registry/ListPackages", &b""[..]),
            ("api.Registry/ListBundles", b""),
            ("api.Registry/GetPackage", b"\x0a\x0bpackage-007"),
            (
                "api.Registry/GetBundleForChannel",
                b"\x0a\x0bpackage-007\x12\x06stable",
            ),
            (
                "api.Registry/GetChannelEntriesThatReplace",
                b"\x0a\x12package-007.v0.0.0",
            ),
            (
                "api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas",
                b"\x0a\x01x",
            ),
        ] {
            measure(&format!("gRPC {method} {coding}"), &|_| {
                all.call(method, message, coding)
            });
        }
    }
    assert!(
        !all.stalls.has_moved.load(Ordering::Relaxed),
        "work blocks in place: run it with a permit of a `FairSemaphore`"
    );
    report.retain(|(longest, _)| *longest > LONGEST);
    assert!(report.is_empty(), "longer than {LONGEST:?}: {report:#?}");
}

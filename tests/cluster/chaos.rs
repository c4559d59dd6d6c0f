//! Three replicas that are killed in turn, while the API server and the registry come and go: a
//! reader that repeats a failed request at another replica never fails, and never reads anything
//! wrong.
//!
//! `CATALOGQL_CHAOS=SEED:CATALOGS:SECONDS` searches elsewhere or longer.

use std::collections::BTreeMap;
use std::env;
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use testing::SeededRandom;
use testing::fixture::lines;

use crate::support::{Cluster, NAMESPACE, Replica, SERVICE_ACCOUNT, catalog, condition, package};

/// Scale of the test without `CATALOGQL_CHAOS`.
const CHAOS: &str = "38:10:10";

/// Names of the replicas.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// How much more memory, in KiB and not of files, a replica may take at the end than at first.
const GROWTH_KIB: u64 = 16 * 1024;

/// Kills until the API server and the registry have come and gone once.
const TURNS: usize = 8;

/// Maximum time of one read.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Addresses of the replicas, which change when one starts again.
type Addresses = Arc<Mutex<[SocketAddr; 3]>>;

/// What a reader saw.
#[derive(Default)]
struct Reads {
    answered: usize,
    /// Reads that a replica did not answer, and another one did.
    repeated: usize,
    /// Reads that no replica answered.
    failed: Vec<String>,
    /// Answers that are not the content of the catalog.
    wrong: Vec<String>,
}

/// A thread that reads catalogs whole, one after the other, from any replica.
struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Reads>,
}

impl Reader {
    fn start(addresses: Addresses, contents: BTreeMap<String, String>, seed: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let shared = is_over.clone();
        let thread = thread::spawn(move || {
            let names: Vec<_> = contents.keys().cloned().collect();
            let mut random = SeededRandom::new(seed);
            let mut reads = Reads::default();
            while !shared.load(Ordering::SeqCst) {
                let name = random.choose(&names);
                let first = random.below(NAMES.len());
                reads.read(&addresses, name, &contents[name], first);
            }
            reads
        });
        Self { is_over, thread }
    }

    fn finish(self) -> Reads {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().expect("the reader does not panic")
    }
}

impl Reads {
    /// Reads a catalog from the replica at this position, and from the next ones while that fails.
    fn read(&mut self, addresses: &Addresses, name: &str, content: &str, first: usize) {
        let mut failures = Vec::new();
        for turn in 0..NAMES.len() {
            let at = (first + turn) % NAMES.len();
            let address = addresses.lock().expect("nobody panicked")[at];
            match get(address, &format!("/catalogs/{name}/api/v1/all")) {
                Ok((200, body)) if body == content.as_bytes() => {
                    self.answered += 1;
                    self.repeated += usize::from(turn > 0);
                    return;
                }
                // The replica says that it has not loaded the catalog yet.
                Ok((503, _)) => failures.push(format!("{}: 503", NAMES[at])),
                Ok((status, body)) => {
                    let text = String::from_utf8_lossy(&body).into_owned();
                    self.wrong
                        .push(format!("{name} of {}: {status} {text}", NAMES[at]));
                    return;
                }
                Err(error) => failures.push(format!("{}: {error}", NAMES[at])),
            }
        }
        self.failed.push(failures.join("; "));
    }
}

/// Sends a request and returns the status and the whole body.
fn get(address: SocketAddr, path: &str) -> Result<(u16, Vec<u8>), Error> {
    let mut connection = TcpStream::connect_timeout(&address, READ_TIMEOUT)?;
    connection.set_read_timeout(Some(READ_TIMEOUT))?;
    write!(
        connection,
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )?;
    let mut response = Vec::new();
    connection.read_to_end(&mut response)?;

    let cut_off = || Error::from(ErrorKind::UnexpectedEof);
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let end = end.ok_or_else(cut_off)?;
    let head = String::from_utf8_lossy(&response[..end]).to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let body = response.split_off(end + 4);
    let is_whole = length == Some(body.len());
    status
        .filter(|_| is_whole)
        .map(|status| (status, body))
        .ok_or_else(cut_off)
}

/// Seed, catalogs and the least time.
fn scale() -> (u64, u64, Duration) {
    let text = env::var("CATALOGQL_CHAOS").unwrap_or_else(|_| CHAOS.to_owned());
    let numbers: Vec<u64> = text
        .split(':')
        .map(|number| number.parse().expect("numbers"))
        .collect();
    let [seed, catalogs, seconds] = numbers[..] else {
        panic!("write SEED:CATALOGS:SECONDS")
    };
    (seed, catalogs, Duration::from_secs(seconds))
}

fn memory(replicas: &[Replica]) -> Vec<u64> {
    replicas.iter().map(Replica::memory_kib).collect()
}

#[test]
fn a_reader_that_repeats_what_fails_elsewhere_never_fails_and_never_reads_anything_wrong() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let (seed, catalogs, at_least) = scale();
    let mut contents = BTreeMap::new();
    let mut objects = Vec::new();
    for number in 0..catalogs {
        let name = format!("c{number:03}");
        let fixture = package(&format!("p{number}"));
        let reference = cluster.push(&format!("ns/{name}"), "latest", &fixture);
        objects.push(catalog(&name, &reference));
        contents.insert(name, lines(&fixture));
    }
    cluster.plane.apply(&objects);
    let kubeconfig =
        cluster
            .plane
            .service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, cluster.plane.address);
    let start =
        |cluster: &Cluster, name: &str| Replica::start_at(cluster, name, &kubeconfig, &[]).ready();
    let mut replicas: Vec<_> = NAMES.iter().map(|name| start(&cluster, name)).collect();
    for name in contents.keys() {
        cluster.wait_for(name, "Serving", "Available");
    }
    let before = memory(&replicas);

    let addresses = [0, 1, 2].map(|at: usize| replicas[at].address);
    let addresses = Arc::new(Mutex::new(addresses));
    let reader = Reader::start(addresses.clone(), contents.clone(), seed);
    let started = Instant::now();
    let mut kills = 0;
    // Everything happens at least once, and in the end both are there again.
    while kills == 0 || kills % TURNS != 0 || started.elapsed() < at_least {
        match kills % TURNS {
            1 => cluster.plane.stop_api_server(),
            3 => cluster.registry.stop(),
            5 => {
                cluster.plane.start_api_server();
                cluster.plane.compact();
            }
            7 => cluster.registry.resume(),
            _ => {}
        }
        let at = kills % NAMES.len();
        // A replica is killed when it is dropped.
        drop(replicas.remove(at));
        replicas.insert(at, start(&cluster, NAMES[at]));
        addresses.lock().expect("nobody panicked")[at] = replicas[at].address;
        kills += 1;
    }

    let reads = reader.finish();
    let after = memory(&replicas);
    println!(
        "{catalogs} catalogs, {kills} kills in {:?}: {} reads, {} of them repeated elsewhere, {} failed, {} wrong; \
         KiB of the replicas before {before:?}, after {after:?}",
        started.elapsed(),
        reads.answered,
        reads.repeated,
        reads.failed.len(),
        reads.wrong.len(),
    );
    assert_eq!(reads.wrong, Vec::<String>::new());
    assert_eq!(reads.failed, Vec::<String>::new());
    assert!(reads.answered > kills, "{} reads", reads.answered);
    for (before, after) in before.iter().zip(&after) {
        assert!(*after <= before + GROWTH_KIB, "{before} KiB became {after}");
    }
    for name in contents.keys() {
        let status = cluster.wait_for(name, "Serving", "Available");
        assert_eq!(
            condition(&status, "Progressing").map(|[_, reason, _]| reason),
            Some("Succeeded"),
            "{name}"
        );
    }
}

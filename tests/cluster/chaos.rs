//! Three replicas that are killed in turn, while the API server and the registry come and go, and
//! their certificate is rotated: a reader that repeats a failed request at another replica never
//! fails, and never reads anything wrong.
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

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use testing::fixture::lines;
use testing::{Folders, SeededRandom, eventually};

use crate::support::{Cluster, NAMESPACE, Replica, SERVICE_ACCOUNT, catalog, package};

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

/// Name that the certificates of the replicas are for.
const SERVER_NAME: &str = "localhost";

/// The authority that the reader trusts, and the Secret with the certificate of the replicas.
struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
    secret: Folders,
    issued: usize,
    last: CertificateDer<'static>,
}

impl Certificates {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("keys can be made");
        let authority = CertifiedIssuer::self_signed(params, key).expect("the authority can sign");
        let last = authority.der().clone();
        let mut certificates = Self {
            authority,
            secret: Folders::new(),
            issued: 0,
            last,
        };
        certificates.rotate();
        certificates
    }

    /// Replaces the certificate of the replicas and its key.
    fn rotate(&mut self) {
        let key = KeyPair::generate().expect("keys can be made");
        let params = CertificateParams::new([SERVER_NAME.to_owned()]).expect("a name");
        let certificate = params
            .signed_by(&key, &self.authority)
            .expect("the authority can sign");
        let pem = certificate.pem();
        self.secret
            .write_tls_secret("tls", self.issued, &pem, &key.serialize_pem());
        self.issued += 1;
        self.last = certificate.der().clone();
    }

    /// Returns the arguments of a replica.
    fn arguments(&self) -> [String; 2] {
        let file = |flag: &str, name: &str| format!("{flag}={}", self.secret.text(name));
        [
            file("--tls-cert-file", "tls/tls.crt"),
            file("--tls-private-key-file", "tls/tls.key"),
        ]
    }

    /// Returns the settings of a client that trusts the authority alone.
    fn client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.authority.der().clone())
            .expect("it is an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // A session that is resumed shows the certificate with which it began.
        config.resumption = Resumption::disabled();
        Arc::new(config)
    }
}

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
    fn start(
        addresses: Addresses,
        client: Arc<ClientConfig>,
        contents: BTreeMap<String, String>,
        seed: u64,
    ) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let shared = is_over.clone();
        let thread = thread::spawn(move || {
            let names: Vec<_> = contents.keys().cloned().collect();
            let mut random = SeededRandom::new(seed);
            let mut reads = Reads::default();
            while !shared.load(Ordering::SeqCst) {
                let name = random.choose(&names);
                let first = random.below(NAMES.len());
                let path = format!("/catalogs/{name}/api/v1/all");
                let expected = contents[name].as_bytes();
                reads.read(&addresses, first, expected, |address| {
                    get(address, &client, &path)
                });
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
    /// Sends a request to the replica at this position, and to the next ones while that fails.
    fn read(
        &mut self,
        addresses: &Addresses,
        first: usize,
        expected: &[u8],
        get: impl Fn(SocketAddr) -> Result<(u16, Vec<u8>), Error>,
    ) {
        let mut failures = Vec::new();
        for turn in 0..NAMES.len() {
            let at = (first + turn) % NAMES.len();
            let address = addresses.lock().expect("nobody panicked")[at];
            match get(address) {
                Ok((200, body)) if body == expected => {
                    self.answered += 1;
                    self.repeated += usize::from(turn > 0);
                    return;
                }
                // The replica says that it has not loaded the catalog yet.
                Ok((503, _)) => failures.push(format!("{}: 503", NAMES[at])),
                Ok((status, body)) => {
                    let text = String::from_utf8_lossy(&body).into_owned();
                    self.wrong.push(format!("{}: {status} {text}", NAMES[at]));
                    return;
                }
                Err(error) => failures.push(format!("{}: {error}", NAMES[at])),
            }
        }
        self.failed.push(failures.join("; "));
    }
}

/// Opens a connection, whose handshake is still to come.
fn connect(
    address: SocketAddr,
    client: &Arc<ClientConfig>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Error> {
    let stream = TcpStream::connect_timeout(&address, READ_TIMEOUT)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let name = ServerName::try_from(SERVER_NAME).expect("it is a name");
    let tls = ClientConnection::new(client.clone(), name).map_err(Error::other)?;
    Ok(StreamOwned::new(tls, stream))
}

/// Returns the certificate that a server shows.
fn shown_certificate(
    address: SocketAddr,
    client: &Arc<ClientConfig>,
) -> Option<CertificateDer<'static>> {
    let mut connection = connect(address, client).ok()?;
    connection.conn.complete_io(&mut connection.sock).ok()?;
    let certificates = connection.conn.peer_certificates()?;
    certificates.first().map(|shown| shown.clone().into_owned())
}

/// Sends a request and returns the status and the whole body.
fn get(
    address: SocketAddr,
    client: &Arc<ClientConfig>,
    path: &str,
) -> Result<(u16, Vec<u8>), Error> {
    let mut connection = connect(address, client)?;
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
    let mut certificates = Certificates::new();
    let client = certificates.client();
    let arguments = certificates.arguments();
    let start = |cluster: &Cluster, name: &str| {
        let arguments = arguments.each_ref().map(String::as_str);
        let replica = Replica::start_at(cluster, name, &kubeconfig, &arguments);
        let is_ready = |(status, _)| (status == 200).then_some(());
        eventually(|| {
            get(replica.address, &client, "/readyz")
                .ok()
                .and_then(is_ready)
        });
        replica
    };
    let mut replicas: Vec<_> = NAMES.iter().map(|name| start(&cluster, name)).collect();
    for name in contents.keys() {
        cluster.wait_for(name, "Serving", "Available");
    }
    let before = memory(&replicas);

    let addresses = [0, 1, 2].map(|at: usize| replicas[at].address);
    let addresses = Arc::new(Mutex::new(addresses));
    let reader = Reader::start(addresses.clone(), client.clone(), contents.clone(), seed);
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
        certificates.rotate();
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
        "{catalogs} catalogs, {kills} kills and {} certificates in {:?}: {} reads, {} of them repeated elsewhere, \
         {} failed, {} wrong; KiB of the replicas before {before:?}, after {after:?}",
        certificates.issued,
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
    for replica in &replicas {
        eventually(|| {
            let shown = shown_certificate(replica.address, &client)?;
            (shown == certificates.last).then_some(())
        });
    }
    // A replica that found the registry gone tries again after its backoff.
    for name in contents.keys() {
        cluster.wait_for(name, "Progressing", "Succeeded");
        cluster.wait_for(name, "Serving", "Available");
    }
}

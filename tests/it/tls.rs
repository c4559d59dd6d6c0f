//! TLS as clients see it: what is accepted and what is refused, and certificates that are replaced
//! under load.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use base64::Engine as _;
use bytes::Bytes;
use h2::client::SendRequest;
use http_server::{ListenOptions, Listener, Tls, TlsFiles, TlsVersion};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair,
    PKCS_ECDSA_P256_SHA256,
};
use rcgen::{PKCS_RSA_SHA256, SignatureAlgorithm};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, NamedGroup, RootCertStore};
use testing::TEST_TIMEOUT;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Folders, PACKAGES, Server, catalogql, packages, run, tool_command};

/// How often a certificate is replaced.
const ROTATIONS: usize = 100;

/// A certificate and its key, in PEM.
type Pair = (String, String);

/// An authority, whom the clients of its servers trust.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // openssl takes a certificate of one subject and issuer for its own authority.
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a certificate for localhost.
    fn issue(&self, algorithm: &'static SignatureAlgorithm) -> Pair {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Returns a client that speaks these application protocols.
    pub(crate) fn client(&self, protocols: &[&str]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        // The one that resists quantum computers first, as browsers have it.
        let kx_groups = vec![kx_group::X25519MLKEM768, kx_group::X25519];
        let provider = Arc::new(CryptoProvider {
            kx_groups,
            ..default_provider()
        });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        // A session that is resumed shows the certificate with which it began.
        config.resumption = rustls::client::Resumption::disabled();
        config.alpn_protocols = protocols
            .iter()
            .map(|protocol| protocol.as_bytes().to_vec())
            .collect();
        Arc::new(config)
    }

    /// Starts the program with a certificate for localhost and further arguments.
    pub(crate) fn start(&self, folders: &Folders, arguments: &[&str]) -> Server {
        publish(folders, 0, &self.issue(&PKCS_ECDSA_P256_SHA256));
        let certificate = folders.text("tls/tls.crt");
        let key = folders.text("tls/tls.key");
        let files = [
            "--tls-cert-file",
            &certificate,
            "--tls-private-key-file",
            &key,
        ];
        Server::start(folders, &[arguments, &files].concat())
    }
}

/// Replaces the certificate of a server.
fn publish(folders: &Folders, number: usize, (certificate, key): &Pair) {
    folders.write_tls_secret("tls", number, certificate, key);
}

pub(crate) async fn connect(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::clone(config))
        .connect(name, stream)
        .await
        .expect("the handshake succeeds")
}

/// Makes HTTP/2 of a connection.
pub(crate) async fn http2(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> SendRequest<Bytes> {
    let (requests, connection) = h2::client::handshake(stream)
        .await
        .expect("it speaks HTTP/2");
    tokio::spawn(connection);
    requests
}

/// Status and body of a resource.
pub(crate) async fn ask(
    requests: &SendRequest<Bytes>,
    request: http::request::Builder,
    body: &str,
) -> (u16, String) {
    let asking = async {
        let mut requests = requests.clone().ready().await?;
        let (response, mut upload) =
            requests.send_request(request.body(()).unwrap(), body.is_empty())?;
        if !body.is_empty() {
            upload.send_data(Bytes::copy_from_slice(body.as_bytes()), true)?;
        }
        let response = response.await?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let mut read = Vec::new();
        while let Some(bytes) = body.data().await {
            let bytes = bytes?;
            body.flow_control().release_capacity(bytes.len())?;
            read.extend_from_slice(&bytes);
        }
        Ok::<_, h2::Error>((status, String::from_utf8(read).expect("it is UTF-8")))
    };
    timeout(TEST_TIMEOUT, asking)
        .await
        .expect("it answers")
        .expect("the request succeeds")
}

/// What `openssl s_client` says of a connection: version, suite, key exchange and application
/// protocol, or why there is none.
fn s_client(address: SocketAddr, folders: &Folders, arguments: &str) -> String {
    let mut command = tool_command("openssl");
    command.args([
        "s_client",
        "-connect",
        &address.to_string(),
        "-servername",
        "localhost",
        "-verify_return_error",
    ]);
    command
        .args(["-CAfile", &folders.text("authority.pem")])
        .args(arguments.split_whitespace());
    let output = command.stdin(Stdio::null()).output().unwrap();
    // It shows tickets as they are.
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let after = |start: &str| {
        Some(
            text.lines()
                .find_map(|line| line.trim().split_once(start))?
                .1
                .trim()
                .to_owned(),
        )
    };
    if let Some(alert) = after(" alert ") {
        return alert.split(':').next().unwrap_or_default().to_owned();
    }
    let suite = after("New, ")
        .unwrap_or(text.clone())
        .replace(", Cipher is ", " ");
    let group = after("Server Temp Key: ").unwrap_or_default();
    let protocol = after("ALPN protocol: ").unwrap_or_else(|| "-".to_owned());
    format!(
        "{suite} {} {protocol}",
        group
            .trim_start_matches("ECDH, ")
            .split(',')
            .next()
            .unwrap_or_default()
    )
}

#[test]
fn the_versions_suites_and_protocols_of_the_reference_are_accepted_and_no_others() {
    // What a client offers, what comes of it if the oldest version is 1.2, and whether the same if
    // it is 1.3.
    const OLD: &str = "-cipher ALL:@SECLEVEL=0";
    let table = [
        // Their clients name no signature algorithms, which is refused first.
        ("-tls1", "handshake failure", "="),
        ("-tls1_1", "handshake failure", "="),
        (
            "-tls1_2",
            "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384 X25519 -",
            "",
        ),
        ("-tls1_3", "TLSv1.3 TLS_AES_256_GCM_SHA384 X25519 -", "="),
        (
            "-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256",
            "TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 X25519 -",
            "",
        ),
        (
            "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305",
            "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305 X25519 -",
            "",
        ),
        (
            "-tls1_2 -cipher ALL:eNULL:!ECDHE-ECDSA-AES256-GCM-SHA384:!ECDHE-ECDSA-AES128-GCM-SHA256:\
             !ECDHE-ECDSA-CHACHA20-POLY1305:@SECLEVEL=0",
            "handshake failure",
            "",
        ),
        (
            "-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256",
            "TLSv1.3 TLS_AES_128_GCM_SHA256 X25519 -",
            "=",
        ),
        (
            "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256",
            "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 X25519 -",
            "=",
        ),
        (
            "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256",
            "handshake failure",
            "=",
        ),
        (
            "-tls1_3 -groups P-256",
            "TLSv1.3 TLS_AES_256_GCM_SHA384 prime256v1 -",
            "=",
        ),
        (
            "-tls1_3 -groups P-384",
            "TLSv1.3 TLS_AES_256_GCM_SHA384 secp384r1 -",
            "=",
        ),
        ("-tls1_3 -groups P-521", "handshake failure", "="),
        (
            "-tls1_3 -alpn h2,http/1.1",
            "TLSv1.3 TLS_AES_256_GCM_SHA384 X25519 h2",
            "=",
        ),
        (
            "-tls1_3 -alpn http/1.1",
            "TLSv1.3 TLS_AES_256_GCM_SHA384 X25519 http/1.1",
            "=",
        ),
        (
            "-tls1_2 -alpn h2",
            "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384 X25519 h2",
            "",
        ),
        ("-tls1_3 -alpn spdy/3", "no application protocol", "="),
    ];
    let folders = Folders::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let authority = Authority::new();
    folders.write("authority.pem", authority.0.pem());
    let source = folders.text("a");
    let other = Folders::new();
    let both = authority.start(&folders, &[&source]);
    let newest = authority.start(&other, &[&source, "--tls-min-version=VersionTLS13"]);
    for (offer, expected, of_newest) in table {
        let arguments = if offer.contains("-cipher") {
            offer.to_owned()
        } else {
            format!("{offer} {OLD}")
        };
        assert_eq!(
            s_client(both.address, &folders, &arguments),
            expected,
            "{offer}"
        );
        let expected = if of_newest == "=" {
            expected
        } else {
            "protocol version"
        };
        assert_eq!(
            s_client(newest.address, &folders, &arguments),
            expected,
            "{offer} with TLS 1.3 only"
        );
    }
    // openssl has the key exchange that resists quantum computers from version 3.5 on.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stream = runtime.block_on(connect(both.address, &authority.client(&["h2"])));
    let group = stream
        .get_ref()
        .1
        .negotiated_key_exchange_group()
        .unwrap()
        .name();
    assert_eq!(group, NamedGroup::X25519MLKEM768);
}

#[test]
fn a_certificate_with_an_rsa_key_is_served_too() {
    let folders = Folders::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let authority = Authority::new();
    folders.write("authority.pem", authority.0.pem());
    let (certificate, key) = authority.issue(&PKCS_RSA_SHA256);
    folders.write("rsa.crt", certificate);
    folders.write("rsa.key", key);
    let certificate = folders.text("rsa.crt");
    let key = folders.text("rsa.key");
    let server = Server::start(
        &folders,
        &[
            &folders.text("a"),
            "--tls-cert-file",
            &certificate,
            "--tls-private-key-file",
            &key,
        ],
    );
    for (offer, expected) in [
        ("-tls1_2", "TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384 X25519 -"),
        (
            "-tls1_2 -cipher AES256-GCM-SHA384:AES128-SHA",
            "handshake failure",
        ),
        ("-tls1_3", "TLSv1.3 TLS_AES_256_GCM_SHA384 X25519 -"),
    ] {
        assert_eq!(
            s_client(server.address, &folders, offer),
            expected,
            "{offer}"
        );
    }
}

/// Connects and asks again and again until told to stop, and says which certificate each connection
/// got.
async fn clients(
    address: SocketAddr,
    config: Arc<ClientConfig>,
    seen: watch::Sender<Vec<u8>>,
    (stop, count): (Arc<AtomicBool>, Arc<AtomicUsize>),
) {
    while !stop.load(Ordering::Relaxed) {
        let mut stream = connect(address, &config).await;
        let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        if config.alpn_protocols[0] == b"h2" {
            let answer = ask(
                &http2(stream).await,
                http::Request::get("https://localhost/"),
                "",
            )
            .await;
            assert_eq!(answer, (200, "ok".to_owned()));
        } else {
            stream
                .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .await
                .unwrap();
            let mut answer = String::new();
            stream
                .read_to_string(&mut answer)
                .await
                .expect("it says that the connection ends");
            assert!(
                answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
                "{answer}"
            );
        }
        count.fetch_add(1, Ordering::Relaxed);
        seen.send_replace(certificate);
    }
}

#[test]
fn no_request_fails_while_the_certificate_is_replaced_a_hundred_times() {
    let folders = Folders::new();
    let authority = Authority::new();
    publish(&folders, 0, &authority.issue(&PKCS_ECDSA_P256_SHA256));
    let files = TlsFiles {
        certificate: folders.path("tls/tls.crt"),
        private_key: folders.path("tls/tls.key"),
    };
    let tls = Tls::new(files, TlsVersion::Tls12).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.address();
        // More often than in the program: a hundred seconds would be long.
        tokio::spawn(tls.clone().reload_changes(Duration::from_millis(1)));
        let options = ListenOptions {
            tls: Some(tls),
            ..ListenOptions::default()
        };
        tokio::spawn(listener.serve(
            Router::new().route("/", get("ok")),
            options,
            std::future::pending(),
        ));
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let (sender, mut seen) = watch::channel(Vec::new());
        let running: Vec<_> = ["h2", "http/1.1", "h2", "http/1.1"]
            .map(|protocol| {
                let state = (Arc::clone(&stop), Arc::clone(&count));
                tokio::spawn(clients(
                    address,
                    authority.client(&[protocol]),
                    sender.clone(),
                    state,
                ))
            })
            .into();
        // A connection from before goes on.
        let old = http2(connect(address, &authority.client(&["h2"])).await).await;
        for number in 1..=ROTATIONS {
            let pair = authority.issue(&PKCS_ECDSA_P256_SHA256);
            publish(&folders, number, &pair);
            let der = rustls::pki_types::pem::PemObject::from_pem_slice(pair.0.as_bytes());
            let der: rustls::pki_types::CertificateDer<'_> = der.unwrap();
            let next = timeout(TEST_TIMEOUT, seen.wait_for(|seen| **seen == *der)).await;
            next.expect("the certificate is never served")
                .expect("no client has failed");
            let answer = ask(&old, http::Request::get("https://localhost/"), "").await;
            assert_eq!(answer, (200, "ok".to_owned()));
        }
        stop.store(true, Ordering::Relaxed);
        for client in running {
            client.await.expect("no request has failed");
        }
        eprintln!(
            "{} requests with {ROTATIONS} certificates",
            count.load(Ordering::Relaxed)
        );
    });
}

#[test]
fn a_rotated_secret_is_served_and_a_broken_one_is_logged_and_changes_nothing() {
    let folders = Folders::new();
    let authority = Authority::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let server = authority.start(&folders, &[&folders.text("a")]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = authority.client(&["h2"]);
    let certificate = || {
        let stream = runtime.block_on(connect(server.address, &config));
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let first = certificate();
    let other = authority.issue(&PKCS_ECDSA_P256_SHA256);
    let next = authority.issue(&PKCS_ECDSA_P256_SHA256);
    publish(&folders, 1, &(other.0, next.1.clone()));
    let line = server.logs("cannot reload the certificate, keeping the last one");
    assert!(
        line.contains("KeyMismatch") && line.contains("tls/tls.crt"),
        "{line}"
    );
    assert_eq!(certificate(), first);
    publish(&folders, 2, &next);
    server.logs("certificate reloaded");
    assert_ne!(certificate(), first);
    let query = serde_json::json!({ "query": PACKAGES }).to_string();
    let request =
        http::Request::post("https://localhost/graphql").header("content-type", "application/json");
    let answer = runtime.block_on(async {
        ask(
            &http2(connect(server.address, &config).await).await,
            request,
            &query,
        )
        .await
    });
    assert_eq!(answer, (200, packages(&["p"])));
}

#[test]
fn the_secret_of_the_command_has_a_certificate_for_a_year_that_clients_of_the_service_accept() {
    let folders = Folders::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let output = run(catalogql().args([
        "certificate",
        "--for",
        "catalogql.olm",
        "--for",
        "catalogd-service.olmv1-system",
    ]));
    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    let head = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata:\n  name: catalogql-tls\n  namespace: olm\n";
    assert!(output.stdout.starts_with(head), "{}", output.stdout);
    for name in ["ca.crt", "tls.crt", "tls.key"] {
        let start = format!("  {name}: ");
        let value = output
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .unwrap();
        folders.write(
            name,
            base64::engine::general_purpose::STANDARD
                .decode(value)
                .unwrap(),
        );
    }
    let ca = folders.text("ca.crt");
    let certificate = folders.text("tls.crt");
    let key = folders.text("tls.key");
    let source = folders.text("a");
    let server = Server::start(
        &folders,
        &[
            &source,
            "--tls-cert-file",
            &certificate,
            "--tls-private-key-file",
            &key,
        ],
    );
    let verified = |name: &str| {
        let mut command = tool_command("openssl");
        command.args([
            "s_client",
            "-connect",
            &server.address.to_string(),
            "-CAfile",
            &ca,
            "-verify_return_error",
        ]);
        run(command
            .args(["-verify_hostname", name])
            .stdin(Stdio::null()))
        .status
            == Some(0)
    };
    for name in [
        "catalogql",
        "catalogql.olm",
        "catalogql.olm.svc",
        "catalogql.olm.svc.cluster.local",
    ] {
        assert!(verified(name), "{name}");
    }
    assert!(verified("catalogd-service.olmv1-system.svc") && !verified("catalogql.default.svc"));
    let valid_for = |days: u32| {
        let mut command = tool_command("openssl");
        let seconds = (days * 86_400).to_string();
        run(command.args(["x509", "-in", &certificate, "-noout", "-checkend", &seconds])).status
            == Some(0)
    };
    assert!(valid_for(364) && !valid_for(366));
}

#[test]
fn plain_http_is_not_served_to_other_machines_by_accident() {
    let folders = Folders::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let serve = |flags: &[&str]| {
        let source = folders.text("a");
        let store = folders.text("store");
        let output = run(catalogql()
            .args(["serve", &source, "--store", &store])
            .args(flags));
        (output.status, folders.shown(&output.stderr))
    };
    let (status, message) = serve(&["--listen", "0.0.0.0:0"]);
    assert_eq!(status, Some(1));
    let expected = "which other machines reach: pass --tls-cert-file and --tls-private-key-file, or --plain-http if that \
                    is intended";
    assert!(
        message.contains("cannot serve plain HTTP on `0.0.0.0:") && message.contains(expected),
        "{message}"
    );
    let (status, message) = serve(&[
        "--tls-cert-file=/nowhere.crt",
        "--tls-private-key-file=/nowhere.key",
    ]);
    assert_eq!(
        (
            status,
            message.contains("cannot read `/nowhere.crt`: No such file")
        ),
        (Some(1), true),
        "{message}"
    );
    let (status, message) = serve(&["--tls-cert-file=/nowhere.crt"]);
    assert_eq!(
        (status, message.contains("--tls-private-key-file <FILE>")),
        (Some(2), true),
        "{message}"
    );
}

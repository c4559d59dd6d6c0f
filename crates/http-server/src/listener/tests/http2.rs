//! TLS and HTTP/2: each limit from both sides, and the end of connections.

use axum::body::Bytes;
use axum::http::{Extensions, Request, request};
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    generate_simple_self_signed,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use testing::Folders;
use tokio::task::yield_now;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::limits::Http2Limits;
use crate::tls::{HTTP2, Tls, TlsFiles, TlsVersion};

/// A server with TLS, and what its clients trust.
struct Secure {
    server: Server,
    connector: TlsConnector,
}

/// A client's HTTP/2 connection.
struct Client {
    requests: SendRequest<Bytes>,
    /// Ends with the connection, and says why.
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Secure {
    async fn start(limits: ConnectionLimits) -> Self {
        let folders = Folders::new();
        let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        folders.write("tls.crt", made.cert.pem());
        folders.write("tls.key", made.signing_key.serialize_pem());
        let files = TlsFiles {
            certificate: folders.path("tls.crt"),
            private_key: folders.path("tls.key"),
        };
        let tls = Some(Tls::new(files, TlsVersion::Tls12).unwrap());
        let server = Server::start_with(ListenOptions {
            limits,
            tls,
            ..ListenOptions::default()
        })
        .await;
        Self {
            server,
            connector: connector(made.cert.der()),
        }
    }

    /// Connects and completes the handshake.
    async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        self.connector
            .connect(
                ServerName::try_from("localhost").unwrap(),
                self.server.connect().await,
            )
            .await
    }

    /// Connects as a client that lets the server send so many bytes of each response before it has
    /// read them.
    async fn client(&self, window: u32) -> Client {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window);
        let (requests, connection) = builder
            .handshake(self.connect().await.unwrap())
            .await
            .unwrap();
        Client {
            requests: requests.ready().await.unwrap(),
            connection: tokio::spawn(connection),
        }
    }
}

impl Client {
    fn send(&mut self, path: &str) -> ResponseFuture {
        self.send_request(Request::get(format!("https://localhost{path}")), true)
            .0
    }

    fn send_request(
        &mut self,
        request: request::Builder,
        is_end: bool,
    ) -> (ResponseFuture, SendStream<Bytes>) {
        self.requests
            .send_request(request.body(()).unwrap(), is_end)
            .unwrap()
    }

    /// Status and body of a resource.
    async fn get(&mut self, path: &str) -> Result<(u16, String), h2::Error> {
        let response = timeout(TOO_LONG, self.send(path))
            .await
            .expect("no response begins")?;
        Ok((
            response.status().as_u16(),
            String::from_utf8(read(response.into_body()).await?).unwrap(),
        ))
    }

    /// Waits until the server has closed the connection.
    async fn closed(self) -> Result<(), h2::Error> {
        let Self {
            requests,
            connection,
        } = self;
        let closed = timeout(TOO_LONG, connection)
            .await
            .expect("the connection is never closed")
            .unwrap();
        drop(requests);
        closed
    }
}

fn connector(certificate: &CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![HTTP2.to_vec()];
    TlsConnector::from(Arc::new(config))
}

async fn read(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut read = Vec::new();
    while let Some(bytes) = timeout(TOO_LONG, body.data())
        .await
        .expect("the body goes on")
    {
        let bytes = bytes?;
        body.flow_control().release_capacity(bytes.len())?;
        read.extend_from_slice(&bytes);
    }
    Ok(read)
}

#[tokio::test]
async fn requests_of_one_connection_are_answered_at_once_and_whole() {
    let secure = Secure::start(limits()).await;
    let mut client = secure.client(65_535).await;
    let waiting: Vec<_> = (0..31).map(|_| client.send("/wait")).collect();
    secure.server.has_begun(31).await;
    assert_eq!(client.get("/large").await.unwrap().1.len(), LARGE);
    secure.server.go.notify_waiters();
    for response in waiting {
        assert_eq!(
            read(response.await.unwrap().into_body()).await.unwrap(),
            b"waited\n"
        );
    }
}

#[tokio::test]
async fn a_connection_has_as_many_requests_as_it_may_and_the_next_one_waits() {
    let secure = Secure::start(limits()).await;
    let mut client = secure.client(65_535).await;
    let streams = limits().http2.streams;
    let waiting: Vec<_> = (0..streams).map(|_| client.send("/wait")).collect();
    secure.server.has_begun(streams).await;
    assert_eq!(client.requests.current_max_send_streams(), streams as usize);
    let next = client.send("/healthz");
    secure.server.go.notify_one();
    assert_eq!(next.await.unwrap().status(), 200);
    drop(waiting);
}

#[tokio::test]
async fn requests_over_http2_are_as_many_as_connections_and_probes_have_slots_of_their_own() {
    let http2 = Http2Limits {
        streams: 8,
        ..Http2Limits::default()
    };
    let limits = ConnectionLimits {
        connections: 4,
        peer_connections: 3,
        probe_connections: 1,
        http2,
        ..limits()
    };
    let secure = Secure::start(limits).await;
    let mut client = secure.client(65_535).await;
    let waiting: Vec<_> = (0..3).map(|_| client.send("/wait")).collect();
    secure.server.has_begun(3).await;
    let mut other = secure.client(65_535).await;
    for client in [&mut client, &mut other] {
        let refused = client.get("/nothing").await.unwrap_err();
        assert_eq!(
            (refused.is_remote(), refused.reason()),
            (true, Some(Reason::REFUSED_STREAM))
        );
        assert_eq!(
            client.get("/healthz").await.unwrap(),
            (200, "ok\n".to_owned())
        );
    }
    drop(waiting);
    let freed = async { while client.get("/nothing").await.is_err() {} };
    timeout(TOO_LONG, freed)
        .await
        .expect("requests that are cancelled make room");
}

#[tokio::test]
async fn headers_have_bytes_up_to_their_limit_over_http2() {
    let secure = Secure::start(limits()).await;
    let mut client = secure.client(65_535).await;
    // A header counts with its name and 32 bytes more (RFC 9113 §6.5.2).
    let own: usize = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "localhost"),
        (":path", "/healthz"),
    ]
    .map(|(name, value)| name.len() + value.len() + 32)
    .iter()
    .sum();
    let most = limits().header_bytes - own - "filler".len() - 32;
    for (length, expected) in [(most, 200), (most + 1, 431)] {
        let request =
            Request::get("https://localhost/healthz").header("filler", "x".repeat(length));
        let (response, _) = client.send_request(request, true);
        assert_eq!(response.await.unwrap().status(), expected, "{length}");
    }
}

#[tokio::test]
async fn a_request_over_http2_names_a_host_that_is_allowed() {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folders = Folders::new();
    folders.write("tls.crt", made.cert.pem());
    folders.write("tls.key", made.signing_key.serialize_pem());
    let files = TlsFiles {
        certificate: folders.path("tls.crt"),
        private_key: folders.path("tls.key"),
    };
    let hosts = AllowedHosts::new(&[], "127.0.0.1:0", ([127, 0, 0, 1], 80).into());
    let tls = Some(Tls::new(files, TlsVersion::Tls13).unwrap());
    let server = Server::start_with(ListenOptions {
        limits: limits(),
        hosts,
        tls,
        ..ListenOptions::default()
    })
    .await;
    let secure = Secure {
        server,
        connector: connector(made.cert.der()),
    };
    let mut client = secure.client(65_535).await;
    for (url, host, expected) in [
        ("https://localhost/nothing", None, 404),
        ("https://evil.example.com/nothing", None, 421),
        ("https://localhost/nothing", Some("evil.example.com"), 421),
        ("https://evil.example.com/healthz", None, 200),
    ] {
        let request = host.into_iter().fold(Request::get(url), |request, host| {
            request.header("host", host)
        });
        let (response, _) = client.send_request(request, true);
        assert_eq!(response.await.unwrap().status(), expected, "{url} {host:?}");
    }
}

#[tokio::test]
async fn a_response_without_a_window_closes_the_connection_and_a_slow_one_does_not() {
    let secure = Secure::start(ConnectionLimits {
        write_timeout: SHORT,
        ..limits()
    })
    .await;
    let mut slow = secure.client(65_535).await;
    let mut stalling = secure.client(65_535).await;
    let response = stalling.send("/large").await.unwrap();
    // Another one reads what comes, piece by piece, until that connection is closed.
    let reading = async {
        loop {
            let mut body = slow.send("/large").await.unwrap().into_body();
            while let Some(bytes) = body.data().await {
                body.flow_control()
                    .release_capacity(bytes.unwrap().len())
                    .unwrap();
                yield_now().await;
            }
        }
    };
    let error = tokio::select! {
        closed = stalling.closed() => closed.unwrap_err(),
        () = reading => unreachable!(),
    };
    assert!(error.is_io(), "{error}");
    drop(response);
    assert!(!slow.connection.is_finished());
}

#[tokio::test]
async fn a_connection_without_requests_is_told_to_close_and_is_closed() {
    let http2 = Http2Limits {
        goodbye: SHORT,
        ..Http2Limits::default()
    };
    let secure = Secure::start(ConnectionLimits {
        header_timeout: SHORT,
        http2,
        ..limits()
    })
    .await;
    let mut client = secure.client(65_535).await;
    assert_eq!(client.get("/healthz").await.unwrap().0, 200);
    client.closed().await.expect("it says goodbye");
    // One that never answers.
    let mut silent = secure.connect().await.unwrap();
    silent
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let mut frames = Vec::new();
    let _ = timeout(TOO_LONG, silent.read_to_end(&mut frames))
        .await
        .expect("the connection is never closed");
    let goaway = b"\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0";
    assert!(
        frames.windows(goaway.len()).any(|window| window == goaway),
        "{frames:?}"
    );
}

#[tokio::test]
async fn the_end_answers_requests_over_http2_and_closes_their_connections() {
    let secure = Secure::start(limits()).await;
    let mut busy = secure.client(65_535).await;
    let idle = secure.client(65_535).await;
    let waiting = busy.send("/wait");
    secure.server.has_begun(1).await;
    secure.server.end.send(()).unwrap();
    idle.closed().await.expect("it says goodbye");
    secure.server.go.notify_one();
    assert_eq!(
        read(waiting.await.unwrap().into_body()).await.unwrap(),
        b"waited\n"
    );
    busy.closed().await.expect("it says goodbye");
    timeout(TOO_LONG, secure.server.done)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_handshake_must_be_completed_in_time() {
    let secure = Secure::start(ConnectionLimits {
        handshake_timeout: SHORT,
        ..limits()
    })
    .await;
    for sent in [
        &b"\x16\x03\x01\x02\0\x01"[..],
        b"\x16",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let mut stream = secure.server.connect().await;
        stream.write_all(sent).await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(TOO_LONG, stream.read_to_end(&mut answer))
            .await
            .expect("the connection is never closed");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    assert_eq!(
        secure.client(65_535).await.get("/healthz").await.unwrap().0,
        200
    );
}

#[tokio::test]
async fn for_a_handshake_beyond_the_limit_the_one_is_aborted_that_began_first() {
    let secure = Secure::start(ConnectionLimits {
        handshakes: 4,
        handshake_timeout: TOO_LONG,
        ..limits()
    })
    .await;
    let mut slow = Vec::new();
    let are_closed = async |slow: &[TcpStream], expected: usize| {
        let is_closed = |stream: &&TcpStream| match stream.try_read(&mut [0; 1]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        let waiting = async {
            while slow.iter().filter(is_closed).count() < expected {
                yield_now().await;
            }
        };
        timeout(TOO_LONG, waiting)
            .await
            .expect("no handshake is aborted");
        assert_eq!(slow.iter().filter(is_closed).count(), expected);
    };
    // Half of them are for one address.
    for _ in 0..3 {
        let mut stream = secure.server.connect().await;
        stream.write_all(b"\x16\x03\x01\x02\0").await.unwrap();
        slow.push(stream);
    }
    are_closed(&slow, 1).await;
    // Whoever is quick is served.
    assert_eq!(
        secure.client(65_535).await.get("/healthz").await.unwrap().0,
        200
    );
    are_closed(&slow, 2).await;
}

#[tokio::test]
async fn while_all_connections_are_busy_probes_with_tls_are_answered_over_http_1() {
    let limits = ConnectionLimits {
        connections: 1,
        probe_connections: 1,
        ..limits()
    };
    let mut secure = Secure::start(limits).await;
    let mut busy = secure.client(65_535).await;
    let waiting = busy.send("/wait");
    secure.server.has_begun(1).await;
    let error = secure.connect().await.unwrap_err();
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
    let mut config = ClientConfig::clone(secure.connector.config());
    config.alpn_protocols.push(b"http/1.1".to_vec());
    secure.connector = TlsConnector::from(Arc::new(config));
    let mut probe = secure.connect().await.unwrap();
    probe
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    timeout(TOO_LONG, probe.read_to_string(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok\n"),
        "{answer}"
    );
    drop(waiting);
}

#[tokio::test]
async fn requests_of_a_client_with_a_certificate_have_its_extensions() {
    /// Number of certificates of the client.
    #[derive(Clone)]
    struct ChainLength(usize);

    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();

    let folders = Folders::new();
    let own = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    folders.write("tls.crt", own.cert.pem());
    folders.write("tls.key", own.signing_key.serialize_pem());
    let files = TlsFiles {
        certificate: folders.path("tls.crt"),
        private_key: folders.path("tls.key"),
    };
    let tls = Tls::new(files, TlsVersion::Tls12)
        .unwrap()
        .with_client_extensions(|chain| {
            let mut extensions = Extensions::new();
            extensions.insert(ChainLength(chain.len()));
            extensions
        });
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    tls.accept_clients(&Arc::new(roots));

    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.address();
    let chain_length = async |extensions: Extensions| {
        let length = extensions
            .get::<ChainLength>()
            .map_or(0, |ChainLength(length)| *length);
        format!("{length} certificates")
    };
    let routes = Router::new().route("/", get(chain_length));
    let options = ListenOptions {
        tls: Some(tls),
        ..ListenOptions::default()
    };
    tokio::spawn(listener.serve(routes, options, std::future::pending()));

    let connector = connector(own.cert.der());
    let mut anonymous = ClientConfig::clone(connector.config());
    anonymous.alpn_protocols.clear();
    let mut identified = anonymous.clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let key = rustls::sign::CertifiedKey::from_der(vec![certificate.der().clone()], key, &provider);
    identified.client_auth_cert_resolver =
        Arc::new(rustls::sign::SingleCertAndKey::from(key.unwrap()));
    for (config, expected) in [
        (anonymous, "0 certificates"),
        (identified, "1 certificates"),
    ] {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(name, stream).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        timeout(TOO_LONG, stream.read_to_string(&mut answer))
            .await
            .unwrap()
            .unwrap();
        assert!(answer.ends_with(expected), "{answer}");
    }
}

//! The gRPC listeners, asked by grpcurl and the health probe of the gRPC ecosystem. What calls
//! answer is tested in the crate.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use testing::{Folders, TEST_TIMEOUT, eventually, fixed_port, grpc_tools};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::support::{ARGO, ETCD, Server, catalogql, run};
use crate::tls::Authority;

fn folders() -> Folders {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    folders.catalog("b", ARGO);
    folders
}

/// Runs grpcurl, and returns the lines that it printed, or what it says of an error.
fn grpcurl(tools: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = run(Command::new(tools.join("grpcurl")).args(arguments));
    let lines = |text: String| text.lines().map(str::trim).map(ToOwned::to_owned).collect();
    if output.status == Some(0) {
        Ok(lines(output.stdout))
    } else {
        Err(output.stderr)
    }
}

fn packages(tools: &Path, arguments: &[&str]) -> Vec<String> {
    let lines = grpcurl(tools, &[arguments, &["api.Registry/ListPackages"]].concat()).unwrap();
    lines
        .into_iter()
        .filter(|line| line.starts_with("\"name\""))
        .collect()
}

fn probe(tools: &Path, arguments: &[&str]) -> Option<i32> {
    run(Command::new(tools.join("grpc-health-probe")).args(arguments)).status
}

/// An address on which nothing listens.
fn free() -> String {
    SocketAddr::from(([127, 0, 0, 1], fixed_port())).to_string()
}

#[test]
fn grpcurl_lists_describes_and_calls_and_the_probe_is_content() {
    let Some(tools) = grpc_tools() else { return };
    let folders = folders();
    let shared = free();
    let own = free();
    let grpc = [
        "--grpc",
        &shared,
        "--grpc",
        &format!("b={own}"),
        &folders.text("a"),
        &folders.text("b"),
    ];
    let _server = Server::start(&folders, &grpc);
    let services = grpcurl(&tools, &["-plaintext", &shared, "list"]).unwrap();
    assert_eq!(
        services,
        [
            "api.ExperimentalRegistry",
            "api.Registry",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
    );
    for symbol in services
        .iter()
        .map(String::as_str)
        .chain(["api.Bundle", "google.protobuf.Struct"])
    {
        let lines = grpcurl(&tools, &["-plaintext", &shared, "describe", symbol]).unwrap();
        assert!(
            lines[0].starts_with(&format!("{symbol} is a ")),
            "{lines:?}"
        );
    }
    let etcd = ["\"name\": \"etcd\""];
    let argo = ["\"name\": \"argo\""];
    assert_eq!(
        packages(&tools, &["-plaintext", "-rpc-header", "catalog:a", &shared]),
        etcd
    );
    assert_eq!(
        packages(
            &tools,
            &["-plaintext", "-authority", "b.olm.svc:50051", &shared]
        ),
        argo
    );
    assert_eq!(packages(&tools, &["-plaintext", &own]), argo);
    let error = grpcurl(
        &tools,
        &["-plaintext", &shared, "api.Registry/ListPackages"],
    )
    .unwrap_err();
    assert!(
        error.contains("FailedPrecondition") && error.contains("(a, b)"),
        "{error}"
    );
    let request = r#"{"pkgName":"etcd","channelName":"stable"}"#;
    let bundle = [
        "-plaintext",
        "-rpc-header",
        "catalog:a",
        "-d",
        request,
        &shared,
        "api.Registry/GetBundleForChannel",
    ];
    let lines = grpcurl(&tools, &bundle).unwrap();
    assert!(
        lines.contains(&"\"csvName\": \"etcd.v0.9.4\",".to_owned()),
        "{lines:?}"
    );
    for service in ["", "a", "b", "api.Registry"] {
        assert_eq!(
            probe(&tools, &["-addr", &shared, "-service", service]),
            Some(0),
            "{service}"
        );
    }
}

#[test]
fn grpc_is_served_over_tls_with_the_certificate_of_the_server() {
    let Some(tools) = grpc_tools() else { return };
    let folders = folders();
    let authority = Authority::new();
    let [secure, plain, of_server] = std::array::from_fn(|_| free());
    folders.write("ca.crt", authority.pem());
    let of_address = format!("{of_server}/plaintext");
    let _server = authority.start(
        &folders,
        &["--grpc", &secure, "--grpc", &of_address, &folders.text("a")],
    );
    // The name in the certificate.
    let secure = secure.replace("127.0.0.1", "localhost");
    let _other = authority.start(
        &self::folders(),
        &["--grpc", &plain, "--grpc-plaintext", &folders.text("a")],
    );
    let ca = folders.text("ca.crt");
    assert_eq!(
        packages(&tools, &["-cacert", &ca, &secure]),
        ["\"name\": \"etcd\""]
    );
    for plain in [&plain, &of_server] {
        assert_eq!(
            packages(&tools, &["-plaintext", plain]),
            ["\"name\": \"etcd\""]
        );
    }
    assert_eq!(
        probe(&tools, &["-addr", &secure, "-tls", "-tls-ca-cert", &ca]),
        Some(0)
    );
    assert_ne!(probe(&tools, &["-addr", &secure]), Some(0), "without TLS");
}

#[test]
fn grpc_is_not_served_in_plain_text_to_other_machines_unless_that_is_meant() {
    let folders = folders();
    let serve = [
        "serve",
        "--listen=127.0.0.1:0",
        "--grpc=0.0.0.0:0",
        "--store",
        &folders.text("store"),
    ];
    let refused = run(catalogql().args(serve).arg(folders.text("a")));
    assert_eq!(refused.status, Some(1));
    assert!(
        refused
            .stderr
            .contains("cannot serve gRPC without TLS on `0.0.0.0:"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("--grpc-plaintext"),
        "{}",
        refused.stderr
    );
}

/// Connections of a client that reads nothing, each with as many calls as it may have.
const CONNECTIONS: usize = 3;
const CALLS: usize = 100;

/// More than these calls together may cost, in bytes of memory that no file backs: half of all
/// responses of the server, each with what HTTP/2 keeps unsent, the buffers that its messages are
/// written to, and room for how memory is given out. About 33 MiB were seen.
const MEMORY: u64 = (grpc::LARGE_RESPONSES as u64 / 2) << 19;

/// Shorter than the server's patience with clients that accept nothing.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn who_reads_nothing_holds_little_memory_and_keeps_nobody_else_waiting() {
    let folders = Folders::new();
    let address = free();
    let versions: Vec<_> = (0..4_000)
        .map(|version| format!("v{version}.0.0"))
        .collect();
    folders.catalog(
        "large",
        &format!(
            "package etcd default=alpha\n channel alpha: {}",
            versions.join(" <- ")
        ),
    );
    let server = Server::start(&folders, &["--grpc", &address, &folders.text("large")]);
    let [reads, sleeps] =
        [(), ()].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let count = || {
        let counting =
            async { count_bundles(connect(&address, [127, 0, 0, 2], 1 << 16).await).await };
        reads.block_on(async {
            timeout(PATIENCE, counting)
                .await
                .expect("others are answered")
        })
    };
    assert_eq!(count(), versions.len());
    let before = server.anonymous_bytes();
    // Windows for everything, but nothing is read of the sockets any more once the first calls are
    // answered.
    let unread = sleeps.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut client = connect(&address, [127, 0, 0, 1], 1 << 30).await;
            clients.push((
                (0..CALLS)
                    .map(|_| list_bundles(&mut client))
                    .collect::<Vec<_>>(),
                client,
            ));
        }
        let first = clients[0].0.remove(0).await.expect("it answers");
        (clients, first)
    });
    assert_eq!(count(), versions.len());
    let grown = server.anonymous_bytes().saturating_sub(before);
    assert!(grown < MEMORY, "{} KiB more", grown >> 10);
    drop(unread);
}

/// A connection from this address, whose streams have windows of so many bytes.
async fn connect(address: &str, from: [u8; 4], window: u32) -> SendRequest<Bytes> {
    let socket = TcpSocket::new_v4().expect("there are sockets");
    socket
        .bind(SocketAddr::from((from, 0)))
        .expect("every address of the loopback network is there");
    let stream = socket
        .connect(address.parse().unwrap())
        .await
        .expect("it listens");
    let mut client = h2::client::Builder::new();
    client
        .initial_window_size(window)
        .initial_connection_window_size(window);
    let (requests, connection) = client.handshake(stream).await.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    requests.ready().await.expect("it takes requests")
}

/// Asks for all bundles of the catalog of the listener.
fn list_bundles(client: &mut SendRequest<Bytes>) -> ResponseFuture {
    list_bundles_of(client, "localhost")
}

/// Asks for all bundles of the catalog of a host; the message of the call is empty.
fn list_bundles_of(client: &mut SendRequest<Bytes>, host: &str) -> ResponseFuture {
    let request = http::Request::post(format!("http://{host}/api.Registry/ListBundles"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let (response, mut message) = client
        .send_request(request.body(()).unwrap(), false)
        .expect("it takes requests");
    message
        .send_data(Bytes::from_static(&[0; 5]), true)
        .expect("it takes messages");
    response
}

/// Messages that a stream of bundles has.
async fn count_bundles(mut client: SendRequest<Bytes>) -> usize {
    let mut stream = list_bundles(&mut client)
        .await
        .expect("it answers")
        .into_body();
    let mut text = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data.expect("the stream is whole");
        stream
            .flow_control()
            .release_capacity(data.len())
            .expect("it was received");
        text.extend_from_slice(&data);
    }
    let mut messages = 0;
    let mut rest = text.as_slice();
    while let Some((head, after)) = rest.split_first_chunk::<5>() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        rest = &after[usize::try_from(length).unwrap()..];
        messages += 1;
    }
    messages
}

/// Returns whether a connection takes a call for the bundles of the catalog of a host.
async fn takes_call(client: &mut SendRequest<Bytes>, host: &str) -> bool {
    let is_ready = std::future::poll_fn(|context| client.poll_ready(context));
    if is_ready.await.is_err() {
        return false;
    }
    let mut body = match list_bundles_of(client, host).await {
        Ok(response) => response.into_body(),
        Err(_) => return false,
    };
    while let Some(data) = body.data().await {
        if data.is_err() {
            return false;
        }
    }
    true
}

#[test]
fn a_connection_ends_when_the_catalog_that_it_asked_for_has_new_content() {
    let folders = folders();
    let address = free();
    let catalogs = [folders.text("a"), folders.text("b")];
    let [a, b] = &catalogs;
    let _server = Server::start(&folders, &["--watch", "--grpc", &address, a, b]);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("there are threads");
    runtime.block_on(async {
        let window = 1 << 20;
        let mut of_a = connect(&address, [127, 0, 0, 1], window).await;
        let mut of_b = connect(&address, [127, 0, 0, 1], window).await;
        assert!(takes_call(&mut of_a, "a.olm.svc").await);
        assert!(takes_call(&mut of_b, "b.olm.svc").await);
        // Later calls of the connection do not tie it to their catalogs.
        assert!(takes_call(&mut of_b, "a.olm.svc").await);

        folders.catalog("a", ARGO);
        let begun = std::time::Instant::now();
        while takes_call(&mut of_a, "a.olm.svc").await {
            assert!(begun.elapsed() < TEST_TIMEOUT, "the connection stays open");
            tokio::task::yield_now().await;
        }
        assert!(takes_call(&mut of_b, "b.olm.svc").await);

        let mut again = connect(&address, [127, 0, 0, 1], window).await;
        assert!(takes_call(&mut again, "a.olm.svc").await);
    });
}

#[test]
fn callers_of_grpc_are_told_apart_only_where_the_server_tells_callers_apart() {
    let folders = folders();
    for flags in [
        ["--grpc=127.0.0.1:0/auth=delegated", "--auth=none"],
        ["--grpc=127.0.0.1:0", "--grpc-auth=delegated"],
    ] {
        let serve = [
            "serve",
            "--listen=127.0.0.1:0",
            "--store",
            &folders.text("store"),
        ];
        let refused = run(catalogql().args(serve).args(flags).arg(folders.text("a")));
        assert_eq!(refused.status, Some(1));
        assert!(
            refused.stderr.contains("need --auth=delegated"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn no_listener_takes_connections_while_another_one_ends() {
    let folders = folders();
    let grpc = free();
    let server = Server::start(&folders, &["--grpc", &grpc, &folders.text("a")]);
    let body = r#"{"query":"{__typename}"}"#;
    let mut pending = TcpStream::connect(server.address).unwrap();
    let head = "POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
    write!(
        pending,
        "{head}Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    let mut goes_on = [0; 25];
    pending.read_exact(&mut goes_on).unwrap();
    assert_eq!(goes_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
    server.signal("TERM");
    eventually(|| TcpStream::connect(&grpc).err());
    pending.write_all(body.as_bytes()).unwrap();
    let mut response = String::new();
    pending.read_to_string(&mut response).unwrap();
    assert!(
        response.starts_with("HTTP/1.1 200") && response.contains("Query"),
        "{response}"
    );
    let (status, ..) = server.ended();
    assert!(status.success());
}

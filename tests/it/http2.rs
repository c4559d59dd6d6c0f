//! HTTP/2 between the program and clients: streams of events, and clients that mean harm. What
//! these cost is bounded, and others do not notice them.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use testing::TEST_TIMEOUT;
use tokio::runtime::Runtime;

use crate::support::{Folders, Server, eventually};
use crate::tls::{Authority, ask, connect, http2};

/// Types of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// Flags of `HEADERS`.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Error code with which a server ends a connection that costs too much.
const ENHANCE_YOUR_CALM: u32 = 11;

/// More than the clients of a test together may cost, in bytes of memory that no file backs.
const MEMORY: u64 = 64 << 20;

/// More bytes than are on their way between two sockets.
const FLOOD: usize = 64 << 20;

/// Budget for unread responses in bytes.
const IN_FLIGHT: u64 = 16 << 20;

/// A server with TLS, and a client that means no harm.
struct Fixture {
    server: Server,
    authority: Authority,
    runtime: Runtime,
    good: SendRequest<Bytes>,
    before: u64,
    _folders: Folders,
}

/// A connection on which frames are written as they are.
struct Frames(StreamOwned<ClientConnection, TcpStream>);

impl Fixture {
    fn start() -> Self {
        let folders = Folders::new();
        let authority = Authority::new();
        let runtime = Runtime::new().unwrap();
        let blob = |number| {
            format!(
                "{{\"schema\":\"x\",\"name\":\"{number}\",\"text\":\"{}\"}}\n",
                "y".repeat(4000)
            )
        };
        folders.write("large/catalog.json", (0..500).map(blob).collect::<String>());
        let limit = IN_FLIGHT.to_string();
        let server = authority.start(
            &folders,
            &[&folders.text("large"), "--max-in-flight", &limit],
        );
        let good = runtime.block_on(async {
            http2(connect(server.address, &authority.client(&["h2"])).await).await
        });
        let mut fixture = Self {
            server,
            authority,
            runtime,
            good,
            before: 0,
            _folders: folders,
        };
        fixture.unharmed("nobody");
        fixture.before = fixture.server.anonymous_bytes();
        fixture
    }

    fn connect(&self, settings: &[(u16, u32)]) -> Frames {
        Frames::connect(
            self.server.address,
            &self.authority.client(&["h2"]),
            settings,
        )
    }

    /// Others are served, and what the harm costs is bounded.
    fn unharmed(&self, harm: &str) {
        for (path, expected) in [
            ("/catalogs/large/api/v1/metas?name=7", 4036),
            ("/healthz", 3),
        ] {
            let request = http::Request::get(format!("https://localhost{path}"));
            let (status, body) = self.runtime.block_on(ask(&self.good, request, ""));
            assert_eq!((status, body.len()), (200, expected), "{path}");
        }
        let grown = self.server.anonymous_bytes().saturating_sub(self.before);
        if self.before > 0 {
            eprintln!("{harm}: {} KiB more", grown >> 10);
            assert!(grown < MEMORY, "{} MiB more", grown >> 20);
        }
    }
}

impl Frames {
    fn connect(address: SocketAddr, config: &Arc<ClientConfig>, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream
            .set_read_timeout(Some(TEST_TIMEOUT))
            .expect("a time-out can be set");
        // Who does not read keeps the server from reading: a write that blocks is what some tests
        // wait for.
        stream
            .set_write_timeout(Some(Duration::from_secs(1)))
            .expect("a time-out can be set");
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::clone(config), name).unwrap();
        let mut frames = Self(StreamOwned::new(client, stream));
        let settings = settings.iter().flat_map(|(id, value)| {
            let id = id.to_be_bytes();
            let value = value.to_be_bytes();
            id.into_iter().chain(value)
        });
        let settings: Vec<_> = settings.collect();
        frames
            .0
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .expect("it reads");
        assert!(frames.send(&frame(SETTINGS, 0, 0, &settings)));
        frames
    }

    /// Sends frames; `false` if the server does not read them any more.
    fn send(&mut self, frames: &[u8]) -> bool {
        match self.0.write_all(frames) {
            Ok(()) => true,
            Err(error) => {
                let closed = [
                    ErrorKind::WouldBlock,
                    ErrorKind::BrokenPipe,
                    ErrorKind::ConnectionReset,
                ];
                assert!(closed.contains(&error.kind()), "{error}");
                false
            }
        }
    }

    /// Reads frames until one of this type, and returns its payload; `None` if the connection ends
    /// before.
    fn receive(&mut self, wanted: u8) -> Option<Vec<u8>> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).ok()?;
            if head[3] == wanted {
                return Some(payload);
            }
        }
    }

    /// Waits until the server ends the connection, and returns the error code that it names.
    fn goaway(&mut self) -> Option<u32> {
        let payload = self.receive(GOAWAY)?;
        Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()))
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head[..], &stream.to_be_bytes(), payload].concat()
}

/// A header that stands in no table (RFC 7541 §6.2.2).
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// The headers of a request, `:authority` and `:path` by their numbers in the table (RFC 7541
/// Appendix A).
fn headers(method: u8, path: &str) -> Vec<u8> {
    let text = |number: u8, text: &str| {
        [
            &[number, u8::try_from(text.len()).unwrap()],
            text.as_bytes(),
        ]
        .concat()
    };
    [vec![method, 0x87], text(1, "localhost"), text(4, path)].concat()
}

/// `GET` and `POST` in the table.
const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// The identifiers of a client's requests.
fn streams() -> impl Iterator<Item = u32> {
    (1..).step_by(2)
}

#[test]
fn requests_that_are_reset_at_once_end_the_connection_that_sends_them() {
    let fixture = Fixture::start();
    let request = headers(GET, "/catalogs/large/api/v1/all");
    for _ in 0..20 {
        let mut client = fixture.connect(&[]);
        for streams in streams().take(100_000).collect::<Vec<_>>().chunks(100) {
            let pair = |stream: &u32| {
                let cancelled = frame(RST_STREAM, 0, *stream, &8_u32.to_be_bytes());
                [
                    frame(HEADERS, END_STREAM | END_HEADERS, *stream, &request),
                    cancelled,
                ]
                .concat()
            };
            if !client.send(&streams.iter().flat_map(pair).collect::<Vec<_>>()) {
                break;
            }
        }
        // What it says may be lost on a connection that it closes.
        assert!(client.goaway().is_none_or(|code| code == ENHANCE_YOUR_CALM));
    }
    fixture.unharmed("two million requests that are reset at once");
}

#[test]
fn headers_without_end_end_the_connection_that_sends_them() {
    let fixture = Fixture::start();
    let filler = field("a", &"x".repeat(100));
    let large = filler.repeat(16_000 / filler.len());
    for (what, more) in [
        ("large", large.as_slice()),
        ("small", &filler),
        ("empty", &[]),
    ] {
        let mut client = fixture.connect(&[]);
        assert!(client.send(&frame(HEADERS, END_STREAM, 1, &headers(GET, "/healthz"))));
        let more = frame(CONTINUATION, 0, 1, more).repeat(if more.len() < 1000 { 1000 } else { 1 });
        let mut sent = 0;
        while sent < FLOOD && client.send(&more) {
            sent += more.len();
        }
        assert!(sent < FLOOD, "{what} frames go on and on");
        assert!(
            client
                .goaway()
                .is_none_or(|code| code == ENHANCE_YOUR_CALM || code == 1),
            "{what}"
        );
    }
    fixture.unharmed("headers without end");
}

#[test]
fn who_asks_for_answers_to_settings_and_pings_and_reads_none_is_not_read_any_more() {
    let fixture = Fixture::start();
    let mut clients = Vec::new();
    for (what, one) in [
        ("settings", frame(SETTINGS, 0, 0, &[])),
        ("pings", frame(PING, 0, 0, &[7; 8])),
    ] {
        let mut client = fixture.connect(&[]);
        let many = one.repeat(1000);
        let mut sent = 0;
        while sent < FLOOD && client.send(&many) {
            sent += many.len();
        }
        eprintln!("{} KiB of {what} were read", sent >> 10);
        assert!(
            sent < FLOOD,
            "{what} are read although nobody reads the answers"
        );
        fixture.unharmed(what);
        clients.push(client);
    }
    drop(clients);
    fixture.unharmed("floods that are over");
}

#[test]
fn responses_that_clients_let_nobody_send_hold_no_more_than_the_budget() {
    let fixture = Fixture::start();
    // Two megabytes each.
    let path = "/graphql?query=%7Bmetas(first:500)%7Bnodes%7Bblob%7D%7D%7D";
    let mut clients = Vec::new();
    for _ in 0..8 {
        // SETTINGS_INITIAL_WINDOW_SIZE: not a byte of a response may be sent.
        let mut client = fixture.connect(&[(4, 0)]);
        for stream in streams().take(32) {
            assert!(client.send(&frame(
                HEADERS,
                END_STREAM | END_HEADERS,
                stream,
                &headers(GET, path)
            )));
        }
        // Each request is answered or refused, and the headers say so.
        for _ in 0..32 {
            client.receive(HEADERS).expect("a response begins");
        }
        clients.push(client);
    }
    let grown = || {
        fixture
            .server
            .anonymous_bytes()
            .saturating_sub(fixture.before)
    };
    eprintln!(
        "256 responses that nobody reads: {} KiB more",
        grown() >> 10
    );
    // What was written and refused goes back to the system.
    eventually(|| (grown() < 2 * IN_FLIGHT).then_some(()));
    let request = http::Request::get("https://localhost/graphql?query=%7B__typename%7D");
    let answer = fixture.runtime.block_on(ask(&fixture.good, request, ""));
    assert_eq!(
        answer,
        (200, r#"{"data":{"__typename":"Query"}}"#.to_owned())
    );
    drop(clients);
}

#[test]
fn uploads_that_never_end_are_as_many_as_connections_may_be() {
    let fixture = Fixture::start();
    let mut request = headers(POST, "/graphql");
    request.extend(field("content-type", "application/json"));
    request.extend(field("content-length", "8192"));
    let mut clients = Vec::new();
    let mut refused = 0;
    for number in 0..80 {
        let mut client = fixture.connect(&[]);
        for stream in streams().take(32) {
            // One connection has no window for more.
            let part = frame(DATA, 0, stream, &[b' '; 2000]);
            assert!(client.send(&[frame(HEADERS, END_HEADERS, stream, &request), part].concat()));
        }
        // An answer to a ping follows those to what was sent before.
        assert!(client.send(&frame(PING, 0, 0, &[7; 8])));
        if number >= 64 {
            let reason = client.receive(RST_STREAM).expect("there is no room");
            assert_eq!(reason, 7_u32.to_be_bytes(), "REFUSED_STREAM");
            refused += 1;
        } else {
            client.receive(PING).expect("it answers");
        }
        clients.push(client);
    }
    assert_eq!(refused, 16);
    let request = http::Request::get("https://localhost/healthz");
    assert_eq!(
        fixture.runtime.block_on(ask(&fixture.good, request, "")),
        (200, "ok\n".to_owned())
    );
    let grown = fixture
        .server
        .anonymous_bytes()
        .saturating_sub(fixture.before);
    eprintln!("2,048 uploads: {} KiB more", grown >> 10);
    assert!(grown < MEMORY, "{} MiB more", grown >> 20);
    drop(clients);
}

#[test]
fn changes_are_told_over_http2_until_the_process_ends() {
    let fixture = Fixture::start();
    let mut text = String::new();
    let query = r#"{"query":"subscription { catalogChanged { name } }"}"#;
    fixture.runtime.block_on(async {
        let request = http::Request::post("https://localhost/graphql")
            .header("content-type", "application/json");
        let request = request
            .header("accept", "text/event-stream")
            .body(())
            .unwrap();
        let mut requests = fixture.good.clone().ready().await.unwrap();
        let (response, mut upload) = requests.send_request(request, false).unwrap();
        upload
            .send_data(Bytes::from_static(query.as_bytes()), true)
            .unwrap();
        let mut events = response.await.unwrap().into_body();
        while let Some(bytes) = events.data().await {
            let is_first = text.is_empty();
            write!(text, "{}", std::str::from_utf8(&bytes.unwrap()).unwrap()).unwrap();
            if is_first {
                fixture.server.signal("TERM");
            }
        }
    });
    assert!(
        text.starts_with(":\n\n") && text.ends_with("event: complete\ndata: \n\n"),
        "{text}"
    );
    let (status, ..) = fixture.server.ended();
    assert!(status.success());
}

#[test]
fn a_client_that_begins_with_http2_is_answered_without_tls() {
    let folders = Folders::new();
    folders.write(
        "catalog/catalog.json",
        "{\"schema\":\"x\",\"name\":\"a\"}\n",
    );
    let server = Server::start(&folders, &[&folders.text("catalog")]);
    let runtime = Runtime::new().unwrap();

    let answer = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(server.address)
            .await
            .unwrap();
        let requests = http2(stream).await;
        let uri = format!("http://{}/healthz", server.address);
        ask(&requests, http::Request::get(uri), "").await
    });
    assert_eq!(answer, (200, "ok\n".to_owned()));
}

//! `WebSocket`s whose clients read nothing: what they hold together is bounded, and others do not
//! notice them.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use testing::{TEST_TIMEOUT, WebSocketClient};

use crate::support::{Folders, Server, eventually, graphql};

/// Budget for unread responses in bytes.
const IN_FLIGHT: u64 = 64 << 20;

/// Bytes of one large answer.
const ANSWER: u64 = 32 << 20;

/// Clients that read nothing.
const CLIENTS: usize = 40;

/// Opens a WebSocket that was acknowledged.
fn connect(address: SocketAddr) -> WebSocketClient {
    let mut client = WebSocketClient::open(address, "Host: localhost\r\n").expect("it opens");
    client.send(r#"{"type":"connection_init"}"#);
    assert_eq!(client.text(), r#"{"type":"connection_ack"}"#);
    client
}

fn start(folders: &Folders) -> Server {
    let blob = |number| {
        format!(
            "{{\"schema\":\"x\",\"name\":\"{number}\",\"text\":\"{}\"}}\n",
            "y".repeat(4000)
        )
    };
    folders.write("large/catalog.json", (0..500).map(blob).collect::<String>());
    Server::start(
        folders,
        &[
            &folders.text("large"),
            "--max-in-flight",
            &IN_FLIGHT.to_string(),
        ],
    )
}

/// A short query for a little less than the largest answer.
fn large_query() -> String {
    let mut query = "{".to_owned();
    for alias in 0..16 {
        write!(query, "a{alias}:metas(first:500){{nodes{{blob}}}}")
            .expect("a string takes all text");
    }
    query + "}"
}

#[test]
fn sockets_whose_clients_read_nothing_hold_no_more_than_the_budget() {
    let folders = Folders::new();
    let server = start(&folders);
    let query = large_query();
    let mut reading = connect(server.address);
    reading.subscribe("0", &query);
    let answer = reading.text();
    assert!(
        answer.starts_with(r#"{"id":"0","type":"next","payload":{"data":{"a0":{"#)
            && answer.ends_with("]}}}}")
    );
    assert!(answer.len() as u64 > ANSWER - (4 << 20), "{}", answer.len());
    assert_eq!(reading.text(), r#"{"id":"0","type":"complete"}"#);
    let before = server.anonymous_bytes();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| connect(server.address)).collect();
    for client in &mut clients {
        client.subscribe("1", &query);
    }
    // A client that reads is told that there is no room, as soon as the others have used it up.
    let mut refused = String::new();
    while !refused.contains(r#""code":"SERVER_OVERLOADED""#) {
        reading.subscribe("1", &query);
        refused = reading.text();
        if !refused.starts_with(r#"{"id":"1","type":"error","#) {
            assert_eq!(reading.text(), r#"{"id":"1","type":"complete"}"#);
        }
    }
    reading.subscribe("2", "{__typename}");
    assert_eq!(
        reading.text(),
        r#"{"id":"2","type":"next","payload":{"data":{"__typename":"Query"}}}"#
    );
    assert_eq!(
        graphql(server.address, "{__typename}"),
        r#"{"data":{"__typename":"Query"}}"#
    );
    let grown = || server.anonymous_bytes().saturating_sub(before);
    eprintln!("{CLIENTS} clients hold {} MiB", grown() >> 20);
    let writing =
        2 * std::thread::available_parallelism().map_or(1, usize::from) as u64 * 2 * ANSWER;
    assert!(grown() < IN_FLIGHT + writing, "{} MiB more", grown() >> 20);
    // What was written and refused goes back to the system.
    eventually(|| (grown() < IN_FLIGHT).then_some(()));
    // They are told too, once they read.
    drop(clients.split_off(1));
    assert!(clients[0].text().starts_with(r#"{"id":"1","type":""#));
}

#[test]
fn a_page_opens_a_socket_only_from_the_own_origin_by_an_allowed_host() {
    let folders = Folders::new();
    let server = start(&folders);
    let status = |headers: &str| {
        WebSocketClient::open(server.address, &format!("{headers}\r\n"))
            .map_or_else(|head| head[9..12].to_owned(), |_| "101".to_owned())
    };
    for (headers, expected) in [
        ("Host: localhost:1", "101"),
        ("Host: localhost:1\r\nOrigin: http://localhost:1", "101"),
        ("Host: localhost:1\r\nOrigin: http://localhost:2", "403"),
        (
            "Host: localhost:1\r\nOrigin: http://evil.example.com",
            "403",
        ),
        (
            "Host: evil.example.com:1\r\nOrigin: http://evil.example.com:1",
            "421",
        ),
        ("Host: evil.example.com:1", "421"),
    ] {
        assert_eq!(status(headers), expected, "{headers}");
    }
}

#[test]
fn a_handshake_is_answered_with_the_names_of_headers_as_the_client_writes_them() {
    let folders = Folders::new();
    let server = start(&folders);
    let answer = |name: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let request = format!(
            "GET /graphql HTTP/1.1\r\nHost: localhost\r\n{upgrade}{key}{name}: graphql-transport-ws\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();

        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        lines
            .by_ref()
            .take_while(|line| !line.is_empty())
            .find(|line| line.ends_with("graphql-transport-ws"))
    };
    for name in [
        "Sec-WebSocket-Protocol",
        "sec-websocket-protocol",
        "SEC-WEBSOCKET-PROTOCOL",
    ] {
        assert_eq!(answer(name), Some(format!("{name}: graphql-transport-ws")));
    }
}

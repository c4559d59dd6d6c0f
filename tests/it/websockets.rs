//! `WebSocket`s whose clients read nothing: what they hold together is bounded, and others do not notice them.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::hostile_clients::anonymous;
use testing::TEST_TIMEOUT;

use crate::support::{Folders, Server, eventually, graphql};

/// Budget for unread responses in bytes.
const IN_FLIGHT: u64 = 64 << 20;

/// Bytes of one large answer.
const ANSWER: u64 = 32 << 20;

/// Clients that read nothing.
const CLIENTS: usize = 40;

/// A WebSocket of the protocol `graphql-transport-ws`.
struct Client(TcpStream);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let (stream, answer) = handshake(address, "Host: localhost");
        assert!(answer.starts_with("HTTP/1.1 101 ") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
        let mut client = Self(stream);
        client.send(r#"{"type":"connection_init"}"#);
        assert_eq!(client.receive(), r#"{"type":"connection_ack"}"#);
        client
    }

    fn send(&mut self, text: &str) {
        let length = u16::try_from(text.len()).expect("messages are short");
        // Final, text; masked, with a length of two bytes and the mask 0.
        let mut frame = vec![0x81, 0x80 | 0x7e];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).expect("it reads");
    }

    fn query(&mut self, id: &str, query: &str) {
        let payload = serde_json::json!({ "query": query });
        self.send(&serde_json::json!({ "id": id, "type": "subscribe", "payload": payload }).to_string());
    }

    /// Reads a whole message.
    fn receive(&mut self) -> String {
        let mut message = Vec::new();
        loop {
            let [head, short] = self.bytes();
            let length = match short {
                126 => u64::from(u16::from_be_bytes(self.bytes())),
                127 => u64::from_be_bytes(self.bytes()),
                short => u64::from(short),
            };
            (&self.0).take(length).read_to_end(&mut message).expect("the frame is whole");
            if head & 0x80 != 0 {
                return String::from_utf8(message).expect("it is UTF-8");
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).expect("it answers");
        bytes
    }
}

/// Asks to open a WebSocket, and gives the head of the answer.
fn handshake(address: SocketAddr, headers: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a time-out can be set");
    let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let head = "GET /graphql HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket";
    write!(stream, "{head}\r\n{headers}\r\n{key}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n")
        .expect("it reads");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0; 1];
        stream.read_exact(&mut byte).expect("it answers");
        answer.extend(byte);
    }
    (stream, String::from_utf8(answer).expect("headers are ASCII"))
}

fn start(folders: &Folders) -> Server {
    let blob = |number| format!("{{\"schema\":\"x\",\"name\":\"{number}\",\"text\":\"{}\"}}\n", "y".repeat(4000));
    folders.write("large/catalog.json", (0..500).map(blob).collect::<String>());
    Server::start(folders, &[&folders.text("large"), "--max-in-flight", &IN_FLIGHT.to_string()])
}

/// A short query for a little less than the largest answer.
fn large_query() -> String {
    let mut query = "{".to_owned();
    for alias in 0..16 {
        write!(query, "a{alias}:metas(first:500){{nodes{{blob}}}}").expect("a string takes all text");
    }
    query + "}"
}

#[test]
fn sockets_whose_clients_read_nothing_hold_no_more_than_the_budget() {
    let folders = Folders::new();
    let server = start(&folders);
    let query = large_query();
    let mut reading = Client::connect(server.address);
    reading.query("0", &query);
    let answer = reading.receive();
    assert!(answer.starts_with(r#"{"id":"0","type":"next","payload":{"data":{"a0":{"#) && answer.ends_with("]}}}}"));
    assert!(answer.len() as u64 > ANSWER - (4 << 20), "{}", answer.len());
    assert_eq!(reading.receive(), r#"{"id":"0","type":"complete"}"#);
    let before = anonymous(&server);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| Client::connect(server.address)).collect();
    for client in &mut clients {
        client.query("1", &query);
    }
    // A client that reads is told that there is no room, as soon as the others have used it up.
    let mut refused = String::new();
    while !refused.contains(r#""code":"SERVER_OVERLOADED""#) {
        reading.query("1", &query);
        refused = reading.receive();
        if !refused.starts_with(r#"{"id":"1","type":"error","#) {
            assert_eq!(reading.receive(), r#"{"id":"1","type":"complete"}"#);
        }
    }
    reading.query("2", "{__typename}");
    assert_eq!(reading.receive(), r#"{"id":"2","type":"next","payload":{"data":{"__typename":"Query"}}}"#);
    assert_eq!(graphql(server.address, "{__typename}"), r#"{"data":{"__typename":"Query"}}"#);
    let grown = || anonymous(&server).saturating_sub(before);
    eprintln!("{CLIENTS} clients hold {} MiB", grown() >> 20);
    let writing = 2 * std::thread::available_parallelism().map_or(1, usize::from) as u64 * 2 * ANSWER;
    assert!(grown() < IN_FLIGHT + writing, "{} MiB more", grown() >> 20);
    // What was written and refused goes back to the system.
    eventually(|| (grown() < IN_FLIGHT).then_some(()));
    // They are told too, once they read.
    drop(clients.split_off(1));
    assert!(clients[0].receive().starts_with(r#"{"id":"1","type":""#));
}

#[test]
fn a_page_opens_a_socket_only_from_the_own_origin_by_an_allowed_host() {
    let folders = Folders::new();
    let server = start(&folders);
    let status = |headers: &str| handshake(server.address, headers).1.split(' ').nth(1).map(str::to_owned);
    for (headers, expected) in [
        ("Host: localhost:1", "101"),
        ("Host: localhost:1\r\nOrigin: http://localhost:1", "101"),
        ("Host: localhost:1\r\nOrigin: http://localhost:2", "403"),
        ("Host: localhost:1\r\nOrigin: http://evil.example.com", "403"),
        ("Host: evil.example.com:1\r\nOrigin: http://evil.example.com:1", "421"),
        ("Host: evil.example.com:1", "421"),
    ] {
        assert_eq!(status(headers).as_deref(), Some(expected), "{headers}");
    }
}

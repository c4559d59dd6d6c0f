//! Clients that mean harm: what they cost, and that others do not notice them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http_server::ConnectionLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::{Folders, Server, exchange, send_request};

/// Lines of one large catalog.
const LINES: usize = 8_000;

/// More than all of these clients together may cost, in bytes of memory that no file backs.
const MEMORY: u64 = 48 * 1024 * 1024;

fn start(folders: &Folders) -> Server {
    let blob = |number| {
        format!(
            "{{\"schema\":\"x\",\"name\":\"{number}\",\"text\":\"{}\"}}\n",
            "y".repeat(4000)
        )
    };
    folders.write(
        "large/catalog.json",
        (0..LINES).map(blob).collect::<String>(),
    );
    Server::start(folders, &[&folders.text("large")])
}

/// Others are served, and what the harm costs is bounded.
fn unharmed(server: &Server, before: u64) {
    let answer = send_request(
        server.address,
        "GET",
        "/catalogs/large/api/v1/metas?name=7",
        &[],
    );
    assert_eq!((answer.status, answer.body.len()), (200, 4036));
    let grown = server.anonymous_bytes().saturating_sub(before);
    assert!(grown < MEMORY, "{} MiB more", grown >> 20);
}

/// As many open files as the system lets this process have.
pub(crate) fn allow_open_files(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    assert!(
        hard >= count,
        "this test opens {count} sockets: raise the hard limit, `ulimit -Hn {count}`"
    );
    if limit.current.is_some_and(|current| current < count) {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(hard),
                maximum: limit.maximum,
            },
        )
        .expect("it is allowed");
    }
}

#[test]
fn who_never_reads_holds_no_memory() {
    let folders = Folders::new();
    let server = start(&folders);
    unharmed(&server, server.anonymous_bytes());
    let before = server.anonymous_bytes();
    let request = b"GET /catalogs/large/api/v1/all HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let clients: Vec<_> = (0..100)
        .map(|_| {
            let mut client = TcpStream::connect(server.address).unwrap();
            client.write_all(request).unwrap();
            client.peek(&mut [0; 1]).expect("the answer has begun");
            client
        })
        .collect();
    unharmed(&server, before);
    drop(clients);
}

#[test]
fn two_thousand_idle_connections_keep_nobody_away() {
    const IDLE: u64 = 2_000;
    allow_open_files(IDLE + 200);
    let folders = Folders::new();
    let server = start(&folders);
    unharmed(&server, server.anonymous_bytes());
    let before = server.anonymous_bytes();
    let clients: Vec<_> = (0..IDLE)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    unharmed(&server, before);
    drop(clients);
}

#[test]
fn eight_thousand_connections_keep_no_probe_away() {
    const CONNECTIONS: u64 = 8_000;
    allow_open_files(CONNECTIONS + 200);
    let folders = Folders::new();
    let server = start(&folders);
    unharmed(&server, server.anonymous_bytes());
    let mut slowest = Duration::ZERO;
    let mut probe = || {
        let begun = Instant::now();
        let answer = send_request(server.address, "GET", "/healthz", &[]);
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, b"ok\n".as_slice())
        );
        slowest = slowest.max(begun.elapsed());
    };
    let probing = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    for number in 0..CONNECTIONS {
        let mut client = TcpStream::connect(server.address).unwrap();
        // Every other one begins a request and does not end it.
        let request = if number % 2 == 0 {
            &probing[..]
        } else {
            &probing[..30]
        };
        client.write_all(request).unwrap();
        clients.push(client);
        if number % 500 == 0 {
            probe();
        }
    }
    for client in &mut clients {
        // The server has closed many of them.
        let _ = client.write_all(probing);
    }
    (0..20).for_each(|_| probe());
    eprintln!("with {CONNECTIONS} connections, the slowest probe took {slowest:?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let files = fs::read_dir(format!("/proc/{}/fd", server.id()))
        .unwrap()
        .count() as u64;
    assert!(
        files < ConnectionLimits::default().peer_connections as u64 + 200,
        "{files} files are open"
    );
}

#[test]
fn a_megabyte_of_headers_is_refused() {
    let folders = Folders::new();
    let server = start(&folders);
    unharmed(&server, server.anonymous_bytes());
    let before = server.anonymous_bytes();
    let filler = "x".repeat(1024 * 1024);
    for request in [
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nFiller: {filler}\r\n\r\n"),
        format!(
            "GET /catalogs/large/api/v1/metas?name={filler} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ),
        format!(
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "A: b\r\n".repeat(1024 * 1024 / 6)
        ),
    ] {
        let status = exchange(server.address, request.as_bytes(), false).status;
        // A connection that is closed while it still sends may lose the answer on its way.
        assert!(matches!(status, 431 | 0), "{status}");
    }
    let target = format!("/catalogs/large/api/v1/metas?name={}", "x".repeat(20_000));
    let answer = send_request(server.address, "GET", &target, &[]);
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (414, b"414 URI Too Long\n".as_slice())
    );
    unharmed(&server, before);
}

#[test]
fn garbage_after_a_request_ends_the_connection() {
    let folders = Folders::new();
    let server = start(&folders);
    unharmed(&server, server.anonymous_bytes());
    let before = server.anonymous_bytes();
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let garbage: Vec<u8> = (0..200_000_u32)
        .map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    for _ in 0..50 {
        let mut client = TcpStream::connect(server.address).unwrap();
        client
            .set_read_timeout(Some(Duration::from_mins(2)))
            .unwrap();
        // It may stop to read before everything is sent.
        let _ = client.write_all(&[request.as_bytes(), request.as_bytes(), &garbage].concat());
        let mut answers = Vec::new();
        let _ = client.read_to_end(&mut answers);
        let answers = String::from_utf8_lossy(&answers);
        assert!(answers.matches("HTTP/1.1 200").count() <= 2, "{answers}");
    }
    unharmed(&server, before);
}

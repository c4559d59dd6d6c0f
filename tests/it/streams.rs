//! Listeners of changes: very many of them, and their end.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fbc::Catalog;
use fbc_read::origin::{FileOrigin, Origins};
use graphql::limits::Limits;
use graphql::{Engine, StreamLimits};
use http_server::{ConnectionLimits, ListenOptions, Listener};
use serving::{CatalogMetadata, Content, Served, catalogs};
use sha2::{Digest as _, Sha256};
use socket2::{Domain, Socket, Type};

use crate::hostile_clients::allow_open_files;
use crate::support::{Folders, Server, lines};

/// Files that this process has open besides the two ends of each stream.
const OTHER_FILES: u64 = 200;

/// How long it may take until every listener is told; without optimisation everything takes longer.
const ALL_TOLD: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

const CHANGES: &str = "subscription { catalogChanged { name change catalog { digest } diff { packages { name change bundles { name change } } } } }";

/// A stream of events on a connection of its own.
struct Listening {
    stream: TcpStream,
    read: String,
}

impl Listening {
    /// Returns once the server listens too.
    fn start(address: SocketAddr) -> Self {
        Self::start_from(Ipv4Addr::LOCALHOST, address)
    }

    /// Connects from a loopback address: one of them may have half of all streams.
    fn start_from(own: Ipv4Addr, address: SocketAddr) -> Self {
        let body = serde_json::json!({ "query": CHANGES }).to_string();
        let head = "POST /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json";
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
        socket
            .bind(&SocketAddr::from((own, 0)).into())
            .expect("every loopback address is this machine's");
        socket.connect(&address.into()).expect("it listens");
        let mut stream = TcpStream::from(socket);
        stream
            .set_read_timeout(Some(Duration::from_mins(2)))
            .expect("a time-out can be set");
        write!(
            stream,
            "{head}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it reads");
        let mut listening = Self {
            stream,
            read: String::new(),
        };
        listening.until(":\n\n");
        listening
    }

    /// Reads until this was said.
    fn until(&mut self, text: &str) {
        let mut buffer = [0; 16 * 1024];
        while !self.read.contains(text) {
            let length = self.stream.read(&mut buffer).expect("it goes on");
            assert!(length > 0, "the stream ended after {}", self.read);
            self.read
                .push_str(std::str::from_utf8(&buffer[..length]).expect("it is UTF-8"));
        }
    }
}

/// A catalog of many packages, one of which is of this version.
fn content(version: usize) -> Served {
    let packages = (0..200).map(|number| {
        let last = if number == 0 { version } else { 0 };
        format!(
            "package p{number} default=stable\nchannel stable: v1.0.0 <- v1.1.0 <- v1.2.{last}\n"
        )
    });
    let lines = lines(&packages.collect::<String>());
    let numbers = (1..).take(lines.lines().count()).collect();
    let file = FileOrigin {
        path: "c.json".into(),
        lines: numbers,
        ..FileOrigin::default()
    };
    let digest = fbc_grammar::Digest::new(Sha256::digest(&lines).into());
    let catalog = Catalog::build(
        lines.into(),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .expect("the lines are canonical");
    Served::new(
        "c",
        Content::new(Arc::new(catalog), digest),
        CatalogMetadata::default(),
    )
}

#[test]
fn as_many_listeners_as_there_may_be_are_told_within_a_second() {
    let count = StreamLimits::default().streams;
    allow_open_files(2 * count as u64 + OTHER_FILES);
    let (mut writer, reader) = catalogs();
    writer.publish(content(1));
    let engine = Arc::new(Engine::new(reader, "test", Limits::default()));
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    let listener = runtime
        .block_on(Listener::bind("127.0.0.1:0"))
        .expect("there is a port");
    let address = listener.address();
    let routes =
        graphql_http::GraphqlHttp::new(engine, graphql_http::GraphqlHttpSettings::default())
            .router();
    runtime.spawn(listener.serve(routes, ListenOptions::default(), std::future::pending()));
    let peers = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)];
    let mut all: Vec<_> = peers
        .iter()
        .cycle()
        .take(count)
        .map(|&own| Listening::start_from(own, address))
        .collect();
    for version in 2..5 {
        let next = content(version);
        let end = format!(
            "\"packages\":[{{\"name\":\"p0\",\"change\":\"CHANGED\",\"bundles\":[{{\"name\":\"p0.v1.2.{}\",",
            version - 1
        );
        let begun = Instant::now();
        writer.publish(next);
        for listening in &mut all {
            listening.until(&end);
        }
        let took = begun.elapsed();
        eprintln!("{count} listeners were told in {took:?}");
        assert!(took < ALL_TOLD, "{took:?}");
    }
}

#[test]
fn a_stream_is_completed_when_the_process_ends_and_does_not_hold_it_up() {
    let folders = Folders::new();
    folders.catalog("a", "package p default=stable\nchannel stable: v1.0.0");
    let server = Server::start(&folders, &[&folders.text("a")]);
    let mut listening = Listening::start(server.address);
    let begun = Instant::now();
    server.signal("TERM");
    listening.until("event: complete\ndata: \n\n");
    let (status, ..) = server.ended();
    assert!(status.success());
    assert!(
        begun.elapsed() < ConnectionLimits::default().shutdown_grace,
        "it waited until streams were cut off"
    );
}

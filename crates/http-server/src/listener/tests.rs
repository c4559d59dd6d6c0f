//! Each limit from both sides, and the end.

mod http2;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;

use super::*;
use crate::allowed_hosts::AllowedHosts;
use crate::limits::ConnectionLimits;
use crate::probes::ServerReadiness;

/// Longer than anything here takes.
const TOO_LONG: Duration = Duration::from_mins(1);

/// Shorter than a limit that a test does not want to reach.
const SHORT: Duration = Duration::from_millis(200);

/// The length of an answer that no socket takes at once.
const LARGE: usize = 32 * 1024 * 1024;

struct Server {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    done: JoinHandle<()>,
    /// Has a permit for each request to `/wait` and `/large` that has begun.
    begun: Arc<Semaphore>,
    /// Lets a request to `/wait` be answered.
    go: Arc<Notify>,
    ready: ServerReadiness,
}

impl Server {
    async fn start(limits: ConnectionLimits) -> Self {
        Self::start_with(ListenOptions {
            limits,
            ..ListenOptions::default()
        })
        .await
    }

    async fn start_with(options: ListenOptions) -> Self {
        let go = Arc::new(Notify::new());
        let begun = Arc::new(Semaphore::new(0));
        let wait = Arc::clone(&go);
        let wait_begun = Arc::clone(&begun);
        let large_begun = Arc::clone(&begun);
        let waiting = async move || {
            wait_begun.add_permits(1);
            wait.notified().await;
            "waited\n"
        };
        let large = async move || {
            large_begun.add_permits(1);
            "x".repeat(LARGE)
        };
        let ready = options.ready.clone();
        let routes = Router::new()
            .route("/wait", get(waiting))
            .route("/large", get(large));
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.address();
        let (end, ended) = oneshot::channel();
        let done = tokio::spawn(
            listener.serve(routes, options, async { ended.await.unwrap_or_default() }),
        );
        Self {
            address,
            end,
            done,
            begun,
            go,
            ready,
        }
    }

    /// Waits until so many requests to `/wait` and `/large` have begun since it was asked last.
    async fn has_begun(&self, requests: u32) {
        timeout(TOO_LONG, self.begun.acquire_many(requests))
            .await
            .unwrap()
            .unwrap()
            .forget();
    }

    async fn connect(&self) -> TcpStream {
        timeout(TOO_LONG, TcpStream::connect(self.address))
            .await
            .unwrap()
            .unwrap()
    }
}

fn limits() -> ConnectionLimits {
    ConnectionLimits {
        header_timeout: TOO_LONG,
        request_timeout: TOO_LONG,
        write_timeout: TOO_LONG,
        shutdown_grace: TOO_LONG,
        idle_grace: SHORT,
        ..ConnectionLimits::default()
    }
}

async fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// Everything until the other side closes; what it did not send before it cut the connection is not
/// waited for.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = timeout(TOO_LONG, stream.read_to_end(&mut bytes))
        .await
        .expect("the connection is never closed");
    String::from_utf8(bytes).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

async fn get_once(server: &Server, path: &str) -> String {
    let mut stream = server.connect().await;
    send(
        &mut stream,
        &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    )
    .await;
    rest(&mut stream).await
}

/// Asks until the answer has this status.
async fn until(server: &Server, path: &str, expected: &str) {
    let asking = async { while status(&get_once(server, path).await) != expected {} };
    timeout(TOO_LONG, asking)
        .await
        .expect("the status never changes");
}

#[tokio::test]
async fn a_process_is_healthy_at_once_and_ready_when_it_says_so() {
    let server = Server::start(limits()).await;
    let ask = async |path| {
        let answer = get_once(&server, path).await;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        format!("{} {body}", status(&answer))
    };
    assert_eq!(
        (ask("/healthz").await, ask("/readyz").await),
        ("200 ok\n".to_owned(), "503 loading\n".to_owned())
    );
    server
        .ready
        .set_late(["a", "b"].map(str::to_owned).into_iter());
    let waiting = "[+]ping ok\n[-]catalog/a failed: loading for the first time\n[-]catalog/b failed: loading for the \
                   first time\nreadyz check failed\n";
    assert_eq!(ask("/readyz?verbose").await, format!("503 {waiting}"));
    server.ready.set();
    server.ready.set_late(std::iter::empty());
    assert_eq!(ask("/readyz").await, "200 ok\n");
    assert_eq!(
        ask("/readyz?verbose").await,
        "200 [+]ping ok\nreadyz check passed\n"
    );
    assert_eq!(ask("/nothing").await, "404 ");
}

#[tokio::test]
async fn headers_must_come_in_time() {
    let server = Server::start(ConnectionLimits {
        header_timeout: SHORT,
        ..limits()
    })
    .await;
    for sent in [
        "",
        "GET /healthz HTTP/1.1\r\n",
        "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let mut stream = server.connect().await;
        send(&mut stream, sent).await;
        let answer = rest(&mut stream).await;
        let expected = if sent.ends_with("\r\n\r\n") {
            "200"
        } else {
            ""
        };
        assert_eq!(
            status(&answer),
            expected,
            "the connection is closed after what was asked in time: {sent}"
        );
    }
}

#[tokio::test]
async fn a_request_names_one_host() {
    let server = Server::start(limits()).await;
    let ask = async |version: &str, hosts: &str| {
        let mut stream = server.connect().await;
        send(
            &mut stream,
            &format!("GET /healthz HTTP/{version}\r\nconnection: close\r\n{hosts}\r\n"),
        )
        .await;
        let answer = rest(&mut stream).await;
        format!(
            "{} {}",
            status(&answer),
            answer.split_once("\r\n\r\n").unwrap().1
        )
    };
    for hosts in ["host: x\r\n", "host: [::1]:80\r\n", "host: \r\n"] {
        assert_eq!(ask("1.1", hosts).await, "200 ok\n", "{hosts}");
    }
    assert_eq!(ask("1.0", "").await, "200 ok\n");
    assert_eq!(
        ask("1.1", "").await,
        "400 400 Bad Request: missing required Host header"
    );
    assert_eq!(
        ask("1.1", "host: x\r\nhost: x\r\n").await,
        "400 400 Bad Request: too many Host header"
    );
    assert_eq!(
        ask("1.1", "host: a b/c\r\n").await,
        "400 400 Bad Request: malformed Host header"
    );
}

#[tokio::test]
async fn headers_have_bytes_up_to_their_limit() {
    let limits = limits();
    let server = Server::start(limits).await;
    let ask = async |length: usize| {
        let mut stream = server.connect().await;
        let head = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nfiller: ";
        let filler = "x".repeat(length - head.len() - "\r\n\r\n".len());
        let _ = stream
            .write_all(format!("{head}{filler}\r\n\r\n").as_bytes())
            .await;
        rest(&mut stream).await
    };
    assert_eq!(status(&ask(limits.header_bytes).await), "200");
    assert_eq!(status(&ask(limits.header_bytes + 1).await), "431");
}

#[tokio::test]
async fn a_request_must_be_answered_in_time() {
    let server = Server::start(ConnectionLimits {
        request_timeout: SHORT,
        ..limits()
    })
    .await;
    assert_eq!(status(&get_once(&server, "/wait").await), "408");
    let mut stream = server.connect().await;
    let accept = "accept: application/graphql-response+json";
    send(
        &mut stream,
        &format!("GET /wait HTTP/1.1\r\nhost: x\r\n{accept}\r\nconnection: close\r\n\r\n"),
    )
    .await;
    let answer = rest(&mut stream).await;
    let error = r#"{"errors":[{"extensions":{"code":"REQUEST_TIMEOUT"},"message":"the request took too long"}]}"#;
    assert_eq!(
        (status(&answer), answer.split_once("\r\n\r\n").unwrap().1),
        ("408", error)
    );
    let server = Server::start(limits()).await;
    server.go.notify_one();
    assert_eq!(status(&get_once(&server, "/wait").await), "200");
}

#[tokio::test]
async fn an_answer_must_be_accepted_in_time() {
    let server = Server::start(ConnectionLimits {
        connections: 1,
        write_timeout: SHORT,
        ..limits()
    })
    .await;
    let request = "GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut reading = server.connect().await;
    send(&mut reading, request).await;
    assert!(rest(&mut reading).await.len() > LARGE);
    let mut stalling = server.connect().await;
    server.has_begun(1).await;
    send(&mut stalling, request).await;
    server.has_begun(1).await;
    until(&server, "/nothing", "404").await;
}

#[tokio::test]
async fn for_a_connection_beyond_the_limit_the_one_that_is_idle_longest_is_evicted() {
    let server = Server::start(ConnectionLimits {
        connections: 2,
        ..limits()
    })
    .await;
    let mut first = server.connect().await;
    send(&mut first, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    first.peek(&mut [0; 1]).await.unwrap();
    let mut second = server.connect().await;
    send(&mut second, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    second.peek(&mut [0; 1]).await.unwrap();
    assert_eq!(status(&get_once(&server, "/healthz").await), "200");
    assert_eq!(
        status(&rest(&mut first).await),
        "200",
        "it was answered, and closed for the third"
    );
    send(
        &mut second,
        "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert_eq!(
        rest(&mut second).await.matches("HTTP/1.1 200").count(),
        2,
        "it was not closed"
    );
}

#[tokio::test]
async fn while_all_connections_are_busy_probes_are_answered_and_others_are_told_to_try_again() {
    let server = Server::start(ConnectionLimits {
        connections: 2,
        probe_connections: 2,
        ..limits()
    })
    .await;
    let mut busy = [server.connect().await, server.connect().await];
    for stream in &mut busy {
        send(
            stream,
            "GET /wait HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        )
        .await;
    }
    server.has_begun(2).await;
    for _ in 0..5 {
        assert_eq!(status(&get_once(&server, "/healthz").await), "200");
    }
    let refused = get_once(&server, "/nothing").await;
    let (head, text) = refused.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("retry-after: 1\r\n") && head.contains("connection: close"),
        "{head}"
    );
    assert_eq!(text, "as many connections are open as may be: try again\n");
    for stream in &mut busy {
        server.go.notify_one();
        assert_eq!(status(&rest(stream).await), "200");
    }
    until(&server, "/nothing", "404").await;
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_refused_except_by_probes() {
    let hosts = AllowedHosts::new(&[], "127.0.0.1:0", ([127, 0, 0, 1], 80).into());
    let server = Server::start_with(ListenOptions {
        limits: limits(),
        hosts,
        ..ListenOptions::default()
    })
    .await;
    let ask = async |request: &str| {
        let mut stream = server.connect().await;
        send(
            &mut stream,
            &format!("{request}\r\nconnection: close\r\n\r\n"),
        )
        .await;
        let answer = rest(&mut stream).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let media = head
            .lines()
            .find_map(|line| line.strip_prefix("content-type: "));
        (
            status(head).to_owned(),
            media.unwrap_or_default().to_owned(),
            body.to_owned(),
        )
    };
    assert_eq!(
        ask("GET /nothing HTTP/1.1\r\nhost: localhost:1").await.0,
        "404"
    );
    assert_eq!(
        ask("GET /healthz HTTP/1.1\r\nhost: 10.0.0.1:80").await.0,
        "200"
    );
    let message = "421 Misdirected Request: this server does not answer for the host `evil.example.com:80`: allow it \
                   with --allowed-host";
    let text = (
        "421".to_owned(),
        "text/plain; charset=utf-8".to_owned(),
        format!("{message}\n"),
    );
    assert_eq!(
        ask("GET /nothing HTTP/1.1\r\nhost: evil.example.com:80").await,
        text
    );
    let json = format!(
        r#"{{"errors":[{{"extensions":{{"code":"HOST_NOT_ALLOWED"}},"message":"{message}"}}]}}"#
    );
    let json = (
        "421".to_owned(),
        "application/json; charset=utf-8".to_owned(),
        json,
    );
    let post =
        "POST /nothing HTTP/1.1\r\nhost: evil.example.com:80\r\ncontent-type: application/json";
    assert_eq!(ask(post).await, json);
    assert_eq!(
        ask("GET http://evil.example.com:80/nothing HTTP/1.1\r\nhost: localhost").await,
        text
    );
}

#[tokio::test]
async fn the_end_waits_for_requests_and_for_nothing_else() {
    let server = Server::start(limits()).await;
    let mut silent = server.connect().await;
    let mut idle = server.connect().await;
    let mut busy = server.connect().await;
    send(&mut idle, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut byte = [0; 1];
    idle.peek(&mut byte).await.unwrap();
    send(&mut busy, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // Answered only once the one before it was taken up.
    assert_eq!(status(&get_once(&server, "/healthz").await), "200");
    server.end.send(()).unwrap();
    assert_eq!(status(&rest(&mut idle).await), "200");
    assert_eq!(rest(&mut silent).await, "");
    server.go.notify_one();
    assert_eq!(status(&rest(&mut busy).await), "200");
    timeout(TOO_LONG, server.done).await.unwrap().unwrap();
    assert!(
        TcpStream::connect(server.address).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn a_request_that_is_on_its_way_at_the_end_is_answered_and_ends_its_connection() {
    let server = Server::start(ConnectionLimits {
        idle_grace: TOO_LONG,
        ..limits()
    })
    .await;
    let mut silent = server.connect().await;
    let mut idle = server.connect().await;
    send(&mut idle, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let mut byte = [0; 1];
    idle.peek(&mut byte).await.unwrap();
    server.end.send(()).unwrap();
    // Nobody listens once the server ends.
    while TcpStream::connect(server.address).await.is_ok() {}
    for stream in [&mut silent, &mut idle] {
        send(stream, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let received = rest(stream).await;
        assert!(received.ends_with("ok\n"), "{received}");
        assert!(received.contains("connection: close"), "{received}");
    }
    timeout(TOO_LONG, server.done).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_end_waits_no_longer_than_its_limit() {
    let server = Server::start(ConnectionLimits {
        shutdown_grace: SHORT,
        ..limits()
    })
    .await;
    let mut busy = server.connect().await;
    send(&mut busy, "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(status(&get_once(&server, "/healthz").await), "200");
    server.end.send(()).unwrap();
    timeout(TOO_LONG, server.done).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_named() {
    let taken = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.address().to_string();
    let in_use = ": another program listens there; stop it or name another address (port 0 takes a free one)";
    for (address, advice) in [(address.as_str(), in_use), ("nonsense", "")] {
        let error = Listener::bind(address).await.unwrap_err();
        let expected = format!("cannot listen on `{address}`{advice}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_machine_without_ipv6_is_told_from_other_faults() {
    let lacks = |errno: Errno| lacks_ipv6(&errno.into());
    assert_eq!(
        [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL].map(lacks),
        [true, true]
    );
    assert_eq!([Errno::ADDRINUSE, Errno::ACCESS].map(lacks), [false, false]);
}

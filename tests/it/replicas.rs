//! Several servers behind one address, as a client meets them that moves from one to another.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use serving::MAX_MINIMUM_REVISIONS;
use testing::TEST_TIMEOUT;
use tokio::runtime::Runtime;

use crate::support::{
    ARGO, CONFIGS, ETCD, Folders, HttpResponse, Layout, Server, eventually, exchange, graphql_path,
    lines, send_request,
};
use crate::tls::http2;

/// Path of a whole catalog with the name of the layout.
const ALL: &str = "/catalogs/layout/api/v1/all";

/// A content that no server has had.
const UNKNOWN: &str =
    "layout=sha256:00000000000000000000000000000000000000000000000000000000000000ff";

/// Servers with a disk each, over an image that changes.
struct Replicas {
    folders: Folders,
    layout: Layout,
}

/// A server with a disk of its own.
struct Replica {
    server: Server,
    _disk: Folders,
}

impl Replicas {
    fn new(text: &str) -> Self {
        let folders = Folders::new();
        let layout = Layout::new(folders.path("layout"));
        let replicas = Self { folders, layout };
        replicas.image(text);
        replicas
    }

    /// Puts an image under the name `v1`.
    fn image(&self, text: &str) {
        let files = [("configs/catalog.json", &*lines(text))];
        self.layout.image("v1", &[CONFIGS], &files);
    }

    /// Starts a server that polls the image too rarely to notice a change by itself.
    fn start(&self) -> Replica {
        Replica::start(&["--poll", "10h", &self.layout.source("v1")])
    }

    /// Makes the image unavailable.
    fn remove_image(&self) {
        fs::rename(self.folders.path("layout"), self.folders.path("away")).unwrap();
    }
}

impl Replica {
    fn start(arguments: &[&str]) -> Self {
        let disk = Folders::new();
        Self {
            server: Server::start(&disk, arguments),
            _disk: disk,
        }
    }

    fn get(&self, path: &str) -> HttpResponse {
        send_request(self.server.address, "GET", path, &[])
    }

    /// Sends a request of a client that has seen these contents.
    fn get_since(&self, path: &str, seen: &str) -> HttpResponse {
        let headers = [
            ("accept", "application/json"),
            ("catalogql-minimum-revision", seen),
        ];
        send_request(self.server.address, "GET", path, &headers)
    }

    /// Asks until the response is not an error that tells to try again, as a client does.
    fn get_when_reached(&self, path: &str, seen: &str) -> HttpResponse {
        eventually(|| {
            let response = self.get_since(path, seen);
            if response.status == 503 {
                assert_eq!(code(&response), "REVISION_NOT_REACHED");
                return None;
            }
            Some(response)
        })
    }

    /// Returns the contents that a client has seen after a read of the catalog of the image.
    fn seen(&self) -> String {
        let response = self.get_since(ALL, "");
        assert_eq!(response.status, 200);
        revision(&response).expect("it is asked for")
    }
}

fn revision(response: &HttpResponse) -> Option<String> {
    response.header("catalogql-revision")
}

/// The code of an error in JSON.
fn code(response: &HttpResponse) -> String {
    let body: Value = serde_json::from_slice(&response.body).expect("errors are JSON");
    let code = body["errors"][0]["extensions"]["code"].as_str();
    code.expect("errors have a code").to_owned()
}

fn data(response: &HttpResponse) -> Value {
    let mut body: Value = serde_json::from_slice(&response.body).expect("it is JSON");
    assert_eq!(body.get("errors"), None, "{body}");
    body["data"].take()
}

#[test]
fn a_client_that_moves_to_a_replica_behind_gets_what_it_has_seen() {
    let replicas = Replicas::new(ETCD);
    let behind = replicas.start();
    let before = behind.seen();
    replicas.image(ARGO);
    let ahead = replicas.start();
    let seen = ahead.seen();
    assert_ne!(seen, before);
    // Others still get the former content.
    assert_eq!(behind.seen(), before);

    let names = graphql_path("{ catalogs { packages { nodes { name } } } }");
    let response = behind.get_when_reached(&names, &seen);
    let argo = json!({ "catalogs": [{ "packages": { "nodes": [{ "name": "argo" }] } }] });
    assert_eq!(data(&response), argo);
    assert_eq!(revision(&response), Some(seen.clone()));
    let whole = behind.get_since(ALL, &seen);
    assert_eq!(whole.status, 200);
    let digest = seen.strip_prefix("layout=sha256:").unwrap();
    assert_eq!(whole.header("etag"), Some(format!("\"{digest}\"")));
}

#[test]
fn a_client_gets_a_later_content_than_it_has_seen() {
    let replicas = Replicas::new(ETCD);
    let first = replicas.start();
    let seen = first.seen();
    replicas.image(ARGO);
    // It has no log of the former content, and finds that its source has this one now.
    let late = replicas.start();
    let response = late.get_when_reached(ALL, &seen);
    assert_eq!(response.status, 200);
    assert_eq!(revision(&response), Some(late.seen()));
    // The content of the other replica is in the log of this one by then.
    let response = first.get_when_reached(ALL, &late.seen());
    assert_eq!(revision(&response), Some(late.seen()));
    assert_eq!(first.get_when_reached(ALL, &seen).status, 200);
}

#[test]
fn a_replica_that_cannot_check_its_source_gives_an_error_and_no_former_content() {
    let replicas = Replicas::new(ETCD);
    let replica = replicas.start();
    let before = replica.seen();
    replicas.remove_image();
    let names = graphql_path("{ catalogs { name } }");
    for path in [ALL, &names] {
        let response = replica.get_since(path, UNKNOWN);
        assert_eq!(
            (response.status, code(&response)),
            (503, "REVISION_NOT_REACHED".to_owned()),
            "{path}"
        );
        let [retry, cache] = ["retry-after", "cache-control"].map(|name| response.header(name));
        assert_eq!(
            [retry.as_deref(), cache.as_deref()],
            [Some("2"), Some("no-store")]
        );
        assert_eq!(revision(&response), None);
    }
    // The error is for this client alone.
    assert_eq!(replica.get(ALL).status, 200);
    assert_eq!(replica.get_since(ALL, &before).status, 200);
    // A path of one catalog does not wait for another one.
    let other = UNKNOWN.replace("layout=", "other=");
    assert_eq!(replica.get_since(ALL, &other).status, 200);
}

#[test]
fn a_directory_has_reached_the_contents_that_were_served_from_it_and_no_others() {
    let folders = Folders::new();
    folders.catalog("layout", ETCD);
    let replica = Replica::start(&["--watch", &folders.text("layout")]);
    let before = replica.seen();
    folders.catalog("layout", ARGO);
    let after = eventually(|| Some(replica.seen()).filter(|seen| *seen != before));
    // Once it is in the change log.
    let response = replica.get_when_reached(ALL, &before);
    assert_eq!(revision(&response), Some(after));
    let response = replica.get_since(ALL, UNKNOWN);
    assert_eq!(code(&response), "REVISION_NOT_REACHED");
}

#[test]
fn an_unknown_catalog_has_no_minimum_and_other_requests_see_no_new_header() {
    let replica = Replicas::new(ETCD).start();
    let missing = "/catalogs/missing/api/v1/all";
    let digest = UNKNOWN.replace("layout=", "missing=");
    let [with, without] = [replica.get_since(missing, &digest), replica.get(missing)];
    assert_eq!((with.status, revision(&with)), (404, None));
    assert_eq!((with.status, with.body), (without.status, without.body));
    let names = graphql_path("{ catalogs { name } }");
    let response = replica.get_since(&names, &digest);
    assert_eq!((response.status, revision(&response)), (200, None));
    for path in [ALL, &names] {
        assert_eq!(revision(&replica.get(path)), None, "{path}");
    }
}

#[test]
fn a_header_that_is_no_list_of_contents_is_an_error() {
    let replica = Replicas::new(ETCD).start();
    let names = graphql_path("{ catalogs { name } }");
    let too_many = vec![UNKNOWN; MAX_MINIMUM_REVISIONS + 1].join(",");
    for header in [
        "layout",
        "layout=md5:00",
        "a/b=sha256:00",
        "\u{e9}",
        &too_many,
    ] {
        for path in [ALL, &names] {
            let response = replica.get_since(path, header);
            assert_eq!(
                (response.status, code(&response)),
                (400, "BAD_REQUEST".to_owned()),
                "{header}"
            );
        }
    }
    let too_long = vec![UNKNOWN; 500].join(",");
    assert_eq!(replica.get_since(ALL, &too_long).status, 431);
    assert_eq!(replica.get(ALL).status, 200);
}

#[test]
fn tags_cursors_and_ids_of_one_replica_hold_at_another() {
    let folders = Folders::new();
    folders.catalog("etcd", &format!("{ETCD}{ARGO}"));
    let source = folders.text("etcd");
    let [one, other] = [(); 2].map(|()| Replica::start(&[&source]));
    let [digest, same] = [&one, &other].map(|replica| {
        let response = replica.get(&graphql_path(r#"{ catalog(name: "etcd") { digest } }"#));
        data(&response)["catalog"]["digest"].clone()
    });
    assert_eq!(digest, same);

    let pinned = format!(
        "{{ catalog(name: \"etcd\", digest: {digest}) {{ packages {{ nodes {{ name }} }} }} }}"
    );
    let page = "{ packages(first: 1) { nodes { id name } pageInfo { endCursor } } }";
    for path in [
        &*graphql_path(&pinned),
        &*graphql_path(page),
        &*graphql_path(
            "{ catalogs { id name image priority packageCount problems { nodes { code } } } }",
        ),
        "/catalogs/etcd/api/v1/all",
        "/catalogs/etcd/api/v1/metas?schema=olm.bundle",
        "/renovate/etcd/etcd",
    ] {
        let response = one.get(path);
        assert_eq!(response.status, 200, "{path}");
        let tag = response.header("etag").expect("it can be revalidated");
        let moved = other.get(path);
        assert_eq!(moved.header("etag").as_ref(), Some(&tag), "{path}");
        assert_eq!(moved.body, response.body, "{path}");
        let condition = [("if-none-match", &*tag)];
        let unchanged = send_request(other.server.address, "GET", path, &condition);
        assert_eq!(unchanged.status, 304, "{path}");
    }
    assert_eq!(
        one.get(&graphql_path(&pinned))
            .header("cache-control")
            .as_deref(),
        Some("public, max-age=86400, immutable")
    );

    let first = &data(&one.get(&graphql_path(page)))["packages"];
    let after = &first["pageInfo"]["endCursor"];
    let next = format!("{{ packages(first: 1, after: {after}) {{ nodes {{ name }} }} }}");
    let [expected, continued] =
        [&one, &other].map(|replica| data(&replica.get(&graphql_path(&next))));
    assert_eq!(continued, expected);
    assert_eq!(
        continued["packages"]["nodes"].as_array().map(Vec::len),
        Some(1)
    );
    let id = &first["nodes"][0]["id"];
    let node = format!("{{ node(id: {id}) {{ ... on Package {{ id name }} }} }}");
    assert_eq!(
        data(&other.get(&graphql_path(&node)))["node"],
        first["nodes"][0]
    );
}

/// Counts the responses of the clients of a server.
#[derive(Clone, Default)]
struct Responses(Arc<AtomicUsize>);

impl Responses {
    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for so many further ones.
    fn wait_for(&self, more: usize) {
        let before = self.0.load(Ordering::Relaxed);
        eventually(|| (self.0.load(Ordering::Relaxed) >= before + more).then_some(()));
    }
}

/// Sends requests over one connection of HTTP/1.1, each after the response to the one before, until a
/// response ends the connection.
fn ask_until_close(address: SocketAddr, request: &str, responses: &Responses) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    loop {
        stream.write_all(request.as_bytes()).expect("it is open");
        let mut received = Vec::new();
        let mut buffer = [0; 16 << 10];
        let head = loop {
            let length = stream.read(&mut buffer).expect("it responds");
            assert_ne!(length, 0, "closed without a response");
            received.extend_from_slice(&buffer[..length]);
            let text = String::from_utf8_lossy(&received).to_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head
                .split("content-length: ")
                .nth(1)
                .expect("it has a length");
            let length = length.lines().next().map(str::parse::<usize>);
            if length == Some(Ok(body.len())) {
                break head.to_owned();
            }
        };
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        responses.count();
        if head.contains("connection: close") {
            return;
        }
    }
}

/// Sends requests over one connection of HTTP/2 until the server ends it.
async fn ask_until_goaway(address: SocketAddr, responses: Responses) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut requests = http2(stream).await;
    loop {
        requests = match requests.ready().await {
            Ok(ready) => ready,
            Err(error) => {
                let reason = error.reason();
                assert!(
                    reason.is_none_or(|it| it == h2::Reason::NO_ERROR),
                    "{error}"
                );
                return;
            }
        };
        let uri = format!("http://{address}/catalogs/a/api/v1/all");
        let request = http::Request::get(uri).body(()).unwrap();
        let Ok((response, _)) = requests.send_request(request, true) else {
            // It has ended meanwhile, and nothing was sent.
            return;
        };
        let response = response.await.expect("it responds");
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        while let Some(part) = body.data().await {
            let part = part.expect("the body is whole");
            let released = body.flow_control().release_capacity(part.len());
            released.expect("they were received");
        }
        responses.count();
    }
}

#[test]
fn a_server_that_ends_answers_all_requests_on_open_connections() {
    const CLIENTS: usize = 12;
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    let server = Server::start(&folders, &[&folders.text("a")]);
    let address = server.address;
    let responses = Responses::default();
    let query = r#"{"query":"{ catalogs { name } }"}"#;
    let post = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{query}",
        query.len()
    );
    let get = "GET /catalogs/a/api/v1/all HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let request = if number % 2 == 0 { &post } else { &get }.clone();
            let responses = responses.clone();
            thread::spawn(move || ask_until_close(address, &request, &responses))
        })
        .collect();
    let runtime = Runtime::new().unwrap();
    let multiplexed: Vec<_> = (0..4)
        .map(|_| runtime.spawn(ask_until_goaway(address, responses.clone())))
        .collect();
    responses.wait_for(CLIENTS * 20);

    server.signal("TERM");
    for client in clients {
        client.join().expect("no request failed");
    }
    for client in multiplexed {
        runtime.block_on(client).expect("no request failed");
    }
    let (status, ..) = server.ended();
    assert!(status.success());
    let refused = exchange_if_open(address, &get);
    assert_eq!(refused, None);
}

/// The status of a response on a connection of its own; `None` if nobody listens.
fn exchange_if_open(address: SocketAddr, request: &str) -> Option<u16> {
    TcpStream::connect(address).ok()?;
    Some(exchange(address, request.as_bytes(), false).status)
}

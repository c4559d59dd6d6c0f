//! Servers that follow other servers of catalogql, as a user meets them: each is a process of its
//! own.

use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::metrics::{serve, value};
use crate::support::{
    ARGO, ETCD, Folders, PACKAGES, Proxy, ProxyAction, SeededRandom, Server, eventually, get,
    graphql, lines, packages, respond, send_request,
};

/// A relay to a server that is started later, so that two servers can know each other's addresses.
struct Relay {
    address: SocketAddr,
    target: Arc<Mutex<Option<SocketAddr>>>,
}

impl Relay {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let target = Arc::new(Mutex::new(None));
        let known = Arc::clone(&target);
        thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                let target: Option<SocketAddr> = *known.lock().unwrap();
                if let Some(server) = target.and_then(|target| TcpStream::connect(target).ok()) {
                    let both = |stream: &TcpStream| stream.try_clone().expect("it is open");
                    pass(both(&client), both(&server));
                    pass(server, client);
                }
            }
        });
        Self { address, target }
    }

    fn lead_to(&self, address: SocketAddr) {
        *self.target.lock().unwrap() = Some(address);
    }
}

/// Copies bytes on a thread of their own until one side ends.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}

/// Replaces the configuration file at once.
fn configure(folders: &Folders, text: &str) {
    folders.write("catalogs.new", text);
    fs::rename(folders.path("catalogs.new"), folders.path("catalogs.yaml"))
        .expect("files can be renamed");
}

fn serve_configured(folders: &Folders, text: &str, arguments: &[&str]) -> Server {
    configure(folders, text);
    let path = folders.text("catalogs.yaml");
    let mut all = vec!["--watch", "--config", &path];
    all.extend(arguments);
    Server::start(folders, &all)
}

fn json(address: SocketAddr, query: &str) -> Value {
    serde_json::from_str(&graphql(address, query)).expect("a response is JSON")
}

/// Waits until a server answers like another one.
fn agree(one: SocketAddr, other: SocketAddr, query: &str) {
    eventually(|| (graphql(one, query) == graphql(other, query)).then_some(()));
}

const LISTED: &str =
    "{ catalogs { name digest priority displayName publisher labels { key value } } }";

#[test]
fn a_new_content_of_another_catalogql_is_served_within_two_seconds_without_a_poll() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let leading = Server::start(&folders, &["--watch", &folders.text("etcd")]);
    let host = leading.address.to_string();
    let own = Folders::new();
    let source = format!("catalogd+http://{host}/catalogs/etcd");
    let following = Server::start(
        &own,
        &["--insecure-registry", &host, "--poll", "1h", &source],
    );
    assert_eq!(graphql(following.address, PACKAGES), packages(&["etcd"]));

    folders.catalog("etcd", ARGO);
    leading.answers_in_time(PACKAGES, &packages(&["argo"]));
    let changed = Instant::now();
    following.answers_in_time(PACKAGES, &packages(&["argo"]));
    let took = changed.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_server_is_followed_with_all_its_catalogs_and_what_they_are_called() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    folders.catalog("argo", ARGO);
    let both = "sources:\n- {name: first, source: etcd, priority: 5, displayName: First, publisher: Us, labels: {tier: gold}}\n- {name: second, source: argo}\n";
    let leading = serve_configured(&folders, both, &[]);
    let host = leading.address.to_string();
    let server = format!("catalogql+http://{host}");
    let own = Folders::new();
    let arguments = ["--insecure-registry", &host, "--poll", "1s", &server];
    let following = Server::start(&own, &arguments);
    agree(following.address, leading.address, LISTED);
    let sources = json(
        following.address,
        "{ catalogs { source { kind reference } } }",
    );
    let reference = format!("{server}/catalogs/first");
    assert_eq!(
        sources["data"]["catalogs"][0]["source"],
        serde_json::json!({"kind": "CATALOGD", "reference": reference})
    );

    // One is added, one is removed, one has other settings and one has a new content.
    folders.catalog("third", ETCD);
    configure(
        &folders,
        "sources:\n- {name: first, source: argo, priority: -1}\n- {name: third, source: third}\n",
    );
    eventually(|| {
        graphql(leading.address, LISTED)
            .contains("third")
            .then_some(())
    });
    agree(following.address, leading.address, LISTED);

    // A start without the server serves all that it had.
    let expected = graphql(following.address, LISTED);
    drop(leading);
    following.signal("KILL");
    drop(following);
    let restarted = Server::start(&own, &arguments);
    restarted.answers_in_time(LISTED, &expected);
}

#[test]
fn a_server_that_starts_again_takes_no_catalog_away() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let relay = Relay::start();
    let host = relay.address.to_string();
    let leading = Server::start(&folders, &[&folders.text("etcd")]);
    relay.lead_to(leading.address);
    let own = Folders::new();
    let server = format!("catalogql+http://{host}");
    let arguments = ["--insecure-registry", &host, "--poll", "100ms", &server];
    let following = Server::start(&own, &arguments);
    following.answers_in_time(PACKAGES, &packages(&["etcd"]));
    drop(leading);

    // It serves another catalog now: the one that is gone may still be loading.
    let others = Folders::new();
    others.catalog("argo", ARGO);
    let again = Server::start(&others, &[&others.text("argo")]);
    relay.lead_to(again.address);
    let names = "{ catalogs { name } }";
    let expected = r#"{"data":{"catalogs":[{"name":"argo"},{"name":"etcd"}]}}"#;
    following.answers_in_time(names, expected);
}

#[test]
fn servers_that_follow_each_other_are_told_so_and_keep_what_they_serve() {
    let relay = Relay::start();
    let first = Folders::new();
    first.catalog("etcd", ETCD);
    let insecure = relay.address.to_string();
    let leading = serve_configured(
        &first,
        "sources: [{name: c, source: etcd}]",
        &["--insecure-registry", &insecure],
    );
    let second = Folders::new();
    let host = leading.address.to_string();
    let source = format!("c=catalogd+http://{host}/catalogs/c");
    let following = Server::start(&second, &["--insecure-registry", &host, &source]);
    relay.lead_to(following.address);

    let circle = format!("sources: [{{name: c, source: 'catalogd+http://{insecure}/catalogs/c'}}]");
    configure(&first, &circle);
    let status = "{ catalogStatuses { lastFailure { message } } }";
    let message = eventually(|| {
        let answer = json(leading.address, status);
        let failure = &answer["data"]["catalogStatuses"][0]["lastFailure"];
        Some(failure["message"].as_str()?.to_owned())
    });
    assert!(
        message.contains("its content comes from this server: follow the first source"),
        "{message}"
    );
    assert_eq!(graphql(leading.address, PACKAGES), packages(&["etcd"]));
    assert_eq!(graphql(following.address, PACKAGES), packages(&["etcd"]));
}

#[test]
fn a_content_comes_through_five_servers_at_most_and_only_followers_see_which() {
    let etcd = lines(ETCD);
    for (ids, is_served) in [("1, 2, 3, 4, 5", true), ("1, 2, 3, 4, 5, 6", false)] {
        let body = etcd.clone();
        let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1)), move |_| {
            respond(200, &[("catalogql-via", ids)], &body)
        });
        let host = proxy.address.to_string();
        let folders = Folders::new();
        folders.catalog("argo", ARGO);
        let source = format!("catalogd+http://{host}/catalogs/etcd");
        let arguments = ["--insecure-registry", &host, &folders.text("argo"), &source];
        let server = Server::start(&folders, &arguments);
        let failure = json(
            server.address,
            "{ catalogStatuses { name lastFailure { message } } }",
        );
        let message = failure["data"]["catalogStatuses"][1]["lastFailure"]["message"].as_str();
        assert_eq!(message.is_none(), is_served, "{message:?}");
        assert!(
            message
                .unwrap_or("through more than 5 servers")
                .contains("through more than 5 servers")
        );

        let path = "/catalogs/argo/api/v1/all";
        let head = |headers: &[(&str, &str)]| {
            let response = send_request(server.address, "GET", path, headers);
            response.header("catalogql-via")
        };
        assert_eq!(head(&[]), None);
        assert_eq!(
            head(&[("catalogql-via", "me")]).map(|id| id.len()),
            Some(32)
        );
    }
}

#[test]
fn a_server_without_subscriptions_is_polled() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let leading = Server::start(&folders, &["--watch", &folders.text("etcd")]);
    // As some proxies do with responses that do not end.
    let proxy = Proxy::start(leading.address, |request| {
        if request.header("accept") == Some("text/event-stream") {
            respond(502, &[], "")
        } else {
            ProxyAction::Forward
        }
    });
    let host = proxy.address.to_string();
    let own = Folders::new();
    let server = format!("catalogql+http://{host}");
    let arguments = ["--insecure-registry", &host, "--poll", "100ms", &server];
    let following = Server::start(&own, &arguments);
    following.answers_in_time(PACKAGES, &packages(&["etcd"]));
    folders.catalog("etcd", ARGO);
    following.answers_in_time(PACKAGES, &packages(&["argo"]));
}

/// A catalog with a long line, so that what is said besides its bytes is little.
fn long_catalog() -> String {
    let mut random = SeededRandom::new(44);
    let noise: String = (0..100_000)
        .map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap()))
        .collect();
    format!(
        "{}{{\"schema\":\"x\",\"noise\":\"{noise}\"}}\n",
        lines(ARGO)
    )
}

#[test]
fn ten_followers_cost_their_server_ten_times_a_whole_catalog_at_most() {
    let folders = Folders::new();
    let (leading, metrics) = serve(&folders, &[("etcd", ETCD)], &["--watch"]);
    let count = |handler: &str, method: &str| {
        let name = "catalogql_http_requests_total";
        value(
            metrics,
            &format!("{name}{{handler=\"{handler}\",method=\"{method}\",code=\"200\"}}"),
        )
    };
    let bytes = || value(metrics, "catalogql_http_response_bytes_total{}");
    let host = leading.address.to_string();
    let source = format!("catalogd+http://{host}/catalogs/etcd");
    let arguments = ["--insecure-registry", &host, "--poll", "1h", &source];
    let own: Vec<_> = (0..10).map(|_| Folders::new()).collect();
    let following: Vec<_> = own
        .iter()
        .map(|own| Server::start(own, &arguments))
        .collect();
    // Each has the catalog and the list; its subscription is a request that has not ended.
    eventually(|| (count("all", "GET") >= 10.0 && count("graphql", "POST") >= 10.0).then_some(()));
    let before = (count("all", "GET"), bytes());

    folders.write("etcd/catalog.jsonl", long_catalog());
    leading.answers_in_time(PACKAGES, &packages(&["argo"]));
    for server in &following {
        server.answers_in_time(PACKAGES, &packages(&["argo"]));
    }
    let after = (count("all", "GET"), bytes());
    let length = get(leading.address, "/catalogs/etcd/api/v1/all").1.len();
    let length = f64::from(u32::try_from(length).unwrap());
    let requests = after.0 - before.0;
    let sent = after.1 - before.1;
    println!("{requests} requests and {sent} bytes for ten followers of {length} bytes");
    assert!((requests - 10.0).abs() < 0.5, "{requests}");
    assert!(sent <= 10.0 * length, "{sent} {length}");
}

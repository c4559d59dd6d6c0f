//! Catalogs on HTTP servers and on other servers of catalogs, as a user meets them. Servers that
//! misbehave are real HTTP servers too.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use remote_sources::{Fetch, FetchLimits, Fetched, HttpClient, HttpSettings, RemoteReference};
use serde_json::Value;

use crate::support::{
    ARGO, Archive, ETCD, Folders, HttpResponse, PACKAGES, Proxy, ProxyAction, RecordedRequest,
    Server, catalogql, eventually, graphql, lines, packages, respond, run, tar_archive,
};

/// A server without anything behind it.
fn server(script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static) -> Proxy {
    Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1)), script)
}

/// A server that sends this to everybody.
fn sending(body: &[u8]) -> Proxy {
    let body = body.to_vec();
    server(move |_| sent(&[], &body))
}

fn sent(headers: &[(&str, &str)], body: &[u8]) -> ProxyAction {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ProxyAction::Respond(HttpResponse {
        status: 200,
        headers: headers.collect(),
        body: body.to_vec(),
    })
}

/// Runs a command over the file `NAME` of a server with further arguments, and returns its status
/// and everything that it printed.
fn validate(proxy: &Proxy, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let host = proxy.address.to_string();
    let source = format!("http://{host}/{name}");
    let mut command = catalogql();
    command.args(["validate", "--insecure-registry", &host, &source]);
    let output = run(command.args(arguments));
    (output.status, output.stdout + &output.stderr)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, text.as_bytes()))
        .collect();
    tar_archive(&files)
}

const VALID: &str = "0 errors and 0 warnings in 1 package\n";

#[test]
fn a_file_is_what_its_first_bytes_say() {
    let etcd = lines(ETCD);
    let top = tar(&[("catalog.json", &etcd)]);
    let configs = tar(&[("README.md", "no catalog"), ("configs/a.json", &etcd)]);
    let elsewhere = tar(&[("other/prod/a.json", &etcd), ("other/x.txt", ": : :")]);
    let yaml = "\u{feff}schema: olm.package\nname: a\ndefaultChannel: b\n---\nschema: olm.channel\npackage: a\nname: b\nentries: [{name: a.v1.0.0}]\n";
    for (body, name) in [
        (etcd.clone().into_bytes(), "all.jsonl"),
        (gzip(etcd.as_bytes()), "catalog.json"),
        (top.clone(), "download"),
        (gzip(&top), "catalog.txt"),
        (gzip(&configs), "catalog.tar.gz"),
        (elsewhere, "catalog.tar#path=other/prod"),
    ] {
        assert_eq!(
            validate(&sending(&body), name, &[]),
            (Some(0), VALID.to_owned()),
            "{name}"
        );
    }
    let (status, said) = validate(&sending(yaml.as_bytes()), "catalog.yaml", &[]);
    // The bundle of the entry is missing, so that the file has been read.
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("a.v1.0.0"), "{said}");
}

#[test]
fn what_cannot_be_a_catalog_is_refused_with_its_kind() {
    let etcd = lines(ETCD);
    let archive = tar(&[("catalog.json", &etcd)]);
    let whole = gzip(&archive);
    let named = |name: &str| Archive::default().file(name, &etcd).plain();
    let linked = Archive::default()
        .link("a.json", "../../etc/passwd")
        .plain();
    for (body, expected) in [
        (
            b"<!doctype html><title>Log in</title>".to_vec(),
            "an HTML or XML page, such as that of a login",
        ),
        (gzip(&whole), "compressed twice"),
        (b"BZh91AY".to_vec(), "bzip2"),
        (b"\xfd7zXZ\0".to_vec(), "xz"),
        (b"PK\x03\x04".to_vec(), "a zip archive"),
        (whole[..whole.len() - 20].to_vec(), "the archive is damaged"),
        (
            archive[..archive.len() - 1024].to_vec(),
            "the archive has no end",
        ),
        ([&archive[..], b"more"].concat(), "data after the end"),
        (named("../../etc/x"), "`..`"),
        (linked, "link"),
        (gzip(&vec![b'{'; 100 << 20]), "500 times"),
    ] {
        let (status, said) = validate(&sending(&body), "c", &[]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_file_is_pinned_by_its_digest() {
    let etcd = lines(ETCD);
    let right = crate::support::digest(etcd.as_bytes()).replace("sha256:", "");
    let proxy = sending(etcd.as_bytes());
    assert_eq!(
        validate(&proxy, &format!("c#sha256={right}"), &[]).0,
        Some(0)
    );
    let (status, said) = validate(&proxy, &format!("c#sha256={}", "0".repeat(64)), &[]);
    assert_eq!(status, Some(2));
    assert!(
        said.contains(&format!("its SHA-256 is {right} instead of 0000")),
        "{said}"
    );
}

#[test]
fn responses_that_http_does_not_allow_are_refused() {
    let etcd = lines(ETCD);
    let long = "x".repeat(40_000);
    let huge = "\"x".to_owned() + &"x".repeat(1_000_000) + "\"";
    for (action, expected) in [
        (
            respond(206, &[("content-range", "bytes 0-9/10")], &etcd),
            "a 206 response to a request without range",
        ),
        (
            respond(304, &[], ""),
            "a 304 response to a request without condition",
        ),
        (
            respond(200, &[("etag", &long)], &etcd),
            "the head of the response exceeds the limit of 32768 bytes",
        ),
        (respond(200, &[("etag", &huge)], &etcd), "cannot reach"),
        (respond(200, &[("etag", "\"a\nb\"")], &etcd), "cannot reach"),
        (
            respond(200, &[("content-encoding", "br")], &etcd),
            "its Content-Encoding is neither gzip nor zstd",
        ),
        (respond(404, &[], ""), "HTTP status 404"),
        (respond(401, &[], ""), "it requires credentials"),
        (respond(503, &[], ""), "HTTP status 503"),
    ] {
        let action = std::sync::Mutex::new(Some(action));
        let proxy = server(move |_| {
            action
                .lock()
                .unwrap()
                .take()
                .unwrap_or_else(|| respond(500, &[], ""))
        });
        let (status, said) = validate(&proxy, "c", &[]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_redirect_leads_neither_to_other_schemes_nor_to_other_networks_nor_in_circles() {
    for (to, expected) in [
        ("file:///etc/passwd", "its target is no HTTP URL (`file:`)"),
        (
            "http://169.254.169.254/latest/meta-data",
            "`169.254.169.254` is at a link-local address",
        ),
        ("http://10.0.0.1/", "`10.0.0.1` is at a private address"),
        ("/c", "there are more than 10 redirects"),
        ("http://u:p@127.0.0.1/", "it has no valid target"),
    ] {
        let proxy = server(move |_| respond(302, &[("location", to)], ""));
        let (status, said) = validate(&proxy, "c", &[]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

/// An archive of a catalog whose bytes do not compress, so that it can be cut anywhere.
fn long_catalog() -> Vec<u8> {
    let mut random = crate::support::SeededRandom::new(1);
    let text: String = (0..200_000)
        .map(|_| char::from(b'a' + (random.next_u64() % 26) as u8))
        .collect();
    let blob = format!("{{\"schema\":\"other\",\"text\":\"{text}\"}}\n");
    tar(&[("a.json", &(lines(ETCD) + &blob))])
}

#[test]
fn a_download_that_is_cut_is_continued_by_its_strong_entity_tag_alone() {
    let whole = long_catalog();
    let half = whole.len() / 2;
    // The first response ends in the middle; its length is that of the whole.
    let proxy_for = |etag: &'static str, rest: fn(&[u8], usize) -> ProxyAction| {
        let whole = whole.clone();
        let upstream = server({
            let whole = whole.clone();
            move |_| sent(&[("etag", etag)], &whole)
        });
        let address = upstream.address;
        let proxy = Proxy::start(address, move |request| match &request.range {
            None => ProxyAction::Truncate(half),
            Some(_) => rest(&whole, half),
        });
        (upstream, proxy)
    };
    let part = |whole: &[u8], from: usize| {
        let range = format!("bytes {from}-{}/{}", whole.len() - 1, whole.len());
        ProxyAction::Respond(HttpResponse {
            status: 206,
            headers: vec![("content-range".to_owned(), range)],
            body: whole[from..].to_vec(),
        })
    };
    let (_upstream, proxy) = proxy_for("\"a\"", part);
    assert_eq!(validate(&proxy, "c", &[]), (Some(0), VALID.to_owned()));
    let asked: Vec<_> = proxy
        .requests()
        .iter()
        .map(|request| {
            (
                request.range.clone(),
                request.header("if-range").map(str::to_owned),
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            (None, None),
            (Some(format!("bytes={half}-")), Some("\"a\"".to_owned()))
        ]
    );

    // A server without ranges sends everything again.
    let (_upstream, proxy) = proxy_for("\"a\"", |whole, _| sent(&[("etag", "\"a\"")], whole));
    assert_eq!(validate(&proxy, "c", &[]), (Some(0), VALID.to_owned()));

    let (_upstream, proxy) = proxy_for("\"a\"", |whole, _| {
        ProxyAction::Respond(HttpResponse {
            status: 206,
            headers: vec![(
                "content-range".to_owned(),
                format!("bytes 5-{}/{}", whole.len() - 1, whole.len()),
            )],
            body: whole[5..].to_vec(),
        })
    });
    let (status, said) = validate(&proxy, "c", &[]);
    assert_eq!(status, Some(2));
    assert!(said.contains("a 206 response with another range"), "{said}");

    let (_upstream, proxy) = proxy_for("W/\"a\"", part);
    let (status, said) = validate(&proxy, "c", &[]);
    assert_eq!((status, proxy.requests().len()), (Some(2), 1));
    let expected = format!("the connection ended after {half} bytes of {}", whole.len());
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn credentials_go_to_the_prefix_that_they_are_for_and_to_nobody_else() {
    let folders = Folders::new();
    let etcd = lines(ETCD);
    let other = server({
        let etcd = etcd.clone();
        move |_| sent(&[], etcd.as_bytes())
    });
    let to = format!("http://{}/moved", other.address);
    let proxy = server(move |request| match &*request.target {
        "/private/here" => sent(&[], etcd.as_bytes()),
        "/private/moved" => respond(302, &[("location", &to)], ""),
        _ => respond(302, &[("location", "/private/here")], ""),
    });
    folders.write("token", "secret-1\n");
    folders.write("password", "secret-2");
    // The other server has an entry of its own, which a redirect must not make use of.
    folders.write(
        "auth.yaml",
        format!(
            "- {{prefix: 'http://{}/private', bearer: {{tokenFile: token}}, headers: {{x-key: token}}}}\n\
             - {{prefix: 'http://{}', basic: {{username: me, passwordFile: password}}}}\n",
            proxy.address, other.address
        ),
    );
    let auth = folders.text("auth.yaml");
    let insecure = other.address.to_string();
    let arguments = ["--http-auth", &auth, "--insecure-registry", &insecure];
    for name in ["private/here", "private/moved", "public"] {
        let (status, said) = validate(&proxy, name, &arguments);
        assert_eq!((status, said.as_str()), (Some(0), VALID), "{name}");
    }
    let seen = |proxy: &Proxy| -> Vec<_> {
        let requests = proxy.requests().into_iter();
        requests
            .map(|request| {
                (
                    request.target.clone(),
                    request.authorization.clone(),
                    request.header("x-key").map(str::to_owned),
                )
            })
            .collect()
    };
    let with = |target: &str| {
        (
            target.to_owned(),
            Some("Bearer secret-1".to_owned()),
            Some("secret-1".to_owned()),
        )
    };
    let without = |target: &str| (target.to_owned(), None, None);
    let expected = [
        with("/private/here"),
        with("/private/moved"),
        without("/public"),
        with("/private/here"),
    ];
    assert_eq!(seen(&proxy), expected);
    assert_eq!(seen(&other), [without("/moved")]);

    // Named as the source, the other server receives its own credentials.
    assert_eq!(
        validate(&other, "moved", &["--http-auth", &auth]).0,
        Some(0)
    );
    assert_eq!(seen(&other)[1].1.as_deref(), Some("Basic bWU6c2VjcmV0LTI="));
}

#[test]
fn no_secret_is_printed() {
    let folders = Folders::new();
    folders.write("token", "se\u{1}cret");
    let proxy = server(|_| respond(403, &[], ""));
    folders.write(
        "auth.yaml",
        format!(
            "- {{prefix: 'http://{}', bearer: {{tokenFile: token}}}}\n",
            proxy.address
        ),
    );
    let auth = folders.text("auth.yaml");
    let (_, said) = validate(&proxy, "c?sig=cret", &["--http-auth", &auth]);
    assert!(
        said.contains("it has characters that no header field has"),
        "{said}"
    );
    assert!(!said.contains("cret"), "{said}");
    folders.write("token", "secret");
    let (_, said) = validate(&proxy, "c?sig=secret", &["--http-auth", &auth]);
    assert!(
        said.contains("the credentials from --http-auth are refused"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}

const SOURCE: &str = "{ catalogs { name image source { kind reference revision } } }";

#[test]
fn another_server_is_followed_with_one_small_request_a_poll() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let leading = Server::start(&folders, &["--watch", &folders.text("etcd")]);
    let proxy = Proxy::start(leading.address, |_| ProxyAction::Forward);
    let host = proxy.address.to_string();
    let source = format!("catalogd+http://{host}/catalogs/etcd");
    let own = Folders::new();
    let arguments = ["--insecure-registry", &host, "--poll", "50ms", &source];
    let following = Server::start(&own, &arguments);
    let digests = "{ catalogs { name digest } }";
    assert_eq!(
        graphql(following.address, digests),
        graphql(leading.address, digests)
    );

    let answer: Value = serde_json::from_str(&graphql(following.address, SOURCE)).unwrap();
    let found = &answer["data"]["catalogs"][0];
    assert_eq!(
        (
            &found["image"],
            &found["source"]["kind"],
            &found["source"]["reference"]
        ),
        (&Value::Null, &"CATALOGD".into(), &(*source).into())
    );
    assert!(
        found["source"]["revision"]
            .as_str()
            .unwrap()
            .starts_with("bytes sha256:"),
        "{answer}"
    );

    let polls = || {
        proxy
            .requests()
            .into_iter()
            .filter(|request| request.target.ends_with("/all"))
            .collect::<Vec<_>>()
    };
    let requests = eventually(|| Some(polls()).filter(|polls| polls.len() > 3));
    assert!(
        requests[1..]
            .iter()
            .all(|request| request.header("if-none-match").is_some())
    );
    let conditional = requests[1].forward();
    assert_eq!((conditional.status, conditional.body.len()), (304, 0));

    folders.catalog("etcd", ARGO);
    following.answers_in_time(PACKAGES, &packages(&["argo"]));
    drop(leading);
    assert_eq!(graphql(following.address, PACKAGES), packages(&["argo"]));

    // A start without the leader serves what is kept; nothing of a download remains.
    following.signal("KILL");
    drop(following);
    let restarted = Server::start(&own, &arguments);
    assert_eq!(graphql(restarted.address, PACKAGES), packages(&["argo"]));
}

/// Answers as upstream's catalogd does: by times, which are new at each of its polls, and never by
/// entity tags.
fn as_catalogd(request: &RecordedRequest, time: &str, body: &str) -> ProxyAction {
    assert_eq!(
        request.header("if-none-match"),
        None,
        "it would make the time count for nothing"
    );
    match request.header("if-modified-since") {
        Some(since) if since == time => respond(304, &[], ""),
        _ => sent(&[("last-modified", time)], body.as_bytes()),
    }
}

#[test]
fn a_catalogd_is_asked_by_time_and_the_same_bytes_with_a_new_time_are_no_change() {
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let etcd = lines(ETCD);
    let proxy = server(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        // Its time is new with every tenth request.
        let time = format!("Fri, 27 Nov 2026 08:{:02}:00 GMT", number / 10 % 60);
        as_catalogd(request, &time, &etcd)
    });
    let host = proxy.address.to_string();
    let folders = Folders::new();
    let source = format!("catalogd+http://{host}/catalogs/etcd");
    let server = Server::start(
        &folders,
        &["--insecure-registry", &host, "--poll", "10ms", &source],
    );
    let unpacked = "{ catalogs { digest lastUnpacked } }";
    let first = graphql(server.address, unpacked);
    eventually(|| (polls.load(Ordering::SeqCst) > 40).then_some(()));
    assert_eq!(graphql(server.address, unpacked), first);
}

#[test]
fn a_catalog_that_is_cut_or_changes_while_it_is_sent_is_not_served() {
    let etcd = lines(ETCD);
    let cut = etcd.trim_end().to_owned();
    let run_with = |script: Box<dyn Fn(&RecordedRequest) -> ProxyAction + Send + Sync>| {
        let proxy = server(move |request| script(request));
        let host = proxy.address.to_string();
        let source = format!("catalogd+http://{host}/catalogs/etcd");
        let output = run(catalogql().args(["validate", "--insecure-registry", &host, &source]));
        (
            output.status,
            output.stdout + &output.stderr,
            proxy.requests().len(),
        )
    };
    let (status, said, _) = run_with(Box::new(move |_| sent(&[], cut.as_bytes())));
    assert_eq!(status, Some(2));
    assert!(said.contains("it is cut off"), "{said}");

    let changing = AtomicUsize::new(0);
    let body = etcd.clone();
    let (status, said, requests) = run_with(Box::new(move |request| {
        let number = changing.fetch_add(1, Ordering::SeqCst);
        let time = format!("Fri, 27 Nov 2026 08:00:{number:02} GMT");
        as_catalogd(
            request,
            &time,
            &format!("{body}{{\"schema\":\"x{number}\"}}\n"),
        )
    }));
    assert_eq!((status, requests), (Some(2), 4));
    assert!(
        said.contains("it changed while it was downloaded, 3 times"),
        "{said}"
    );
    let (status, said, _) = run_with(Box::new(|_| sent(&[], b"{\"schema\":\"a\0\"}\n")));
    assert_eq!(status, Some(2), "{said}");
}

#[test]
fn a_content_that_loses_most_of_its_packages_counts_when_it_is_found_twice() {
    let folders = Folders::new();
    let both = lines(ETCD) + &lines(ARGO) + &lines("package third default=a\n channel a: v1.0.0");
    folders.write("www/c.json", &both);
    let www = folders.path("www/c.json");
    let proxy = server(move |_| match fs::read(&www) {
        Ok(bytes) => sent(&[], &bytes),
        Err(_) => respond(404, &[], ""),
    });
    let host = proxy.address.to_string();
    let source = format!("http://{host}/c.json");
    let server = Server::start(
        &folders,
        &["--insecure-registry", &host, "--poll", "50ms", &source],
    );
    folders.write("www/c.json", lines(ARGO));
    let logged = server.logs("still serving the last content");
    assert!(
        logged.contains("the source has only 1 packages left of 3"),
        "{logged}"
    );
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
    // What is gone or broken takes nothing away.
    fs::remove_file(folders.path("www/c.json")).unwrap();
    assert!(
        server
            .logs("still serving the last content")
            .contains("HTTP status 404")
    );
    folders.write("www/c.json", "<html>");
    assert!(
        server
            .logs("still serving the last content")
            .contains("HTML")
    );
    assert_eq!(graphql(server.address, PACKAGES), packages(&["argo"]));
}

#[test]
fn twenty_catalogs_of_one_place_take_two_connections_at_a_time() {
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (count, highest) = (Arc::clone(&now), Arc::clone(&most));
    let etcd = lines(ETCD);
    let proxy = server(move |_| {
        let open = count.fetch_add(1, Ordering::SeqCst) + 1;
        highest.fetch_max(open, Ordering::SeqCst);
        testing::pause();
        count.fetch_sub(1, Ordering::SeqCst);
        sent(&[], etcd.as_bytes())
    });
    let host = proxy.address.to_string();
    let folders = Folders::new();
    let sources: Vec<_> = (0..20)
        .map(|number| format!("http://{host}/c{number}.json"))
        .collect();
    let mut arguments = vec!["--insecure-registry", &host];
    arguments.extend(sources.iter().map(String::as_str));
    let server = Server::start(&folders, &arguments);
    let answer: Value = serde_json::from_str(&graphql(server.address, PACKAGES)).unwrap();
    assert_eq!(answer["data"]["catalogs"].as_array().unwrap().len(), 20);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

/// Downloads a file within limits that a test can wait for.
fn fetch(proxy: &Proxy, limits: FetchLimits) -> Result<u64, String> {
    let folders = Folders::new();
    let settings = HttpSettings {
        insecure: vec![proxy.address.to_string()],
        limits,
        ..HttpSettings::default()
    };
    let client = HttpClient::new(settings).unwrap();
    let reference = format!("http://{}/c", proxy.address);
    let reference = RemoteReference::parse(&reference).unwrap().unwrap();
    let fetch = Fetch {
        reference: &reference,
        known: None,
        path: &folders.path("download"),
        instance: None,
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(client.fetch(fetch, |_, _| {})) {
        Ok(Fetched::Downloaded(download)) => Ok(download.bytes),
        Ok(Fetched::NotModified { .. }) => panic!("nothing is known"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_body_without_end_and_one_that_hardly_comes_are_given_up() {
    let body = "x".repeat(1000);
    let upstream = server(move |_| respond(200, &[], &body));
    let acting = |action: fn() -> ProxyAction| Proxy::start(upstream.address, move |_| action());
    let brief = FetchLimits {
        silence: Duration::from_millis(200),
        body_bytes: 100_000,
        ..FetchLimits::default()
    };
    assert_eq!(fetch(&acting(|| ProxyAction::Forward), brief), Ok(1000));
    let most = FetchLimits {
        body_bytes: 999,
        ..brief
    };
    let refused = fetch(&acting(|| ProxyAction::Forward), most).unwrap_err();
    assert!(
        refused.ends_with("its body exceeds the limit of 999 bytes"),
        "{refused}"
    );
    let endless = fetch(&acting(|| ProxyAction::Endless), brief).unwrap_err();
    assert!(
        endless.ends_with("its body exceeds the limit of 100000 bytes"),
        "{endless}"
    );
    let stalled = fetch(&acting(|| ProxyAction::Stall(10)), brief).unwrap_err();
    assert!(
        stalled.contains("the connection ended after 10 bytes of 1000"),
        "{stalled}"
    );
    let silent = fetch(&acting(|| ProxyAction::Hang), brief).unwrap_err();
    assert!(silent.contains("cannot reach `127.0.0.1`"), "{silent}");
    // 50 bytes a second: never silent for long.
    let slow = fetch(&acting(|| ProxyAction::Trickle), brief).unwrap_err();
    assert!(slow.contains("bytes arrived in"), "{slow}");
    let whole = FetchLimits {
        total: Duration::from_millis(500),
        min_bytes_per_second: 1,
        ..brief
    };
    let late = fetch(&acting(|| ProxyAction::Trickle), whole).unwrap_err();
    assert!(late.contains("bytes arrived in"), "{late}");
}

#[test]
fn a_kill_in_the_middle_of_a_download_leaves_the_former_content_and_the_next_start_has_the_new_one()
{
    let folders = Folders::new();
    let etcd = lines(ETCD);
    let upstream = server(move |_| sent(&[], etcd.as_bytes()));
    let is_stalling = Arc::new(AtomicBool::new(false));
    let stalls = Arc::clone(&is_stalling);
    let argo = lines(ARGO);
    let is_new = Arc::new(AtomicBool::new(false));
    let new = Arc::clone(&is_new);
    let proxy = Proxy::start(upstream.address, move |_| {
        if new.load(Ordering::SeqCst) {
            sent(&[], argo.as_bytes())
        } else if stalls.load(Ordering::SeqCst) {
            ProxyAction::Stall(10)
        } else {
            ProxyAction::Forward
        }
    });
    let host = proxy.address.to_string();
    let source = format!("http://{host}/c.json");
    let arguments = [
        "--insecure-registry",
        &host,
        "--poll",
        "50ms",
        "--accept-shrink",
        &source,
    ];
    let server = Server::start(&folders, &arguments);
    is_stalling.store(true, Ordering::SeqCst);
    let scratch = folders.path("store/scratch");
    let partial = || {
        let mut found = fs::read_dir(&scratch).ok()?.filter_map(Result::ok);
        found.find(|folder| {
            let length = fs::metadata(folder.path().join("download")).map(|file| file.len());
            length.is_ok_and(|length| length == 10)
        })
    };
    eventually(partial);
    server.signal("KILL");
    drop(server);
    assert!(partial().is_some());
    is_new.store(true, Ordering::SeqCst);
    let server = Server::start(&folders, &arguments);
    assert!(partial().is_none());
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
}

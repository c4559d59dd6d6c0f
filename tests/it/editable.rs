//! `catalogql serve --editable`: edits over HTTP, what becomes of them when several clients edit or
//! the server is killed.

mod directories;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use testing::{TEST_TIMEOUT, eventually_within};

use crate::support::{
    Folders, HttpResponse, Server, catalogql, eventually, exchange, graphql, packages, run,
};

/// The current content, which clients name in `If-Match`.
const DIGEST: &str = "{ catalogs { digest } }";

/// The catalog `mine` of a request that is a dry run.
const DRY_RUN: &str = "mine?dryRun=All";

/// What `edit` of a test sends beside the body.
type Headers<'a> = &'a [(&'a str, &'a str)];

fn post(address: SocketAddr, catalog: &str, headers: Headers<'_>, body: &str) -> HttpResponse {
    let headers: String = headers
        .iter()
        .flat_map(|(name, value)| [name, ": ", value, "\r\n"])
        .collect();
    let (catalog, query) = catalog.split_at(catalog.find('?').unwrap_or(catalog.len()));
    let head = format!(
        "POST /catalogs/{catalog}/edits{query} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}"
    );
    exchange(
        address,
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
        false,
    )
}

fn edit(address: SocketAddr, headers: Headers<'_>, batch: &Value) -> HttpResponse {
    let headers = [&[("content-type", "application/json")], headers].concat();
    post(address, "mine", &headers, &batch.to_string())
}

/// A batch that creates a package with one bundle.
fn create(package: &str) -> Value {
    json!([{ "op": "add", "bundles": [bundle(package, "1.0.0", "")] }])
}

/// The files of a bundle in the channel `stable`.
fn bundle(package: &str, version: &str, replaces: &str) -> Value {
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": format!("{package}.v{version}") },
        "spec": { "version": version, "replaces": replaces },
    });
    let annotations = json!({ "annotations": {
        "operators.operatorframework.io.bundle.package.v1": package,
        "operators.operatorframework.io.bundle.channels.v1": "stable",
        "operators.operatorframework.io.bundle.channel.default.v1": "stable",
    } });
    json!({
        "image": format!("quay.io/ns/{package}:v{version}"),
        "files": { "manifests/csv.yaml": csv.to_string(), "metadata/annotations.yaml": annotations.to_string() },
    })
}

/// An empty directory that can be edited, and a server over it.
fn start(folders: &Folders) -> Server {
    std::fs::create_dir_all(folders.path("catalog")).unwrap();
    Server::start(
        folders,
        &["--editable", &format!("mine={}", folders.text("catalog"))],
    )
}

fn body(response: &HttpResponse) -> Value {
    serde_json::from_slice(&response.body)
        .unwrap_or_else(|_| json!(String::from_utf8_lossy(&response.body)))
}

/// The digest in the entity tag of a response.
fn digest(response: &HttpResponse) -> String {
    response
        .header("etag")
        .expect("a response has an entity tag")
}

/// The names of the packages in the files.
fn written(folders: &Folders) -> BTreeSet<String> {
    let output =
        run(catalogql().args(["list", "packages", &folders.text("catalog"), "-o", "json"]));
    let listed: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let packages = listed["items"].as_array().into_iter().flatten();
    packages
        .map(|package| package["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn an_empty_directory_is_edited_over_http_and_served() {
    let folders = Folders::new();
    let server = start(&folders);
    let created = edit(server.address, &[], &create("etcd"));
    assert_eq!(created.status, 200, "{}", body(&created));
    // What is told as done is served, and the entity tag is its digest.
    let current = || -> String {
        let answer: Value = serde_json::from_str(&graphql(server.address, DIGEST)).unwrap();
        answer["data"]["catalogs"][0]["digest"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        graphql(server.address, crate::support::PACKAGES),
        packages(&["etcd"])
    );
    assert_eq!(
        (digest(&created), &body(&created)["digest"]),
        (format!("\"{}\"", current()), &json!(current()))
    );

    let batch = json!([
        { "op": "add", "bundles": [bundle("etcd", "1.1.0", "etcd.v1.0.0"), bundle("argo", "0.1.0", "")] },
        { "op": "promote", "package": "etcd", "bundle": "etcd.v1.0.0", "channel": "slow" },
    ]);
    let added = edit(server.address, &[("if-match", &digest(&created))], &batch);
    assert_eq!(added.status, 200, "{}", body(&added));
    let changes = body(&added)["changes"].clone();
    let stable = changes
        .as_array()
        .unwrap()
        .iter()
        .find(|blob| blob["name"] == "stable")
        .unwrap();
    assert_eq!(stable["graph"]["toHeads"], json!(["etcd.v1.1.0"]));
    assert_eq!(
        graphql(server.address, crate::support::PACKAGES),
        packages(&["argo", "etcd"])
    );
    assert_eq!(format!("\"{}\"", current()), digest(&added));
    assert_eq!(
        run(catalogql().args(["validate", &folders.text("catalog")])).status,
        Some(0)
    );
}

#[test]
fn a_batch_that_is_refused_changes_nothing_and_says_why() {
    let folders = Folders::new();
    let server = start(&folders);
    let created = edit(server.address, &[], &create("etcd"));
    let former = digest(&created);
    let json = ("content-type", "application/json");
    let many = json!(vec![json!({ "op": "prune-stranded" }); 101]).to_string();
    let bundles =
        json!([{ "op": "add", "bundles": vec![bundle("a", "1.0.0", ""); 101] }]).to_string();
    let gap = json!([create("argo")[0], { "op": "add", "bundles": [bundle("etcd", "1.2.0", "etcd.v1.1.0")] }]);
    let empty_key = ("idempotency-key", "\"\"");
    let stray = json!([{ "op": "prune-stranded", "package": "etcd" }]).to_string();
    let cases: [(&str, Headers<'_>, &str, u16, &str); 13] = [
        (
            "other",
            &[json],
            "[]",
            404,
            "no catalog `other` can be edited: start the server with --editable other=DIR",
        ),
        ("mine", &[], "[]", 415, "the body must be application/json"),
        (
            "mine",
            &[("content-type", "text/plain")],
            "[]",
            415,
            "the body must be application/json",
        ),
        (
            "mine",
            &[json],
            "[{\"op\":\"fly\"}]",
            400,
            "cannot read the batch: operation 1 (fly): unknown variant `fly`",
        ),
        (
            "mine",
            &[json],
            "[",
            400,
            "cannot read the batch: write a JSON array of operations, such as",
        ),
        (
            "mine",
            &[json, empty_key],
            "[]",
            400,
            "the idempotency key must be",
        ),
        (
            "mine",
            &[json],
            &stray,
            400,
            "cannot read the batch: operation 1 (prune-stranded): unknown field `package`",
        ),
        (
            "mine?dryRun=true",
            &[json],
            "[]",
            400,
            "cannot do this dry run: the only one is `dryRun=All`",
        ),
        (
            "mine?dryRun",
            &[json],
            &create("argo").to_string(),
            400,
            "cannot do this dry run: the only one is",
        ),
        (
            "mine",
            &[json],
            &many,
            422,
            "the batch has more than 100 operations",
        ),
        (
            "mine",
            &[json],
            &bundles,
            422,
            "the batch has more than 100 bundles",
        ),
        (
            "mine",
            &[json, ("if-match", "\"sha256:00\"")],
            "[]",
            412,
            "the catalog has the content sha256:",
        ),
        (
            "mine",
            &[json],
            &gap.to_string(),
            409,
            "Invalid bundle etcd.v1.2.0, replaces nonexistent bundle etcd.v1.1.0",
        ),
    ];
    for (catalog, headers, text, status, detail) in cases {
        let refused = post(server.address, catalog, headers, text);
        let problem = body(&refused);
        assert_eq!(
            (refused.status, &problem["status"]),
            (status, &json!(status)),
            "{problem}"
        );
        assert!(
            problem["detail"].as_str().unwrap().starts_with(detail),
            "{problem}"
        );
    }
    let long = post(server.address, "mine", &[json], &" ".repeat((4 << 20) + 1));
    assert_eq!(long.status, 413);
    assert_eq!(written(&folders), ["etcd".to_owned()].into());
    let unchanged = edit(
        server.address,
        &[("if-match", &former)],
        &json!([{ "op": "prune-stranded" }]),
    );
    assert_eq!(
        (unchanged.status, &body(&unchanged)["changes"]),
        (200, &json!([]))
    );
    assert_eq!(digest(&unchanged), former);
}

#[test]
fn a_dry_run_says_what_the_edit_does_and_writes_nothing() {
    let folders = Folders::new();
    let server = start(&folders);
    let former = digest(&edit(server.address, &[], &create("etcd")));
    let mut added = bundle("etcd", "1.1.0", "etcd.v1.0.0");
    let csv = added["files"]["manifests/csv.yaml"].as_str().unwrap();
    let modes = "\"installModes\":[{\"type\":\"Everywhere\",\"supported\":true}],\"version\"";
    added["files"]["manifests/csv.yaml"] = json!(csv.replace("\"version\"", modes));
    added["files"]["manifests/notes.yaml"] = json!("a: 1");
    let batch =
        json!([{ "op": "add", "bundles": [added] }, { "op": "prune", "packages": ["etcd", "argp"] }]).to_string();
    let headers = [
        ("content-type", "application/json"),
        ("if-match", &*former),
        ("idempotency-key", "\"release\""),
    ];

    let dry = post(server.address, DRY_RUN, &headers, &batch);
    assert_eq!(
        (dry.status, dry.header("etag")),
        (200, None),
        "{}",
        body(&dry)
    );
    let problem = body(&dry)["problems"][0].clone();
    let place = ["code", "package", "bundle"]
        .map(|key| problem[key].as_str().unwrap_or_default().to_owned());
    assert_eq!(place, ["INSTALL_MODE_UNKNOWN", "etcd", "etcd.v1.1.0"]);
    let notices = [
        "bundle etcd.v1.1.0: cannot read manifest `notes.yaml`: it has no kind",
        "package argp: cannot be kept: it is not in the catalog",
    ];
    assert_eq!(body(&dry)["notices"], json!(notices));
    // Neither the content nor the key is used up.
    let done = post(server.address, "mine", &headers, &batch);
    assert_eq!((done.status, body(&done)), (200, body(&dry)));
    assert_eq!(
        format!("\"{}\"", body(&dry)["former"].as_str().unwrap()),
        former
    );
    // Conditions hold, and what is refused is refused in the same words.
    let refused =
        [DRY_RUN, "mine"].map(|catalog| post(server.address, catalog, &headers[..2], &batch));
    assert_eq!(
        (refused[0].status, body(&refused[0])),
        (412, body(&refused[1]))
    );
    let refused =
        [DRY_RUN, "mine"].map(|catalog| post(server.address, catalog, &headers[..1], &batch));
    assert_eq!(
        (refused[0].status, body(&refused[0])),
        (409, body(&refused[1]))
    );
}

#[test]
fn of_two_writers_one_wins_and_the_other_is_told_the_new_content() {
    let folders = Folders::new();
    let server = start(&folders);
    let former = digest(&edit(server.address, &[], &create("etcd")));
    let responses: Vec<_> = thread::scope(|scope| {
        let writers = ["argo", "vault"].map(|package| {
            let condition = &former;
            scope.spawn(move || edit(server.address, &[("if-match", condition)], &create(package)))
        });
        writers.map(|writer| writer.join().unwrap()).into()
    });
    let mut statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    assert_eq!(
        digest(&responses[0]),
        digest(&responses[1]),
        "both name what is there now"
    );
    assert_eq!(written(&folders).len(), 2);
}

#[test]
fn a_request_with_a_key_is_done_once_also_after_a_restart() {
    let folders = Folders::new();
    let server = start(&folders);
    let key = [("idempotency-key", "\"release-1\"")];
    let done = edit(server.address, &key, &create("etcd"));
    assert_eq!(done.status, 200, "{}", body(&done));
    let later = edit(server.address, &[], &create("argo"));
    let again = edit(server.address, &key, &create("etcd"));
    assert_eq!(
        (again.status, digest(&again), &again.body),
        (200, digest(&done), &done.body)
    );
    let other = edit(server.address, &key, &create("vault"));
    assert_eq!(
        (other.status, &body(&other)["detail"]),
        (422, &json!("another request had this idempotency key"))
    );
    drop(server);
    let server = start(&folders);
    let again = edit(server.address, &key, &create("etcd"));
    assert_eq!((again.status, &again.body), (200, &done.body));
    // Without the key it would be done again, which is not possible.
    assert_eq!(edit(server.address, &[], &create("etcd")).status, 409);
    assert_eq!(
        digest(&edit(server.address, &[], &json!([]))),
        digest(&later)
    );
}

#[test]
fn what_eight_writers_are_told_is_done_is_served_to_each_at_once() {
    let folders = Folders::new();
    let server = start(&folders);
    let address = server.address;
    assert_eq!(edit(address, &[], &create("etcd")).status, 200);
    let channels = || -> BTreeSet<String> {
        let answer: Value = serde_json::from_str(&graphql(
            address,
            "{ package(catalog: \"mine\", name: \"etcd\") { channels { name } } }",
        ))
        .unwrap();
        let channels = answer["data"]["package"]["channels"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .iter();
        channels
            .map(|channel| channel["name"].as_str().unwrap().to_owned())
            .collect()
    };
    thread::scope(|scope| {
        for writer in 0..8 {
            let channels = &channels;
            scope.spawn(move || {
                for number in 0..6 {
                    let channel = format!("channel-{writer}-{number}");
                    let entries = [json!({ "name": "etcd.v1.0.0" })];
                    let batch =
                        json!([{ "op": "add-channel", "package": "etcd", "channel": channel, "entries": entries }]);
                    let done = edit(address, &[], &batch);
                    assert_eq!(done.status, 200, "{}", body(&done));
                    assert!(channels().contains(&channel), "{channel}");
                }
            });
        }
    });
    assert_eq!(channels().len(), 49);
}

#[test]
fn a_batch_that_would_cost_too_much_is_refused_before_anything_is_done() {
    let folders = Folders::new();
    let server = start(&folders);
    let chain: Vec<_> = (0..60)
        .map(|number| {
            let replaces = if number == 0 {
                String::new()
            } else {
                format!("etcd.v1.{}.0", number - 1)
            };
            bundle("etcd", &format!("1.{number}.0"), &replaces)
        })
        .collect();
    let former = edit(
        server.address,
        &[],
        &json!([{ "op": "add", "bundles": chain }]),
    );
    assert_eq!(former.status, 200, "{}", body(&former));
    let detail = |batch: &Value| {
        let refused = post(
            server.address,
            DRY_RUN,
            &[("content-type", "application/json")],
            &batch.to_string(),
        );
        (refused.status, body(&refused)["detail"].clone())
    };
    let skips: Vec<_> = (0..10_000)
        .map(|number| format!("etcd.v0.{number}.0"))
        .collect();
    let entry = |skips: &[String]| {
        let entries =
            [json!({ "name": "etcd.v1.59.0", "replaces": "etcd.v1.58.0", "skips": skips })];
        json!([{ "op": "set-entry", "package": "etcd", "channel": "stable", "entries": entries }])
    };
    let names = "the batch has more than 10000 names of packages, channels, bundles and images";
    assert_eq!(detail(&entry(&skips)), (422, json!(names)));
    assert_eq!(detail(&entry(&skips[1..])).0, 200);
    let twice = [entry(&skips[..5_000]), entry(&skips[5_000..])].map(|batch| batch[0].clone());
    assert_eq!(detail(&json!(twice)), (422, json!(names)));
    // A bundle takes the chain below it into each of its channels.
    let many = |channels: usize| {
        let mut next = bundle("etcd", "1.60.0", "etcd.v1.59.0");
        let channels: Vec<_> = (0..channels)
            .map(|number| format!("channel-{number}"))
            .collect();
        let annotations = json!({ "annotations": {
            "operators.operatorframework.io.bundle.package.v1": "etcd",
            "operators.operatorframework.io.bundle.channels.v1": channels.join(","),
            "operators.operatorframework.io.bundle.channel.default.v1": "channel-0",
        } });
        next["files"]["metadata/annotations.yaml"] = json!(annotations.to_string());
        json!([{ "op": "add", "bundles": [next] }])
    };
    let edges = "the batch has more than 20000 entries and skips in the packages that change";
    // Sixty entries are there, and each channel gets sixty-one.
    assert_eq!(detail(&many(327)), (422, json!(edges)));
    assert_eq!(detail(&many(326)).0, 200);
    assert_eq!(
        digest(&edit(server.address, &[], &json!([]))),
        digest(&former)
    );
}

#[test]
fn no_query_but_that_of_a_dry_run_is_taken() {
    let folders = Folders::new();
    let server = start(&folders);
    let headers = [("content-type", "application/json")];
    let dry = post(
        server.address,
        "mine?dry%52un=All",
        &headers,
        &create("etcd").to_string(),
    );
    assert_eq!(
        (dry.status, dry.header("etag")),
        (200, None),
        "{}",
        body(&dry)
    );
    for (query, name) in [
        ("DRYRUN=All", "DRYRUN"),
        ("x=1", "x"),
        ("dryRun=All&dryrun=All", "dryrun"),
    ] {
        let refused = post(
            server.address,
            &format!("mine?{query}"),
            &headers,
            &create("etcd").to_string(),
        );
        let detail =
            format!("cannot use the query parameter \"{name}\": the only one is `dryRun=All`");
        assert_eq!(
            (refused.status, &body(&refused)["detail"]),
            (400, &json!(detail))
        );
    }
    assert_eq!(
        std::fs::read_dir(folders.path("catalog")).unwrap().count(),
        0
    );
}

#[test]
fn of_five_hundred_batches_at_once_none_is_lost() {
    let folders = Folders::new();
    let server = start(&folders);
    let address = server.address;
    assert_eq!(edit(address, &[], &create("etcd")).status, 200);
    thread::scope(|scope| {
        for number in 0..500 {
            scope.spawn(move || {
                let key = format!("\"{number}\"");
                let entries = [json!({ "name": "etcd.v1.0.0" })];
                let channel = format!("channel-{number:03}");
                let batch = json!([{ "op": "add-channel", "package": "etcd", "channel": channel, "entries": entries }]);
                // One that waited too long may be done all the same: its key tells. The last one waits
                // for the files of all the others to be synchronized with the disk.
                eventually_within(5 * TEST_TIMEOUT, || {
                    let response = edit(address, &[("idempotency-key", &key)], &batch);
                    assert!([200, 408, 503].contains(&response.status), "{}", body(&response));
                    (response.status == 200).then_some(())
                });
            });
        }
    });
    let listed =
        run(catalogql().args(["list", "channels", &folders.text("catalog"), "-o", "json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let names: BTreeSet<_> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| channel["name"].as_str().unwrap().to_owned())
        .collect();
    let expected: BTreeSet<_> = (0..500)
        .map(|number| format!("channel-{number:03}"))
        .chain(["stable".to_owned()])
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn a_server_that_is_killed_while_it_edits_has_done_each_batch_once_when_all_were_sent_again() {
    let folders = Folders::new();
    let mut random = fastrand::Rng::with_seed(21);
    let done = AtomicUsize::new(0);
    // Each batch adds a bundle on top of the one before, so that one that is lost or done twice
    // cannot go unnoticed.
    let batch = |number: usize| {
        let replaces = if number == 0 {
            String::new()
        } else {
            format!("etcd.v1.{}.0", number - 1)
        };
        json!([{ "op": "add", "bundles": [bundle("etcd", &format!("1.{number}.0"), &replaces)] }])
    };
    for _ in 0..8 {
        let server = start(&folders);
        let address = server.address;
        let id = server.id();
        let kill_after = done.load(Ordering::SeqCst) + random.usize(1..6);
        thread::scope(|scope| {
            let done = &done;
            let killer = scope.spawn(move || {
                eventually(|| (done.load(Ordering::SeqCst) >= kill_after).then_some(()));
                run(Command::new("sh").args(["-c", &format!("kill -KILL {id}")]));
            });
            loop {
                let number = done.load(Ordering::SeqCst);
                let key = format!("\"{number}\"");
                let Some(response) = try_edit(address, &key, &batch(number)) else {
                    break;
                };
                assert_eq!(response.status, 200, "{}", body(&response));
                done.fetch_add(1, Ordering::SeqCst);
            }
            killer.join().unwrap();
        });
    }
    let server = start(&folders);
    let number = done.load(Ordering::SeqCst);
    let last = edit(
        server.address,
        &[("idempotency-key", &format!("\"{number}\""))],
        &batch(number),
    );
    assert_eq!(last.status, 200, "{}", body(&last));
    let bundles =
        run(catalogql().args(["list", "bundles", &folders.text("catalog"), "-o", "json"]));
    let bundles: Value = serde_json::from_str(&bundles.stdout).unwrap();
    assert_eq!(bundles["items"].as_array().map(Vec::len), Some(number + 1));
    assert!(number >= 8, "{number}");
    assert_eq!(
        run(catalogql().args(["validate", &folders.text("catalog")])).status,
        Some(0)
    );
}

/// Sends a batch; `None` if the server is gone before it responds.
fn try_edit(address: SocketAddr, key: &str, batch: &Value) -> Option<HttpResponse> {
    std::net::TcpStream::connect(address).ok()?;
    let response =
        std::panic::catch_unwind(|| edit(address, &[("idempotency-key", key)], batch)).ok()?;
    (response.status != 0).then_some(response)
}

#[test]
fn nobody_edits_unasked_or_from_elsewhere() {
    let folders = Folders::new();
    std::fs::create_dir_all(folders.path("catalog")).unwrap();
    let mine = format!("mine={}", folders.text("catalog"));
    let refused = |arguments: &[&str]| {
        let store = folders.text("refused");
        let output = run(catalogql()
            .args(["serve", "--store", &store])
            .args(arguments));
        assert_eq!(output.status, Some(1));
        folders.shown(&output.stderr)
    };
    let open = refused(&["--editable", &mine, "--listen", "0.0.0.0:0", "--plain-http"]);
    assert!(
        open.contains("without authentication: pass --auth=delegated\n"),
        "{open}"
    );
    let nested = refused(&[
        "--editable",
        &mine,
        "--editable",
        &mine.replace("mine=", "again="),
        "--listen",
        "0",
    ]);
    assert!(
        nested.contains("is in the directory of another catalog"),
        "{nested}"
    );
    let absent = refused(&["--editable", "mine=/nonexistent", "--listen", "0"]);
    assert!(absent.contains("`/nonexistent`"), "{absent}");

    folders.catalog("fixed", crate::support::ETCD);
    let server = Server::start(
        &folders,
        &[
            &folders.text("fixed"),
            "--editable",
            &mine,
            "--cors-origin",
            "*",
        ],
    );
    let json = ("content-type", "application/json");
    assert_eq!(post(server.address, "fixed", &[json], "[]").status, 404);
    // A page of another origin is not let through by its browser.
    let head = "OPTIONS /catalogs/mine/edits HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\norigin: http://a.example\r\n\
                access-control-request-method: POST\r\naccess-control-request-headers: content-type\r\n\r\n";
    let preflight = exchange(server.address, head.as_bytes(), false);
    assert_eq!(
        (
            preflight.status,
            preflight.header("access-control-allow-origin")
        ),
        (405, None)
    );
    let answer = edit(
        server.address,
        &[("origin", "http://a.example")],
        &json!([]),
    );
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn a_bundle_that_no_catalog_could_have_is_a_bad_request_that_says_what_is_wrong_with_it() {
    let folders = Folders::new();
    let server = start(&folders);
    let send = |bundle: &str| {
        let batch = format!(r#"[{{"op":"add","bundles":[{bundle}]}}]"#);
        let response = post(
            server.address,
            "mine",
            &[("content-type", "application/json")],
            &batch,
        );
        (
            response.status,
            body(&response)["detail"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let rendered = |value: &str| {
        let package = r#"{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}"#;
        let properties = format!(r#"[{package},{{"type":"x","value":{value}}}]"#);
        format!(
            r#"{{"blob":{{"schema":"olm.bundle","package":"etcd","name":"etcd.v1","image":"i","properties":{properties}}},
               "channels":["a"],"defaultChannel":"a"}}"#
        )
    };
    let (status, detail) = send(&rendered(&"1".repeat(1_000_000)));
    let invalid = "cannot read the batch: cannot read a rendered bundle: not a JSON value of at most 200 levels, with numbers in \
                   the range of a double";
    assert_eq!((status, &*detail), (400, invalid));
    let unread = r#"{"image":"i","files":{"manifests/csv.yaml":"kind: *a\n"}}"#;
    let (status, detail) = send(unread);
    assert_eq!(status, 400);
    assert!(
        detail.contains("no bundle objects found: cannot read manifest `csv.yaml`: line 1: ")
            && detail.ends_with("unknown anchor referenced"),
        "{detail}"
    );
    assert_eq!(send(&rendered("1e308")).0, 200);
}

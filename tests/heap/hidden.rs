//! What it takes to answer a caller who names a catalog that it may not see, and one who names a
//! catalog that is not there: as many bytes of the heap and, where valgrind is installed, as many
//! instructions. Else the time that a response takes could tell which catalogs there are.

use std::convert::Infallible;
use std::env;
use std::process::Command;
use std::sync::Arc;

use admission::Peer;
use auth::{Callers, RequestCredentials};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use fbc_grammar::Digest;
use graphql::Engine;
use graphql::limits::Limits;
use graphql_http::{GraphqlHttp, GraphqlHttpSettings};
use grpc::Grpc;
use kube::Client;
use kube_api::{BOOKMARK_INTERVAL, Decision, KubeApi, KubeApiOptions};
use serde_json::{Value, json};
use serving::{CatalogMetadata, Catalogs, Content, Served, Visibility, catalogs};
use sha2::{Digest as _, Sha256};
use testing::{digest, fixture, report_skipped};
use tower::{ServiceExt as _, service_fn};

use crate::HEAP;

/// Set in the process that is measured, to a protocol and the names that it asks for.
const MEASURED: &str = "CATALOGQL_TEST_HIDDEN";

/// The test that such a process runs.
const NAME: &str = "what_is_hidden_takes_as_much_work_as_what_is_not_there";

/// How names of catalogs begin that are hidden, and that are not there.
const SIDES: [&str; 2] = ["hidden", "absent"];

/// Number of names of each side.
const NAMES: usize = 16;

/// Most by which the bytes of both sides may differ, as a divisor: 0.1 %. Names are of one length,
/// but not all texts that are made of them are: sides whose names are swapped differ by the same
/// 0.03 %.
const BYTES_BOUND: u64 = 1_000;

/// Most by which the instructions may differ, as a divisor: 3 %. Tables are hashed with random
/// seeds, by which two runs of one side differ by up to 1.4 %. To read or compare anything of a
/// catalog takes more.
const INSTRUCTIONS_BOUND: u64 = 33;

/// What names a catalog.
const PROTOCOLS: [&str; 5] = ["graphql", "paths", "icons", "kube", "grpc"];

/// A server of one protocol, for a caller who sees one catalog of many.
struct Server {
    router: Router,
    callers: Callers,
    reader: Catalogs,
}

#[test]
fn what_is_hidden_takes_as_much_work_as_what_is_not_there() {
    if let Ok(measured) = env::var(MEASURED) {
        let (protocol, side) = measured.split_once(' ').expect("two words");
        return answer(protocol, side);
    }
    let has_valgrind = Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_valgrind {
        report_skipped(
            "valgrind",
            "instructions are not counted",
            "install it (Debian: apt-get install valgrind)",
        );
    }
    let mut missed = Vec::new();
    for protocol in PROTOCOLS {
        let heap = SIDES.map(|side| heap(protocol, side));
        let instructions = SIDES.map(|side| {
            if has_valgrind {
                instructions(protocol, side)
            } else {
                0
            }
        });
        println!("{protocol}: {heap:?} bytes, {instructions:?} instructions");
        let differs = |[hidden, absent]: [u64; 2], bound| hidden.abs_diff(absent) > absent / bound;
        if differs(heap, BYTES_BOUND) || differs(instructions, INSTRUCTIONS_BOUND) {
            missed.push((protocol, heap, instructions));
        }
        assert!(heap[0] > 0, "{protocol} is measured");
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Bytes that the heap gives while a process answers.
fn heap(protocol: &str, side: &str) -> u64 {
    let output = command(&[], protocol, side)
        .output()
        .expect("this program can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let bytes = text
        .lines()
        .find_map(|line| line.strip_prefix("allocated "))
        .unwrap_or_else(|| panic!("{output:?}"));
    bytes.parse().expect("a number")
}

/// Instructions that a process executes while it answers.
fn instructions(protocol: &str, side: &str) -> u64 {
    let valgrind = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--collect-atstart=no",
        "--toggle-collect=*hidden*measured*",
    ];
    let output = command(&valgrind, protocol, side)
        .output()
        .expect("valgrind is there");
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .unwrap_or_else(|| panic!("{text}"))
        .1;
    count.trim().parse().expect("a number")
}

fn command(before: &[&str], protocol: &str, side: &str) -> Command {
    let program = env::current_exe().expect("this program has a path");
    let program = program.to_str().expect("the path is UTF-8");
    let words = [
        before,
        &[
            program,
            "--exact",
            "hidden::NAME",
            "--nocapture",
            "--test-threads=1",
        ],
    ]
    .concat();
    let mut command = Command::new(words[0]);
    command.args(words[1..].iter().map(|word| word.replace("NAME", NAME)));
    command.env(MEASURED, format!("{protocol} {side}"));
    command
}

/// Answers requests for each name of a side, each twice, and prints what the heap gave meanwhile.
fn answer(protocol: &str, side: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let server = runtime.block_on(Server::start(protocol));
    let names: Vec<_> = (0..NAMES)
        .map(|number| format!("{side}{number:02}"))
        .collect();
    // Once for what is made when it is first needed.
    runtime.block_on(server.ask(protocol, "others00"));
    let before = HEAP.total_allocated();
    measured(&runtime, &server, protocol, &names);
    println!("\nallocated {}", HEAP.total_allocated() - before);
}

/// What is measured: valgrind knows it by its name.
#[inline(never)]
fn measured(runtime: &tokio::runtime::Runtime, server: &Server, protocol: &str, names: &[String]) {
    for name in names.iter().chain(names) {
        runtime.block_on(server.ask(protocol, name));
    }
}

impl Server {
    /// Starts no more than the protocol needs: all of it is executed by valgrind.
    async fn start(protocol: &str) -> Self {
        let (mut writer, published) = catalogs();
        writer.publish(served("openly"));
        for number in 0..NAMES {
            writer.publish(served(&format!("{}{number:02}", SIDES[0])));
        }
        let reader = published.visible(Visibility::only(["openly".to_owned()]));
        let router = match protocol {
            "graphql" => {
                let engine = Engine::new(reader.clone(), "test", Limits::default());
                GraphqlHttp::new(Arc::new(engine), GraphqlHttpSettings::default()).router()
            }
            "icons" => catalogd_http::router(reader.clone(), "test", None),
            "kube" => kube_router(&published, &reader).await,
            "grpc" => Grpc::new(reader.clone()).router(),
            _ => Router::new(),
        };
        Self {
            router,
            callers: Callers::new(api_server(), Vec::new(), published),
            reader,
        }
    }

    /// Asks for a catalog of this name, as somebody does who does not see it.
    async fn ask(&self, protocol: &str, name: &str) {
        let get = |path: &str| Request::get(path).body(Body::empty()).expect("a request");
        match protocol {
            "graphql" => {
                let query = "query($n: String!) { catalog(name: $n) { name } package(catalog: $n, name: $n) { name } \
                             packages(catalogs: [$n]) { totalCount } bundle(catalog: $n, package: $n, name: $n) { name } }";
                let request = json!({ "query": query, "variables": { "n": name } }).to_string();
                let request = Request::post("/graphql")
                    .header("content-type", "application/json")
                    .body(request.into());
                let text = body(&self.router, request.expect("a request")).await;
                assert!(text.contains(r#""catalog":null"#), "{text}");
            }
            // What the program asks before it looks at anything else: see `crates/catalog-server/src/access.rs`.
            "paths" => {
                let denied = self
                    .callers
                    .reader_of(
                        &RequestCredentials::Token(b"one".as_slice().into(), Peer::default()),
                        name,
                    )
                    .await;
                assert!(denied.is_err());
            }
            "icons" => {
                let path = digest(picture(name).as_bytes()).replace("sha256:", "/icons/");
                body(&self.router, get(&path)).await;
            }
            "kube" => {
                let v1 = "/apis/packages.operators.coreos.com/v1";
                let own = "/apis/catalogd.operatorframework.io/v1beta1";
                for path in [
                    format!("{v1}/namespaces/olm/packagemanifests/{name}"),
                    format!("{v1}/namespaces/olm/packagemanifests/{name}/icon"),
                    format!("{v1}/packagemanifests?labelSelector=catalog={name}"),
                    format!("{own}/packages/{name}:{name}"),
                    format!("{own}/catalogmetadata?fieldSelector=spec.catalog={name}"),
                ] {
                    let text = body(&self.router, get(&path)).await;
                    // As upstream's, the response for a missing icon has no body.
                    let is_absent = text.is_empty()
                        || text.contains("not found")
                        || text.contains(r#""items":[]"#);
                    assert!(is_absent, "{path}: {text}");
                }
            }
            _ => {
                let name_field = [
                    &[0x0a, u8::try_from(name.len()).expect("a short name")],
                    name.as_bytes(),
                ]
                .concat();
                let length = u32::try_from(name_field.len())
                    .expect("a short message")
                    .to_be_bytes();
                let frame = [&[0], &length[..], &name_field].concat();
                let request = Request::post("/api.Registry/GetPackage")
                    .header("content-type", "application/grpc");
                let request = request
                    .header("catalog", name)
                    .body(frame.into())
                    .expect("a request");
                body(&self.router, request).await;
            }
        }
        assert_eq!(self.reader.snapshot().by_name().count(), 1);
    }
}

/// The Kubernetes API for a caller with a reader, after its first list, which waits until it knows
/// the catalogs.
async fn kube_router(published: &Catalogs, reader: &Catalogs) -> Router {
    let own = published.visible(Visibility::none());
    let seen = reader.clone();
    let options = KubeApiOptions {
        global_namespace: "olm".to_owned(),
        version: json!({}),
        authorize: Some(Arc::new(move |_, _| {
            let seen = seen.clone();
            Box::pin(async move {
                Decision::Allow {
                    reader: Some(seen),
                    user: None,
                }
            })
        })),
        bookmark_interval: BOOKMARK_INTERVAL,
        create_manifest_file: None,
    };
    let (kube, task) = KubeApi::new(own, options);
    tokio::spawn(task.run());
    let kube = kube.router();
    let list =
        Request::get("/apis/packages.operators.coreos.com/v1/packagemanifests").body(Body::empty());
    body(&kube, list.expect("a request")).await;
    kube
}

/// The body of a response, and for gRPC nothing.
async fn body(router: &Router, request: Request<Body>) -> String {
    let response = router
        .clone()
        .oneshot(request)
        .await
        .expect("a router answers");
    let bytes = to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("it is in memory");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn picture(name: &str) -> String {
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{name}</title></svg>")
}

/// A catalog with a package of its name that has an icon.
fn served(name: &str) -> Served {
    let icon = json!({ "base64data": BASE64_STANDARD.encode(picture(name)), "mediatype": "image/svg+xml" });
    let own = format!("{name}-icon");
    let package =
        json!({ "schema": "olm.package", "name": own, "defaultChannel": "a", "icon": icon });
    let channel = json!({ "schema": "olm.channel", "package": own, "name": "a", "entries": [{ "name": "b" }] });
    let property =
        json!({ "type": "olm.package", "value": { "packageName": own, "version": "0.0.1" } });
    let bundle = json!({
        "schema": "olm.bundle", "package": own, "name": "b", "image": "example.com/b:1", "properties": [property],
    });
    let catalog = fixture::catalog(&format!(
        "package {name} default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 display={name}\n{package}\n{channel}\n{bundle}"
    ));
    let content = Content::new(catalog, Digest::new(Sha256::digest(name).into()));
    Served::new(name, content, CatalogMetadata::default())
}

/// An API server that knows one user, who may see one catalog.
fn api_server() -> Client {
    let answer = async |request: Request<kube::client::Body>| {
        let body = request
            .into_body()
            .collect_bytes()
            .await
            .expect("a question is in memory");
        let mut question: Value = serde_json::from_slice(&body).expect("questions are JSON");
        let name = question
            .pointer("/spec/resourceAttributes/name")
            .and_then(Value::as_str);
        question["status"] = match question.pointer("/spec/token") {
            Some(_) => json!({ "authenticated": true, "user": { "username": "one" } }),
            None => json!({ "allowed": name == Some("openly") }),
        };
        let response = Response::builder()
            .status(201)
            .header("content-type", "application/json");
        let body = kube::client::Body::from(question.to_string().into_bytes());
        Ok::<_, Infallible>(response.body(body).expect("a response"))
    };
    Client::new(service_fn(answer), "default")
}

//! A whole server in front of a real registry on bad days: what it serves meanwhile, what it says
//! of it, and that it serves the new content once that can be had.

use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::support::{
    ARGO, Archive, CONFIGS_LABEL, ETCD, Folders, MediaTypes, PACKAGES, Proxy, ProxyAction,
    RecordedRequest, Registry, RegistryImage, Server, eventually, graphql, lines, packages,
    respond, tar_archive,
};

/// What a registry does.
type Script = fn(&RecordedRequest) -> ProxyAction;

/// A proxy whose script can be changed.
struct Gate {
    proxy: Proxy,
    script: Arc<Mutex<Script>>,
}

impl Gate {
    fn before(registry: SocketAddr) -> Self {
        let script = Arc::new(Mutex::new((|_| ProxyAction::Forward) as Script));
        let now = Arc::clone(&script);
        let proxy = Proxy::start(registry, move |request| {
            let script = *now.lock().expect("nobody panicked");
            script(request)
        });
        Self { proxy, script }
    }

    fn set(&self, script: Script) {
        *self.script.lock().expect("nobody panicked") = script;
    }

    /// Starts a server of this repository behind it, which looks for a new image all the time.
    fn serve(&self, folders: &Folders, repository: &str) -> Server {
        serve(self.proxy.address, folders, repository)
    }
}

fn serve(address: SocketAddr, folders: &Folders, repository: &str) -> Server {
    let host = address.to_string();
    let source = format!("a={address}/{repository}:v1");
    Server::start(
        folders,
        &["--insecure-registry", &host, "--poll", "50ms", &source],
    )
}

/// An image of one file.
fn image(text: &str) -> RegistryImage {
    labelled(&[tar_archive(&[("configs/catalog.json", text.as_bytes())])])
}

fn labelled(layers: &[Vec<u8>]) -> RegistryImage {
    RegistryImage::image(MediaTypes::Oci, layers, &[(CONFIGS_LABEL, "/configs")])
}

/// The error that is logged while the former content is served.
fn failure(server: &Server) -> String {
    let line: Value = server
        .logs("still serving the last content")
        .parse()
        .expect("a log line is JSON");
    line["error"].as_str().expect("it says why").to_owned()
}

fn is_manifest(request: &RecordedRequest) -> bool {
    request.target.contains("/manifests/")
}

/// Layers alone are compressed.
fn is_layer(request: &RecordedRequest) -> bool {
    request.is_blob() && request.forward().body.starts_with(&[0x1f, 0x8b])
}

/// What happens to a tag, and what the error says; `@` is the repository.
struct Case {
    name: &'static str,
    script: Script,
    image: fn() -> RegistryImage,
    error: &'static str,
}

/// Faults on the way to a good image.
const BAD_WAYS: [Case; 7] = [
    Case {
        name: "gone",
        script: |request| {
            if is_manifest(request) {
                respond(404, &[], "")
            } else {
                ProxyAction::Forward
            }
        },
        image: argo,
        error: "cannot read the source: cannot find the tag `v1` in `@`",
    },
    Case {
        name: "private",
        script: |_| respond(401, &[], ""),
        image: argo,
        error: "cannot read the source: cannot access `@`: it requires credentials and none were found",
    },
    Case {
        name: "denied",
        script: |_| respond(403, &[], ""),
        image: argo,
        error: "cannot read the source: cannot get the tag `v1` from `@`: access denied for an anonymous client",
    },
    Case {
        name: "busy",
        script: |_| respond(429, &[("retry-after", "3600")], ""),
        image: argo,
        error: "cannot read the source: cannot access `@`: too many requests; it asks to retry after 3600 seconds",
    },
    Case {
        name: "failing",
        script: |_| respond(503, &[], ""),
        image: argo,
        error: "cannot read the source: cannot get the tag `v1` from `@`: HTTP status 503",
    },
    Case {
        name: "damaged",
        script: |request| {
            let mut answer = request.forward();
            if is_layer(request) {
                answer.body[30] ^= 1;
            }
            ProxyAction::Respond(answer)
        },
        image: argo,
        error: " of `@`: its digest is sha256:",
    },
    Case {
        name: "short",
        script: |request| {
            let mut answer = request.forward();
            if is_layer(request) {
                answer.body.pop();
            }
            ProxyAction::Respond(answer)
        },
        image: argo,
        error: " of `@`: it has ",
    },
];

/// Images that are none of a catalog, or of a broken one.
const BAD_IMAGES: [Case; 6] = [
    Case {
        name: "bundle",
        script: |_| ProxyAction::Forward,
        image: || {
            let labels = [("operators.operatorframework.io.bundle.package.v1", "etcd")];
            RegistryImage::image(
                MediaTypes::Oci,
                &[tar_archive(&[("manifests/etcd.yaml", b"")])],
                &labels,
            )
        },
        error: "cannot unpack the image: the image is a bundle of the package `etcd`, not a catalog",
    },
    Case {
        name: "database",
        script: |_| ProxyAction::Forward,
        image: || {
            let labels = [(
                "operators.operatorframework.io.index.database.v1",
                "/database/index.db",
            )];
            RegistryImage::image(
                MediaTypes::Oci,
                &[tar_archive(&[("database/index.db", b"SQLite format 3")])],
                &labels,
            )
        },
        error: "/database/index.db",
    },
    Case {
        name: "no-archive",
        script: |_| ProxyAction::Forward,
        image: || labelled(&[b"this is no archive of anything".repeat(100)]),
        error: "cannot unpack the image: layer 1 is damaged or not a tar archive",
    },
    Case {
        name: "device",
        script: |_| ProxyAction::Forward,
        image: || {
            labelled(&[Archive::default()
                .entry(b'3', b"configs/null", b"", b"")
                .plain()])
        },
        error: ", not a regular file",
    },
    Case {
        name: "no-json",
        script: |_| ProxyAction::Forward,
        image: || image("{"),
        error: "catalog.json:1: ",
    },
    Case {
        name: "elsewhere",
        script: |_| ProxyAction::Forward,
        image: || labelled(&[tar_archive(&[("catalog.json", b"{}")])]),
        error: "cannot unpack the image: the image has no directory `/configs`",
    },
];

fn argo() -> RegistryImage {
    image(&lines(ARGO))
}

#[test]
fn a_tag_that_goes_bad_leaves_the_former_content_served_until_it_is_mended() {
    let registry = Registry::start();
    thread::scope(|scope| {
        for case in BAD_WAYS.iter().chain(&BAD_IMAGES) {
            let registry = &registry;
            scope.spawn(move || goes_bad_and_is_mended(case, registry));
        }
    });
}

fn goes_bad_and_is_mended(
    Case {
        name,
        script,
        image,
        error,
    }: &Case,
    registry: &Registry,
) {
    let repository = format!("ns/{name}");
    registry.push(&repository, "v1", &self::image(&lines(ETCD)));
    let gate = Gate::before(registry.address);
    let folders = Folders::new();
    let server = gate.serve(&folders, &repository);
    assert_eq!(
        graphql(server.address, PACKAGES),
        packages(&["etcd"]),
        "{name}"
    );

    gate.set(*script);
    registry.push(&repository, "v1", &image());
    let said = failure(&server);
    let place = format!("{}/{repository}", gate.proxy.address);
    assert!(said.contains(&error.replace('@', &place)), "{name}: {said}");
    assert_eq!(
        graphql(server.address, PACKAGES),
        packages(&["etcd"]),
        "{name}"
    );

    gate.set(|_| ProxyAction::Forward);
    registry.push(&repository, "v1", &argo());
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
    assert_eq!(scratch(&folders), 0, "{name}");
}

/// How many pulls left something.
fn scratch(folders: &Folders) -> usize {
    fs::read_dir(folders.path("store/scratch")).map_or(0, Iterator::count)
}

#[test]
fn a_blob_that_breaks_off_or_never_ends_gives_the_right_content_all_the_same() {
    let scripts: [Script; 2] = [
        |request| {
            if is_layer(request) && request.earlier == 0 {
                ProxyAction::Truncate(50)
            } else {
                ProxyAction::Forward
            }
        },
        |request| {
            if is_layer(request) {
                ProxyAction::Endless
            } else {
                ProxyAction::Forward
            }
        },
    ];
    let registry = Registry::start();
    registry.push("ns/catalog", "v1", &argo());
    for script in scripts {
        let gate = Gate::before(registry.address);
        let folders = Folders::new();
        gate.set(script);
        let server = gate.serve(&folders, "ns/catalog");
        assert_eq!(graphql(server.address, PACKAGES), packages(&["argo"]));
    }
}

#[test]
fn a_restart_while_the_registry_is_down_serves_the_former_content_at_once_and_goes_on_trying() {
    let mut registry = Registry::start();
    registry.push("ns/catalog", "v1", &image(&lines(ETCD)));
    let folders = Folders::new();
    let start = |registry: &Registry| serve(registry.address, &folders, "ns/catalog");
    drop(start(&registry));
    registry.stop();

    let server = start(&registry);
    let said = server.table.last().expect("it says what it serves");
    assert!(
        said.starts_with("a serves its stored content, read ")
            && said.ends_with(" ago until its source answers"),
        "{said}"
    );
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
    let error = failure(&server);
    assert!(
        error.starts_with(&format!(
            "cannot read the source: cannot reach `{}`: ",
            registry.address
        )),
        "{error}"
    );
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));

    registry.resume();
    registry.push("ns/catalog", "v1", &argo());
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
}

#[test]
fn catalogs_of_one_digest_pull_its_layers_once() {
    let registry = Registry::start();
    let image = argo();
    let digest = registry.push("ns/catalog", "v1", &image);
    registry.push("ns/catalog", "v2", &image);
    let gate = Gate::before(registry.address);
    let folders = Folders::new();
    let host = gate.proxy.address.to_string();
    let repository = format!("{}/ns/catalog", gate.proxy.address);
    let sources = [
        format!("a={repository}:v1"),
        format!("b={repository}:v2"),
        format!("c={repository}@{digest}"),
    ];
    let server = Server::start(
        &folders,
        &[
            "--insecure-registry",
            &host,
            &sources[0],
            &sources[1],
            &sources[2],
        ],
    );
    let answer: Value = graphql(server.address, "{ catalogs { image } }")
        .parse()
        .expect("an answer is JSON");
    let images: Vec<_> = answer["data"]["catalogs"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(
        images,
        [&serde_json::json!({ "image": format!("{repository}@{digest}") }); 3]
    );
    let layer = crate::support::digest(&image.layers()[0]);
    let pulls = gate
        .proxy
        .requests()
        .iter()
        .filter(|request| request.target.ends_with(&layer))
        .count();
    assert_eq!(pulls, 1);
}

#[test]
fn a_server_that_is_killed_while_it_waits_for_a_registry_has_the_former_content_and_then_the_new_one()
 {
    let steps: [(&str, Script); 3] = [
        ("manifest", |request| {
            if is_manifest(request) {
                ProxyAction::Stall(10)
            } else {
                ProxyAction::Forward
            }
        }),
        ("config", |request| {
            if request.is_blob() && !is_layer(request) {
                ProxyAction::Stall(10)
            } else {
                ProxyAction::Forward
            }
        }),
        ("layer", |request| {
            if is_layer(request) {
                ProxyAction::Stall(50)
            } else {
                ProxyAction::Forward
            }
        }),
    ];
    let registry = Registry::start();
    for (step, script) in steps {
        let repository = format!("ns/{step}");
        registry.push(&repository, "v1", &image(&lines(ETCD)));
        let gate = Gate::before(registry.address);
        let folders = Folders::new();
        drop(gate.serve(&folders, &repository));
        registry.push(&repository, "v1", &argo());
        gate.set(script);
        let before = gate.proxy.requests().len();
        let server = gate.serve(&folders, &repository);
        let waits = |request: &RecordedRequest| matches!(script(request), ProxyAction::Stall(_));
        eventually(|| {
            gate.proxy.requests()[before..]
                .iter()
                .any(waits)
                .then_some(())
        });
        assert_eq!(
            graphql(server.address, PACKAGES),
            packages(&["etcd"]),
            "{step}"
        );
        server.signal("KILL");
        server.ended();
        assert_eq!(scratch(&folders), usize::from(step == "layer"), "{step}");

        gate.set(|_| respond(503, &[], ""));
        let server = gate.serve(&folders, &repository);
        assert_eq!(
            (graphql(server.address, PACKAGES), scratch(&folders)),
            (packages(&["etcd"]), 0),
            "{step}"
        );
        drop(server);
        gate.set(|_| ProxyAction::Forward);
        gate.serve(&folders, &repository)
            .answers_in_time(PACKAGES, &packages(&["argo"]));
    }
}

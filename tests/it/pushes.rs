//! `catalogql push`: what is in the registry afterwards, also when a push ends early or a registry
//! fails.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use serde_json::{Value, json};
use testing::{TEST_TIMEOUT, fixture};

use crate::support::{
    ARGO, CONFIGS_LABEL, ETCD, Folders, HttpResponse, MediaTypes, Output, Proxy, ProxyAction,
    RecordedRequest, Registry, RegistryImage, catalogql, eventually, respond, run, send_request,
    tar_archive,
};

/// Number of requests of a push into an empty repository: three for each of five blobs, and five
/// manifests.
const REQUESTS: usize = 20;

/// Two catalogs as directories, and a registry.
struct Fixture {
    folders: Folders,
    registry: Registry,
}

impl Fixture {
    fn new() -> Self {
        let folders = Folders::new();
        for (folder, catalog) in [("old", ETCD), ("new", ARGO)] {
            folders.write(&format!("{folder}/catalog.json"), fixture::lines(catalog));
        }
        Self {
            folders,
            registry: Registry::start(),
        }
    }

    /// The arguments that push a catalog to a repository.
    fn arguments(&self, catalog: &str, address: SocketAddr, repository: &str) -> Vec<String> {
        let to = format!("{address}/{repository}:v1");
        [
            "push",
            &self.folders.text(catalog),
            &to,
            "--insecure-registry",
            &address.to_string(),
        ]
        .map(str::to_owned)
        .into()
    }

    fn push_to(&self, catalog: &str, address: SocketAddr, repository: &str) -> Output {
        run(catalogql().args(self.arguments(catalog, address, repository)))
    }

    fn push(&self, catalog: &str, address: SocketAddr) -> Output {
        self.push_to(catalog, address, "ns/catalog")
    }

    /// The blobs of the image that the tag names, as the program reads them.
    fn pulled(&self, repository: &str) -> String {
        let address = self.registry.address;
        let image = format!("{address}/{repository}:v1");
        let rendered = run(catalogql().args([
            "render",
            &image,
            "--insecure-registry",
            &address.to_string(),
        ]));
        assert_eq!(rendered.status, Some(0), "{}", rendered.stderr);
        rendered.stdout
    }

    /// The blobs of a catalog.
    fn rendered(&self, catalog: &str) -> String {
        run(catalogql().args(["render", &self.folders.text(catalog)])).stdout
    }

    fn manifest(&self, name: &str) -> HttpResponse {
        let accept =
            "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";
        send_request(
            self.registry.address,
            "GET",
            &format!("/v2/ns/catalog/manifests/{name}"),
            &[("accept", accept)],
        )
    }
}

#[test]
fn what_is_pushed_is_read_back_equal_and_has_the_same_digest_again() {
    let fixture = Fixture::new();
    let pushed = fixture.push("old", fixture.registry.address);
    assert_eq!((pushed.status, pushed.stderr.as_str()), (Some(0), ""));
    assert_eq!(fixture.pulled("ns/catalog"), fixture.rendered("old"));
    let index = fixture.manifest("v1");
    let digest = index.header("docker-content-digest").unwrap();
    assert_eq!(
        pushed.stdout,
        format!("{}/ns/catalog@{digest}\n", fixture.registry.address)
    );

    // The same files elsewhere and later, in a registry that has them already.
    fixture
        .folders
        .write("again/catalog.json", fixture::lines(ETCD));
    fixture
        .folders
        .write("again/notes.txt", "not a part of the catalog");
    fixture.folders.write("again/.indexignore", "notes.txt");
    let again = fixture.push("again", fixture.registry.address);
    assert_eq!((again.status, again.stdout), (Some(0), pushed.stdout));
}

#[test]
fn the_image_has_an_entry_for_each_platform_and_the_label_of_catalogs() {
    let fixture = Fixture::new();
    assert_eq!(
        fixture.push("old", fixture.registry.address).status,
        Some(0)
    );
    let json =
        |response: &HttpResponse| -> Value { serde_json::from_slice(&response.body).unwrap() };
    let index = json(&fixture.manifest("v1"));
    let mut layers = Vec::new();
    let mut platforms = Vec::new();
    for entry in index["manifests"].as_array().unwrap() {
        let manifest = json(&fixture.manifest(entry["digest"].as_str().unwrap()));
        let config = format!(
            "/v2/ns/catalog/blobs/{}",
            manifest["config"]["digest"].as_str().unwrap()
        );
        let config = json(&send_request(fixture.registry.address, "GET", &config, &[]));
        let label =
            json!({ "Labels": { "operators.operatorframework.io.index.configs.v1": "/configs" } });
        assert_eq!(config["config"], label);
        assert_eq!(
            entry["platform"],
            json!({ "architecture": config["architecture"], "os": config["os"] })
        );
        platforms.push(config["architecture"].as_str().unwrap().to_owned());
        layers.push(manifest["layers"].clone());
    }
    assert_eq!(platforms, ["amd64", "arm64", "ppc64le", "s390x"]);
    layers.dedup();
    assert_eq!(layers.len(), 1, "{layers:?}");
}

#[test]
fn a_push_that_is_killed_at_any_step_leaves_the_former_image_or_the_new_one() {
    let fixture = Fixture::new();
    let old = fixture.rendered("old");
    let new = fixture.rendered("new");
    let layer = tar_archive(&[("configs/catalog.json", fixture::lines(ETCD).as_bytes())]);
    let former = RegistryImage::image(MediaTypes::Oci, &[layer], &[(CONFIGS_LABEL, "/configs")]);
    for (step, is_forwarded) in (1..=REQUESTS).flat_map(|step| [(step, false), (step, true)]) {
        // A repository of its own, so that nothing of the new image is there yet.
        let repository = format!("ns/step-{step}-{is_forwarded}");
        fixture.registry.push(&repository, "v1", &former);
        killed_at(&fixture, &repository, step, is_forwarded);
        let is_done = is_forwarded && step == REQUESTS;
        assert_eq!(
            &fixture.pulled(&repository),
            if is_done { &new } else { &old },
            "{repository}"
        );
        if step % 5 == 0 {
            assert_eq!(
                fixture
                    .push_to("new", fixture.registry.address, &repository)
                    .status,
                Some(0)
            );
            assert_eq!(fixture.pulled(&repository), new, "{repository}");
        }
    }
}

/// Pushes the new catalog, and kills the program while it waits for the response to a request,
/// which the registry got or did not get.
fn killed_at(fixture: &Fixture, repository: &str, step: usize, is_forwarded: bool) {
    let ((sender, reached), count) = (channel(), AtomicUsize::new(0));
    let proxy = Proxy::start(fixture.registry.address, move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        if number < step {
            return ProxyAction::Forward;
        }
        if is_forwarded {
            request.forward();
        }
        // The test may have killed the program already.
        let _ = sender.send(());
        ProxyAction::Hang
    });
    let mut command = catalogql();
    command
        .args(fixture.arguments("new", proxy.address, repository))
        .stdout(Stdio::null());
    let mut child = command.spawn().expect("the program can be started");
    reached
        .recv_timeout(TEST_TIMEOUT)
        .expect("the program sends as many requests");
    child.kill().expect("it runs");
    eventually(|| child.try_wait().expect("it is a child"));
}

/// What the proxy does with a request, and what the error of the push ends with.
type Refusal = (fn(&RecordedRequest) -> ProxyAction, &'static str);

#[test]
fn failures_that_pass_are_tried_again_and_others_are_told() {
    let fixture = Fixture::new();
    let failed = Mutex::new(BTreeSet::new());
    let proxy = Proxy::start(fixture.registry.address, move |request| {
        let is_first = failed
            .lock()
            .unwrap()
            .insert((request.method.clone(), request.is_blob()));
        if is_first {
            respond(503, &[("retry-after", "0")], "")
        } else {
            ProxyAction::Forward
        }
    });
    let pushed = fixture.push("old", proxy.address);
    assert_eq!((pushed.status, pushed.stderr.as_str()), (Some(0), ""));
    assert_eq!(fixture.pulled("ns/catalog"), fixture.rendered("old"));

    let refusals: [Refusal; 3] = [
        (
            |request| {
                if request.method == "POST" {
                    respond(403, &[], "")
                } else {
                    ProxyAction::Forward
                }
            },
            "access denied for an anonymous client",
        ),
        (
            |request| match &*request.method {
                "POST" => respond(202, &[], ""),
                _ => ProxyAction::Forward,
            },
            "the registry returned no valid upload URL",
        ),
        (
            |request| {
                let denied = r#"{"errors":[{"code":"DENIED","message":"read only"}]}"#;
                if request.is_blob() {
                    ProxyAction::Forward
                } else {
                    respond(405, &[], denied)
                }
            },
            "HTTP status 405: read only",
        ),
    ];
    for (script, reason) in refusals {
        let proxy = Proxy::start(fixture.registry.address, script);
        let pushed = fixture.push("new", proxy.address);
        assert_eq!((pushed.status, pushed.stdout.as_str()), (Some(2), ""));
        let end = format!(" to `{}/ns/catalog`: {reason}\n", proxy.address);
        assert!(
            pushed.stderr.starts_with("error: cannot push the ") && pushed.stderr.ends_with(&end),
            "{}",
            pushed.stderr
        );
    }
    assert_eq!(fixture.pulled("ns/catalog"), fixture.rendered("old"));
}

#[test]
fn credentials_are_sent_to_push_and_to_nobody_else() {
    let fixture = Fixture::new();
    let proxy = Proxy::start(fixture.registry.address, |request| {
        if request.target.starts_with("/token") {
            return respond(200, &[], r#"{"token":"granted"}"#);
        }
        if request.authorization.as_deref() == Some("Bearer granted") {
            return ProxyAction::Forward;
        }
        let challenge = format!(
            "Bearer realm=\"http://{}/token\",service=\"it\"",
            request.host()
        );
        respond(401, &[("www-authenticate", &challenge)], "")
    });
    fixture.folders.write(
        "auth.json",
        format!(
            r#"{{"auths":{{"{}":{{"auth":"bWU6aXQ="}}}}}}"#,
            proxy.address
        ),
    );
    let mut arguments = fixture.arguments("old", proxy.address, "ns/catalog");
    arguments.extend(["--authfile".to_owned(), fixture.folders.text("auth.json")]);
    let pushed = run(catalogql().args(arguments));
    assert_eq!((pushed.status, pushed.stderr.as_str()), (Some(0), ""));
    let tokens: Vec<_> = proxy
        .requests()
        .into_iter()
        .map(|request| request.target)
        .filter(|target| target.starts_with("/token"))
        .collect();
    assert_eq!(
        tokens,
        ["/token?service=it&scope=repository%3Ans%2Fcatalog%3Apull%2Cpush"]
    );
    assert_eq!(fixture.pulled("ns/catalog"), fixture.rendered("old"));
}

#[test]
fn what_is_no_valid_catalog_or_names_no_tag_is_not_pushed() {
    let fixture = Fixture::new();
    let refused = |catalog: &str, image: &str| {
        let output = run(catalogql().args(["push", &fixture.folders.text(catalog), image]));
        assert_eq!(output.stdout, "");
        (output.status, fixture.folders.shown(&output.stderr))
    };
    fixture.folders.write(
        "invalid/catalog.json",
        r#"{"schema":"olm.package","name":"etcd","defaultChannel":"x"}"#,
    );
    fixture.folders.write("broken/catalog.json", "{");
    std::fs::create_dir(fixture.folders.path("empty")).unwrap();
    let address = fixture.registry.address;
    let to = format!("{address}/ns/catalog:v1");
    let invalid = "error: cannot push the catalog in `@/invalid`: it has 1 errors, which `catalogql validate @/invalid` \
                   lists; --skip-validation pushes it all the same\n";
    assert_eq!(refused("invalid", &to), (Some(1), invalid.to_owned()));
    for unreadable in ["broken", "empty"] {
        let (status, error) = refused(unreadable, &to);
        let start = format!("error: cannot push the catalog in `@/{unreadable}`: ");
        assert!(status == Some(2) && error.starts_with(&start), "{error}");
    }
    let digest = format!("{address}/ns/catalog@sha256:{}", "0".repeat(64));
    let expected = format!("error: cannot push to `{digest}`: write a tag instead of the digest\n");
    assert_eq!(refused("old", &digest), (Some(2), expected));
    assert_eq!(fixture.manifest("v1").status, 404);

    let mut arguments = fixture.arguments("invalid", address, "ns/catalog");
    arguments.push("--skip-validation".to_owned());
    assert_eq!(run(catalogql().args(arguments)).status, Some(0));
    assert_eq!(fixture.pulled("ns/catalog"), fixture.rendered("invalid"));
}

//! `catalogql mirror run`, `load` and `verify` on real registries: what arrives, what is copied again
//! after a kill, and who is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testing::{SeededRandom, TEST_TIMEOUT};

use crate::support::{
    Folders, MediaTypes, Output, Proxy, ProxyAction, RecordedRequest, Registry, RegistryImage,
    catalogql, eventually, respond, run, send_request, tar_archive,
};

/// Number of places at which a run is killed.
const KILLS: usize = 10;

/// Seed of these places.
const SEED: u64 = 40;

/// Hosts in the references of the images, which registries.conf leads to registries of the test.
const HOSTS: [&str; 2] = ["quay.example.com", "registry.example.org"];

/// User `mirror` and password `secret`, as credentials are sent.
const CREDENTIALS: &str = "bWlycm9yOnNlY3JldA==";

type Script = fn(&RecordedRequest) -> ProxyAction;

/// Two registries with the images of a package, and an empty one.
struct Fixture {
    folders: Folders,
    sources: [Registry; 2],
    target: Registry,
    operator: RegistryImage,
}

/// An image whose layer has one file.
fn image(text: &str) -> RegistryImage {
    let layer = tar_archive(&[("file", text.as_bytes())]);
    RegistryImage::image(MediaTypes::Oci, &[layer], &[])
}

/// Returns the tag of what belongs to an image.
fn digest_tag(image: &RegistryImage, end: &str) -> String {
    format!("{}{end}", image.digest().replace(':', "-"))
}

impl Fixture {
    fn new() -> Self {
        let folders = Folders::new();
        let sources = [Registry::start(), Registry::start()];
        let bundle = image("the bundle");
        let arm = image("the operator on arm64");
        let operator = RegistryImage::index(&[
            ("linux/amd64", &image("the operator")),
            ("linux/arm64", &arm),
        ]);
        let [first, second] = &sources;
        first.push("ns/bundle", "v1", &bundle);
        first.push("ns/operator", "v1", &operator);
        first.push("ns/operator", "not-selected", &image("another operator"));
        // Signatures of cosign, also of the image of one platform, and an artifact of OCI.
        first.push(
            "ns/operator",
            &digest_tag(&operator, ".sig"),
            &image("a signature"),
        );
        first.push(
            "ns/operator",
            &digest_tag(&arm, ".att"),
            &image("an attestation"),
        );
        let artifact =
            RegistryImage::referrer(&operator, "application/vnd.example.sbom", b"a bill");
        let artifacts = RegistryImage::referrers(&[&artifact]);
        first.push("ns/operator", &digest_tag(&operator, ""), &artifacts);
        // It shares a layer with the image of the bundle, at another registry.
        second.push("team/sidecar", "v1", &bundle);

        let [quay, other] = HOSTS;
        let bundle = format!("{quay}/ns/bundle@{}", bundle.digest());
        let operator_reference = format!("{quay}/ns/operator@{}", operator.digest());
        let blobs = [
            json!({ "schema": "olm.package", "name": "etcd", "defaultChannel": "stable" }),
            json!({
                "schema": "olm.channel", "package": "etcd", "name": "stable",
                "entries": [{ "name": "etcd.v1.0.0" }],
            }),
            json!({
                "schema": "olm.bundle", "package": "etcd", "name": "etcd.v1.0.0", "image": bundle,
                "properties": [{
                    "type": "olm.package",
                    "value": { "packageName": "etcd", "version": "1.0.0" },
                }],
                "relatedImages": [
                    { "name": "bundle", "image": bundle },
                    { "name": "operator", "image": operator_reference },
                    { "name": "sidecar", "image": format!("{other}/team/sidecar:v1") },
                ],
            }),
        ];
        let lines = blobs.map(|blob| blob.to_string()).join("\n");
        folders.write("main/catalog.json", lines);
        Self {
            folders,
            sources,
            target: Registry::start(),
            operator,
        }
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        [self.sources[0].address, self.sources[1].address]
    }

    /// A command of `mirror` for the package, with images from registries at these addresses.
    fn command(&self, name: &str, sources: [SocketAddr; 2], to: &str) -> Command {
        let [first, second] = sources;
        let [quay, other] = HOSTS;
        let conf = format!(
            "[[registry]]\nprefix = \"{quay}\"\nlocation = \"{first}\"\ninsecure = true\n\
             [[registry]]\nlocation = \"{other}\"\n\
             [[registry.mirror]]\nlocation = \"{second}\"\ninsecure = true\n"
        );
        self.folders.write("registries.conf", conf);
        let mut command = catalogql();
        command
            .args(["mirror", name, &self.folders.text("main")])
            .args(["--package", "etcd", "--to", to])
            .args(["--registries-conf", &self.folders.text("registries.conf")]);
        command
    }

    fn mirror(&self, name: &str, sources: [SocketAddr; 2], to: SocketAddr) -> Output {
        let to_text = format!("docker://{to}/site");
        let mut command = self.command(name, sources, &to_text);
        run(command.args(["--insecure-registry", &to.to_string()]))
    }

    /// Compares a layout.
    fn layout(&self, name: &str, layout: &str) -> Output {
        run(&mut self.command(name, self.addresses(), layout))
    }
}

/// The tags of each repository of a registry.
fn tags(registry: SocketAddr) -> BTreeMap<String, BTreeSet<String>> {
    let json = |path: &str| -> Value {
        let response = send_request(registry, "GET", path, &[]);
        serde_json::from_slice(&response.body).expect("it is JSON")
    };
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let repositories = list(&json("/v2/_catalog?n=1000")["repositories"]);
    let tags = repositories.into_iter().map(|name| {
        let tags = list(&json(&format!("/v2/{name}/tags/list"))["tags"]);
        (name, tags.into_iter().collect())
    });
    tags.collect()
}

fn writes(requests: &[RecordedRequest]) -> Vec<String> {
    let writes = requests
        .iter()
        .filter(|request| !matches!(&*request.method, "GET" | "HEAD"));
    writes
        .map(|request| format!("{} {}", request.method, request.target))
        .collect()
}

/// The blobs that were downloaded.
fn downloads(proxies: &[Proxy]) -> Vec<String> {
    let requests = proxies.iter().flat_map(Proxy::requests);
    let downloads = requests.filter(|request| request.is_blob() && request.method == "GET");
    downloads.map(|request| request.target).collect()
}

#[test]
fn what_is_selected_and_what_belongs_to_it_arrives_and_nothing_else_and_once() {
    let fixture = Fixture::new();
    let sources = fixture
        .addresses()
        .map(|address| Proxy::start(address, |_| ProxyAction::Forward));
    let target = Proxy::start(fixture.target.address, |_| ProxyAction::Forward);
    let addresses = [sources[0].address, sources[1].address];

    let to = format!("docker://{}/site", target.address);
    let mut dry = fixture.command("run", addresses, &to);
    let planned = run(dry.arg("--dry-run"));
    assert_eq!((planned.status, &*planned.stderr), (Some(0), ""));
    let plan: Vec<_> = planned
        .stdout
        .lines()
        .map(|line| {
            let cells: Vec<_> = line.split_whitespace().collect();
            cells.join(" ")
        })
        .collect();
    let digest = fixture.operator.digest();
    assert!(
        plan[2].starts_with(&format!("quay.example.com/ns/operator@{digest} 7 3 10 ")),
        "{plan:?}"
    );
    assert!(
        plan[5].starts_with("4 images, 13 manifests, 17 blobs, "),
        "{plan:?}"
    );
    assert_eq!(target.requests(), []);
    assert_eq!(downloads(&sources), Vec::<String>::new());

    let copied = fixture.mirror("run", addresses, target.address);
    assert_eq!((copied.status, &*copied.stderr), (Some(0), ""));
    assert!(
        copied.stdout.starts_with(&planned.stdout),
        "{}",
        copied.stdout
    );
    // The sidecar has the blobs of the bundle, which are mounted.
    assert!(
        copied.stdout.contains("\nblobs copied: 17 "),
        "{}",
        copied.stdout
    );
    assert!(copied.stdout.contains("mounted: 2 "), "{}", copied.stdout);
    let mut fetched = downloads(&sources);
    let count = fetched.len();
    fetched.sort();
    fetched.dedup();
    assert_eq!(fetched.len(), count, "a blob was downloaded twice");

    let bundle = image("the bundle");
    let arm = image("the operator on arm64");
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        tags(fixture.target.address),
        BTreeMap::from([
            ("site/main".to_owned(), set(&["latest".to_owned()])),
            ("site/ns/bundle".to_owned(), set(&[digest_tag(&bundle, "")])),
            (
                "site/ns/operator".to_owned(),
                set(&[
                    digest_tag(&fixture.operator, ""),
                    digest_tag(&fixture.operator, ".image"),
                    digest_tag(&fixture.operator, ".sig"),
                    digest_tag(&arm, ".att"),
                ])
            ),
            ("site/team/sidecar".to_owned(), set(&["v1".to_owned()])),
        ])
    );
    let verified = fixture.mirror("verify", addresses, target.address);
    assert_eq!(
        (
            verified.status,
            &*verified.stderr,
            verified.stdout.lines().count()
        ),
        (Some(0), "", 1),
        "{}",
        verified.stdout
    );

    let before = (target.requests().len(), downloads(&sources).len());
    let again = fixture.mirror("run", addresses, target.address);
    assert_eq!((again.status, &*again.stderr), (Some(0), ""));
    assert_eq!(writes(&target.requests()[before.0..]), Vec::<String>::new());
    assert_eq!(downloads(&sources).len(), before.1);
    assert!(
        again.stdout.contains("blobs copied: 0 "),
        "{}",
        again.stdout
    );
}

/// A proxy that hangs from one request on.
struct HangingProxy {
    proxy: Proxy,
    reached: Receiver<()>,
    /// Requests that the registry answered.
    answered: Arc<Mutex<Vec<RecordedRequest>>>,
    /// Number of requests that the registry has not answered yet.
    open: Arc<AtomicUsize>,
}

fn hanging(upstream: SocketAddr, step: usize) -> HangingProxy {
    let (sender, reached) = channel();
    let count = AtomicUsize::new(0);
    let open = Arc::new(AtomicUsize::new(0));
    let answered: Arc<Mutex<Vec<RecordedRequest>>> = Arc::default();
    let in_flight = open.clone();
    let log = answered.clone();
    let proxy = Proxy::start(upstream, move |request| {
        in_flight.fetch_add(1, Ordering::SeqCst);
        if count.fetch_add(1, Ordering::SeqCst) >= step {
            in_flight.fetch_sub(1, Ordering::SeqCst);
            // The test may have killed the program already.
            let _ = sender.send(());
            return ProxyAction::Hang;
        }
        let response = request.forward();
        log.lock().unwrap().push(request.clone());
        in_flight.fetch_sub(1, Ordering::SeqCst);
        ProxyAction::Respond(response)
    });
    HangingProxy {
        proxy,
        reached,
        answered,
        open,
    }
}

/// The blobs and manifests that were written, without those that a kill kept from the registry.
fn written(requests: &[RecordedRequest]) -> Vec<String> {
    let puts = requests.iter().filter(|request| request.method == "PUT");
    puts.map(|request| match request.target.split_once("digest=") {
        Some((path, digest)) => {
            let repository = path.split("/blobs/").next().unwrap_or_default();
            format!("{repository} {digest}")
        }
        None => request.target.clone(),
    })
    .collect()
}

#[test]
fn a_run_that_is_killed_anywhere_goes_on_where_it_was_and_copies_nothing_twice() {
    let fixture = Fixture::new();
    let counted = Proxy::start(fixture.target.address, |_| ProxyAction::Forward);
    let whole = fixture.mirror("run", fixture.addresses(), counted.address);
    assert_eq!(whole.status, Some(0), "{}", whole.stderr);
    let requests = counted.requests().len();
    let mut random = SeededRandom::new(SEED);
    for _ in 0..KILLS {
        let step = random.below(requests);
        let registry = Registry::start();
        let HangingProxy {
            proxy,
            reached,
            answered,
            open,
        } = hanging(registry.address, step);
        let to = format!("docker://{}/site", proxy.address);
        let mut command = fixture.command("run", fixture.addresses(), &to);
        command
            .args(["--insecure-registry", &proxy.address.to_string()])
            .stdout(Stdio::null());
        let mut child = command.spawn().expect("the program can be started");
        reached
            .recv_timeout(TEST_TIMEOUT)
            .expect("the program sends as many requests");
        child.kill().expect("it runs");
        eventually(|| child.try_wait().expect("it is a child"));
        eventually(|| (open.load(Ordering::SeqCst) == 0).then_some(()));
        let first = written(&answered.lock().unwrap());

        let next = Proxy::start(registry.address, |_| ProxyAction::Forward);
        let resumed = fixture.mirror("run", fixture.addresses(), next.address);
        assert_eq!(
            (resumed.status, &*resumed.stderr),
            (Some(0), ""),
            "step {step}"
        );
        let all = [first, written(&next.requests())].concat();
        let blobs: Vec<_> = all.iter().filter(|one| one.contains("sha256%3A")).collect();
        let distinct: BTreeSet<_> = blobs.iter().collect();
        assert_eq!(distinct.len(), blobs.len(), "step {step}: {all:?}");
        let manifests: Vec<_> = all
            .iter()
            .filter(|one| one.contains("/manifests/"))
            .collect();
        let distinct: BTreeSet<_> = manifests.iter().collect();
        assert_eq!(distinct.len(), manifests.len(), "step {step}: {all:?}");

        let before = next.requests().len();
        let last = fixture.mirror("run", fixture.addresses(), next.address);
        assert_eq!((last.status, &*last.stderr), (Some(0), ""));
        assert_eq!(
            writes(&next.requests()[before..]),
            Vec::<String>::new(),
            "step {step}"
        );
        assert_eq!(
            tags(registry.address),
            tags(fixture.target.address),
            "step {step}"
        );
    }
}

#[test]
fn a_registry_that_lies_is_refused() {
    let fixture = Fixture::new();
    let lies: [(Script, &str, i32); 3] = [
        (
            |request| {
                let mut response = request.forward();
                if request.is_blob() {
                    response.body.pop();
                }
                ProxyAction::Respond(response)
            },
            "bytes instead of",
            1,
        ),
        (
            |request| {
                let mut response = request.forward();
                if request.is_blob() {
                    let last = response.body.last_mut().expect("no blob is empty");
                    *last ^= 1;
                }
                ProxyAction::Respond(response)
            },
            "its digest is",
            1,
        ),
        (
            |request| {
                let mut response = request.forward();
                if request.target.contains("/manifests/sha256:") && response.status == 200 {
                    response.body.push(b' ');
                }
                ProxyAction::Respond(response)
            },
            "its digest is",
            // A manifest is read for the plan, before anything is copied.
            2,
        ),
    ];
    for (lie, message, status) in lies {
        let liar = Proxy::start(fixture.sources[0].address, lie);
        let sources = [liar.address, fixture.sources[1].address];
        let target = Registry::start();
        let refused = fixture.mirror("run", sources, target.address);
        assert_eq!(refused.status, Some(status), "{message}");
        assert!(
            refused.stderr.contains(message),
            "{message}: {}",
            refused.stderr
        );
        // Blobs that an honest registry has too may come from there.
        let named = tags(target.address);
        assert!(
            !named.contains_key("site/ns/operator"),
            "{message}: {named:?}"
        );
    }
}

#[test]
fn credentials_are_sent_to_their_host_alone() {
    let fixture = Fixture::new();
    let upstream = fixture.sources[0].address;
    for demands in [false, true] {
        // The storage that the registry redirects to, which may ask for the password.
        let storage = Proxy::start(upstream, move |request| {
            match (demands, &request.authorization) {
                (true, None) => {
                    respond(401, &[("www-authenticate", "Basic realm=\"storage\"")], "")
                }
                _ => ProxyAction::Forward,
            }
        });
        let place = storage.address;
        let registry = Proxy::start(upstream, move |request| {
            let expected = format!("Basic {CREDENTIALS}");
            if request.authorization.as_ref() != Some(&expected) {
                return respond(401, &[("www-authenticate", "Basic realm=\"registry\"")], "");
            }
            if request.is_blob() && request.method == "GET" {
                let location = format!("http://{place}{}", request.target);
                return respond(307, &[("location", &location)], "");
            }
            ProxyAction::Forward
        });
        let other = Proxy::start(fixture.sources[1].address, |_| ProxyAction::Forward);
        let target = Registry::start();
        let to = Proxy::start(target.address, |_| ProxyAction::Forward);
        let auth = json!({ "auths": { (registry.address.to_string()): { "auth": CREDENTIALS } } });
        fixture.folders.write("auth.json", auth.to_string());
        let to_text = format!("docker://{}/site", to.address);
        let mut command = fixture.command("run", [registry.address, other.address], &to_text);
        let done = run(command
            .args(["--insecure-registry", &to.address.to_string()])
            .args(["--authfile", &fixture.folders.text("auth.json")]));
        let expected = if demands { Some(1) } else { Some(0) };
        assert_eq!(done.status, expected, "{}", done.stderr);
        assert!(!done.stderr.contains("secret"), "{}", done.stderr);
        for stranger in [&storage, &other, &to] {
            let requests = stranger.requests();
            assert!(!requests.is_empty());
            let sent = requests
                .iter()
                .find(|request| request.authorization.is_some());
            assert_eq!(sent, None);
        }
    }
}

#[test]
fn a_registry_that_lists_referrers_is_asked_for_them_and_needs_no_tag_for_them() {
    let fixture = Fixture::new();
    let digest = fixture.operator.digest();
    let artifact =
        RegistryImage::referrer(&fixture.operator, "application/vnd.example.sbom", b"a bill");
    let listed = RegistryImage::referrers(&[&artifact]).manifest;
    let script = move |request: &RecordedRequest| {
        let index = ("content-type", "application/vnd.oci.image.index.v1+json");
        let empty = json!({ "schemaVersion": 2, "manifests": [] }).to_string();
        match request.target.split_once("/referrers/") {
            Some((_, subject)) if subject == digest => {
                respond(200, &[index], &String::from_utf8_lossy(&listed))
            }
            Some(_) => respond(200, &[index], &empty),
            None => ProxyAction::Forward,
        }
    };
    let source = Proxy::start(fixture.sources[0].address, script.clone());
    let target = Proxy::start(fixture.target.address, script);
    let sources = [source.address, fixture.sources[1].address];
    let copied = fixture.mirror("run", sources, target.address);
    assert_eq!((copied.status, &*copied.stderr), (Some(0), ""));
    let fallback = digest_tag(&fixture.operator, "");
    let asked = source.requests();
    assert!(
        !asked
            .iter()
            .any(|request| request.target.ends_with(&format!("/manifests/{fallback}")))
    );
    assert!(!tags(fixture.target.address)["site/ns/operator"].contains(&fallback));
    let path = format!("/v2/site/ns/operator/manifests/{}", artifact.digest());
    let accept = ("accept", "application/vnd.oci.image.manifest.v1+json");
    let found = send_request(fixture.target.address, "GET", &path, &[accept]);
    assert_eq!(found.body, artifact.manifest);
    let verified = fixture.mirror("verify", sources, target.address);
    assert_eq!(verified.status, Some(0), "{}", verified.stdout);
}

#[test]
fn what_is_missing_broken_or_too_much_in_a_mirror_is_told() {
    let fixture = Fixture::new();
    let sources = fixture.addresses();
    let nothing = fixture.mirror("verify", sources, fixture.target.address);
    assert_eq!(nothing.status, Some(1));
    assert!(
        nothing
            .stdout
            .ends_with("4 images, 0 blobs (0 B) read: 4 missing, 0 broken, 0 extra\n"),
        "{}",
        nothing.stdout
    );

    let copied = fixture.mirror("run", sources, fixture.target.address);
    assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    fixture
        .target
        .push("site/ns/bundle", "v9", &image("no one selects it"));
    fixture.target.push("site/else", "v1", &image("nor this"));
    fixture
        .target
        .push("other/else", "v1", &image("which is not below the path"));
    let layer = fixture_layer("a signature");
    let damaged = Proxy::start(fixture.target.address, move |request| {
        let mut response = request.forward();
        if request.target.ends_with(&layer) && request.method == "GET" {
            response.body[0] ^= 1;
        }
        ProxyAction::Respond(response)
    });
    let found = fixture.mirror("verify", sources, damaged.address);
    assert_eq!(found.status, Some(1));
    let address = damaged.address.to_string();
    let shown = found.stdout.replace(&address, "T");
    let states: Vec<_> = shown
        .lines()
        .map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let tag = digest_tag(&fixture.operator, "");
    assert_eq!(
        states,
        [
            "STATE IMAGE".to_owned(),
            format!("broken T/site/ns/operator:{tag}"),
            "extra T/site/else:v1".to_owned(),
            "extra T/site/ns/bundle:v9".to_owned(),
            "4 images,".to_owned(),
        ]
    );
    assert!(shown.contains("its digest is"), "{shown}");
}

/// The digest of the layer of an image with this file.
fn fixture_layer(text: &str) -> String {
    testing::digest(&image(text).layers()[0])
}

#[test]
fn a_layout_takes_a_set_to_a_registry_without_a_network() {
    let fixture = Fixture::new();
    let layout = format!("oci:{}", fixture.folders.text("disk"));
    let written = fixture.layout("run", &layout);
    assert_eq!((written.status, &*written.stderr), (Some(0), ""));
    let verified = fixture.layout("verify", &layout);
    assert_eq!(
        (verified.status, &*verified.stderr),
        (Some(0), ""),
        "{}",
        verified.stdout
    );
    let again = fixture.layout("run", &layout);
    assert!(
        again.stdout.contains("blobs copied: 0 ") && again.stdout.contains("manifests written: 0"),
        "{}",
        again.stdout
    );

    // Nothing but the layout is at hand.
    let address = fixture.target.address.to_string();
    let to = format!("docker://{address}/site");
    let loaded = run(catalogql().args([
        "mirror",
        "load",
        &layout,
        "--to",
        &to,
        "--insecure-registry",
        &address,
    ]));
    assert_eq!((loaded.status, &*loaded.stderr), (Some(0), ""));
    let compared = fixture.mirror("verify", fixture.addresses(), fixture.target.address);
    assert_eq!(compared.status, Some(0), "{}", compared.stdout);

    // The catalog of the site is one that catalogql serves.
    let catalog = format!("{address}/site/main:latest");
    let listed = run(catalogql()
        .args(["list", "bundles", &catalog, "-o", "name"])
        .args(["--insecure-registry", &address]));
    assert_eq!(
        (listed.status, &*listed.stdout, &*listed.stderr),
        (Some(0), "bundle/main/etcd/etcd.v1.0.0\n", "")
    );

    let damaged = fixture
        .folders
        .path("disk/blobs/sha256")
        .join(fixture_layer("the bundle").trim_start_matches("sha256:"));
    let length = fs::metadata(&damaged).expect("it is there").len();
    fs::write(&damaged, vec![0; usize::try_from(length).expect("it fits")])
        .expect("it can be written");
    let broken = fixture.layout("verify", &layout);
    assert_eq!(broken.status, Some(1));
    assert!(broken.stdout.contains("its digest is"), "{}", broken.stdout);
    fs::remove_file(&damaged).expect("it is there");
    let mended = fixture.layout("run", &layout);
    assert!(
        mended.stdout.contains("blobs copied: 1 "),
        "{}",
        mended.stdout
    );
    assert_eq!(fixture.layout("verify", &layout).status, Some(0));
}

#[test]
fn an_image_that_cannot_be_read_keeps_everything_from_being_copied() {
    let fixture = Fixture::new();
    let empty = Registry::start();
    let refused = fixture.mirror(
        "run",
        [fixture.sources[0].address, empty.address],
        fixture.target.address,
    );
    assert_eq!(refused.status, Some(2));
    assert!(
        refused
            .stderr
            .ends_with("error: nothing was copied, because 1 images cannot be read\n"),
        "{}",
        refused.stderr
    );
    assert_eq!(tags(fixture.target.address), BTreeMap::new());
}

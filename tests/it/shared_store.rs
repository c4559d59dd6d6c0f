//! Replicas that share contents in a directory, as a user meets them.

use std::fs;
use std::net::SocketAddr;

use crate::metrics::value;
use crate::support::{
    ARGO, CONFIGS, ETCD, Folders, Layout, PACKAGES, Server, catalogql, eventually, graphql, lines,
    packages, run,
};

/// Replicas with a disk each, images in one layout, and a shared store.
struct Replicas {
    folders: Folders,
    layout: Layout,
}

/// A server with a disk of its own.
struct Replica {
    server: Server,
    metrics: SocketAddr,
    disk: Folders,
}

impl Replicas {
    fn new() -> Self {
        let folders = Folders::new();
        let layout = Layout::new(folders.path("layout"));
        Self { folders, layout }
    }

    /// Puts an image under the name `v1`.
    fn image(&self, text: &str) {
        let files = [("configs/catalog.json", &*lines(text))];
        self.layout.image("v1", &[CONFIGS], &files);
    }

    /// Serves `v1` from an empty disk.
    fn start(&self, flags: &[&str]) -> Replica {
        let disk = Folders::new();
        let shared = format!("--shared-store=file://{}", self.folders.text("shared"));
        let source = self.layout.source("v1");
        let mut all = vec![
            &*shared,
            "--metrics-listen=127.0.0.1:0",
            "--metrics-auth=none",
            &*source,
        ];
        all.extend(flags);
        let server = Server::start(&disk, &all);
        let line = server.logs("serving metrics");
        let address = line.split("\"address\":\"").nth(1).unwrap();
        let metrics = address.split('"').next().unwrap().parse().unwrap();
        Replica {
            server,
            metrics,
            disk,
        }
    }

    /// Lets a replica pull the image, and waits until its content is shared.
    fn share(&self) {
        let replica = self.start(&[]);
        assert_eq!(replica.lookups("miss"), 1);
        eventually(|| (replica.count("uploads", "stored") == 1).then_some(()));
    }

    /// Damages all layers of the images.
    fn remove_layers(&self) {
        for blob in fs::read_dir(self.folders.path("layout/blobs/sha256")).unwrap() {
            let path = blob.unwrap().path();
            let is_gzip = fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
            if is_gzip {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Overwrites the only object in a folder of the shared store.
    fn damage(&self, folder: &str) {
        let folder = self.folders.path("shared").join(folder);
        let [object] = &fs::read_dir(folder).unwrap().collect::<Vec<_>>()[..] else {
            panic!("not one object");
        };
        fs::write(object.as_ref().unwrap().path(), "damaged").unwrap();
    }
}

impl Replica {
    /// Returns a counter of the shared store.
    fn count(&self, name: &str, result: &str) -> u64 {
        let series = format!("catalogql_shared_store_{name}_total{{result=\"{result}\"}}");
        let count = value(self.metrics, &series).to_string();
        count.parse().expect("a whole number")
    }

    fn lookups(&self, result: &str) -> u64 {
        self.count("lookups", result)
    }

    /// Returns the packages that are served.
    fn packages(&self) -> String {
        graphql(self.server.address, PACKAGES)
    }
}

#[test]
fn a_replica_with_an_empty_disk_serves_what_another_one_has_pulled_without_its_layers() {
    let replicas = Replicas::new();
    replicas.image(ETCD);
    replicas.share();
    replicas.remove_layers();
    let replica = replicas.start(&[]);
    assert_eq!(replica.packages(), packages(&["etcd"]));
    assert_eq!(replica.lookups("hit"), 1);
    let Replica { server, disk, .. } = replica;
    drop(server);

    // The content is on the disk now, and the shared store is not needed.
    fs::remove_dir_all(replicas.folders.path("shared")).unwrap();
    let server = Server::start(&disk, &[&replicas.layout.source("v1")]);
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
}

#[test]
fn a_damaged_object_is_replaced_by_what_the_image_gives() {
    for folder in ["contents", "notes", "revisions"] {
        let replicas = Replicas::new();
        replicas.image(ETCD);
        replicas.share();
        replicas.damage(folder);
        let replica = replicas.start(&[]);
        assert_eq!(replica.packages(), packages(&["etcd"]));
        assert_eq!(replica.lookups("corrupt"), 1, "{folder}");
        eventually(|| (replica.count("uploads", "stored") == 1).then_some(()));
        assert_eq!(replicas.start(&[]).lookups("hit"), 1, "{folder}");
    }
}

#[test]
fn a_store_that_is_gone_changes_nothing_but_a_count() {
    let replicas = Replicas::new();
    replicas.image(ETCD);
    // A file in place of the directory.
    replicas.folders.write("shared", "");
    let replica = replicas.start(&["--poll", "50ms"]);
    assert_eq!(replica.packages(), packages(&["etcd"]));
    assert_eq!(replica.lookups("error"), 1);
    replicas.image(ARGO);
    let server = &replica.server;
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
    assert_eq!(
        ["error", "skipped"].map(|result| replica.lookups(result)),
        [1, 1]
    );
}

#[test]
fn an_image_that_the_signature_policy_refuses_is_not_taken_from_the_shared_store() {
    let replicas = Replicas::new();
    replicas.image(ETCD);
    replicas.share();
    let policy = replicas.folders.text("policy.json");
    replicas
        .folders
        .write("policy.json", "{\"default\": [{\"type\": \"reject\"}]}");
    replicas.folders.catalog("other", ARGO);
    let other = replicas.folders.text("other");
    let replica = replicas.start(&["--signature-policy", &policy, &other]);
    assert_eq!(replica.packages(), packages(&["argo"]));
    let all = ["hit", "miss", "error", "corrupt", "skipped"];
    assert_eq!(all.map(|result| replica.lookups(result)), [0; 5]);
}

#[test]
fn a_url_with_credentials_ends_the_start_and_is_not_printed() {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    let (store, source) = (folders.text("store"), folders.text("etcd"));
    for url in [
        "s3://key:hunter2@bucket/prefix",
        "az://container/prefix?sig=hunter2",
        "hunter2",
    ] {
        let serve = ["serve", "--store", &store, "--shared-store", url, &source];
        let ended = run(catalogql().args(serve));
        assert_eq!(ended.status, Some(1));
        assert!(
            ended.stderr.contains("the URL of the shared store"),
            "{}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
}

#[test]
fn replicas_that_start_together_pull_an_image_once() {
    let replicas = Replicas::new();
    replicas.image(ETCD);
    let started: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| replicas.start(&[])))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let total = |result| -> u64 { started.iter().map(|replica| replica.lookups(result)).sum() };
    assert_eq!((total("miss"), total("hit")), (1, 2));
    eventually(|| {
        let leases = fs::read_dir(replicas.folders.path("shared/pulling")).unwrap();
        (leases.count() == 0).then_some(())
    });
}

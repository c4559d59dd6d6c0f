//! A disk that is full at each write of a pull, and at each file and folder that it makes. The disk
//! is a real one: a file system in memory, of so many bytes and files, which only the server sees.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use http_content::coding::MIN_ENCODED_BYTES;

use crate::support::{
    CONFIGS, ETCD, Folders, Layout, PACKAGES, Server, catalogql, eventually, graphql, lines,
    packages,
};

/// What a file takes at least, and the bytes of the disk are counted in.
const PAGE: usize = 4096;

/// More than a pull of these tests needs: pages, or files and folders.
const ENOUGH: usize = 100;

/// Has a disk of its own over the folder of the store, with what is in the store already, and runs
/// the program there.
const ON_A_DISK: &str = r#"
    mount -t tmpfs -o "$1" tmpfs "$2" && cp -a "$3/." "$2" || exit
    shift 3
    exec "$0" "$@"
"#;

/// Three files of a package each, in folders; together a dozen pages that no compression makes
/// fewer.
fn files() -> Vec<(String, String)> {
    let mut random = fastrand::Rng::with_seed(11);
    let mut file = |name: &str| {
        let text: String = (0..3 * PAGE).map(|_| random.alphanumeric()).collect();
        let blob =
            serde_json::json!({ "schema": "olm.package", "name": name, "description": text });
        (format!("configs/{name}/catalog.json"), blob.to_string())
    };
    ["a", "b", "c"].map(&mut file).to_vec()
}

/// How many pages and how many files and folders are in a folder, with itself.
fn used(folder: &Path) -> (usize, usize) {
    let mut pages = 0;
    let mut files = 1;
    for entry in fs::read_dir(folder).expect("the store can be read") {
        let entry = entry.expect("the store can be read");
        if entry.file_type().expect("the store can be read").is_dir() {
            let below = used(&entry.path());
            (pages, files) = (pages + below.0, files + below.1);
        } else {
            let bytes = entry.metadata().expect("the store can be read").len();
            pages += usize::try_from(bytes).expect("it is small").div_ceil(PAGE);
            files += 1;
        }
    }
    (pages, files)
}

/// A store with the former content, whose source has the latter by now.
struct Replaced {
    folders: Folders,
    source: String,
}

impl Replaced {
    fn new() -> Self {
        let folders = Folders::new();
        let layout = Layout::new(folders.path("layout"));
        layout.image("v1", &[CONFIGS], &[("configs/catalog.json", &lines(ETCD))]);
        let source = layout.source("v1");
        let server = Server::start(&folders, &[&source]);
        // What a server writes beside a content after it is served is there, and so takes no room
        // while another pulls.
        let named = |folder: &str, end: &str| {
            let entries =
                fs::read_dir(folders.path("store").join(folder)).expect("the store can be read");
            entries
                .map(|entry| entry.expect("the store can be read").path())
                .find(|path| path.to_string_lossy().ends_with(end))
        };
        eventually(|| named("outlines", ".outline"));
        eventually(|| named("content", ".index"));
        eventually(|| named("changes", ".log"));
        let content = named("content", ".jsonl").expect("a content is kept");
        let bytes = fs::metadata(content).expect("the store can be read").len();
        assert!(
            bytes < MIN_ENCODED_BYTES as u64,
            "it would be compressed as well"
        );
        drop(server);
        let files = files();
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        layout.image("v1", &[CONFIGS], &files);
        Self { folders, source }
    }

    /// Serves from a disk of this size, and says what failed; goes on with larger ones until
    /// nothing does.
    fn serve(&self, size: &str) -> ControlFlow<(), String> {
        let own = Folders::new();
        let store = own.path("store");
        fs::create_dir(&store).expect("folders can be made");
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--mount", "sh", "-c", ON_A_DISK])
            .arg(catalogql().get_program());
        command
            .arg(size)
            .arg(&store)
            .arg(self.folders.path("store"));
        let server = Server::start_as(command, &own, &[&self.source]);
        let outcome = loop {
            let line = server.logs("");
            if line.contains("serving new content") {
                break ControlFlow::Break(());
            }
            if line.contains("still serving the last content") {
                break ControlFlow::Continue(line);
            }
        };
        let expected: &[&str] = if outcome.is_break() {
            &["a", "b", "c"]
        } else {
            &["etcd"]
        };
        assert_eq!(
            graphql(server.address, PACKAGES),
            packages(expected),
            "{size}: {outcome:?}"
        );
        // As the server sees it.
        let seen = PathBuf::from(format!("/proc/{}/root", server.id()));
        let scratch = seen
            .join(store.strip_prefix("/").expect("the path is absolute"))
            .join("scratch");
        assert_eq!(
            fs::read_dir(scratch).map_or(0, Iterator::count),
            0,
            "{size}"
        );
        outcome
    }

    /// Serves from disks of more and more room; gives what failed on each until one has enough.
    fn failures(&self, size: impl Fn(usize) -> String) -> Vec<String> {
        let mut failures = Vec::new();
        for more in 0..ENOUGH {
            match self.serve(&size(more)) {
                ControlFlow::Continue(line) => {
                    assert!(
                        line.contains("No space left on device"),
                        "{}: {line}",
                        size(more)
                    );
                    failures.push(line);
                }
                ControlFlow::Break(()) => return failures,
            }
        }
        panic!("no disk is large enough: {failures:?}");
    }
}

/// Asserts that something failed at each of these places.
#[track_caller]
fn failed_at(failures: &[String], places: &[&str]) {
    for place in places {
        assert!(
            failures.iter().any(|line| line.contains(place)),
            "nothing fails at {place}: {failures:#?}"
        );
    }
}

#[test]
fn a_disk_that_is_full_at_each_page_of_a_pull_leaves_the_former_content_served() {
    let replaced = Replaced::new();
    let (pages, _) = used(&replaced.folders.path("store"));
    let failures = replaced.failures(|more| format!("size={}", (pages + more) * PAGE));
    failed_at(
        &failures,
        &[
            "/layers/",
            "cannot write files of the image to ",
            "/content/",
        ],
    );
}

#[test]
fn a_disk_without_room_for_each_file_and_folder_of_a_pull_leaves_the_former_content_served() {
    let replaced = Replaced::new();
    let (_, files) = used(&replaced.folders.path("store"));
    let failures = replaced.failures(|more| format!("size=16m,nr_inodes={}", files + more));
    let file = "cannot unpack the image: cannot create a file in ";
    // The analysis and the record take the place that the layers and the unpacked files had.
    failed_at(
        &failures,
        &["/scratch`", "/layers`", "/layers/", file, "/content`"],
    );
}

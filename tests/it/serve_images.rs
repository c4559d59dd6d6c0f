//! `catalogql serve` with images, as a user meets it; they come from layouts on disk.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{
    ARGO, CONFIGS, ETCD, Folders, Layout, PACKAGES, Server, catalogql, graphql, lines, packages,
    run,
};

/// What cannot be done when there is no room for the contents of an image's files.
const UNPACKED: &str = "cannot write files of the image to ";

const IMAGES: &str = "{ catalogs { name digest image packages { nodes { name } } } }";

/// Puts an image of one file under the name `v1` of a layout.
fn image(folders: &Folders, text: &str) -> (Layout, String) {
    let layout = Layout::new(folders.path("layout"));
    let digest = layout.image("v1", &[CONFIGS], &[("configs/catalog.json", text)]);
    (layout, digest)
}

#[test]
fn an_image_is_served_as_its_directory_is_and_says_which_it_is() {
    let folders = Folders::new();
    folders.catalog("dir", ETCD);
    let (layout, digest) = image(&folders, &lines(ETCD));
    let sources = [
        format!("by-name={}", layout.source("v1")),
        format!("by-digest={}", layout.pinned(&digest)),
    ];
    let server = Server::start(&folders, &[&sources[0], &sources[1], &folders.text("dir")]);
    let said: Vec<_> = server.table[4..]
        .iter()
        .map(|line| folders.shown(line))
        .collect();
    let expected = ["by-digest", "by-name"].map(|name| format!("{name} is oci:@/layout@{digest}"));
    assert_eq!(said, expected);

    let answer: Value = serde_json::from_str(&graphql(server.address, IMAGES)).unwrap();
    let catalogs = answer["data"]["catalogs"].as_array().unwrap();
    let images: Vec<_> = catalogs
        .iter()
        .map(|catalog| catalog["image"].as_str())
        .collect();
    let by_digest = layout.pinned(&digest);
    assert_eq!(images, [Some(&*by_digest), Some(&*by_digest), None]);
    assert!(
        catalogs
            .iter()
            .all(|catalog| catalog["digest"] == catalogs[0]["digest"]),
        "{answer}"
    );
}

#[test]
fn every_command_takes_an_image() {
    let folders = Folders::new();
    let (layout, _) = image(&folders, &lines(ETCD));
    let source = layout.source("v1");
    let validated = run(catalogql().args(["validate", &source]));
    assert_eq!(
        (validated.status, validated.stdout.as_str()),
        (Some(0), "0 errors and 0 warnings in 1 package\n")
    );
    let graph = run(catalogql().args(["graph", "--output=json", &source, "etcd"]));
    let graph: Value = serde_json::from_str(&graph.stdout).unwrap();
    assert_eq!(graph["name"], "etcd");
    let resolved = run(catalogql().args(["resolve", "--output=json", &source, "etcd"]));
    let resolved: Value = serde_json::from_str(&resolved.stdout).unwrap();
    assert_eq!(resolved["bundle"]["name"], "etcd.v0.9.4");
    let elsewhere = run(catalogql().args(["validate", "--configs-dir=/other", &source]));
    assert_eq!(elsewhere.status, Some(2));
    assert!(elsewhere.stdout.contains("/other"), "{}", elsewhere.stdout);
}

#[test]
fn a_configuration_names_images_too() {
    let folders = Folders::new();
    let layout = Layout::new(folders.path("layout"));
    layout.image("v1", &[], &[("catalog/catalog.json", &lines(ETCD))]);
    let config = "sources:\n- {name: etcd, source: 'oci:layout:v1', configsDir: /catalog}\n";
    folders.write("catalogs.yaml", config);
    let server = Server::start(&folders, &["--config", &folders.text("catalogs.yaml")]);
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
}

#[test]
fn a_new_image_under_a_name_is_served_when_it_is_polled() {
    let folders = Folders::new();
    let (layout, _) = image(&folders, &lines(ETCD));
    let server = Server::start(&folders, &["--poll", "50ms", &layout.source("v1")]);
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", &lines(ARGO))]);
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
}

#[test]
fn a_start_without_the_source_serves_what_is_kept_and_says_how_old_it_is() {
    let folders = Folders::new();
    let (layout, _) = image(&folders, &lines(ETCD));
    let source = layout.source("v1");
    drop(Server::start(&folders, &[&source]));
    let away = folders.path("away");
    fs::rename(folders.path("layout"), &away).unwrap();

    let server = Server::start(&folders, &["--poll", "50ms", &source]);
    let said = server.table.last().unwrap();
    assert!(
        said.starts_with("layout serves its stored content, read ")
            && said.ends_with(" ago until its source answers"),
        "{said}"
    );
    assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
    let logged: Value =
        serde_json::from_str(&server.logs("still serving the last content")).unwrap();
    assert!(
        logged["error"]
            .as_str()
            .unwrap()
            .starts_with("cannot read the source: "),
        "{logged}"
    );
    assert!(logged["age_seconds"].is_u64(), "{logged}");

    fs::rename(&away, folders.path("layout")).unwrap();
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", &lines(ARGO))]);
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
}

#[test]
fn a_policy_that_refuses_an_image_keeps_what_is_served_and_loads_nothing_new() {
    let folders = Folders::new();
    let (layout, _) = image(&folders, &lines(ETCD));
    let source = layout.source("v1");
    let policy = folders.text("policy.json");
    let flags = ["--poll", "50ms", "--signature-policy", &policy, &source];
    let accepting = "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}";
    folders.write("policy.json", accepting);
    drop(Server::start(&folders, &flags));

    // A new image, a policy that rejects it, and one with a typo.
    layout.image("v1", &[CONFIGS], &[("configs/catalog.json", &lines(ARGO))]);
    for (text, code) in [
        ("{\"default\": [{\"type\": \"reject\"}]}", "POLICY_REJECTS"),
        (
            "{\"default\": [{\"type\": \"rejekt\"}]}",
            "POLICY_UNREADABLE",
        ),
    ] {
        folders.write("policy.json", text);
        let server = Server::start(&folders, &flags);
        server.logs(code);
        assert_eq!(graphql(server.address, PACKAGES), packages(&["etcd"]));
    }

    folders.write("policy.json", accepting);
    let server = Server::start(&folders, &flags);
    server.answers_in_time(PACKAGES, &packages(&["argo"]));
}

#[test]
fn an_image_that_cannot_be_had_harms_no_other_and_alone_it_is_an_error() {
    let folders = Folders::new();
    folders.catalog("good", ETCD);
    // Nothing listens there.
    let nowhere = "nowhere=127.0.0.1:1/ns/catalog:v1";
    let server = Server::start(
        &folders,
        &[
            "--insecure-registry",
            "127.0.0.1:1",
            nowhere,
            &folders.text("good"),
        ],
    );
    let said = server.table.last().unwrap();
    assert!(
        said.starts_with(
            "nowhere is not served: cannot read the source: cannot reach `127.0.0.1:1`: "
        ),
        "{said}"
    );
    drop(server);

    let store = folders.text("other-store");
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        &store,
        "--insecure-registry",
        "127.0.0.1:1",
        nowhere,
    ];
    let alone = run(catalogql().args(serve));
    let error: Vec<_> = alone
        .stderr
        .lines()
        .skip_while(|line| line.starts_with('{'))
        .collect();
    assert_eq!(
        (alone.status, error[0]),
        (Some(1), "error: no catalog can be served")
    );
    assert!(
        error[1].starts_with("  nowhere: cannot read the source: cannot reach `127.0.0.1:1`: "),
        "{error:?}"
    );
}

/// Files of 40 kB, of a text that compresses well: the layer is smaller than a file. In the content
/// each letter of it is written with an escape, in two times the bytes, so that the content is
/// larger than all files.
fn files() -> Vec<(String, String)> {
    let line = |number: usize| {
        json!({ "schema": "olm.package", "name": format!("p{number:02}"), "description": "\u{2028}".repeat(13_333) })
            .to_string()
    };
    (0..40)
        .map(|number| (format!("configs/{number:02}.json"), line(number)))
        .collect()
}

#[test]
fn a_disk_that_is_full_at_any_file_of_a_pull_leaves_the_former_content_served() {
    let files = files();
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    // The largest file that may be written, in units of 512 bytes, and what does not fit.
    for (limit, place) in [
        (0, "/layers/"),
        (1, "/layers/"),
        (200, UNPACKED),
        (4_000, "/content/"),
    ] {
        let folders = Folders::new();
        let (layout, _) = image(&folders, &lines(ETCD));
        drop(Server::start(&folders, &[&layout.source("v1")]));
        layout.image("v1", &[CONFIGS], &files);

        let mut command = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(catalogql().get_program());
        let server = Server::start_as(command, &folders, &[&layout.source("v1")]);
        assert_eq!(
            graphql(server.address, PACKAGES),
            packages(&["etcd"]),
            "{limit}"
        );
        let logged: Value =
            serde_json::from_str(&server.logs("still serving the last content")).unwrap();
        let error = logged["error"].as_str().unwrap();
        assert!(
            error.contains(place) && error.contains("File too large"),
            "{limit}: {error}"
        );
        assert_eq!(
            fs::read_dir(folders.path("store/scratch")).unwrap().count(),
            0,
            "{limit}"
        );
        drop(server);

        let server = Server::start(&folders, &[&layout.source("v1")]);
        let names: Vec<_> = (0..40).map(|number| format!("p{number:02}")).collect();
        server.answers_in_time(
            PACKAGES,
            &packages(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        );
    }
}

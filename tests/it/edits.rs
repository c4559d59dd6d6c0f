//! `catalogql render` and `catalogql edit`: what they print, what they write, and that they write
//! all or nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{
    Folders, MediaTypes, Output, Registry, RegistryImage, catalogql, run, tar_archive,
};

fn command(folders: &Folders, arguments: &[&str]) -> Output {
    let arguments: Vec<_> = arguments
        .iter()
        .map(|argument| argument.replace('@', &folders.text("")))
        .collect();
    let output = run(catalogql().args(arguments));
    Output {
        stdout: folders.shown(&output.stdout),
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

/// Writes a bundle of the package `etcd`, in the channel `stable`.
fn bundle(folders: &Folders, version: &str, replaces: &str) {
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": format!("etcd.v{version}") },
        "spec": { "version": version, "replaces": replaces, "displayName": "etcd", "description": "Keeps keys." },
    });
    let annotation = |name: &str| format!("operators.operatorframework.io.bundle.{name}");
    let annotations = json!({ "annotations": {
        annotation("package.v1"): "etcd",
        annotation("channels.v1"): "stable",
        annotation("channel.default.v1"): "stable",
    } });
    folders.write(
        &format!("etcd-{version}/manifests/csv.yaml"),
        csv.to_string(),
    );
    folders.write(
        &format!("etcd-{version}/metadata/annotations.yaml"),
        annotations.to_string(),
    );
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            );
        }
    }
    all
}

/// A catalog with the bundles 0.9.0 and 0.9.2, and bundles to add.
fn catalog() -> Folders {
    let folders = Folders::new();
    for (version, replaces) in [
        ("0.9.0", ""),
        ("0.9.2", "etcd.v0.9.0"),
        ("0.9.4", "etcd.v0.9.2"),
        ("0.9.9", "etcd.v0.9.7"),
    ] {
        bundle(&folders, version, replaces);
    }
    fs::create_dir(folders.path("catalog")).unwrap();
    let added = command(
        &folders,
        &[
            "edit",
            "@catalog",
            "add",
            "quay.io/e/e:0.9.2=@etcd-0.9.2",
            "quay.io/e/e:0.9.0=@etcd-0.9.0",
        ],
    );
    assert_eq!((added.status, added.stderr.as_str()), (Some(0), ""));
    folders
}

#[test]
fn a_bundle_directory_is_rendered_with_its_image_or_without() {
    let folders = Folders::new();
    bundle(&folders, "0.9.0", "");
    let plain = command(&folders, &["render", "@etcd-0.9.0", "-o", "yaml"]);
    let start = "---\nimage: \"\"\nname: etcd.v0.9.0\npackage: etcd\nproperties:\n- type: olm.package\n  value:\n    \
                 packageName: etcd\n    version: 0.9.0\n- type: olm.bundle.object\n";
    assert!(plain.stdout.starts_with(start), "{}", plain.stdout);
    folders.write("etcd-0.9.0/manifests/notes.yaml", "a: 1");
    let noticed = command(&folders, &["render", "@etcd-0.9.0", "-o", "yaml"]);
    let warning = "warning: @/etcd-0.9.0: cannot read manifest `notes.yaml`: it has no kind\n";
    assert_eq!(
        (noticed.stdout, noticed.stderr.as_str()),
        (plain.stdout, warning)
    );
    fs::remove_file(folders.path("etcd-0.9.0/manifests/notes.yaml")).unwrap();
    let migrated = [
        "render",
        "@etcd-0.9.0",
        "--image",
        "quay.io/e/e:1",
        "--migrate-level",
        "all",
    ];
    let blob: Value = serde_json::from_str(&command(&folders, &migrated).stdout).unwrap();
    let expected = json!([
        { "type": "olm.package", "value": { "packageName": "etcd", "version": "0.9.0" } },
        { "type": "olm.csv.metadata", "value": {
            "apiServiceDefinitions": {}, "crdDescriptions": {}, "provider": {},
            "description": "Keeps keys.", "displayName": "etcd",
        } },
    ]);
    assert_eq!(
        (&blob["image"], &blob["properties"]),
        (&json!("quay.io/e/e:1"), &expected)
    );
    assert_eq!(
        blob["relatedImages"],
        json!([{ "name": "", "image": "quay.io/e/e:1" }])
    );

    let refused = command(&folders, &["render", "@nowhere", "--image", "x"]);
    let expected =
        "error: cannot use --image: it is for one directory with `manifests` and `metadata`\n";
    assert_eq!(
        (refused.status, refused.stderr.as_str()),
        (Some(2), expected)
    );
}

/// Labels of bundle images with the directories of their manifests and metadata.
const BUNDLE_LABELS: [(&str, &str); 2] = [
    (
        "operators.operatorframework.io.bundle.manifests.v1",
        "deploy/",
    ),
    (
        "operators.operatorframework.io.bundle.metadata.v1",
        "metadata/",
    ),
];

/// Pushes a bundle directory with the first labels of a bundle; returns the image.
fn push_bundle(folders: &Folders, registry: &Registry, version: &str, labels: usize) -> String {
    let layers = ["manifests/csv.yaml", "metadata/annotations.yaml"].map(|path| {
        let text = fs::read(folders.path(&format!("etcd-{version}/{path}"))).unwrap();
        tar_archive(&[
            (&path.replace("manifests", "deploy"), &text),
            ("deploy/below/x.yaml", b"not read"),
        ])
    });
    let repository = format!("ns/etcd-{labels}");
    let image = RegistryImage::image(MediaTypes::Oci, &layers, &BUNDLE_LABELS[..labels]);
    registry.push(&repository, version, &image);
    format!("{}/{repository}:{version}", registry.address)
}

#[test]
fn a_bundle_in_an_image_is_rendered_as_its_directory_is() {
    let folders = Folders::new();
    let registry = Registry::start();
    bundle(&folders, "0.9.0", "");
    let image = push_bundle(&folders, &registry, "0.9.0", 2);
    let address = registry.address.to_string();
    for level in ["none", "all"] {
        let flags = ["--migrate-level", level, "--insecure-registry", &address];
        let pulled = command(&folders, &[&["render", &image], &flags[..]].concat());
        let directory = command(
            &folders,
            &[&["render", "@etcd-0.9.0", "--image", &image], &flags[..]].concat(),
        );
        assert_eq!((pulled.status, pulled.stderr.as_str()), (Some(0), ""));
        assert_eq!(pulled.stdout, directory.stdout);
    }
    // An image that says nothing of metadata is no bundle that can be read.
    let image = push_bundle(&folders, &registry, "0.9.0", 1);
    let half = command(
        &folders,
        &["render", &image, "--insecure-registry", &address],
    );
    let expected = format!(
        "error: cannot render `{image}`: the image `{image}` has no label `{}`\n",
        BUNDLE_LABELS[1].0
    );
    assert_eq!((half.status, half.stderr), (Some(2), expected));
}

#[test]
fn templates_and_edits_pull_the_bundles_that_have_no_directory() {
    let folders = catalog();
    let registry = Registry::start();
    let address = registry.address.to_string();
    let insecure = ["--insecure-registry", &address];
    let [first, second] =
        ["0.9.0", "0.9.2"].map(|version| push_bundle(&folders, &registry, version, 2));
    for (text, count) in [
        (
            format!(
                "schema: olm.semver\nstable:\n  bundles:\n  - image: {first}\n  - image: {second}\n"
            ),
            4,
        ),
        (
            format!(
                "schema: olm.template.basic\nentries:\n- {{schema: olm.bundle, image: '{first}'}}\n"
            ),
            1,
        ),
    ] {
        folders.write("template.yaml", text);
        let pulled = command(
            &folders,
            &[&["render-template", "@template.yaml"], &insecure[..]].concat(),
        );
        let [first, second] = [(&first, "0.9.0"), (&second, "0.9.2")]
            .map(|(image, version)| format!("{image}=@etcd-{version}"));
        let directories = [
            "render-template",
            "@template.yaml",
            "--bundle",
            &first,
            "--bundle",
            &second,
        ];
        assert_eq!((pulled.status, pulled.stderr.as_str()), (Some(0), ""));
        assert_eq!(pulled.stdout, command(&folders, &directories).stdout);
        assert_eq!(
            serde_json::Deserializer::from_str(&pulled.stdout)
                .into_iter::<Value>()
                .count(),
            count
        );
    }
    // What is no bundle is named.
    let bare = push_bundle(&folders, &registry, "0.9.0", 0);
    folders.write(
        "template.yaml",
        format!("schema: olm.semver\nstable: {{bundles: [{{image: '{bare}'}}]}}\n"),
    );
    let refused = command(
        &folders,
        &[&["render-template", "@template.yaml"], &insecure[..]].concat(),
    );
    let label = BUNDLE_LABELS[0].0;
    let expected = format!(
        "error: rendering template: cannot render bundle `{bare}`: the image has no label `{label}`\n"
    );
    assert_eq!((refused.status, refused.stderr), (Some(2), expected));

    let third = push_bundle(&folders, &registry, "0.9.4", 2);
    let added = command(
        &folders,
        &[&["edit", "@catalog"], &insecure[..], &["add", &third]].concat(),
    );
    assert_eq!((added.status, added.stderr.as_str()), (Some(0), ""));
    let written = fs::read_to_string(folders.path("catalog/etcd/catalog.yaml")).unwrap();
    assert!(
        written.contains(&format!("---\nimage: {third}\nname: etcd.v0.9.4\n")),
        "{written}"
    );
    let directory = command(&folders, &["edit", "@catalog", "add", "@etcd-0.9.9"]);
    assert!(
        directory
            .stderr
            .ends_with("write IMAGE=DIR, such as quay.io/ns/etcd-bundle:v0.9.2=bundle\n")
    );
}

#[test]
fn an_empty_directory_becomes_a_catalog_that_is_valid_and_rendered_as_it_is() {
    let folders = catalog();
    let valid = command(&folders, &["validate", "@catalog"]);
    assert_eq!(valid.stdout, "0 errors and 0 warnings in 1 package\n");
    let rendered = command(&folders, &["render", "@catalog", "-o", "yaml"]);
    let written = fs::read_to_string(folders.path("catalog/etcd/catalog.yaml")).unwrap();
    assert_eq!(rendered.stdout, written);
    let start = "---\ndefaultChannel: stable\ndescription: Keeps keys.\nname: etcd\nschema: olm.package\n---\nentries:\n\
                 - name: etcd.v0.9.0\n- name: etcd.v0.9.2\n  replaces: etcd.v0.9.0\nname: stable\n";
    assert!(written.starts_with(start), "{written}");
}

#[test]
fn an_edit_says_what_it_changes_and_changes_nothing_else() {
    let folders = catalog();
    let path = folders.path("catalog/etcd/catalog.yaml");
    let former = fs::read_to_string(&path).unwrap().replace(
        "---\nimage: quay.io/e/e:0.9.0",
        "---\n# First.\nimage: quay.io/e/e:0.9.0",
    );
    fs::write(&path, &former).unwrap();
    let add = ["edit", "@catalog", "add", "quay.io/e/e:0.9.4=@etcd-0.9.4"];
    let table = "CHANGE   SCHEMA       NAME         PACKAGE  HEADS\n\
                 changed  olm.channel  stable       etcd     etcd.v0.9.2 -> etcd.v0.9.4\n\
                 added    olm.bundle   etcd.v0.9.4  etcd\n";
    let dry = command(&folders, &[&add[..], &["--dry-run"]].concat());
    let shown: String = dry
        .stdout
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    assert_eq!((dry.status, shown.as_str()), (Some(0), table));
    assert_eq!(fs::read_to_string(&path).unwrap(), former);
    let changed_lines = command(&folders, &[&add[..], &["--dry-run", "--patch"]].concat());
    let entry = "--- a/etcd/catalog.yaml\n+++ b/etcd/catalog.yaml\n@@ -8,6 +8,8 @@\n - name: etcd.v0.9.0\n - name: etcd.v0.9.2\n   \
                 replaces: etcd.v0.9.0\n+- name: etcd.v0.9.4\n+  replaces: etcd.v0.9.2\n name: stable\n";
    assert!(
        changed_lines.stdout.starts_with(entry),
        "{}",
        changed_lines.stdout
    );

    let done = command(&folders, &[&add[..], &["-o", "json"]].concat());
    let summary: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        summary[0]["graph"]["addedEdges"],
        json!(["etcd.v0.9.4 replaces etcd.v0.9.2"])
    );
    let now = fs::read_to_string(&path).unwrap();
    let entries = "  replaces: etcd.v0.9.0\n- name: etcd.v0.9.4\n  replaces: etcd.v0.9.2\n";
    assert!(
        now.starts_with(&former.replace("  replaces: etcd.v0.9.0\n", entries)),
        "{now}"
    );

    let deleted = command(&folders, &["edit", "@catalog", "delete-latest", "etcd"]);
    assert_eq!(
        (deleted.status, fs::read_to_string(&path).unwrap()),
        (Some(0), former)
    );
    let unchanged = command(&folders, &["edit", "@catalog", "prune-stranded"]);
    assert_eq!(
        (
            unchanged.status,
            unchanged.stdout.as_str(),
            unchanged.stderr.as_str()
        ),
        (Some(0), "", "unchanged\n")
    );
}

/// Applies a patch to the catalog of a folder, and undoes it.
fn apply_and_undo(folders: &Folders, patch: &str, flags: &[&str]) -> String {
    folders.write("change.patch", patch);
    let apply = |more: &[&str]| {
        let mut git = Command::new("git");
        git.args(["apply", "../change.patch"]).args(flags);
        let applied = run(git.args(more).current_dir(folders.path("catalog")));
        assert_eq!((applied.status, &*applied.stderr), (Some(0), ""), "{patch}");
    };
    apply(&[]);
    let file = files(&folders.path("catalog"));
    apply(&["--reverse"]);
    file.into_values().collect()
}

#[test]
fn a_patch_applies_and_repeats_no_long_line() {
    let folders = catalog();
    let deprecate = |flags: &[&str]| {
        let edit = ["edit", "@catalog", "deprecate", "etcd", "--message", "Old."];
        command(&folders, &[&edit[..], flags].concat()).stdout
    };
    let patched = apply_and_undo(&folders, &deprecate(&["--dry-run", "--patch"]), &[]);
    deprecate(&[]);
    let edited: String = files(&folders.path("catalog")).into_values().collect();
    assert_eq!(patched, edited);

    // One blob on each line; the bundle of the second line is long.
    let long = "x".repeat(1_000);
    let lines = format!(
        "{{\"schema\":\"olm.package\",\"name\":\"a\",\"defaultChannel\":\"b\"}}\n\
         {{\"schema\":\"olm.channel\",\"package\":\"a\",\"name\":\"b\",\"entries\":[{{\"name\":\"a.v1\"}}]}}\n\
         {{\"schema\":\"olm.bundle\",\"package\":\"a\",\"name\":\"a.v1\",\"image\":\"{long}\",\"properties\":\
         [{{\"type\":\"olm.package\",\"value\":{{\"packageName\":\"a\",\"version\":\"1.0.0\"}}}}]}}\n"
    );
    fs::remove_dir_all(folders.path("catalog")).unwrap();
    folders.write("catalog/catalog.json", &lines);
    let edit = [
        "edit",
        "@catalog",
        "set-package",
        "a",
        "--description",
        "New.",
        "--patch",
    ];
    let patch = command(&folders, &edit).stdout;
    let expected = "--- a/catalog.json\n+++ b/catalog.json\n@@ -1 +1 @@\n\
         -{\"schema\":\"olm.package\",\"name\":\"a\",\"defaultChannel\":\"b\"}\n\
         +{\"schema\":\"olm.package\",\"name\":\"a\",\"defaultChannel\":\"b\",\"description\":\"New.\"}\n";
    assert_eq!(patch, expected);
    let edited = fs::read_to_string(folders.path("catalog/catalog.json")).unwrap();
    folders.write("catalog/catalog.json", &lines);
    assert_eq!(
        apply_and_undo(&folders, &patch, &["--unidiff-zero"]),
        edited
    );
}

#[test]
fn a_channel_is_created_with_an_entry() {
    let folders = catalog();
    let add = [
        "edit",
        "@catalog",
        "add-channel",
        "etcd",
        "slow",
        "etcd.v0.9.2",
    ];
    let skips = ["--skips", "etcd.v0.9.0", "--skip-range", "<0.9.2"];
    let added = command(&folders, &[&add[..], &skips, &["--patch"]].concat());
    assert_eq!(
        (added.status, added.stderr.as_str()),
        (Some(0), "wrote @/catalog/etcd/catalog.yaml\n")
    );
    let channel = "+---\n+entries:\n+- name: etcd.v0.9.2\n+  skipRange: <0.9.2\n+  skips:\n+  - etcd.v0.9.0\n+name: slow\n+package: \
                   etcd\n+schema: olm.channel\n";
    assert!(added.stdout.contains(channel), "{}", added.stdout);
    let again = command(&folders, &add);
    assert_eq!(
        (again.status, again.stderr.as_str()),
        (
            Some(1),
            "error: cannot add channel slow to package etcd: it exists\n"
        )
    );
}

#[test]
fn what_is_refused_leaves_every_byte_and_says_why() {
    let folders = catalog();
    let former = files(&folders.path("catalog"));
    let refused = |arguments: &[&str], status: i32, message: &str| {
        let output = command(&folders, &[&["edit", "@catalog"], arguments].concat());
        assert_eq!(
            (output.status, output.stderr.as_str()),
            (Some(status), message)
        );
        assert_eq!(files(&folders.path("catalog")), former, "{arguments:?}");
    };
    let gap = "error: Invalid bundle etcd.v0.9.9, replaces nonexistent bundle etcd.v0.9.7\n";
    refused(&["add", "quay.io/e/e:0.9.9=@etcd-0.9.9"], 1, gap);
    let both = "error: package `argo` not found; package `vault` not found\n";
    refused(&["rm", "etcd,argo", "vault"], 1, both);
    let beta = "error: the catalog would be invalid: package etcd: cannot make beta the default channel: there is no such \
                channel\n";
    refused(
        &["set-package", "etcd", "--default-channel", "beta"],
        1,
        beta,
    );
    let default = "error: the catalog would be invalid: package etcd: cannot remove channel stable: it is the default channel: \
                   choose another one with `set-package --default-channel` (`defaultChannel` in JSON), or remove the package \
                   with `rm`\n";
    refused(
        &["remove-channel", "etcd", "stable", "--prune-stranded"],
        1,
        default,
    );
    let stranded = "error: cannot change package etcd: etcd.v0.9.0, etcd.v0.9.2 would be in no channel: replace or skip them, \
                    or remove them with `--prune-stranded` (`pruneStranded` in JSON)\n";
    refused(&["remove-channel", "etcd", "stable"], 1, stranded);

    // The first is possible, the second is not: nothing is done.
    folders.write(
        "ops.json",
        json!([
            { "op": "deprecate", "package": "etcd", "entries": [{ "reference": { "schema": "olm.package" }, "message": "Old." }] },
            { "op": "add", "bundles": [{ "directory": "etcd-0.9.9", "image": "quay.io/e/e:0.9.9" }] },
        ])
        .to_string(),
    );
    refused(&["--ops", &folders.text("ops.json")], 1, gap);
    folders.write("ops.json", r#"[{"op": "fly"}]"#);
    let output = command(&folders, &["edit", "@catalog", "--ops", "@ops.json"]);
    assert_eq!(output.status, Some(2));
    assert!(
        output.stderr.starts_with(
            "error: cannot read the operations in `@/ops.json`: operation 1 (fly): unknown variant `fly`"
        ),
        "{}",
        output.stderr
    );
    folders.write("catalog/broken.yaml", "a: [");
    let output = command(&folders, &["edit", "@catalog", "prune-stranded"]);
    assert_eq!(output.status, Some(2));
    assert!(
        output
            .stderr
            .starts_with("error: cannot read the catalog `@/catalog`: broken.yaml:2: "),
        "{}",
        output.stderr
    );
}

#[test]
fn a_reason_of_the_operating_system_is_told_once() {
    let missing = command(&catalog(), &["edit", "@catalog", "--ops", "@nowhere"]);
    let expected = "error: cannot read the operations in `@/nowhere`: No such file or directory (os error 2)\n";
    assert_eq!(
        (missing.status, missing.stderr.as_str()),
        (Some(2), expected)
    );
}

#[test]
fn messages_of_deprecation_go_with_the_bundle_or_the_channel() {
    let edit = |folders: &Folders, arguments: &[&str]| {
        let output = command(folders, &[&["edit", "@catalog"], arguments].concat());
        assert_eq!(output.status, Some(0), "{arguments:?}: {}", output.stderr);
        let written = fs::read_to_string(folders.path("catalog/etcd/catalog.yaml")).unwrap();
        written
            .split("---\n")
            .find(|blob| blob.contains("schema: olm.deprecations\n"))
            .map(str::to_owned)
    };
    let folders = catalog();
    edit(&folders, &["promote", "etcd", "etcd.v0.9.2", "slow"]);
    edit(
        &folders,
        &[
            "deprecate",
            "etcd",
            "--channel",
            "slow",
            "--message",
            "Use stable.",
        ],
    );
    edit(
        &folders,
        &[
            "deprecate",
            "etcd",
            "--bundle",
            "etcd.v0.9.0",
            "--message",
            "Too old.",
        ],
    );
    let rest = edit(
        &folders,
        &[
            "delete-bundle",
            "etcd",
            "etcd.v0.9.0",
            "--policy",
            "reconnect",
        ],
    );
    let expected = "entries:\n- message: Use stable.\n  reference:\n    name: slow\n    schema: olm.channel\n\
                    package: etcd\nschema: olm.deprecations\n";
    assert_eq!(rest.as_deref(), Some(expected));
    assert_eq!(edit(&folders, &["remove-channel", "etcd", "slow"]), None);
    assert_eq!(command(&folders, &["validate", "@catalog"]).status, Some(0));

    // A channel goes with its bundles.
    let folders = catalog();
    edit(&folders, &["promote", "etcd", "etcd.v0.9.2", "slow"]);
    edit(
        &folders,
        &["set-package", "etcd", "--default-channel", "slow"],
    );
    edit(
        &folders,
        &[
            "deprecate",
            "etcd",
            "--channel",
            "stable",
            "--message",
            "Use slow.",
        ],
    );
    edit(
        &folders,
        &[
            "deprecate",
            "etcd",
            "--bundle",
            "etcd.v0.9.0",
            "--message",
            "Too old.",
        ],
    );
    assert_eq!(
        edit(
            &folders,
            &["remove-channel", "etcd", "stable", "--prune-stranded"]
        ),
        None
    );
    assert_eq!(command(&folders, &["validate", "@catalog"]).status, Some(0));

    // What never was there is a mistake.
    let deprecate = [
        "edit",
        "@catalog",
        "deprecate",
        "etcd",
        "--bundle",
        "none",
        "--message",
        "Gone.",
    ];
    assert_eq!(command(&folders, &deprecate).status, Some(1));
}

#[test]
fn a_message_of_deprecation_is_removed_alone() {
    let folders = catalog();
    let edit = |arguments: &[&str]| {
        let output = command(&folders, &[&["edit", "@catalog"], arguments].concat());
        assert_eq!(output.status, Some(0), "{arguments:?}: {}", output.stderr);
        fs::read_to_string(folders.path("catalog/etcd/catalog.yaml")).unwrap()
    };
    let former = edit(&["prune-stranded"]);
    let stable = ["--channel", "stable"];
    let deprecate = ["deprecate", "etcd", "--message", "Old."];
    edit(&deprecate);
    edit(&[&deprecate[..], &stable].concat());
    let rest = edit(&["undeprecate", "etcd"]);
    let expected = "---\nentries:\n- message: Old.\n  reference:\n    name: stable\n    schema: olm.channel\n\
                    package: etcd\nschema: olm.deprecations\n";
    assert_eq!(rest, former.clone() + expected);
    assert_eq!(
        edit(&[&["undeprecate", "etcd"], &stable[..]].concat()),
        former
    );
}

#[test]
fn a_new_package_goes_to_a_file_of_the_catalog_or_nowhere() {
    let folders = catalog();
    let add = ["edit", "@catalog", "add", "quay.io/e/e:0.9.4=@etcd-0.9.4"];
    // The file of its name has another package already.
    let renamed = fs::read_to_string(folders.path("catalog/etcd/catalog.yaml"))
        .unwrap()
        .replace("etcd", "vault");
    folders.write("catalog/etcd/catalog.yaml", &renamed);
    bundle(&folders, "0.9.4", "");
    let added = command(&folders, &add);
    assert_eq!((added.status, added.stderr.as_str()), (Some(0), ""));
    let written = files(&folders.path("catalog"));
    assert_eq!(written.len(), 1);
    let text = &written[&folders.text("catalog/etcd/catalog.yaml")];
    assert!(
        text.starts_with(&renamed) && text.contains("name: etcd.v0.9.4\n"),
        "{text}"
    );

    // No file of its name is part of the catalog, also where the catalog has no other.
    folders.write("other/.indexignore", "*\n");
    let ignored = command(
        &folders,
        &["edit", "@other", "add", "quay.io/e/e:0.9.4=@etcd-0.9.4"],
    );
    let expected = "error: cannot create `etcd/catalog.yaml`: an .indexignore file leaves it out of the catalog\n";
    assert_eq!(
        (ignored.status, ignored.stderr.as_str()),
        (Some(1), expected)
    );
    assert_eq!(files(&folders.path("other")).len(), 1);
}

#[test]
fn what_an_author_may_not_have_meant_is_told() {
    let folders = catalog();
    let dry = |arguments: &[&str]| {
        command(
            &folders,
            &[&["edit", "@catalog", "--dry-run"], arguments].concat(),
        )
    };
    let kept = dry(&["prune", "etcd", "etcdd"]);
    let expected = "warning: package etcdd: cannot be kept: it is not in the catalog\nunchanged\n";
    assert_eq!((kept.status, kept.stderr.as_str()), (Some(0), expected));
    folders.write("etcd-0.9.2/manifests/notes.yaml", "a: 1");
    let overwritten = dry(&[
        "add",
        "quay.io/e/e:0.9.2-again=@etcd-0.9.2",
        "--overwrite-latest",
    ]);
    let expected = "warning: bundle etcd.v0.9.2: cannot read manifest `notes.yaml`: it has no kind\n\
                    warning: bundle etcd.v0.9.2: overwritten: clusters that installed the former one keep it, because name and \
                    version are the same\n";
    assert_eq!(
        (overwritten.status, overwritten.stderr.as_str()),
        (Some(0), expected)
    );
}

#[test]
fn a_batch_is_done_as_a_whole() {
    let folders = catalog();
    folders.write(
        "ops.json",
        json!([
            { "op": "add", "bundles": [{ "directory": "etcd-0.9.4", "image": "quay.io/e/e:0.9.4" }], "mode": "semver" },
            { "op": "promote", "package": "etcd", "bundle": "etcd.v0.9.2", "channel": "slow" },
            { "op": "set-package", "package": "etcd", "defaultChannel": "slow" },
            { "op": "deprecate", "package": "etcd", "entries": [
                { "reference": { "schema": "olm.bundle", "name": "etcd.v0.9.0" }, "message": "Too old." },
            ] },
        ])
        .to_string(),
    );
    let done = command(&folders, &["edit", "@catalog", "--ops", "@ops.json"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    let written = fs::read_to_string(folders.path("catalog/etcd/catalog.yaml")).unwrap();
    for part in [
        "defaultChannel: slow\n",
        "---\nentries:\n- name: etcd.v0.9.2\nname: slow\npackage: etcd\nschema: olm.channel\n",
        "- name: etcd.v0.9.4\n  replaces: etcd.v0.9.2\n",
        "---\nentries:\n- message: Too old.\n  reference:\n    name: etcd.v0.9.0\n    schema: olm.bundle\n",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
    assert_eq!(command(&folders, &["validate", "@catalog"]).status, Some(0));
    let removed = command(&folders, &["edit", "@catalog", "rm", "etcd"]);
    assert_eq!(
        (removed.status, files(&folders.path("catalog")).len()),
        (Some(0), 0)
    );
}

#[test]
fn packages_templates_and_folders_are_made_as_by_opm() {
    let folders = Folders::new();
    bundle(&folders, "0.9.0", "");
    folders.write("about.md", "Keeps keys.");
    let package = command(
        &folders,
        &[
            "init",
            "etcd",
            "-c",
            "stable-v0.9",
            "-d",
            "@about.md",
            "-o",
            "yaml",
        ],
    );
    let expected = "---\ndefaultChannel: stable-v0.9\ndescription: Keeps keys.\nname: etcd\nschema: olm.package\n";
    assert_eq!(package.stdout, expected);

    folders.write(
        "template.yaml",
        "schema: olm.semver\nstable:\n  bundles:\n  - image: quay.io/e/e:0.9.0\n",
    );
    let rendered = command(
        &folders,
        &[
            "render-template",
            "@template.yaml",
            "--bundle",
            "quay.io/e/e:0.9.0=@etcd-0.9.0",
        ],
    );
    assert_eq!((rendered.status, rendered.stderr.as_str()), (Some(0), ""));
    folders.write("catalog/catalog.json", &rendered.stdout);
    assert_eq!(command(&folders, &["validate", "@catalog"]).status, Some(0));

    let migrated = command(
        &folders,
        &[
            "migrate",
            "@catalog",
            "@out",
            "-o",
            "yaml",
            "--migrate-level",
            "all",
        ],
    );
    assert_eq!((migrated.status, migrated.stderr.as_str()), (Some(0), ""));
    let written = files(&folders.path("out"));
    let rendered = command(
        &folders,
        &["render", "@catalog", "-o", "yaml", "--migrate-level", "all"],
    );
    let expected = [(folders.text("out/etcd/catalog.yaml"), rendered.stdout)];
    assert_eq!(written, expected.into());
    let again = command(&folders, &["migrate", "@catalog", "@out"]);
    assert_eq!(
        (again.status, again.stderr.as_str()),
        (
            Some(2),
            "error: cannot write to `@/out`: it must be empty\n"
        )
    );

    let template = command(
        &folders,
        &[
            "convert-template",
            "basic",
            "@out/etcd/catalog.yaml",
            "-o",
            "yaml",
        ],
    );
    assert!(template.stdout.ends_with(
        "- image: quay.io/e/e:0.9.0\n  schema: olm.bundle\nschema: olm.template.basic\n"
    ));
}

//! Directories that are edited and are more than directories: links, mounts, and those with half a
//! change.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::{DRY_RUN, body, create, digest, edit, post, written};
use crate::support::{
    ARGO, ETCD, Folders, Output, PACKAGES, Server, catalogql, lines, packages, run,
};

/// Mounts one directory over another, and runs the program where that is seen.
const ON_A_MOUNT: &str = r#"
    mount --bind "$1" "$2" || exit
    shift 2
    exec "$0" "$@"
"#;

/// A change of `catalog` that was interrupted, and of which a file was changed since.
fn interrupt(folders: &Folders) {
    let plan = json!([{ "path": "catalog.json", "before": null, "after": format!("sha256:{}", "0".repeat(64)) }]);
    folders.write(".catalog.edit/plan.json", plan.to_string());
}

fn edit_command(folders: &Folders, arguments: &[&str]) -> Output {
    let output = run(catalogql().arg("edit").args(arguments));
    Output {
        stderr: folders.shown(&output.stderr),
        ..output
    }
}

#[test]
fn a_link_that_moves_is_followed_at_each_edit_as_at_each_poll() {
    let folders = Folders::new();
    folders.catalog("one", ETCD);
    folders.catalog("two", ETCD);
    let link = |to: &str| {
        symlink(folders.path(to), folders.path("next")).unwrap();
        fs::rename(folders.path("next"), folders.path("catalog")).unwrap();
    };
    link("one");
    let server = Server::start(
        &folders,
        &["--editable", &format!("mine={}", folders.text("catalog"))],
    );
    link("two");
    let created = edit(server.address, &[], &create("argo"));
    assert_eq!(created.status, 200, "{}", body(&created));
    server.answers_in_time(PACKAGES, &packages(&["argo", "etcd"]));
    assert_eq!(
        written(&folders),
        ["argo", "etcd"].map(str::to_owned).into()
    );
    assert_eq!(
        fs::read_dir(folders.path("one")).unwrap().count(),
        1,
        "where the link led before"
    );
}

#[test]
fn a_change_of_which_a_half_is_there_is_not_mixed_with_what_somebody_wrote_since() {
    let folders = Folders::new();
    folders.catalog("catalog", ETCD);
    interrupt(&folders);
    let former = fs::read(folders.path("catalog/catalog.json")).unwrap();
    let directory = folders.text("catalog");
    let half = "error: cannot read `@/catalog`: an edit of it was interrupted: the next edit that is no dry run finishes it\n";
    let changed = "cannot finish an edit that was interrupted: `@/catalog/catalog.json` was changed since: put the files of \
                   `@/.catalog.edit` to their places, or keep the directory as it is, and remove `@/.catalog.edit`";
    let dry = edit_command(&folders, &[&directory, "rm", "etcd", "--dry-run"]);
    assert_eq!((dry.status, dry.stderr.as_str()), (Some(1), half));
    let refused = edit_command(&folders, &[&directory, "rm", "etcd"]);
    assert_eq!(
        (refused.status, refused.stderr),
        (Some(1), format!("error: {changed}\n"))
    );

    // What is there is served all the same.
    let server = Server::start(&folders, &["--editable", &format!("mine={directory}")]);
    server.answers_in_time(PACKAGES, &packages(&["etcd"]));
    let detail = |catalog: &str| {
        let refused = post(
            server.address,
            catalog,
            &[("content-type", "application/json")],
            "[]",
        );
        (
            refused.status,
            folders.shown(body(&refused)["detail"].as_str().unwrap()),
        )
    };
    assert_eq!(detail("mine"), (409, changed.to_owned()));
    assert_eq!(format!("error: {}\n", detail(DRY_RUN).1), half);
    assert_eq!(
        fs::read(folders.path("catalog/catalog.json")).unwrap(),
        former
    );
    fs::remove_dir_all(folders.path(".catalog.edit")).unwrap();
    let created = edit(server.address, &[], &create("argo"));
    assert_eq!(created.status, 200, "{}", body(&created));
    assert!(!digest(&created).is_empty());
}

#[test]
fn what_cannot_be_renamed_to_is_refused_before_anything_is_changed() {
    let folders = Folders::new();
    folders.write("catalog/argo/catalog.json", lines(ARGO));
    folders.write("catalog/etcd/catalog.json", lines(ETCD));
    for (from, to) in [("catalog", "mounted"), ("catalog/etcd", "catalog/etcd")] {
        fs::create_dir_all(folders.path(to)).unwrap();
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--mount", "sh", "-c", ON_A_MOUNT])
            .arg(catalogql().get_program());
        command.args([&folders.text(from), &folders.text(to), "edit"]);
        command.args([
            &folders.text(to.split('/').next().unwrap()),
            "rm",
            "argo",
            "etcd",
        ]);
        let refused = run(&mut command);
        let expected = format!(
            "error: cannot edit `@/{to}`: it is on another file system or mount than `@`, where changes are prepared: edit a \
             directory that is not a mount point and has none in it\n"
        );
        let expected = if to == "mounted" {
            expected
        } else {
            expected.replacen(
                "error: ",
                "error: cannot change the catalog in `@/catalog`: ",
                1,
            )
        };
        assert_eq!(
            (refused.status, folders.shown(&refused.stderr)),
            (Some(1), expected)
        );
        assert_eq!(
            written(&folders),
            ["argo", "etcd"].map(str::to_owned).into()
        );
        assert!(!folders.path(".catalog.edit").exists() && !folders.path(".mounted.edit").exists());
    }
}

#[test]
fn what_edits_keep_beside_a_directory_is_in_no_other_catalog() {
    let folders = Folders::new();
    folders.catalog("all/etcd", ETCD);
    let (all, etcd) = (
        format!("all={}", folders.text("all")),
        format!("etcd={}", folders.text("all/etcd")),
    );
    let store = folders.text("refused");
    let refused = run(catalogql().args([
        "serve",
        "--store",
        &store,
        "--listen",
        "0",
        &all,
        "--editable",
        &etcd,
    ]));
    let expected = "error: cannot let `etcd` be edited: its edits are prepared in `@/all`, which lies in the catalog `all` \
                    (`@/all`): serve one of them from another directory\n";
    assert_eq!(
        (refused.status, folders.shown(&refused.stderr).as_str()),
        (Some(2), expected)
    );
    // The other way round, edits are prepared outside of both.
    let (all, etcd) = (
        format!("all={}", folders.text("all")),
        format!("etcd={}", folders.text("all/etcd")),
    );
    let server = Server::start(&folders, &[&etcd, "--editable", &all]);
    assert_eq!(
        post(
            server.address,
            "all",
            &[("content-type", "application/json")],
            "[]"
        )
        .status,
        200
    );
}

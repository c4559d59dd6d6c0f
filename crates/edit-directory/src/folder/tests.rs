//! What a kill at any step leaves, what is done after it, and when names are durable.

use std::collections::BTreeMap;

use testing::Folders;

use super::*;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    FileChange {
        path: path.to_owned(),
        before: bytes(before),
        after: bytes(after),
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
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

/// The files of a directory, by their paths from it.
fn shown(root: &Path) -> Vec<String> {
    files(root)
        .into_iter()
        .map(|(path, text)| path.replace(root.to_str().unwrap(), "") + " " + &text)
        .collect()
}

/// Writes the files of a directory, some of which change and go.
fn write_former(folders: &Folders) {
    folders.write("catalog/a/catalog.yaml", "old");
    folders.write("catalog/b/catalog.yaml", "gone");
    folders.write("catalog/other.yaml", "other");
}

/// Writes a directory with files that change, appear and go; returns it with the changes.
fn before(folders: &Folders) -> (PathBuf, [FileChange; 3]) {
    write_former(folders);
    let changes = [
        change("a/catalog.yaml", Some("old"), Some("new")),
        change("b/catalog.yaml", Some("gone"), None),
        change("c/catalog.yaml", None, Some("there")),
    ];
    (folders.path("catalog"), changes)
}

const OLD: [&str; 3] = [
    "/a/catalog.yaml old",
    "/b/catalog.yaml gone",
    "/other.yaml other",
];
const NEW: [&str; 3] = [
    "/a/catalog.yaml new",
    "/c/catalog.yaml there",
    "/other.yaml other",
];

/// Makes a change that is killed after so many steps; `false` if it had no more of them.
fn kill(root: &Path, changes: &[FileChange], after: usize) -> bool {
    let mut steps = 0;
    let mut killer = |_: &'static str, _: &Path| {
        steps += 1;
        if steps > after {
            Err(io::Error::other("killed"))
        } else {
            Ok(())
        }
    };
    LockedFolder::lock(root)
        .unwrap()
        .write_with_hook(changes, &mut killer)
        .is_err()
}

#[test]
fn a_kill_at_any_step_leaves_the_former_files_or_the_new_ones() {
    let mut seen = Vec::new();
    for steps in 0.. {
        let folders = Folders::new();
        let (root, changes) = before(&folders);
        let is_killed = kill(&root, &changes, steps);
        // The next edit begins by recovering.
        drop(LockedFolder::lock(&root).unwrap());
        let found = shown(&root);
        assert!(
            found == OLD || found == NEW,
            "killed after step {steps}: {found:?}"
        );
        assert!(
            !root.parent().unwrap().join(".catalog.edit").exists(),
            "killed after step {steps}"
        );
        seen.push(found == NEW);
        if !is_killed {
            break;
        }
    }
    // Three files and the plan are prepared in eight steps; from then on the change is finished.
    assert_eq!(seen.iter().filter(|is_new| !**is_new).count(), 8);
    assert_eq!(seen.len(), 18);
    assert!(seen.is_sorted(), "{seen:?}");
}

/// Makes a change; returns its steps, with paths from the folder that contains the directory.
fn steps(root: &Path, changes: &[FileChange]) -> Vec<String> {
    let mut steps = Vec::new();
    let mut record = |action: &'static str, path: &Path| {
        let path = path.strip_prefix(root.parent().unwrap()).unwrap().display();
        steps.push(format!("{action} {path}").trim_end().to_owned());
        Ok(())
    };
    LockedFolder::lock(root)
        .unwrap()
        .write_with_hook(changes, &mut record)
        .unwrap();
    steps
}

#[test]
fn each_name_is_durable_before_the_plan_goes() {
    let folders = Folders::new();
    let (root, changes) = before(&folders);
    let expected = [
        "create .catalog.edit",
        "sync",
        "write .catalog.edit/0",
        "write .catalog.edit/1",
        "write .catalog.edit/2",
        "write .catalog.edit/3",
        "write .catalog.edit/plan",
        "sync .catalog.edit",
        "write .catalog.edit/plan.json",
        "sync .catalog.edit",
        "replace catalog/a/catalog.yaml",
        "replace catalog/b/catalog.yaml",
        "replace catalog/c/catalog.yaml",
        "replace catalog/../.catalog.edits",
        "sync catalog",
        "sync catalog/..",
        "sync catalog/a",
        "sync catalog/c",
        "remove .catalog.edit/plan.json",
        "remove .catalog.edit",
    ];
    let changes = [
        &changes[..],
        &[change("../.catalog.edits", None, Some("{}"))],
    ]
    .concat();
    assert_eq!(steps(&root, &changes), expected);

    // A file that is replaced changes no folder above its own.
    let mut replaced = steps(
        &root,
        &[change("a/catalog.yaml", Some("new"), Some("newer"))],
    );
    replaced.retain(|step| step.starts_with("sync catalog"));
    assert_eq!(replaced, ["sync catalog/a"]);
}

#[test]
fn what_somebody_restored_or_wrote_after_a_kill_is_left_alone() {
    let mut refused = 0;
    for (steps, by_hand) in (0..17).flat_map(|steps| [(steps, "old"), (steps, "by hand")]) {
        let folders = Folders::new();
        let (root, changes) = before(&folders);
        assert!(kill(&root, &changes, steps));
        // As `git checkout .` does, which leaves files alone that it does not know.
        write_former(&folders);
        folders.write("catalog/a/catalog.yaml", by_hand);
        let restored = shown(&root);
        match LockedFolder::lock(&root) {
            Err(FolderError::Interrupted { path, stage }) => {
                refused += 1;
                assert!(path.starts_with(&root), "{path:?}");
                assert_eq!(shown(&root), restored, "killed after step {steps}");
                assert!(matches!(
                    LockedFolder::lock_to_read(&root),
                    Err(FolderError::Unfinished(_))
                ));
                fs::remove_dir_all(stage).unwrap();
                drop(LockedFolder::lock(&root).unwrap());
                assert_eq!(shown(&root), restored, "killed after step {steps}");
            }
            Err(error) => panic!("killed after step {steps}: {error}"),
            // Nothing was done yet, or all was done and only the plan was left to go.
            Ok(_) => assert!(
                shown(&root) == restored || shown(&root) == NEW,
                "killed after step {steps}"
            ),
        }
    }
    // The plan is there after eight to fifteen steps. Before the tenth, which moves a file, the
    // former files are what the change began with.
    assert_eq!(refused, 14);
}

#[test]
fn a_reader_changes_nothing_and_reads_no_half_of_a_change() {
    for steps in 0..18 {
        let folders = Folders::new();
        let (root, changes) = before(&folders);
        kill(&root, &changes, steps);
        let found = files(root.parent().unwrap());
        match LockedFolder::lock_to_read(&root) {
            Ok(_) => assert!(
                shown(&root) == OLD || shown(&root) == NEW,
                "killed after step {steps}"
            ),
            Err(FolderError::Unfinished(path)) => assert_eq!(path, root),
            Err(error) => panic!("killed after step {steps}: {error}"),
        }
        assert_eq!(
            files(root.parent().unwrap()),
            found,
            "killed after step {steps}"
        );
    }
}

#[test]
fn one_of_two_editors_at_a_time_edits_and_a_file_that_changed_is_left_alone() {
    let folders = Folders::new();
    let (root, changes) = before(&folders);
    let first = LockedFolder::lock(&root).unwrap();
    assert!(matches!(
        LockedFolder::lock(&root),
        Err(FolderError::Locked(_))
    ));
    folders.write("catalog/a/catalog.yaml", "by hand");
    assert!(matches!(
        first.write(&changes),
        Err(FolderError::Conflict(_))
    ));
    assert_eq!(
        fs::read_to_string(root.join("b/catalog.yaml")).unwrap(),
        "gone"
    );
    drop(first);
    assert!(LockedFolder::lock(&root).is_ok());
}

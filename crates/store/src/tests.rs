//! The state of the folder after each event that can happen to it: kills and full disks at every
//! step, damage, quotas.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use fbc_read::origin::FileOrigin;
use fbc_read::{Origins, Problem, ProblemCode, Problems};
use http_content::coding::Coding;

use super::crash_points::{CrashPoint, DIE_AT, DISK_FULL_AT};
use super::*;

/// Set in the process that is to die, to the folder of its store.
const DIE_IN: &str = "CATALOGQL_TEST_DIE_IN";

/// Every step of writing a content in place of another, in order.
const STEPS: [(FileKind, CrashPoint); 21] = [
    (FileKind::Content, CrashPoint::Created),
    (FileKind::Content, CrashPoint::Written),
    (FileKind::Content, CrashPoint::Synced),
    (FileKind::Content, CrashPoint::Renamed),
    (FileKind::Content, CrashPoint::FolderSynced),
    (FileKind::Analysis, CrashPoint::Created),
    (FileKind::Analysis, CrashPoint::Written),
    (FileKind::Analysis, CrashPoint::Synced),
    (FileKind::Analysis, CrashPoint::Renamed),
    (FileKind::Analysis, CrashPoint::FolderSynced),
    (FileKind::Evidence, CrashPoint::Created),
    (FileKind::Evidence, CrashPoint::Written),
    (FileKind::Evidence, CrashPoint::Synced),
    (FileKind::Evidence, CrashPoint::Renamed),
    (FileKind::Evidence, CrashPoint::FolderSynced),
    (FileKind::Record, CrashPoint::Created),
    (FileKind::Record, CrashPoint::Written),
    (FileKind::Record, CrashPoint::Synced),
    (FileKind::Record, CrashPoint::Renamed),
    (FileKind::Record, CrashPoint::FolderSynced),
    (FileKind::Content, CrashPoint::Removed),
];

pub(super) fn open(folder: &Path) -> Store {
    open_with(folder, DEFAULT_QUOTA_BYTES)
}

pub(super) fn open_with(folder: &Path, quota: u64) -> Store {
    Store::open(folder, quota, "build").unwrap()
}

/// Keeps a content whose text is this, of which nothing more is known.
pub(super) fn keep_text(store: &Store, key: &str, text: &str) -> Digest {
    let mut writer = store.writer().unwrap();
    writer.write(text.as_bytes()).unwrap();
    let notes = Analysis {
        origins: Origins::default(),
        problems: None,
    };
    writer
        .finish()
        .unwrap()
        .commit(key, &SourceState::default(), &notes)
        .unwrap()
        .content
}

fn notes(line: u32) -> Analysis {
    let file = FileOrigin {
        path: "catalog.yaml".to_owned(),
        lines: vec![line],
        ..FileOrigin::default()
    };
    let problem = Problem {
        code: ProblemCode::ChannelMultipleHeads,
        message: format!("on line {line}"),
        package: Some("etcd".into()),
        channel: Some("stable".into()),
        bundle: None,
        file: Some("catalog.yaml".into()),
        line: Some(line),
    };
    let counts = [(problem.code, 1_001)].into_iter().collect();
    let problems = Problems {
        listed: vec![problem],
        counts,
    };
    Analysis {
        origins: Origins {
            files: vec![file],
            ..Origins::default()
        },
        problems: Some(problems),
    }
}

/// Writes a content in two pieces and remembers it.
fn keep(
    store: &Store,
    key: &str,
    revision: Option<&str>,
    text: &str,
) -> Result<Record, StoreError> {
    let mut writer = store.writer()?;
    let (first, rest) = text.as_bytes().split_at(text.len() / 2);
    writer.write(first)?;
    writer.flush()?;
    writer.write(rest)?;
    let written = writer.finish()?;
    assert_eq!(written.content, text);
    written.commit(
        key,
        &SourceState {
            revision: revision.map(str::to_owned),
            evidence: Some(format!("evidence of {text:.20}").into_bytes()),
            ..SourceState::default()
        },
        &notes(7),
    )
}

fn text(store: &Store, key: &str) -> Option<String> {
    store
        .get(key)
        .map(|kept| String::from_utf8(kept.content.to_vec()).unwrap())
}

/// The names of all files, without the lock.
fn files(folder: &Path) -> BTreeSet<String> {
    let part = |part: &str| {
        let names = fs::read_dir(folder.join(part))
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        names
            .map(|name| format!("{part}/{}", name.to_str().unwrap()))
            .collect::<Vec<_>>()
    };
    [CONTENT, ANALYSES, EVIDENCE, SOURCES]
        .into_iter()
        .flat_map(part)
        .collect()
}

/// The files of a store that holds what these records name and nothing else.
fn files_of(records: &[&Record]) -> BTreeSet<String> {
    let names = |record: &&Record| {
        let key = content_digest::digest(record.key.as_bytes()).hex();
        let evidence = record.evidence.map(|digest| digest.hex());
        let evidence = evidence.map(|hex| format!("evidence/{hex}.json"));
        let files = [
            format!("content/{}.jsonl", record.content.hex()),
            format!("notes/{}.json", record.analysis.hex()),
            format!("sources/{key}.json"),
        ];
        files.into_iter().chain(evidence)
    };
    records.iter().flat_map(names).collect()
}

#[test]
fn what_was_kept_is_given_back_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let record = keep(
        &open(folder.path()),
        "dir:a",
        Some("1"),
        "{\"a\":1}\n{\"a\":2}\n",
    )
    .unwrap();
    assert_eq!(
        record.content,
        content_digest::digest(b"{\"a\":1}\n{\"a\":2}\n")
    );
    let store = open(folder.path());
    let kept = store.get("dir:a").unwrap();
    assert_eq!((kept.record, kept.analysis), (record, notes(7)));
    assert_eq!(kept.content, "{\"a\":1}\n{\"a\":2}\n");
    assert!(store.get("dir:b").is_none());
}

#[test]
fn what_one_source_gave_is_given_for_another_in_the_same_state() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let first = keep(&store, "a", Some("1"), "a\n").unwrap();
    let before = keep(&store, "b", Some("0"), "b\n").unwrap();
    let state = |revision: &str| SourceState {
        revision: Some(revision.to_owned()),
        image: Some("image@sha256:1".to_owned()),
        validators: None,
        evidence: Some(b"its own".to_vec()),
    };
    assert_eq!(
        store
            .reuse("b", &state("2"))
            .unwrap()
            .map(|kept| kept.record),
        None
    );
    assert_eq!(
        store
            .reuse("a", &state("1"))
            .unwrap()
            .map(|kept| kept.record),
        None,
        "it is no other source"
    );

    let kept = store.reuse("b", &state("1")).unwrap().unwrap();
    let image = Some("image@sha256:1".to_owned());
    let former = PreviousContent {
        digest: before.content,
        image: before.image.clone(),
        first_read_at: Some(before.first_read_at),
    };
    let first_read_at = kept.record.first_read_at;
    let previous = vec![former];
    let expected = Record {
        key: "b".to_owned(),
        image,
        first_read_at,
        previous,
        evidence: Some(content_digest::digest(b"its own")),
        ..first.clone()
    };
    assert_eq!((&kept.record, kept.analysis), (&expected, notes(7)));
    assert!(kept.record.first_read_at > before.first_read_at);
    assert_eq!(files(folder.path()), files_of(&[&first, &expected]));
    drop(store);
    assert_eq!(open(folder.path()).get("b").unwrap().record, expected);
    let another = Store::open(folder.path(), DEFAULT_QUOTA_BYTES, "another build").unwrap();
    assert_eq!(
        another
            .reuse("c", &state("1"))
            .unwrap()
            .map(|kept| kept.record),
        None
    );
}

#[test]
fn a_content_may_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    keep(&open(folder.path()), "dir:a", None, "").unwrap();
    assert_eq!(text(&open(folder.path()), "dir:a"), Some(String::new()));
}

#[test]
fn the_time_of_a_content_is_when_it_first_came() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let first = keep(&store, "dir:a", Some("1"), "a\n").unwrap();
    let again = keep(&store, "dir:a", Some("2"), "a\n").unwrap();
    assert_eq!(
        (again.first_read_at, again.revision.as_deref()),
        (first.first_read_at, Some("2"))
    );
    assert!(
        keep(&store, "dir:a", Some("3"), "b\n")
            .unwrap()
            .first_read_at
            > first.first_read_at
    );
}

#[test]
fn another_content_comes_in_another_second_whatever_the_clock_says() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let texts = ["{}\n", "{\"a\":1}\n", "{}\n", "{\"a\":1}\n"];
    let seconds: Vec<_> = texts
        .map(|text| {
            keep(&store, "key", None, text)
                .unwrap()
                .first_read_at
                .as_second()
        })
        .into();
    assert!(
        seconds.is_sorted_by(|before, after| before < after),
        "{seconds:?}"
    );
}

#[test]
fn bytes_in_use_outlive_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    keep(&store, "dir:a", None, "former\n").unwrap();
    let former = store.get("dir:a").unwrap().content;
    let latter = keep(&store, "dir:a", None, "latter\n").unwrap();
    assert_eq!(files(folder.path()), files_of(&[&latter]));
    drop((store, folder));
    assert_eq!(former, "former\n");
}

#[test]
fn a_content_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut writer = store.writer().unwrap();
    writer.write(b"half").unwrap();
    drop(writer);
    assert_eq!(files(folder.path()), BTreeSet::new());
}

#[test]
fn a_content_of_an_ephemeral_store_lives_as_long_as_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::ephemeral(folder.path()).unwrap();
    let record = keep(&store, "dir:a", None, "a\n").unwrap();
    let content = store.get("dir:a").unwrap().content;
    assert_eq!(record.content, content_digest::digest(b"a\n"));
    drop(store);
    assert_eq!(
        (fs::read_dir(folder.path()).unwrap().count(), content),
        (0, Bytes::from_static(b"a\n"))
    );
}

#[test]
fn a_folder_belongs_to_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let error = Store::open(folder.path(), DEFAULT_QUOTA_BYTES, "build").unwrap_err();
    let path = folder.path().display();
    let expected = format!(
        "cannot open the store `{path}`: another process uses it; stop that process or name another folder with --store"
    );
    assert_eq!(error.to_string(), expected);
    drop(store);
    open(folder.path());
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("content")).unwrap();
    let error = Store::open(folder.path(), DEFAULT_QUOTA_BYTES, "build").unwrap_err();
    let path = folder.path().display();
    let expected = format!(
        "cannot use `{path}` as the store: it contains files of other programs; name an empty folder with --store"
    );
    assert_eq!(error.to_string(), expected);

    fs::remove_dir(folder.path().join("content")).unwrap();
    open(folder.path());
    fs::write(folder.path().join("content/notes.json"), "a user's").unwrap();
    open(folder.path());
    assert_eq!(
        files(folder.path()),
        BTreeSet::from(["content/notes.json".to_owned()])
    );
}

#[test]
fn a_new_file_system_is_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    open(folder.path());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (name, expected) in [
        (
            "file",
            "cannot open the store `@/file`: it is a file; name a folder with --store",
        ),
        (
            "file/store",
            "cannot create the folder `@/file/store` for the store: name another folder with --store",
        ),
    ] {
        let path = folder.path().join(name);
        let error = Store::open(&path, DEFAULT_QUOTA_BYTES, "build").unwrap_err();
        let shown = error
            .to_string()
            .replace(&folder.path().display().to_string(), "@");
        assert_eq!(shown, expected);
    }
}

#[test]
fn a_kill_at_any_step_leaves_the_former_content_or_the_new_one() {
    if let Ok(folder) = std::env::var(DIE_IN) {
        keep(&open(Path::new(&folder)), "dir:a", Some("2"), "latter\n").unwrap();
        return;
    }
    for (what, point) in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let others = {
            let store = open(folder.path());
            keep(&store, "dir:a", Some("1"), "former\n").unwrap();
            keep(&store, "dir:b", None, "other\n").unwrap()
        };
        let status = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tests::a_kill_at_any_step_leaves_the_former_content_or_the_new_one",
            ])
            .env(DIE_AT, format!("{what:?} {point:?}"))
            .env(DIE_IN, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(6),
            "{what:?} {point:?} was reached"
        );

        let store = open(folder.path());
        let done = STEPS
            .iter()
            .position(|step| *step == (what, point))
            .unwrap()
            >= 18;
        let expected = if done { "latter\n" } else { "former\n" };
        assert_eq!(
            text(&store, "dir:a").as_deref(),
            Some(expected),
            "{what:?} {point:?}"
        );
        let kept = store.get("dir:a").unwrap().record;
        assert_eq!(
            files(folder.path()),
            files_of(&[&kept, &others]),
            "{what:?} {point:?}"
        );

        let record = keep(&store, "dir:a", Some("2"), "latter\n").unwrap();
        assert_eq!(text(&store, "dir:a").as_deref(), Some("latter\n"));
        assert_eq!(
            files(folder.path()),
            files_of(&[&record, &others]),
            "{what:?} {point:?}"
        );
    }
}

#[test]
fn a_full_disk_at_any_step_is_an_error_that_names_a_path() {
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        keep(&store, "dir:a", Some("1"), "former\n").unwrap();
        DISK_FULL_AT.set(Some(step));
        let error = keep(&store, "dir:a", Some("2"), "latter\n").unwrap_err();
        DISK_FULL_AT.set(None);
        let StoreError::Io { path, source, .. } = error else {
            panic!("{step:?}: {error}")
        };
        assert!(
            path.starts_with(folder.path()),
            "{step:?}: {}",
            path.display()
        );
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert!(
            matches!(
                text(&store, "dir:a").as_deref(),
                Some("former\n" | "latter\n")
            ),
            "{step:?}"
        );
        let record = keep(&store, "dir:a", Some("2"), "latter\n").unwrap();
        assert_eq!(files(folder.path()), files_of(&[&record]), "{step:?}");
    }
}

#[test]
fn what_another_build_found_out_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    keep(&open(folder.path()), "dir:a", Some("1"), "a\n").unwrap();
    let kept = Store::open(folder.path(), DEFAULT_QUOTA_BYTES, "another build")
        .unwrap()
        .get("dir:a")
        .unwrap();
    assert_eq!(
        kept.analysis,
        Analysis {
            origins: notes(7).origins,
            problems: None
        }
    );
}

#[test]
fn what_is_damaged_or_of_another_format_is_as_if_it_was_not_there() {
    let damage = |text: &str, change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let record = keep(&store, "dir:a", Some("1"), "a\n").unwrap();
        let paths = [
            store.content_path(&record.content),
            store.analysis_path(&record.analysis),
            store.record_path("dir:a"),
        ];
        change(
            paths
                .iter()
                .find(|path| path.starts_with(folder.path().join(text)))
                .unwrap(),
        );
        assert!(store.get("dir:a").is_none(), "{text}");
        drop(store);
        let store = open(folder.path());
        let record = keep(&store, "dir:a", Some("1"), "a\n").unwrap();
        assert_eq!(files(folder.path()), files_of(&[&record]), "{text}");
    };
    let replace = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            assert!(text.contains(from), "{text}");
            overwrite(path, text.replacen(from, to, 1));
        }
    };
    for part in [CONTENT, ANALYSES, SOURCES] {
        damage(part, &|path| fs::remove_file(path).unwrap());
        damage(part, &|path| overwrite(path, ""));
    }
    // As long as before, but another text.
    damage(CONTENT, &|path| overwrite(path, "b\n"));
    damage(ANALYSES, &replace("\"format\":2", "\"format\":3"));
    damage(SOURCES, &replace("\"format\": 1", "\"format\": 2"));
    damage(
        SOURCES,
        &replace("\"content\": \"sha256:", "\"content\": \"sha512:"),
    );
}

#[test]
fn what_is_damaged_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    keep(&store, "dir:a", None, "a\n").unwrap();
    let other = keep(&store, "dir:b", None, "b\n").unwrap();
    store.forget("dir:a").unwrap();
    store.forget("dir:never").unwrap();
    assert_eq!(files(folder.path()), files_of(&[&other]));
}

#[test]
fn a_content_fits_up_to_the_quota() {
    let folder = tempfile::tempdir().unwrap();
    let fits = Store::open(folder.path(), 3, "build").unwrap();
    keep(&fits, "dir:a", None, "ab\n").unwrap();
    drop(fits);
    let folder = tempfile::tempdir().unwrap();
    let full = Store::open(folder.path(), 2, "build").unwrap();
    let error = keep(&full, "dir:a", None, "ab\n").unwrap_err().to_string();
    let path = folder.path().display();
    let expected = format!(
        "the store `{path}` would exceed its quota of 2 bytes: raise it with --store-quota"
    );
    assert_eq!(error, expected);
    assert_eq!(files(folder.path()), BTreeSet::new());
}

#[test]
fn the_oldest_content_that_nobody_uses_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let large = |letter: &str| letter.repeat(10_000);
    let before = open(folder.path());
    for key in ["a", "b", "c"] {
        keep(&before, key, None, &large(key)).unwrap();
    }
    drop(before);
    let store = Store::open(folder.path(), 35_000, "build").unwrap();
    store.hold("a");
    store.hold("d");
    keep(&store, "d", None, &large("d")).unwrap();
    let there = |key: &str| store.record(key).is_some();
    assert_eq!(["a", "b", "c", "d"].map(there), [true, false, true, true]);
    assert!(matches!(
        keep(&store, "e", None, &"e".repeat(17_000)),
        Err(StoreError::QuotaExceeded { .. })
    ));
    assert_eq!(
        ["a", "b", "c", "d", "e"].map(there),
        [true, false, false, true, false]
    );

    // What is no longer in use makes room like any other.
    store.release("a");
    keep(&store, "e", None, &"e".repeat(20_000)).unwrap();
    assert_eq!(["a", "d", "e"].map(there), [false, true, true]);
}

#[test]
fn a_content_takes_no_more_than_the_share_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with(folder.path(), 800_000);
    for (sources, share) in [(1, 800_000), (2, 400_000), (8, 100_000), (9, 100_000)] {
        (0..sources).for_each(|source| store.hold(&source.to_string()));
        let written = |bytes: usize| store.writer().unwrap().write("x".repeat(bytes).as_bytes());
        assert!(written(share).is_ok(), "{sources}");
        let error = written(share + 1).unwrap_err();
        let is_expected = match error {
            StoreError::ShareExceeded { share: found, .. } => found == share as u64,
            StoreError::QuotaExceeded { .. } => sources == 1,
            StoreError::Io { .. }
            | StoreError::Folder { .. }
            | StoreError::File(_)
            | StoreError::InUse(_)
            | StoreError::NotAStore(_) => false,
        };
        assert!(is_expected, "{sources}: {error}");
    }
}

/// Writes to a file in place, also where its mode forbids that.
pub(super) fn overwrite(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_mapped_has_no_permission_to_be_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let record = keep(&store, "dir:a", Some("1"), "a\n").unwrap();
    store
        .load_or_compress(&record.content, b"a\n", Coding::Gzip)
        .unwrap()
        .unwrap();
    let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    let modes = [
        store.content_path(&record.content),
        store.encoded_path(&record.content, Coding::Gzip),
    ]
    .map(mode);
    assert_eq!(modes, [0o400, 0o400]);
}

#[test]
fn a_content_is_hashed_when_it_is_opened_first_and_when_its_file_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let digest = keep(&open(folder.path()), "dir:a", Some("1"), "a\n")
        .unwrap()
        .content;
    // Another process: it has not checked anything, and finds what was done to the file while none
    // ran.
    let store = open(folder.path());
    assert_eq!(store.get("dir:a").unwrap().content, "a\n");
    let path = store.content_path(&digest);
    overwrite(&path, "b\n");
    assert!(store.get("dir:a").is_none());
    overwrite(&path, "a\n");
    assert_eq!(store.get("dir:a").unwrap().content, "a\n");
}

//! Packs that are written by hand, and packs that git makes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use testing::{GitPack, SeededRandom, report_skipped};

use super::*;

const COMMIT: u8 = 1;
const BLOB: u8 = 3;

/// Objects by their ids, with their kinds.
type ObjectsById = BTreeMap<String, (String, Vec<u8>)>;

fn opened(bytes: &[u8]) -> Result<Pack, String> {
    opened_with(bytes, PackLimits::default())
}

fn opened_with(bytes: &[u8], limits: PackLimits) -> Result<Pack, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Pack::open(file, 0, limits).map_err(|error| error.to_string())
}

fn id(text: &str) -> ObjectId {
    ObjectHasher::hash(ObjectKind::Blob, text.as_bytes()).unwrap()
}

fn text(pack: &Pack, text: &str) -> Result<String, String> {
    let position = pack.find(id(text)).expect("it is in the pack");
    assert_eq!(pack.kind(position), ObjectKind::Blob);
    let (bytes, mut content) = pack
        .content(position)
        .map_err(|reason| reason.to_string())?;
    let mut found = String::new();
    content.read_to_string(&mut found).unwrap();
    assert_eq!(bytes, found.len() as u64);
    Ok(found)
}

/// A delta that keeps its base of this length and appends a letter. It has 6 bytes.
fn appending(length: u8, letter: u8) -> Vec<u8> {
    vec![length, length + 1, 0x90, length, 1, letter]
}

/// A base of one byte whose chain has this number of deltas.
fn chain(deltas: u8) -> Vec<u8> {
    let mut pack = GitPack::default();
    let mut last = pack.blob(b"a");
    for length in 1..=deltas {
        last = pack.delta(last, &appending(length, b'b'));
    }
    pack.finish()
}

#[test]
fn objects_are_found_by_their_ids_whether_they_are_whole_or_deltas() {
    let mut pack = GitPack::default();
    // A delta by the id of a base that follows.
    pack.delta_by_id(GitPack::id("blob", b"hello"), &appending(5, b'!'));
    let start = pack.blob(b"hello");
    let second = pack.delta(start, &appending(5, b'?'));
    pack.delta(second, &appending(6, b'?'));
    let long = "x".repeat(100_000);
    pack.blob(long.as_bytes());
    let pack = opened(&pack.finish()).unwrap();
    for expected in ["hello", "hello!", "hello?", "hello??", &long] {
        assert_eq!(text(&pack, expected).as_deref(), Ok(expected));
    }
    assert_eq!(pack.find(id("hell")), None);
}

#[test]
fn a_chain_has_at_most_fifty_deltas() {
    let most = u8::try_from(MAX_DELTA_DEPTH).unwrap();
    let longest = "a".to_owned() + &"b".repeat(MAX_DELTA_DEPTH);
    let pack = opened(&chain(most)).unwrap();
    assert_eq!(text(&pack, &longest).as_deref(), Ok(&*longest));
    assert_eq!(
        opened(&chain(most + 1)).unwrap_err(),
        "its pack has a chain of more than 50 deltas"
    );
}

#[test]
fn a_pack_that_is_cut_or_changed_anywhere_is_refused() {
    let whole = chain(3);
    for end in 0..whole.len() {
        assert!(opened(&whole[..end]).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x15;
        assert!(opened(&changed).is_err(), "{at}");
    }
    let more = [&whole[..], b"x"].concat();
    assert_eq!(
        opened(&more).unwrap_err(),
        "the pack is damaged: bytes follow its end"
    );
}

#[test]
fn what_a_pack_says_of_itself_is_compared_with_limits_and_with_its_bytes() {
    let with = |code, length, base: &[u8], data: &[u8]| {
        let mut pack = GitPack::default();
        pack.object(code, length, base, data);
        opened(&pack.finish()).unwrap_err()
    };
    let missing = GitPack::id("blob", b"hello");
    let mut twice = GitPack::default();
    twice.blob(b"a");
    twice.blob(b"a");
    let mut again = GitPack::default();
    let base = again.blob(b"a");
    again.blob(b"ab");
    again.delta(base, &appending(1, b'b'));
    let mut many = chain(1);
    many[8..12].copy_from_slice(&(MAX_PACK_OBJECTS + 1).to_be_bytes());
    let mut bomb = GitPack::default();
    let base = bomb.blob(b"a");
    // 2^40 bytes.
    bomb.delta(base, &[1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0x90, 1]);
    for (refused, expected) in [
        (
            with(BLOB, 4, b"", b"hello"),
            "an object is longer than its head says",
        ),
        (
            with(BLOB, 6, b"", b"hello"),
            "an object is shorter than its head says",
        ),
        (with(5, 5, b"", b"hello"), "an object is of an unknown kind"),
        (
            with(6, 5, &[1], b"hello"),
            "the base of a delta is no object",
        ),
        (
            with(7, 5, &missing, b"hello"),
            "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0 is missing",
        ),
        (
            with(BLOB, MAX_OBJECTS_BYTES + 1, b"", b""),
            "more than 17179869184 bytes",
        ),
        (
            opened(&twice.finish()).unwrap_err(),
            "an object occurs twice",
        ),
        (
            opened(&again.finish()).unwrap_err(),
            "an object occurs twice",
        ),
        (
            opened(&many).unwrap_err(),
            "1000001 objects and the limit is 1000000",
        ),
        (
            opened(&bomb.finish()).unwrap_err(),
            "an object of 1099511627776 bytes",
        ),
    ] {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}

#[test]
fn each_limit_of_a_pack_allows_what_reaches_it_and_refuses_more() {
    let one = chain(1);
    // The first delta is a leaf, the second one has a delta itself: both results wait with their base.
    let mut forked = GitPack::default();
    let base = forked.blob(b"a");
    forked.delta(base, &appending(1, b'b'));
    let second = forked.delta(base, &appending(1, b'c'));
    forked.delta(second, &appending(2, b'd'));
    let forked = forked.finish();
    let length = one.len() as u64;
    let limited = |pack: &[u8], change: &dyn Fn(&mut PackLimits, u64), limit: u64| {
        let mut limits = PackLimits::default();
        change(&mut limits, limit);
        opened_with(pack, limits)
    };
    for (pack, change, limit, refused) in [
        (
            &one,
            (|limits, limit| limits.bytes = limit) as fn(&mut PackLimits, u64),
            length,
            format!("its pack exceeds the limit of {} bytes", length - 1),
        ),
        (
            &one,
            |limits, limit| limits.objects = u32::try_from(limit).unwrap(),
            2,
            "its pack has 2 objects and the limit is 1".to_owned(),
        ),
        (
            &one,
            |limits, limit| limits.delta_depth = usize::try_from(limit).unwrap(),
            1,
            "its pack has a chain of more than 0 deltas".to_owned(),
        ),
        (
            &one,
            |limits, limit| limits.delta_object_bytes = limit,
            6,
            "an object of 6 bytes is stored as a delta or the base of one, and the limit is 5"
                .to_owned(),
        ),
        // The base, the delta, and the object that it makes.
        (
            &one,
            |limits, limit| limits.objects_bytes = limit,
            1 + 6 + 2,
            "the objects of its pack have more than 8 bytes".to_owned(),
        ),
        (
            &one,
            |limits, limit| limits.read_bytes = limit,
            1 + 6 + 2,
            "more than 8 bytes must be decompressed to read its files".to_owned(),
        ),
        (
            &forked,
            |limits, limit| limits.delta_memory_bytes = limit,
            1 + 2,
            "its deltas need more than 2 bytes at one time".to_owned(),
        ),
    ] {
        let allowed = limited(pack, &change, limit);
        assert!(allowed.is_ok(), "{refused}: {allowed:?}");
        assert_eq!(limited(pack, &change, limit - 1).unwrap_err(), refused);
    }
}

#[test]
fn files_that_name_one_delta_many_times_are_read_up_to_a_number_of_bytes() {
    let opening = 1 + 6 + 2;
    let limits = PackLimits {
        read_bytes: 3 * opening,
        ..PackLimits::default()
    };
    let pack = opened_with(&chain(1), limits).unwrap();
    for _ in 0..2 {
        assert_eq!(text(&pack, "ab").as_deref(), Ok("ab"));
    }
    assert_eq!(
        text(&pack, "ab").unwrap_err(),
        "more than 27 bytes must be decompressed to read its files"
    );
}

#[test]
fn a_commit_of_the_largest_length_is_read_and_no_longer_one() {
    let mut pack = GitPack::default();
    pack.object(COMMIT, 5, b"", b"tree ");
    let limits = |structure_bytes| PackLimits {
        structure_bytes,
        ..PackLimits::default()
    };
    let pack = pack.finish();
    let read = |limit| opened_with(&pack, limits(limit)).unwrap().structure(0);
    assert_eq!(read(5).unwrap(), b"tree ");
    assert_eq!(
        read(4).unwrap_err().to_string(),
        "a commit has 5 bytes and the limit is 4"
    );
}

fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is git");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input).expect("git reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    output.stdout
}

/// A history for `git fast-import`: files that change a little in each of some commits, an empty one,
/// one of random bytes, folders, a link, and a tag.
fn history(seed: u64, commits: usize) -> String {
    let mut random = SeededRandom::new(seed);
    let mut files: Vec<Vec<String>> = (0..=random.below(3))
        .map(|_| {
            let lines = 40 + random.below(200);
            (0..lines)
                .map(|_| format!("{:016x}\n", random.next_u64()))
                .collect()
        })
        .collect();
    let mut stream = String::new();
    for number in 0..commits {
        write!(
            stream,
            "commit refs/heads/main\ncommitter T <t@example.com> {number} +0000\ndata 1\nx\n"
        )
        .unwrap();
        for (index, lines) in files.iter_mut().enumerate() {
            let line = random.below(lines.len());
            lines[line] = format!("{:016x}\n", random.next_u64());
            lines.push(format!("{number}\n"));
            let text = lines.concat();
            let length = text.len();
            write!(
                stream,
                "M 100644 inline d{index}/f{index}\ndata {length}\n{text}\n"
            )
            .unwrap();
        }
    }
    let mut noise = String::new();
    for _ in 0..5_000 {
        write!(noise, "{:x}", random.next_u64()).unwrap();
    }
    let length = noise.len();
    write!(
        stream,
        "M 100644 inline empty\ndata 0\n\nM 120000 inline link\ndata 5\nd0/f0\nM 100755 inline noise\ndata {length}\n{noise}\n"
    )
    .unwrap();
    stream += "tag v1\nfrom refs/heads/main\ntagger T <t@example.com> 1 +0000\ndata 2\nv1\n";
    stream
}

/// Parses what `git cat-file --batch` prints.
fn parse_batch(mut printed: &[u8]) -> ObjectsById {
    let mut found = ObjectsById::new();
    while !printed.is_empty() {
        let end = printed.iter().position(|byte| *byte == b'\n').unwrap();
        let head = String::from_utf8_lossy(&printed[..end]).into_owned();
        let mut words = head.split(' ');
        let mut word = || words.next().unwrap().to_owned();
        let id = word();
        let kind = word();
        let length: usize = word().parse().unwrap();
        let data = printed[end + 1..][..length].to_vec();
        printed = &printed[end + 1 + length + 1..];
        found.insert(id, (kind, data));
    }
    found
}

#[test]
fn packs_that_git_makes_have_the_objects_that_git_finds_in_them() {
    if Command::new("git").arg("--version").output().is_err() {
        report_skipped("git", "there is no git", "install git");
        return;
    }
    let mut deltas = BTreeMap::new();
    for seed in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        git(path, &["init", "--bare", "--quiet", "."], b"");
        // More commits than a chain may have deltas.
        let stream = history(seed, 130 + usize::try_from(seed).unwrap());
        git(path, &["fast-import", "--quiet"], stream.as_bytes());
        let printed = git(path, &["cat-file", "--batch", "--batch-all-objects"], b"");
        let expected = parse_batch(&printed);

        for (depth, window, offsets) in [
            (0, 0, false),
            (10, 10, true),
            (50, 2, false),
            (50, 2, true),
            (4000, 2, true),
        ] {
            let depth_flag = format!("--depth={depth}");
            let window_flag = format!("--window={window}");
            let mut arguments = vec![
                "pack-objects",
                "--all",
                "--stdout",
                "--quiet",
                "--threads=1",
                "--no-reuse-delta",
                &depth_flag,
                &window_flag,
            ];
            arguments.extend(offsets.then_some("--delta-base-offset"));
            let bytes = git(path, &arguments, b"");
            let case = format!("seed {seed}, depth {depth}, window {window}, offsets {offsets}");
            let file_path = path.join("read.pack");
            fs::write(&file_path, &bytes).unwrap();
            let mut found = ObjectsById::new();
            let file = File::open(&file_path).unwrap();
            let read = crate::read_pack(file, |id, kind, data| {
                found.insert(id.to_owned(), (kind.to_owned(), data.to_owned()));
            });
            if depth > MAX_DELTA_DEPTH {
                assert_eq!(
                    read.unwrap_err().to_string(),
                    "its pack has a chain of more than 50 deltas",
                    "{case}"
                );
                continue;
            }
            assert!(read.is_ok(), "{case}: {read:?}");
            assert_eq!(found.len(), expected.len(), "{case}");
            assert!(found == expected, "{case}");
            let pack = opened(&bytes).unwrap();
            for (_, position) in pack.ids() {
                let length = pack.chain(position).0.len() - 1;
                let longest = deltas.entry((depth, window, offsets)).or_insert(0);
                *longest = length.max(*longest);
            }
        }
    }
    // git makes nearly as many deltas as it may.
    for (case, least) in [
        ((0, 0, false), 0),
        ((10, 10, true), 10),
        ((50, 2, false), 40),
        ((50, 2, true), 40),
    ] {
        let longest = deltas[&case];
        assert!((least..=case.0).contains(&longest), "{case:?}: {longest}");
    }
}

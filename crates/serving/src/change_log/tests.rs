//! Change logs: what they list, what they keep, and which bytes are a log.

use fbc::Outline;
use testing::fixture::catalog;

use super::*;

const BEFORE: &str = "package etcd default=stable\nchannel stable: v1.0.0";
const AFTER: &str = "package etcd default=stable\nchannel stable: v1.0.0 <- v1.1.0";

fn digest(number: usize) -> Digest {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Digest::new(bytes)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn outline(text: &str) -> Outline {
    Outline::from_catalog(&catalog(text))
}

/// Appends a content, with the differences between two catalogs.
fn append(log: &ChangeLog, number: usize, texts: [&str; 2], second: i64) -> ChangeLog {
    let [from, to] = texts.map(outline);
    let work = Work::unlimited();
    let diff = from.diff(&to, &work).unwrap();
    log.append(digest(number), Some(&diff), at(second))
}

fn changes_of(name: &str) -> PackageChanges {
    PackageChanges {
        name: name.to_owned(),
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        heads: Vec::new(),
    }
}

#[test]
fn a_log_lists_the_bundles_and_heads_that_came_and_went() {
    let log = ChangeLog::default().append(digest(1), None, at(10));
    let log = append(&log, 2, [BEFORE, AFTER], 20);
    let log = append(&log, 3, [AFTER, ""], 30);
    let head = |from: Option<&str>, to: Option<&str>| HeadChange {
        channel: "stable".to_owned(),
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
    };
    let set =
        |from: Option<usize>, to: usize, second: i64, changes: Option<PackageChanges>| ChangeSet {
            from: from.map(|from| digest(from).to_string()),
            to: digest(to).to_string(),
            repeat: 1,
            at: at(second),
            unlisted: 0,
            packages: changes.into_iter().collect(),
        };
    let gone = PackageChanges {
        removed: vec!["etcd.v1.0.0".to_owned(), "etcd.v1.1.0".to_owned()],
        heads: vec![head(Some("etcd.v1.1.0"), None)],
        ..changes_of("etcd")
    };
    let came = PackageChanges {
        added: vec!["etcd.v1.1.0".to_owned()],
        heads: vec![head(Some("etcd.v1.0.0"), Some("etcd.v1.1.0"))],
        ..changes_of("etcd")
    };
    let expected = [
        set(Some(2), 3, 30, Some(gone)),
        set(Some(1), 2, 20, Some(came)),
        set(None, 1, 10, None),
    ];
    assert_eq!(log.sets().collect::<Vec<_>>(), expected);
    assert_eq!(log.last_content(), Some(digest(3)));
    let read = ChangeLog::from_bytes(log.as_bytes().clone()).unwrap();
    assert_eq!(read, log);
}

#[test]
fn a_content_that_is_appended_twice_is_in_the_log_once() {
    let log = ChangeLog::default().append(digest(1), None, at(10));
    let once = append(&log, 2, [BEFORE, AFTER], 20);
    assert_eq!(append(&once, 2, [BEFORE, AFTER], 30), once);
}

#[test]
fn a_pair_of_contents_that_comes_again_is_numbered() {
    let mut log = ChangeLog::default().append(digest(1), None, at(1));
    for (number, texts, second) in [
        (2, [BEFORE, AFTER], 2),
        (1, [AFTER, BEFORE], 3),
        (2, [BEFORE, AFTER], 4),
        (3, [AFTER, BEFORE], 5),
    ] {
        log = append(&log, number, texts, second);
    }
    let numbers: Vec<_> = log.sets().map(|set| set.repeat).collect();
    assert_eq!(numbers, [1, 2, 1, 1, 1]);
}

#[test]
fn times_grow_also_where_the_clock_goes_back() {
    let log = ChangeLog::default().append(digest(1), None, at(100));
    let log = append(&log, 2, [BEFORE, AFTER], 50);
    let times: Vec<_> = log.sets().map(|set| set.at.to_string()).collect();
    assert_eq!(
        times,
        ["1970-01-01T00:01:40.000000001Z", "1970-01-01T00:01:40Z"]
    );
}

#[test]
fn the_sets_of_a_package_are_those_that_change_it() {
    let other = "package other default=stable\nchannel stable: v2.0.0";
    let both = format!("{AFTER}\n{other}");
    let log = ChangeLog::default().append(digest(1), None, at(1));
    let log = append(&log, 2, [BEFORE, AFTER], 2);
    let log = append(&log, 3, [AFTER, &both], 3);
    let of = |name: &str| {
        let sets = log.sets_of_package(name, &Work::unlimited()).unwrap();
        let shown = sets.into_iter().map(|set| {
            let names: Vec<_> = set.packages.into_iter().map(|it| it.name).collect();
            (set.to, names)
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(
        of("etcd"),
        [(digest(2).to_string(), vec!["etcd".to_owned()])]
    );
    assert_eq!(
        of("other"),
        [(digest(3).to_string(), vec!["other".to_owned()])]
    );
    // Names of bundles and parts of names are no names of packages.
    assert_eq!((of("etcd.v1.1.0"), of("etc")), (vec![], vec![]));
}

#[test]
fn the_work_of_reading_a_log_is_drawn_for_its_bytes() {
    let log = ChangeLog::default().append(digest(1), None, at(1));
    let log = append(&log, 2, [BEFORE, AFTER], 2);
    let work = Work::new(&|_| None);
    assert!(log.sets_of_package("etcd", &work).is_err());
}

#[test]
fn a_log_has_as_many_sets_as_the_limit_says_and_the_latest_of_them() {
    let mut log = ChangeLog::default();
    // The last steps up to the limit and beyond; those before are written at once.
    let mut body = Vec::new();
    for number in 0..MAX_CHANGE_SETS - 1 {
        let set = ChangeSet {
            from: None,
            to: digest(number).to_string(),
            repeat: 1,
            at: at(number.try_into().unwrap()),
            unlisted: 0,
            packages: Vec::new(),
        };
        serde_json::to_writer(&mut body, &set).unwrap();
        body.push(b'\n');
    }
    log.0 = [head_of(&body), body].concat().into();
    for number in MAX_CHANGE_SETS - 1..=MAX_CHANGE_SETS {
        log = log.append(digest(number), None, at(number.try_into().unwrap()));
        assert_eq!(log.sets().count(), MAX_CHANGE_SETS);
    }
    let first = log.sets().last().unwrap();
    assert_eq!(first.to, digest(1).to_string());
}

#[test]
fn a_hostile_catalog_makes_no_larger_log_than_the_limit_and_its_changes_are_counted() {
    // Control characters take six bytes each.
    let name = "\u{1}".repeat(2_000);
    let bundles: Vec<_> = (0..200)
        .map(|number| {
            let bundle = serde_json::json!({
                "schema": "olm.bundle", "package": "p", "name": format!("{name}{number}"), "image": "i",
                "properties": [{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}],
            });
            bundle.to_string()
        })
        .collect();
    let bundles = bundles.join("\n");
    let many = format!("package p default=c\n{bundles}");
    let mut log = ChangeLog::default().append(digest(0), None, at(0));
    for number in 1..12 {
        let texts = if number % 2 == 1 {
            ["", &many]
        } else {
            [&many, ""]
        };
        log = append(&log, number, texts, number.try_into().unwrap());
        assert!(log.as_bytes().len() <= MAX_CHANGE_LOG_BYTES);
    }
    let set = log.sets().next().unwrap();
    let listed: usize = set.packages.iter().map(|it| it.added.len()).sum();
    assert!(
        listed > 0 && set.unlisted > 0,
        "{listed} and {}",
        set.unlisted
    );
    assert_eq!(listed + set.unlisted, 200);
    assert!(log.sets().count() >= 3);
}

#[test]
fn bytes_that_are_damaged_or_cut_are_no_log() {
    let log = ChangeLog::default().append(digest(1), None, at(1));
    let bytes = log.as_bytes().to_vec();
    for end in 0..bytes.len() {
        assert_eq!(ChangeLog::from_bytes(bytes[..end].to_vec().into()), None);
    }
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        assert_eq!(ChangeLog::from_bytes(damaged.into()), None, "byte {place}");
    }
}

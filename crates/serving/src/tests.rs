//! Snapshots of readers while the writer changes the published set.

use bytes::Bytes;
use fbc::work::Work;
use fbc_read::Origins;

use super::*;

/// An empty catalog; its digest tells contents apart.
fn served(name: &str, priority: i32, digest: u8) -> Served {
    Served::new(
        name,
        Content::new(
            Arc::new(
                Catalog::build(Bytes::new(), &Origins::default()).expect("nothing is a content"),
            ),
            Digest::new([digest; 32]),
        ),
        CatalogMetadata {
            priority,
            ..CatalogMetadata::default()
        },
    )
}

fn contents(snapshot: &Snapshot) -> Vec<(&str, Digest)> {
    snapshot
        .by_name()
        .map(|served| (served.name.as_str(), served.content.digest))
        .collect()
}

#[test]
fn catalogs_are_found_by_name_and_in_the_order_of_their_priority() {
    let (mut writer, catalogs) = catalogs();
    for (name, priority) in [("b", 0), ("d", 10), ("a", -5), ("c", 10), ("e", 0)] {
        writer.publish(served(name, priority, 0));
    }
    let snapshot = catalogs.snapshot();
    let names: Vec<_> = snapshot
        .by_name()
        .map(|served| served.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let names: Vec<_> = snapshot
        .by_priority()
        .map(|served| served.name.as_str())
        .collect();
    assert_eq!(names, ["c", "d", "b", "e", "a"]);
    assert_eq!(
        snapshot.get("d").map(|served| served.metadata.priority),
        Some(10)
    );
    assert!(snapshot.get("f").is_none());
}

#[test]
fn a_snapshot_stays_as_it_is_while_catalogs_are_replaced_and_withdrawn() {
    let (mut writer, catalogs) = catalogs();
    writer.publish(served("a", 0, 1));
    writer.publish(served("b", 0, 1));
    let before = catalogs.snapshot();
    writer.publish(served("a", 0, 2));
    writer.withdraw("b");
    writer.withdraw("never");
    let one = Digest::new([1; 32]);
    assert_eq!(contents(&before), [("a", one), ("b", one)]);
    assert_eq!(
        contents(&catalogs.clone().snapshot()),
        [("a", Digest::new([2; 32]))]
    );
}

#[test]
fn a_revision_is_that_of_everything_that_is_known_of_the_catalogs() {
    let revision = |all: &dyn Fn() -> Vec<Served>| {
        let (mut writer, catalogs) = catalogs();
        for served in all() {
            writer.publish(served);
        }
        catalogs.snapshot().revision()
    };
    let about = |metadata: CatalogMetadata| {
        move || {
            vec![Served::new(
                "a",
                served("a", 0, 1).content,
                metadata.clone(),
            )]
        }
    };
    let with = |content| Served::new("a", content, CatalogMetadata::default());
    let one = || vec![served("a", 0, 1)];
    assert_eq!(revision(&one), revision(&one));
    let both = || vec![served("a", 0, 1), served("b", 0, 1)];
    assert_eq!(
        revision(&both),
        revision(&|| vec![served("b", 0, 1), served("a", 0, 1)])
    );
    let in_file = |path: &str| {
        let mut lines = Vec::new();
        let blob = br#"{"schema":"olm.package","name":"etcd"}"#;
        let files = vec![testing::fixture::read_file(path, blob, &mut lines)];
        let catalog = Catalog::build(
            lines.into(),
            &Origins {
                files,
                ..Origins::default()
            },
        )
        .unwrap();
        vec![with(Content::new(catalog, Digest::new([1; 32])))]
    };
    let others: [&dyn Fn() -> Vec<Served>; 10] = [
        &Vec::new,
        &both,
        &|| vec![served("b", 0, 1)],
        &|| vec![served("a", 1, 1)],
        &|| vec![served("a", 0, 2)],
        &|| {
            vec![with(Content {
                image: Some("i".into()),
                ..served("a", 0, 1).content
            })]
        },
        // Their contents are equal, and cursors are not.
        &|| in_file("catalog.json"),
        &|| in_file("catalog.yaml"),
        &about(CatalogMetadata {
            display_name: Some("A".to_owned()),
            ..CatalogMetadata::default()
        }),
        &about(CatalogMetadata {
            labels: [("k".to_owned(), "v".to_owned())].into(),
            ..CatalogMetadata::default()
        }),
    ];
    let mut revisions: Vec<_> = others
        .iter()
        .map(|other| revision(*other).as_bytes().to_vec())
        .collect();
    revisions.push(revision(&one).as_bytes().to_vec());
    revisions.sort();
    revisions.dedup();
    assert_eq!(revisions.len(), 11);

    // Each replica reads a content at another time.
    let later = || {
        vec![with(Content {
            last_unpacked: Some(jiff::Timestamp::UNIX_EPOCH),
            ..served("a", 0, 1).content
        })]
    };
    assert_eq!(revision(&later), revision(&one));
}

#[test]
fn a_decision_of_the_policy_changes_the_revision_and_its_time_does_not() {
    let revision = |state, second| {
        let verification = Verification {
            state,
            scope: None,
            requirements: Vec::new(),
            signers: Vec::new(),
            signed: None,
            policy: format!("policy {second}"),
            verified_at: jiff::Timestamp::from_second(second).unwrap(),
            reason: None,
        };
        served("a", 0, 1)
            .with_verification(Some(Arc::new(verification)))
            .revision()
    };
    let verified = revision(VerificationState::Verified, 1);
    assert_eq!(revision(VerificationState::Verified, 2), verified);
    assert_ne!(revision(VerificationState::Refused, 1), verified);
    assert_ne!(served("a", 0, 1).revision(), verified);
}

#[test]
fn the_revision_of_a_catalog_does_not_tell_of_the_others() {
    let (mut writer, catalogs) = catalogs();
    let now = || ["a", "b"].map(|name| catalogs.snapshot().revision_of(name));
    assert_eq!(now(), [None, None]);
    writer.publish(served("b", 0, 1));
    let [_, b] = now();
    writer.publish(served("a", 0, 1));
    let [a, same] = now();
    assert!(a.is_some() && b.is_some() && a != b);
    assert_eq!(b, same);
    writer.publish(served("a", 0, 2));
    let [other, same] = now();
    assert!(other.is_some() && other != a);
    assert_eq!(b, same);
    writer.withdraw("b");
    assert_eq!(now(), [other, None]);
}

#[test]
fn each_change_is_counted() {
    let (mut writer, catalogs) = catalogs();
    let changes = catalogs.changes();
    assert_eq!(*changes.borrow(), 0);
    writer.publish(served("a", 0, 1));
    assert!(changes.has_changed().expect("the writer is there"));
    writer.withdraw("a");
    assert_eq!(*changes.borrow(), 2);
}

#[test]
fn readers_see_each_state_whole_while_the_writer_publishes() {
    let (mut writer, catalogs) = catalogs();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let catalogs = catalogs.clone();
            scope.spawn(move || {
                let mut last = 0;
                while last < 100 {
                    let snapshot = catalogs.snapshot();
                    let priorities: Vec<_> = snapshot
                        .by_priority()
                        .map(|served| served.metadata.priority)
                        .collect();
                    assert!(
                        priorities.is_sorted_by(|one, other| one >= other),
                        "{priorities:?}"
                    );
                    let now = priorities.first().copied().unwrap_or_default();
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
            });
        }
        for priority in 1..=100 {
            writer.publish(served(
                if priority % 2 == 0 { "even" } else { "odd" },
                priority,
                0,
            ));
        }
    });
}

/// A catalog with one package.
fn with_package(name: &str, package: &str, digest: u8) -> Served {
    let line = format!("{{\"name\":\"{package}\",\"schema\":\"olm.package\"}}\n");
    let file = fbc_read::origin::FileOrigin {
        path: "c.json".into(),
        lines: vec![1],
        ..fbc_read::origin::FileOrigin::default()
    };
    let catalog = Catalog::build(
        line.into(),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .expect("the line is canonical");
    Served::new(
        name,
        Content::new(catalog, Digest::new([digest; 32])),
        CatalogMetadata::default(),
    )
}

#[test]
fn a_content_can_be_compared_with_those_that_were_compared_or_remembered_before() {
    let (mut writer, catalogs) = catalogs();
    let outline = |digest: u8| catalogs.snapshot().outline(&Digest::new([digest; 32]));
    let changed = |from: &Outline, to: &Outline| {
        from.diff(to, &Work::unlimited())
            .unwrap()
            .packages
            .iter()
            .map(|one| one.name.to_owned())
            .collect()
    };
    writer.publish(with_package("a", "one", 1));
    let one = outline(1).expect("it is served");
    writer.publish(with_package("a", "two", 2));
    let names: Vec<String> = changed(
        &outline(1).expect("it was asked for"),
        &outline(2).expect("it is served"),
    );
    assert_eq!(names, ["one", "two"]);
    writer.publish(with_package("a", "three", 3));
    writer.publish(with_package("a", "four", 4));
    assert!(
        outline(2).is_some() && outline(3).is_none(),
        "nobody asked for the third while it was served"
    );
    writer
        .history()
        .remember("a", vec![remembered(3, one.clone())]);
    assert_eq!(outline(3), Some(one));
    writer.withdraw("a");
    assert_eq!(
        [1, 2, 3, 4].map(|digest| outline(digest).is_some()),
        [false; 4]
    );
}

#[test]
fn as_many_contents_are_remembered_as_the_limit_says() {
    let (mut writer, catalogs) = catalogs();
    let digests: Vec<_> = (0..=20).map(|digest| Digest::new([digest; 32])).collect();
    let known = || {
        let snapshot = catalogs.snapshot();
        digests
            .iter()
            .map(|digest| snapshot.outline(digest).is_some())
            .collect::<Vec<_>>()
    };
    for digest in 0..=20 {
        writer.publish(served("a", 0, digest));
        assert!(known()[usize::from(digest)]);
    }
    let served = 1;
    let expected: Vec<_> = (0..=20)
        .map(|digest| digest + fbc::outline::REMEMBERED + served >= 20)
        .collect();
    assert_eq!(known(), expected);
}

#[test]
fn what_a_caller_may_not_see_is_as_if_it_were_not_served() {
    let (mut all, catalogs_of_all) = catalogs();
    let (mut visible, visible_catalogs) = catalogs();
    for (name, digest) in [("a", 1), ("hidden", 2), ("c", 3)] {
        all.statuses()
            .set(&format!("{name}-of-a-slow-source"), LoadStatus::default());
        all.publish(served(name, 0, digest));
        all.history()
            .remember(name, vec![remembered(digest + 10, outline())]);
        if name != "hidden" {
            visible
                .statuses()
                .set(&format!("{name}-of-a-slow-source"), LoadStatus::default());
            visible.publish(served(name, 0, digest));
            visible
                .history()
                .remember(name, vec![remembered(digest + 10, outline())]);
        }
    }
    let names = [
        "a",
        "c",
        "a-of-a-slow-source",
        "c-of-a-slow-source",
        "never",
    ]
    .map(str::to_owned);
    let seen = catalogs_of_all.visible(Visibility::only(names)).snapshot();
    let expected = visible_catalogs.snapshot();
    assert_eq!(contents(&seen), contents(&expected));
    let priorities = |snapshot: &Snapshot| {
        snapshot
            .by_priority()
            .map(|served| served.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(priorities(&seen), priorities(&expected));
    assert_eq!(
        (seen.revision(), seen.revision_of("hidden")),
        (expected.revision(), None)
    );
    assert_eq!(
        (seen.statuses(), seen.statuses().len()),
        (expected.statuses(), 4)
    );
    assert_eq!(
        seen.status("hidden-of-a-slow-source"),
        LoadStatus::default()
    );
    assert!(!seen.has(&catalogs_of_all.snapshot().revision()));
    for digest in 0..20 {
        let digest = Digest::new([digest; 32]);
        assert_eq!(
            seen.outline(&digest).is_some(),
            expected.outline(&digest).is_some(),
            "{digest}"
        );
    }
}

#[test]
fn readers_with_equal_sets_share_a_snapshot_until_something_is_published() {
    let (mut writer, catalogs) = catalogs();
    writer.publish(served("a", 0, 1));
    writer.publish(served("b", 0, 2));
    let reader = |names: &[&str]| {
        catalogs.visible(Visibility::only(names.iter().map(|&name| name.to_owned())))
    };
    let one = reader(&["a"]);
    let same = reader(&["a"]);
    let other = reader(&["b"]);
    let before = one.snapshot();
    assert!(Arc::ptr_eq(&before, &same.snapshot()) && !Arc::ptr_eq(&before, &other.snapshot()));
    assert_eq!(contents(&before), [("a", Digest::new([1; 32]))]);
    assert!(
        catalogs.published().has(&before.revision())
            && catalogs.published().has(&other.snapshot().revision())
    );
    writer.publish(served("b", 0, 3));
    assert!(!Arc::ptr_eq(&before, &one.snapshot()));
    assert_eq!(
        before.revision(),
        one.snapshot().revision(),
        "it does not tell that another catalog has changed"
    );
    assert_eq!(contents(&one.published()).len(), 2);
    writer.statuses().set(
        "a",
        LoadStatus {
            last_success: Some(jiff::Timestamp::UNIX_EPOCH),
            ..LoadStatus::default()
        },
    );
    assert!(
        one.snapshot().status("a").last_success.is_some(),
        "statuses change without a snapshot"
    );
}

#[test]
fn a_reader_that_sees_nothing_sees_nothing() {
    let (mut writer, catalogs) = catalogs();
    writer.publish(served("a", 0, 1));
    let seen = catalogs.visible(Visibility::none()).snapshot();
    assert_eq!((contents(&seen), seen.statuses().len()), (vec![], 0));
    assert!(seen.get("a").is_none() && seen.outline(&Digest::new([1; 32])).is_none());
}

#[test]
fn as_many_sets_of_catalogs_are_remembered_as_the_limit_says() {
    let (mut writer, catalogs) = catalogs();
    for at in 0..=NARROWED_SNAPSHOTS {
        writer.publish(served(&format!("c{at}"), 0, 1));
    }
    let revisions = (0..=NARROWED_SNAPSHOTS).map(|at| {
        catalogs
            .visible(Visibility::only([format!("c{at}"), "none".to_owned()]))
            .snapshot()
            .revision()
    });
    let revisions: Vec<_> = revisions.collect();
    let known = |at: usize| catalogs.published().narrowed.has(&revisions[at]);
    assert!(!known(0) && known(1) && known(NARROWED_SNAPSHOTS));
}

#[test]
fn a_status_is_shown_at_once_and_changes_no_revision() {
    let (mut writer, catalogs) = catalogs();
    writer.publish(served("a", 0, 1));
    let before = catalogs.snapshot();
    let revision = before.revision();
    assert_eq!(before.status("a"), LoadStatus::default());
    let status = LoadStatus {
        last_success: Some(jiff::Timestamp::UNIX_EPOCH),
        ..LoadStatus::default()
    };
    writer.statuses().set("a", status.clone());
    writer.statuses().set("b", LoadStatus::default());
    assert_eq!(before.status("a"), status);
    let names = |snapshot: &Snapshot| snapshot.statuses().into_keys().collect::<Vec<_>>();
    assert_eq!(
        (names(&before), catalogs.snapshot().revision()),
        (vec!["a".to_owned(), "b".to_owned()], revision)
    );
    let awaited = || ["a", "b", "c"].map(|name| before.awaits(name));
    assert_eq!(
        awaited(),
        [false, true, false],
        "b is configured, not served"
    );
    writer.statuses().set_awaits_names(true);
    assert_eq!(awaited(), [false, true, true], "c may be configured");
    writer.statuses().set_awaits_names(false);
    writer.statuses().forget("a");
    writer.statuses().forget("b");
    assert_eq!(
        names(&before),
        ["a"],
        "it is served, whatever is known of its source"
    );
}

#[test]
fn the_former_contents_of_a_catalog_are_those_that_it_served_last_without_the_one_that_it_serves() {
    let (mut writer, catalogs) = catalogs();
    let former = |name: &str| {
        let snapshot = catalogs.snapshot();
        let served = snapshot.get(name).unwrap();
        served.content.catalog.outline();
        snapshot
            .former_contents(served)
            .iter()
            .map(|content| content.digest)
            .collect::<Vec<_>>()
    };
    let digests = |all: &[u8]| {
        all.iter()
            .map(|digest| Digest::new([*digest; 32]))
            .collect::<Vec<_>>()
    };
    for digest in [1, 2, 1, 3] {
        writer.publish(served("a", 0, digest));
        former("a");
    }
    writer.publish(served("b", 0, 9));
    assert_eq!((former("a"), former("b")), (digests(&[1, 2]), digests(&[])));
    for digest in 4..=20 {
        writer.publish(served("a", 0, digest));
        former("a");
    }
    let last: Vec<_> = (1..=fbc::outline::REMEMBERED)
        .map(|back| 20 - u8::try_from(back).unwrap())
        .collect();
    assert_eq!(former("a"), digests(&last));
}

fn remembered(digest: u8, outline: Outline) -> RememberedContent {
    RememberedContent {
        digest: Digest::new([digest; 32]),
        image: None,
        last_unpacked: None,
        outline,
    }
}

fn outline() -> Outline {
    served("any", 0, 0).content.catalog.outline().clone()
}

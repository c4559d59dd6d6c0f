//! What OLM v1 does after the move, and which version helps.

use super::*;

/// A world with the installed version 1.0.0 and these others in the channel `stable`.
fn offering(bundles: &[Value]) -> World {
    let mut world = World::healthy();
    world.answers.bundles.extend(bundles.iter().cloned());
    world
}

fn next(world: &World) -> (String, String) {
    let operator = world.operator();
    (
        text(&operator, "/next/state"),
        text(&operator, "/next/message"),
    )
}

fn expected(state: &str, message: &str) -> (String, String) {
    (state.to_owned(), message.to_owned())
}

#[test]
fn an_operator_stays_is_upgraded_or_is_stuck() {
    let newer = bundle("index", "1.1.0", &["stable"], &[]);
    let mut world = offering(std::slice::from_ref(&newer));
    assert_eq!(
        next(&world),
        expected(
            "STUCK",
            "it would be stuck: no upgrade leads from 1.0.0 towards 1.1.0"
        )
    );
    world.answers.successors = vec![("widgets.v1.0.0", "stable", vec!["widgets.v1.1.0"])];
    assert_eq!(
        next(&world),
        expected("UPGRADE", "it would be upgraded to 1.1.0")
    );

    // OLM v1 prefers the highest version, and what is not deprecated before it.
    let mut deprecated = bundle("index", "1.2.0", &["stable"], &[]);
    let mut world = offering(&[newer, deprecated.clone()]);
    let names = vec!["widgets.v1.1.0", "widgets.v1.2.0"];
    world.answers.successors = vec![("widgets.v1.0.0", "stable", names)];
    assert_eq!(
        next(&world),
        expected("UPGRADE", "it would be upgraded to 1.2.0")
    );
    deprecated["deprecation"] = json!({ "message": "old" });
    world.answers.bundles[2] = deprecated;
    assert_eq!(
        next(&world),
        expected("UPGRADE", "it would be upgraded to 1.1.0")
    );

    let other = offering(&[bundle("index", "1.1.0", &["other"], &[])]);
    assert_eq!(
        next(&other),
        expected("NEWEST", "it would stay, as the newest")
    );
    let mut left = World::healthy();
    left.answers.bundles = vec![bundle("index", "1.0.0", &["other"], &[])];
    assert_eq!(
        next(&left),
        expected(
            "STUCK",
            "it would be stuck: neither the installed version nor an upgrade from it is in the channel"
        )
    );
}

#[test]
fn an_upgrade_that_olm_v1_refuses_blocks() {
    for (blockers, reason) in [
        (&[("DEPENDENCY", true)][..], "DEPENDENCY: why"),
        (
            &[("NO_ALL_NAMESPACES", false)],
            "NO_ALL_NAMESPACES: it needs a feature gate",
        ),
    ] {
        let mut world = offering(&[bundle("index", "1.1.0", &["stable"], blockers)]);
        world.answers.successors = vec![("widgets.v1.0.0", "stable", vec!["widgets.v1.1.0"])];
        let message = format!("it would be stuck before 1.1.0, which OLM v1 refuses: {reason}");
        assert_eq!(next(&world), expected("BLOCKED", &message));
        // The move itself is possible.
        assert_eq!(world.status(), "ELIGIBLE");
    }
}

#[test]
fn an_empty_channel_is_the_default_channel() {
    let mut world = offering(&[
        bundle("index", "1.1.0", &["stable"], &[]),
        bundle("index", "2.0.0", &["fast"], &[]),
    ]);
    world.answers.successors = vec![
        ("widgets.v1.0.0", "stable", vec!["widgets.v1.1.0"]),
        (
            "widgets.v1.0.0",
            "",
            vec!["widgets.v1.1.0", "widgets.v2.0.0"],
        ),
    ];
    let named = world.clone();
    assert_eq!(named.operator()["nextWithoutChannel"], Value::Null);
    let world = world.subscription("/spec/channel", json!(""));
    let operator = world.operator();
    assert_eq!(operator["manifestChannel"], "stable");
    assert_eq!(operator["next"]["message"], "it would be upgraded to 1.1.0");
    assert_eq!(
        operator["nextWithoutChannel"]["message"],
        "it would be upgraded to 2.0.0"
    );
    assert_eq!(
        world.warnings(),
        [
            "the Subscription names no channel: OLM v0 follows the default channel `stable`, and OLM v1 without a channel \
          would follow all: it would be upgraded to 2.0.0"
        ]
    );
    // Nobody is warned where both do the same.
    let mut same = World::healthy().subscription("/spec/channel", json!(""));
    same.answers.successors = Vec::new();
    assert_eq!(same.warnings(), [] as [String; 0]);
}

#[test]
fn the_lowest_later_version_without_the_blocker_is_named() {
    let dependency = r#"[{"type":"olm.package.required","value":{"packageName":"dep"}}]"#;
    let blocked =
        |version, channels: &[&str]| bundle("index", version, channels, &[("DEPENDENCY", true)]);
    let mut world = World::healthy().properties(dependency);
    world.answers.bundles = vec![
        blocked("1.0.0", &["stable"]),
        blocked("1.1.0", &["stable"]),
        bundle("index", "1.2.0", &["fast"], &[]),
        bundle("index", "2.0.0", &["stable"], &[]),
        bundle("index", "2.1.0", &["stable"], &[]),
        bundle("index", "0.9.0", &["stable"], &[]),
    ];
    assert_eq!(world.status(), "INELIGIBLE C2!");
    assert_eq!(
        world.operator()["upgradeFirst"],
        json!({ "version": "2.0.0", "catalog": "index", "channels": ["stable"], "inChannel": true, "passes": ["C2"] })
    );
    world.answers.bundles.retain(|bundle| {
        bundle["channelNames"] != json!(["stable"]) || bundle["version"] == "1.0.0"
    });
    assert_eq!(
        world.operator()["upgradeFirst"],
        json!({ "version": "1.2.0", "catalog": "index", "channels": ["fast"], "inChannel": false, "passes": ["C2"] })
    );
    let table = world.judged(|report| report.table(true, true));
    assert!(
        table.contains("\n- upgrade to 1.2.0 first, in another channel (fast) of catalog index: OLM v1 can install that version\n"),
        "{table}"
    );
    world.answers.bundles.truncate(1);
    assert_eq!(world.operator()["upgradeFirst"], Value::Null);
    let table = world.judged(|report| report.table(true, true));
    assert!(
        table.contains("\n- no later version in the catalogs passes C2\n"),
        "{table}"
    );
    // Another version does not help where the cluster is in the way.
    let mut scoped = World::healthy().group("/spec/targetNamespaces", json!(["a"]));
    scoped
        .answers
        .bundles
        .push(bundle("index", "2.0.0", &["stable"], &[]));
    assert_eq!(scoped.operator()["upgradeFirst"], Value::Null);
}

//! The update graph: edges, successors, paths, and what no path leads to.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use fbc::work::Work;
use fbc::{Bundle, Catalog, Package};
use fbc_grammar::version::VersionRelease;
use fbc_graph::graph::{Installed, Reason, UpdateGraph, successors, upgrades_from};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testing::fixture;

const ALL: &[&str] = &[];

/// The channel of upstream's own test of successors.
const UPSTREAM: &str = "
    package p default=stable
    channel stable: v2.0.0 <- v2.1.0 <- v2.2.0 skips=v2.0.0+1 , v2.2.1 , \
        v2.3.0 replaces=v2.2.0 skips=v2.2.1 , v2.4.0 range=\">=2.3.0 <2.4.0\"
    bundle v2.0.0+1
";

fn package(catalog: &Catalog) -> Package<'_> {
    catalog.package("p").unwrap()
}

/// Names without that of the package.
fn short<'a>(bundles: impl IntoIterator<Item = Bundle<'a>>) -> Vec<&'a str> {
    bundles
        .into_iter()
        .map(|bundle| bundle.name().strip_prefix("p.v").unwrap())
        .collect()
}

fn edges(catalog: &Catalog, channels: &[&str]) -> Vec<String> {
    let edge = |edge: fbc_graph::graph::UpdateEdge<'_>| {
        let known = if edge.from_bundle.is_some() { "" } else { "?" };
        let from = edge.from.trim_start_matches("p.v");
        let to = edge.to.name().trim_start_matches("p.v");
        let reason = match edge.reason {
            Reason::Replaces => "replaces",
            Reason::Skips => "skips",
            Reason::SkipRange => "range",
        };
        format!(
            "{}: {from}{known} -> {to} {reason}",
            edge.to.channel().name()
        )
    };
    UpdateGraph::new(package(catalog), channels, &Work::unlimited())
        .unwrap()
        .edges()
        .map(edge)
        .collect()
}

#[track_caller]
fn check_successors(
    catalog: &Catalog,
    name: &str,
    version: &str,
    release: Option<&str>,
    expected: &[&str],
) {
    let name = format!("p.v{name}");
    let installed = Installed::parse(&name, version, release).unwrap();
    assert_eq!(
        short(successors(package(catalog), &installed, ALL, &Work::unlimited()).unwrap()),
        expected,
        "{name}"
    );
}

#[test]
fn edges_come_by_channel_and_entry_with_their_reason() {
    let catalog = fixture::catalog(
        "package p default=b
         channel b: v1.0.0 replaces=v0.9.0 <- v1.1.0 skips=v1.0.1,v1.0.1 <- v2.0.0 skips=v1.0.0 range=\">=1.0.0 <=2.0.0\"
         channel a: v1.1.0 replaces=v1.0.0
         bundle v1.0.5",
    );
    let all = [
        "a: 1.0.0 -> 1.1.0 replaces",
        "b: 0.9.0? -> 1.0.0 replaces",
        "b: 1.0.0 -> 1.1.0 replaces",
        "b: 1.0.1? -> 1.1.0 skips",
        "b: 1.1.0 -> 2.0.0 replaces",
        "b: 1.0.0 -> 2.0.0 skips",
        "b: 1.1.0 -> 2.0.0 range",
        "b: 1.0.5 -> 2.0.0 range",
        "b: 1.0.0 -> 2.0.0 range",
    ];
    assert_eq!(edges(&catalog, ALL), all);
    assert_eq!(edges(&catalog, &["a"]), all[..1]);
    assert_eq!(edges(&catalog, &["b", "no-such-channel"]), all[1..]);
    assert_eq!(edges(&catalog, &["no-such-channel"]), [""; 0]);
}

#[test]
fn nodes_are_the_bundles_that_are_in_a_channel() {
    let catalog = fixture::catalog(
        "package p default=a\nchannel a: v1.0.0 <- v2.0.0 <- v3.0.0?\nchannel b: v1.5.0\nbundle v9.0.0",
    );
    let nodes = |channels: &[&str]| {
        let graph = UpdateGraph::new(package(&catalog), channels, &Work::unlimited()).unwrap();
        graph
            .nodes()
            .map(|bundle| bundle.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(nodes(ALL), ["p.v2.0.0", "p.v1.5.0", "p.v1.0.0"]);
    assert_eq!(nodes(&["b"]), ["p.v1.5.0"]);
}

#[test]
fn a_skip_range_that_is_malformed_allows_nothing() {
    let catalog =
        fixture::catalog("package p default=a\nchannel a: v1.0.0 , v2.0.0 range=\">=v1.0.0\"");
    assert_eq!(edges(&catalog, ALL), [""; 0]);
    check_successors(&catalog, "1.0.0", "1.0.0", None, &[]);
}

#[test]
fn a_bundle_without_a_version_is_upgraded_by_its_name_alone() {
    let catalog = fixture::catalog(
        "package p default=a
         channel a: vlatest , v1.0.0 replaces=vlatest , v2.0.0 range=<2.0.0
         bundle vlatest version=latest",
    );
    assert_eq!(
        edges(&catalog, ALL),
        ["a: latest -> 1.0.0 replaces", "a: 1.0.0 -> 2.0.0 range"]
    );
    let latest = package(&catalog).bundle("p.vlatest").unwrap();
    assert_eq!(Installed::from_bundle(latest).version, None);
    assert_eq!(
        short(
            successors(
                package(&catalog),
                &Installed::from_bundle(latest),
                ALL,
                &Work::unlimited()
            )
            .unwrap()
        ),
        ["1.0.0"]
    );
}

#[test]
fn successors_are_those_of_upstream_without_the_installed_bundle() {
    let catalog = fixture::catalog(UPSTREAM);
    check_successors(&catalog, "2.0.0", "2.0.0", None, &["2.1.0"]);
    check_successors(&catalog, "2.2.1", "2.2.1", None, &["2.3.0"]);
    check_successors(&catalog, "2.3.0", "2.3.0", None, &["2.4.0"]);
    check_successors(&catalog, "2.0.0+1", "2.0.0+1", None, &["2.2.0"]);
    check_successors(&catalog, "9.0.0", "9.0.0", None, &[]);
    check_successors(&catalog, "1.0.0", "1.0.0", Some("2"), &[]);
    check_successors(&catalog, "1.0.0+git", "1.0.0+git", Some(""), &[]);
}

#[test]
fn a_bundle_that_left_the_catalog_has_successors_by_range_and_under_another_name() {
    let catalog = fixture::catalog(UPSTREAM);
    check_successors(&catalog, "2.3.5", "2.3.5", None, &["2.4.0"]);
    check_successors(&catalog, "renamed", "2.3.0", None, &["2.4.0", "2.3.0"]);
    check_successors(&catalog, "2.4.0-rc.1", "2.4.0-rc.1", None, &["2.4.0"]);
}

#[test]
fn successors_come_highest_version_and_release_first() {
    let catalog = fixture::catalog(
        "package p default=a
         channel a: v1.0.0 , v1.0.0+10 replaces=v1.0.0 , v1.0.0+9 replaces=v1.0.0 , v2.0.0-rc.1 replaces=v1.0.0
         channel b: v2.0.0 replaces=v1.0.0",
    );
    check_successors(
        &catalog,
        "1.0.0",
        "1.0.0",
        None,
        &["2.0.0", "2.0.0-rc.1", "1.0.0+10", "1.0.0+9"],
    );
    let installed = Installed::parse("p.v1.0.0", "1.0.0", None).unwrap();
    assert_eq!(
        short(successors(package(&catalog), &installed, &["b"], &Work::unlimited()).unwrap()),
        ["2.0.0"]
    );
    assert_eq!(
        short(successors(package(&catalog), &installed, &["c"], &Work::unlimited()).unwrap()),
        [""; 0]
    );
}

#[test]
fn what_is_installed_must_have_a_version() {
    let message = |version, release| {
        Installed::parse("p.v1", version, release)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message("1.0", None), "No Major.Minor.Patch elements found");
    assert_eq!(
        message("1.0", Some("1")),
        "error parsing version \"1.0\": No Major.Minor.Patch elements found"
    );
    assert_eq!(
        message("1.0.0", Some("a b")),
        "error parsing release \"a b\": invalid release \"a b\": segment 0: Invalid character(s) found in prerelease \"a b\""
    );
}

#[test]
fn build_metadata_becomes_the_release_where_it_can() {
    let release = |version, release| {
        VersionRelease::parse(version, release)
            .unwrap()
            .release
            .to_string()
    };
    assert_eq!(release("1.0.0+5.a", None), "5.a");
    assert_eq!(release("1.0.0+05", None), "");
    assert_eq!(release("1.0.0+123456789012345678901", None), "");
    assert_eq!(release("1.0.0+5", Some("")), "");
    assert_eq!(release("1.0.0+5", Some("7")), "7");
}

fn path(catalog: &Catalog, from: &str, to: &str, channels: &[&str]) -> Option<Vec<String>> {
    let package = package(catalog);
    let bundle = |name| package.bundle(&format!("p.v{name}")).unwrap();
    let path = UpdateGraph::new(package, channels, &Work::unlimited())
        .unwrap()
        .path(bundle(from), bundle(to), &Work::unlimited())
        .unwrap()?;
    Some(short(path).into_iter().map(str::to_owned).collect())
}

#[test]
fn a_path_is_shortest_and_prefers_the_highest_version() {
    let catalog = fixture::catalog(
        "package p default=a
         channel a: v1.0.0 <- v1.1.0 <- v1.2.0 <- v2.0.0 range=\">=1.1.0 <2.0.0\"
         channel b: v1.0.0 <- v1.3.0 skips=v1.0.1",
    );
    let some = |names: &[&str]| {
        Some(
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        path(&catalog, "1.0.0", "2.0.0", ALL),
        some(&["1.0.0", "1.3.0", "2.0.0"])
    );
    assert_eq!(
        path(&catalog, "1.0.0", "2.0.0", &["a"]),
        some(&["1.0.0", "1.1.0", "2.0.0"])
    );
    assert_eq!(path(&catalog, "2.0.0", "2.0.0", ALL), some(&["2.0.0"]));
    assert_eq!(path(&catalog, "2.0.0", "1.0.0", ALL), None);
    assert_eq!(path(&catalog, "1.0.0", "2.0.0", &["b"]), None);
}

#[test]
fn a_path_may_go_round_in_a_cycle_of_replaces_and_ends() {
    let catalog = fixture::catalog(
        "package p default=a\nchannel a: v1.0.0 replaces=v3.0.0 <- v2.0.0 <- v3.0.0 , v4.0.0 replaces=v2.0.0",
    );
    assert_eq!(
        path(&catalog, "3.0.0", "4.0.0", ALL).unwrap(),
        ["3.0.0", "1.0.0", "2.0.0", "4.0.0"]
    );
    assert_eq!(path(&catalog, "4.0.0", "1.0.0", ALL), None);
}

fn stranded(catalog: &Catalog, channels: &[&str]) -> Vec<String> {
    short(
        UpdateGraph::new(package(catalog), channels, &Work::unlimited())
            .unwrap()
            .stranded(),
    )
    .into_iter()
    .map(str::to_owned)
    .collect()
}

#[test]
fn a_bundle_is_stranded_when_no_path_leads_to_a_head() {
    let cases: [(&str, &[&str]); 6] = [
        (
            "v1.0.0 <- v2.0.0 , v1.5.0 , v3.0.0 replaces=v2.0.0 skips=v1.5.0",
            &[],
        ),
        // Upstream calls v1.0.0 stranded too, although it reaches the head by v2.0.0.
        ("v1.0.0 <- v2.0.0 , v3.0.0 skips=v2.0.0", &[]),
        (
            "v1.0.0 , v1.5.0 replaces=v1.6.0 , v1.6.0 replaces=v1.5.0 , v3.0.0 replaces=v1.0.0",
            &["1.6.0", "1.5.0"],
        ),
        (
            "v1.0.0 replaces=v2.0.0 , v2.0.0 replaces=v1.0.0",
            &["2.0.0", "1.0.0"],
        ),
        ("v1.0.0 <- v2.0.0 , v3.0.0", &[]),
        ("v1.0.0 <- v3.0.0?", &["1.0.0"]),
    ];
    for (channel, expected) in cases {
        let catalog = fixture::catalog(&format!("package p default=a\nchannel a: {channel}"));
        assert_eq!(stranded(&catalog, ALL), expected, "{channel}");
    }
}

#[test]
fn what_no_run_of_upgrades_reaches_is_unreachable() {
    let catalog = fixture::catalog(
        "package p default=a
         channel a: v1.0.0 <- v2.0.0 <- v3.0.0
         channel b: v4.0.0 range=\">=3.0.0 <4.0.0\" , v0.5.0",
    );
    let unreachable = |name: &str, version: &str, channels: &[&str]| {
        let installed = Installed::parse(name, version, None).unwrap();
        short(
            UpdateGraph::new(package(&catalog), channels, &Work::unlimited())
                .unwrap()
                .unreachable(&installed, &Work::unlimited())
                .unwrap(),
        )
        .join(" ")
    };
    assert_eq!(unreachable("p.v1.0.0", "1.0.0", ALL), "0.5.0");
    assert_eq!(unreachable("p.v3.0.0", "3.0.0", ALL), "2.0.0 1.0.0 0.5.0");
    assert_eq!(unreachable("p.v3.0.0", "3.0.0", &["a"]), "2.0.0 1.0.0");
    assert_eq!(
        unreachable("p.gone", "3.5.0", ALL),
        "3.0.0 2.0.0 1.0.0 0.5.0"
    );
    assert_eq!(unreachable("p.gone", "9.0.0", &["c"]), "");
}

/// Rows of entries as `name[r=replaces][s=skips]`, and upstream's message for the channel.
#[test]
fn channel_graphs_are_judged_as_upstream_judges_them() {
    let stranded = "channel contains one or more stranded bundles: p.v1.0.0";
    let cycle = "detected cycle in replaces chain of upgrade graph";
    let table: [(&str, Option<String>); 8] = [
        ("1; 2; 3[r=1][s=2]", None),
        (
            "1[r=3]; 3[r=1][s=2]",
            Some("no channel head found in graph".to_owned()),
        ),
        (
            "1; 3[r=1][s=2]; 4[r=1]",
            Some("multiple channel heads found in graph: p.v3.0.0, p.v4.0.0".to_owned()),
        ),
        ("1; 2[s=1]; 3[s=2]; 4[r=3]", None),
        (
            "4[r=4]; 5[r=4]",
            Some(format!("{cycle}: p.v4.0.0 -> p.v4.0.0")),
        ),
        (
            "1[r=3]; 2[r=1]; 3[r=2]; 4[r=3]",
            Some(format!(
                "{cycle}: p.v3.0.0 -> p.v2.0.0 -> p.v1.0.0 -> p.v3.0.0"
            )),
        ),
        ("1; 2[r=1]; 3[s=2]", Some(stranded.to_owned())),
        ("1; 2[r=1]; 3[r=2][s=2]", Some(stranded.to_owned())),
    ];
    for (row, expected) in table {
        let mut channel = row.replace("; ", " , ").replace(']', "");
        for (from, to) in [("[r=", " replaces="), ("[s=", " skips=")] {
            channel = channel.replace(from, to);
        }
        for number in 1..=5 {
            let digit = number.to_string();
            let words = channel
                .split(' ')
                .map(|word| match word.strip_suffix(&digit) {
                    Some(option) => format!("{option}v{digit}.0.0"),
                    None => word.to_owned(),
                });
            channel = words.collect::<Vec<_>>().join(" ");
        }
        let catalog = fixture::catalog(&format!(
            "package p default=stable\nchannel stable: {channel}"
        ));
        let messages: Vec<_> = catalog
            .problems()
            .iter()
            .map(|problem| problem.message.clone())
            .collect();
        assert_eq!(messages.first().cloned(), expected, "{row}: {messages:?}");
    }
}

/// One channel of so many entries, each of which replaces the one before and skips all before by
/// range.
fn overlapping(count: usize) -> Catalog {
    let mut lines = r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#.to_owned() + "\n";
    let name = |at: usize| format!("p.v1.{at}.0");
    let entries: Vec<_> = (0..count)
        .map(|at| {
            let replaces = if at == 0 {
                String::new()
            } else {
                format!(r#","replaces":"{}""#, name(at - 1))
            };
            format!(
                r#"{{"name":"{}"{replaces},"skipRange":">=1.0.0 <1.{at}.0 || 2.{at}.x"}}"#,
                name(at)
            )
        })
        .collect();
    writeln!(
        lines,
        r#"{{"entries":[{}],"name":"a","package":"p","schema":"olm.channel"}}"#,
        entries.join(",")
    )
    .unwrap();
    for at in 0..count {
        let property = format!(
            r#"{{"type":"olm.package","value":{{"packageName":"p","version":"1.{at}.0"}}}}"#
        );
        let blob = format!(
            r#""image":"a.io/p:{at}","name":"{}","package":"p","properties":[{property}]"#,
            name(at)
        );
        writeln!(lines, r#"{{{blob},"schema":"olm.bundle"}}"#).unwrap();
    }
    fixture::catalog_of(&lines)
}

#[test]
fn five_thousand_overlapping_ranges_are_searched_without_listing_their_pairs() {
    let catalog = overlapping(5_000);
    let package = package(&catalog);
    let graph = UpdateGraph::new(package, ALL, &Work::unlimited()).unwrap();
    let [first, last] = ["p.v1.0.0", "p.v1.4999.0"].map(|name| package.bundle(name).unwrap());
    assert_eq!(
        short(
            graph
                .path(first, last, &Work::unlimited())
                .unwrap()
                .unwrap()
        ),
        ["1.0.0", "1.4999.0"]
    );
    assert_eq!(
        graph
            .path(last, first, &Work::unlimited())
            .unwrap()
            .map(short),
        None
    );
    assert_eq!(graph.stranded().len(), 0);
    assert_eq!(
        graph
            .unreachable(&Installed::from_bundle(first), &Work::unlimited())
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        graph
            .unreachable(&Installed::from_bundle(last), &Work::unlimited())
            .unwrap()
            .len(),
        4_999
    );
    assert_eq!(
        successors(
            package,
            &Installed::from_bundle(first),
            ALL,
            &Work::unlimited()
        )
        .unwrap()
        .len(),
        4_999
    );
    // A pair for each two bundles by range, and the steps by replaces.
    assert_eq!(graph.edges().count(), 4_999 * 5_000 / 2 + 4_999);
}

/// A package of some bundles whose entries replace, skip and pass over each other at random.
fn random_package() -> impl Strategy<Value = String> {
    let name = || (0..4_u8, 0..3_u8).prop_map(|(major, minor)| format!("v{major}.{minor}.0"));
    let range = prop_oneof![
        (name(), name()).prop_map(|(from, to)| format!(">={} <{}", &from[1..], &to[1..])),
        name().prop_map(|name| format!("<={}", &name[1..])),
        name().prop_map(|name| format!("!={} || x{}", &name[1..], &name[1..])),
        (name(), name()).prop_map(|(a, b)| format!("!={} !={} >0.1.0 || 3.x", &a[1..], &b[1..])),
    ];
    let entry = (
        name(),
        proptest::option::of(name()),
        proptest::option::of(name()),
        proptest::option::of(range),
    );
    let entry = entry.prop_map(|(name, replaces, skips, range)| {
        let option = |word: &str, value: Option<String>| {
            value
                .map(|value| format!(" {word}=\"{value}\""))
                .unwrap_or_default()
        };
        name + &option("replaces", replaces) + &option("skips", skips) + &option("range", range)
    });
    let channel = proptest::collection::vec(entry, 0..8).prop_map(|entries| entries.join(" , "));
    (channel.clone(), channel)
        .prop_map(|(a, b)| format!("package p default=a\nchannel a: {a}\nchannel b: {b}"))
}

/// The length of a shortest path by a plain search over [`successors`].
fn naive_length(
    package: Package<'_>,
    from: Bundle<'_>,
    to: Bundle<'_>,
    channels: &[&str],
) -> Option<usize> {
    let mut queue = VecDeque::from([(from.name().to_owned(), 1)]);
    let mut seen = BTreeSet::from([from.name().to_owned()]);
    while let Some((name, length)) = queue.pop_front() {
        if name == to.name() {
            return Some(length);
        }
        for next in successors(
            package,
            &Installed::from_bundle(package.bundle(&name).unwrap()),
            channels,
            &Work::unlimited(),
        )
        .unwrap()
        {
            if seen.insert(next.name().to_owned()) {
                queue.push_back((next.name().to_owned(), length + 1));
            }
        }
    }
    None
}

/// The least number of upgrades that entries allow, through bundles that are allowed.
fn naive_entry_steps(
    package: Package<'_>,
    channels: &[&str],
    from: Bundle<'_>,
    to: Bundle<'_>,
    is_allowed: &dyn Fn(Bundle<'_>) -> bool,
) -> Option<usize> {
    let mut seen = BTreeSet::from([from.name()]);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((at, steps)) = queue.pop_front() {
        if at.name() == to.name() {
            return Some(steps);
        }
        let installed = Installed::from_bundle(at);
        let upgrades = upgrades_from(package, &installed, channels, &Work::unlimited()).unwrap();
        for upgrade in upgrades {
            let next = upgrade
                .to_bundle
                .filter(|next| upgrade.reasons.iter().next().is_some() && is_allowed(*next));
            if let Some(next) = next.filter(|next| seen.insert(next.name())) {
                queue.push_back((next, steps + 1));
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(0), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn searches_agree_with_a_plain_search_over_successors(fixture in random_package(), only_a in any::<bool>()) {
        let catalog = fixture::catalog(&fixture);
        let package = package(&catalog);
        let channels: &[&str] = if only_a { &["a"] } else { ALL };
        let graph = UpdateGraph::new(package, channels, &Work::unlimited()).unwrap();
        for from in package.bundles() {
            let installed = Installed::from_bundle(from);
            let next = successors(package, &installed, channels, &Work::unlimited()).unwrap();
            let mut by_edge: Vec<_> = graph.edges().filter(|edge| edge.from == from.name()).filter_map(|edge| edge.to.bundle()).map(Bundle::place).collect();
            by_edge.sort_unstable();
            by_edge.dedup();
            prop_assert_eq!(&by_edge, &next.iter().map(|bundle| bundle.place()).collect::<Vec<_>>());
            let mut unreachable = Vec::new();
            for to in package.bundles() {
                let path = graph.path(from, to, &Work::unlimited()).unwrap();
                prop_assert_eq!(path.as_ref().map(Vec::len), naive_length(package, from, to, channels));
                for step in path.iter().flat_map(|path| path.windows(2)) {
                    let next = successors(package, &Installed::from_bundle(step[0]), channels, &Work::unlimited()).unwrap();
                    prop_assert!(next.iter().any(|bundle| bundle.place() == step[1].place()));
                }
                if path.is_none() && graph.nodes().any(|node| node.place() == to.place()) {
                    unreachable.push(to.name());
                }
            }
            prop_assert_eq!(graph.unreachable(&installed, &Work::unlimited()).unwrap().iter().map(|bundle| bundle.name()).collect::<Vec<_>>(), unreachable);
        }
    }

    #[test]
    fn paths_of_olm_v0_agree_with_a_plain_search_over_entries(fixture in random_package(), only_a in any::<bool>(), odd in any::<bool>()) {
        let catalog = fixture::catalog(&fixture);
        let package = package(&catalog);
        let work = Work::unlimited();
        let channels: &[&str] = if only_a { &["a"] } else { ALL };
        let graph = UpdateGraph::new(package, channels, &work).unwrap();
        let is_allowed = |bundle: Bundle<'_>| !odd || bundle.place() % 2 == 1;
        for from in package.bundles() {
            let installed = Installed::from_bundle(from);
            for to in package.bundles() {
                let path = graph.path_from_installed(&installed, to, &is_allowed, &work).unwrap();
                let length = path.as_ref().map(Vec::len);
                prop_assert_eq!(length, naive_entry_steps(package, channels, from, to, &is_allowed));
                let mut at = from;
                for next in path.into_iter().flatten() {
                    let upgrades = upgrades_from(package, &Installed::from_bundle(at), channels, &work).unwrap();
                    prop_assert!(upgrades.iter().any(|upgrade| upgrade.to == next.name() && upgrade.reasons.iter().next().is_some()));
                    prop_assert!(is_allowed(next));
                    at = next;
                }
                prop_assert!(length.is_none() || at.name() == to.name());
            }
        }
    }

    #[test]
    fn upgrades_say_what_the_edges_say(fixture in random_package(), only_a in any::<bool>()) {
        let catalog = fixture::catalog(&fixture);
        let package = package(&catalog);
        let work = Work::unlimited();
        let channels: &[&str] = if only_a { &["a"] } else { ALL };
        let graph = UpdateGraph::new(package, channels, &work).unwrap();
        // The reasons and the channels of the edges between each pair of bundles.
        let said = |from: &str, to: &str, reason: Option<Reason>| {
            let edges = graph.edges().filter(|edge| edge.from == from && edge.to.name() == to);
            let edges: Vec<_> = edges.filter(|edge| reason.is_none_or(|reason| edge.reason == reason)).collect();
            let reasons: BTreeSet<_> = edges.iter().map(|edge| edge.reason).collect();
            let channels: BTreeSet<_> = edges.iter().map(|edge| edge.to.channel().name()).collect();
            (reasons.into_iter().collect::<Vec<_>>(), channels.into_iter().collect::<Vec<_>>())
        };
        let mut by_end: Vec<(&str, &str)> = Vec::new();
        for bundle in package.bundles() {
            let installed = Installed::from_bundle(bundle);
            let upgrades = upgrades_from(package, &installed, channels, &work).unwrap();
            let targets = successors(package, &installed, channels, &work).unwrap();
            prop_assert_eq!(upgrades.iter().map(|upgrade| upgrade.to).collect::<Vec<_>>(), targets.iter().map(|to| to.name()).collect::<Vec<_>>());
            for upgrade in upgrades.iter().chain(&graph.upgrades_to(bundle, &work).unwrap()) {
                let (reasons, channels) = said(upgrade.from, upgrade.to, None);
                prop_assert_eq!((upgrade.reasons.iter().collect::<Vec<_>>(), &upgrade.channels), (reasons, &channels));
            }
            by_end.extend(graph.upgrades_to(bundle, &work).unwrap().iter().map(|upgrade| (upgrade.from, upgrade.to)));
        }
        let mut by_start: Vec<(&str, &str)> = Vec::new();
        for bundle in package.bundles() {
            by_start.extend(successors(package, &Installed::from_bundle(bundle), channels, &work).unwrap().iter().map(|to| (bundle.name(), to.name())));
        }
        by_start.sort_unstable();
        by_end.sort_unstable();
        prop_assert_eq!(by_start, by_end);
        for (reason, upgrades) in [(Reason::Replaces, graph.replaces(&work).unwrap()), (Reason::Skips, graph.skips(&work).unwrap())] {
            let pairs: BTreeSet<_> = graph.edges().filter(|edge| edge.reason == reason).map(|edge| (edge.from, edge.to.name())).collect();
            prop_assert_eq!(upgrades.iter().map(|upgrade| (upgrade.from, upgrade.to)).collect::<BTreeSet<_>>(), pairs.clone());
            prop_assert_eq!(upgrades.len(), pairs.len());
            for upgrade in upgrades {
                prop_assert_eq!(said(upgrade.from, upgrade.to, Some(reason)).1, upgrade.channels);
            }
        }
        for range in graph.skip_ranges(&work).unwrap() {
            let edges = graph.edges().filter(|edge| edge.reason == Reason::SkipRange && edge.to.name() == range.to);
            let from: BTreeSet<_> = edges.filter(|edge| edge.to.skip_range() == Some(range.range)).map(|edge| edge.from).collect();
            prop_assert_eq!(graph.count_from(&range), from.len(), "{}", range.range);
            let in_spans: usize = graph.spans(&range).map(|span| span.count).sum();
            let is_own = usize::from(in_spans != from.len());
            prop_assert!(in_spans == from.len() + is_own && is_own <= 1);
        }
    }
}

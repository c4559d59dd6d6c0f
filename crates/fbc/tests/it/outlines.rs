//! Outlines: what counts as a difference, and what their bytes say.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use fbc::Outline;
use fbc::outline::{BundleDiff, Change, ChannelDiff, Diff, PackageDiff};
use fbc::work::Work;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};
use serde_json::Value;
use testing::fixture::{catalog, catalog_of, lines};
use testing::random;

const ETCD: &str = "package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2
    channel alpha: v0.9.2
    bundle v0.9.2 display=etcd";

const VAULT: &str = "package vault default=stable
    channel stable: v1.0.0";

fn outline(fixture: &str) -> Outline {
    Outline::from_catalog(&catalog(fixture))
}

/// What differs, as short text: `+` for what is new, `-` for what is gone, `~` for what is not as it was.
fn shown(diff: &Diff<'_>) -> String {
    let sign = |change| match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Changed => '~',
    };
    let packages = diff.packages.iter().map(|package| {
        let channels = package.channels.iter().map(|channel| {
            let head = |head: Option<&str>| head.unwrap_or("none").to_owned();
            let heads = format!("{}..{}", head(channel.from_head), head(channel.to_head));
            format!(" {}#{} {heads}", sign(channel.change), channel.name)
        });
        let bundles = package.bundles.iter().map(|bundle| format!(" {}{}", sign(bundle.change), bundle.name));
        format!("{}{}{}", sign(package.change), package.name, channels.chain(bundles).collect::<String>())
    });
    packages.collect::<Vec<_>>().join("\n")
}

fn diff(from: &str, to: &str) -> String {
    shown(&outline(from).diff(&outline(to), &Work::unlimited()).unwrap())
}

#[test]
fn equal_contents_have_equal_outlines_and_no_difference() {
    assert_eq!(outline(ETCD), outline(ETCD));
    assert_eq!(diff(ETCD, ETCD), "");
    assert_eq!(diff("", ""), "");
}

#[test]
fn a_package_that_comes_or_goes_does_so_with_all_that_it_has() {
    let both = format!("{ETCD}\n{VAULT}");
    assert_eq!(diff(ETCD, &both), "+vault +#stable none..vault.v1.0.0 +vault.v1.0.0");
    assert_eq!(diff(&both, ETCD), "-vault -#stable vault.v1.0.0..none -vault.v1.0.0");
}

#[test]
fn a_new_version_changes_its_package_and_its_channel() {
    let newer = ETCD.replace("v0.9.0 <- v0.9.2", "v0.9.0 <- v0.9.2 <- v0.9.4");
    assert_eq!(diff(ETCD, &newer), "~etcd ~#stable etcd.v0.9.2..etcd.v0.9.4 +etcd.v0.9.4");
    let forked = ETCD.replace("v0.9.0 <- v0.9.2", "v0.9.0 <- v0.9.2 , v0.9.3");
    assert_eq!(diff(ETCD, &forked), "~etcd ~#stable etcd.v0.9.2..none +etcd.v0.9.3");
    let moved = ETCD.replace("channel alpha: v0.9.2", "channel beta: v0.9.2");
    assert_eq!(diff(ETCD, &moved), "~etcd -#alpha etcd.v0.9.2..none +#beta none..etcd.v0.9.2");
}

#[test]
fn whatever_a_blob_says_counts() {
    let told = ETCD.replace("display=etcd", "display=Etcd");
    assert_eq!(diff(ETCD, &told), "~etcd ~etcd.v0.9.2");
    let described = ETCD.replace("default=stable", "default=stable description=keys");
    assert_eq!(diff(ETCD, &described), "~etcd");
}

#[test]
fn a_deprecation_counts_to_what_is_deprecated() {
    let cases = [
        ("package", "~etcd"),
        ("channel alpha", "~etcd ~#alpha etcd.v0.9.2..etcd.v0.9.2"),
        ("bundle v0.9.0", "~etcd ~etcd.v0.9.0"),
    ];
    for (what, expected) in cases {
        let deprecated = format!("{ETCD}\ndeprecated {what} \"old\"");
        assert_eq!(diff(ETCD, &deprecated), expected, "{what}");
        let worded = deprecated.replace("\"old\"", "\"older\"");
        assert_eq!(diff(&deprecated, &worded), expected, "{what}");
    }
}

#[test]
fn blobs_of_any_schema_count_to_their_package_and_others_to_none() {
    let extra = r#"{"package":"etcd","schema":"example.com.x"}"#;
    assert_eq!(diff(ETCD, &format!("{ETCD}\n{extra}")), "~etcd");
    let second = r#"{"image":"i","name":"etcd.v0.9.2","package":"etcd","schema":"olm.bundle"}"#;
    assert_eq!(diff(ETCD, &format!("{ETCD}\n{second}")), "~etcd");
    for stray in [r#"{"schema":"example.com.x"}"#, r#"{"package":"none","schema":"olm.bundle","name":"b"}"#] {
        assert_eq!(diff(ETCD, &format!("{ETCD}\n{stray}")), "", "{stray}");
    }
}

#[test]
fn the_order_of_blobs_counts_only_where_it_decides_which_of_two_is_served() {
    let all = lines(&format!("{ETCD}\n{VAULT}\n{{\"package\":\"etcd\",\"schema\":\"x\"}}"));
    let backwards: String = all.lines().rev().flat_map(|line| [line, "\n"]).collect();
    assert_eq!(Outline::from_catalog(&catalog_of(&all)), Outline::from_catalog(&catalog_of(&backwards)));
    let two = [r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#, r#"{"name":"p","schema":"olm.package"}"#];
    let of = |lines: [&str; 2]| Outline::from_catalog(&catalog_of(&format!("{}\n{}\n", lines[0], lines[1])));
    assert_eq!(shown(&of(two).diff(&of([two[1], two[0]]), &Work::unlimited()).unwrap()), "~p");
}

#[test]
fn an_outline_is_read_back_from_its_bytes_and_from_no_others() {
    let outline = outline(&format!("{ETCD}\n{VAULT}"));
    let bytes = outline.as_bytes().clone();
    assert_eq!(Outline::from_bytes(bytes.clone()), Some(outline));
    for at in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1;
        assert_eq!(Outline::from_bytes(damaged.into()), None, "byte {at}");
        assert_eq!(Outline::from_bytes(bytes.slice(..at)), None, "{at} bytes");
    }
    let longer: Bytes = [&bytes[..], b"x"].concat().into();
    assert_eq!(Outline::from_bytes(longer), None);
}

/// A catalog as JSON values: the blobs of each package, and of its objects the blob with the deprecation.
#[derive(Default, PartialEq)]
struct Naive {
    blobs: Vec<String>,
    channels: BTreeMap<String, NaiveChannel>,
    bundles: BTreeMap<String, (String, Option<String>)>,
}

/// The blob of a channel, why it is deprecated, and its head.
type NaiveChannel = (String, Option<String>, Option<String>);

fn naive(lines: &str) -> BTreeMap<String, Naive> {
    let blobs: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |blob: &Value, key: &str| blob[key].as_str().unwrap_or_default().to_owned();
    let schema = |wanted: &'static str| blobs.iter().filter(move |blob| blob["schema"] == wanted);
    let mut packages: BTreeMap<_, _> = schema("olm.package")
        .map(|blob| (of(blob, "name"), Naive { blobs: vec![blob.to_string()], ..Naive::default() }))
        .collect();
    let mut deprecations = BTreeMap::new();
    for blob in schema("olm.deprecations") {
        for entry in blob["entries"].as_array().unwrap() {
            let [kind, name] = ["schema", "name"].map(|key| of(&entry["reference"], key));
            deprecations.insert((of(blob, "package"), kind, name), of(entry, "message"));
        }
    }
    for blob in blobs.iter().filter(|blob| blob["schema"] != "olm.package") {
        let (package, name) = (of(blob, "package"), of(blob, "name"));
        let Some(into) = packages.get_mut(&package) else { continue };
        into.blobs.push(blob.to_string());
        let deprecation = |kind: &str| deprecations.get(&(package.clone(), kind.to_owned(), name.clone())).cloned();
        match of(blob, "schema").as_str() {
            "olm.channel" => {
                let value = (blob.to_string(), deprecation("olm.channel"), naive_head(blob));
                into.channels.entry(name.clone()).or_insert(value);
            }
            "olm.bundle" => {
                into.bundles.entry(name.clone()).or_insert((blob.to_string(), deprecation("olm.bundle")));
            }
            _ => {}
        }
    }
    for package in packages.values_mut() {
        package.blobs.sort();
    }
    packages
}

fn naive_head(channel: &Value) -> Option<String> {
    let entries = channel["entries"].as_array().unwrap();
    let passed: BTreeSet<_> = entries
        .iter()
        .flat_map(|entry| entry["skips"].as_array().into_iter().flatten().chain([&entry["replaces"]]))
        .filter_map(Value::as_str)
        .collect();
    let heads: Vec<_> =
        entries.iter().map(|entry| entry["name"].as_str().unwrap()).filter(|name| !passed.contains(name)).collect();
    (heads.len() == 1).then(|| heads[0].to_owned())
}

fn keys<'k, V>(from: &'k BTreeMap<String, V>, to: &'k BTreeMap<String, V>) -> BTreeSet<&'k str> {
    from.keys().chain(to.keys()).map(String::as_str).collect()
}

fn naive_diff<'n>(from: &'n BTreeMap<String, Naive>, to: &'n BTreeMap<String, Naive>) -> Diff<'n> {
    let none = Naive::default();
    let packages = keys(from, to).into_iter().filter_map(|name| {
        let change = Change::between(from.get(name), to.get(name))?;
        let [before, after] = [from, to].map(|side| side.get(name));
        let channels = [before, after].map(|side| side.map_or(&none.channels, |side| &side.channels));
        let bundles = [before, after].map(|side| side.map_or(&none.bundles, |side| &side.bundles));
        let names = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (channel_names, bundle_names) =
            (names(keys(channels[0], channels[1])), names(keys(bundles[0], bundles[1])));
        Some((name, change, channel_names, bundle_names, before, after))
    });
    let packages = packages.map(|(name, change, channel_names, bundle_names, before, after)| {
        let channels = channel_names.iter().filter_map(|name| {
            let [before, after] = [before, after].map(|side| side.and_then(|side| side.channels.get_key_value(name)));
            let change = Change::between(before.map(|(_, value)| value), after.map(|(_, value)| value))?;
            let head =
                |side: Option<(&'n String, &'n NaiveChannel)>| side.and_then(|(_, (_, _, head))| head.as_deref());
            let name = before.or(after)?.0;
            Some(ChannelDiff { name, change, from_head: head(before), to_head: head(after) })
        });
        let bundles = bundle_names.iter().filter_map(|name| {
            let [before, after] = [before, after].map(|side| side.and_then(|side| side.bundles.get_key_value(name)));
            let change = Change::between(before.map(|(_, value)| value), after.map(|(_, value)| value))?;
            Some(BundleDiff { name: before.or(after)?.0, change })
        });
        PackageDiff { name, change, channels: channels.collect(), bundles: bundles.collect() }
    });
    Diff { packages: packages.collect() }
}

/// A pair of catalogs that have some packages in common: each of the second is as in the first, or another.
fn pairs() -> impl Strategy<Value = (String, String)> {
    let packages = |fixture: &str| -> BTreeMap<String, String> {
        let text = format!("\n{fixture}");
        let parts = text.split("\npackage ").skip(1);
        parts.map(|part| (part.split(' ').next().unwrap().to_owned(), format!("package {part}"))).collect()
    };
    (random::catalogs(), random::catalogs(), any::<u8>()).prop_map(move |(one, other, same)| {
        let (first, mut second) = (packages(&one), packages(&other));
        for (_, (name, text)) in first.iter().enumerate().filter(|(at, _)| same >> at & 1 == 1) {
            second.insert(name.clone(), text.clone());
        }
        (one, second.into_values().collect::<Vec<_>>().join("\n"))
    })
}

proptest! {
    #![proptest_config(Config {
        cases: 300,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0xd1ff),
        ..Config::default()
    })]

    #[test]
    fn a_difference_is_what_comparing_every_value_finds((from, to) in pairs()) {
        let (from, to) = (lines(&from), lines(&to));
        let (plain_from, plain_to) = (naive(&from), naive(&to));
        let (from, to) = (Outline::from_catalog(&catalog_of(&from)), Outline::from_catalog(&catalog_of(&to)));
        prop_assert_eq!(from.diff(&to, &Work::unlimited()).unwrap(), naive_diff(&plain_from, &plain_to));
        prop_assert_eq!(to.diff(&from, &Work::unlimited()).unwrap(), naive_diff(&plain_to, &plain_from));
    }
}

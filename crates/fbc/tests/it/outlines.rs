//! Outlines: what counts as a difference, and what their bytes say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bytes::Bytes;
use fbc::Outline;
use fbc::outline::{
    BundleDiff, BundlePart, Change, ChannelDiff, Diff, EntryDiff, PackageDiff, PackagePart,
};
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

/// What differs, as short text: `+` for what is new, `-` for what is gone, `~` for what is not as
/// it was.
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
        let bundles = package
            .bundles
            .iter()
            .map(|bundle| format!(" {}{}", sign(bundle.change), bundle.name));
        format!(
            "{}{}{}",
            sign(package.change),
            package.name,
            channels.chain(bundles).collect::<String>()
        )
    });
    packages.collect::<Vec<_>>().join("\n")
}

fn diff(from: &str, to: &str) -> String {
    shown(
        &outline(from)
            .diff(&outline(to), &Work::unlimited())
            .unwrap(),
    )
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
    assert_eq!(
        diff(ETCD, &both),
        "+vault +#stable none..vault.v1.0.0 +vault.v1.0.0"
    );
    assert_eq!(
        diff(&both, ETCD),
        "-vault -#stable vault.v1.0.0..none -vault.v1.0.0"
    );
}

#[test]
fn a_new_version_changes_its_package_and_its_channel() {
    let newer = ETCD.replace("v0.9.0 <- v0.9.2", "v0.9.0 <- v0.9.2 <- v0.9.4");
    assert_eq!(
        diff(ETCD, &newer),
        "~etcd ~#stable etcd.v0.9.2..etcd.v0.9.4 +etcd.v0.9.4"
    );
    let forked = ETCD.replace("v0.9.0 <- v0.9.2", "v0.9.0 <- v0.9.2 , v0.9.3");
    assert_eq!(
        diff(ETCD, &forked),
        "~etcd ~#stable etcd.v0.9.2..none +etcd.v0.9.3"
    );
    let moved = ETCD.replace("channel alpha: v0.9.2", "channel beta: v0.9.2");
    assert_eq!(
        diff(ETCD, &moved),
        "~etcd -#alpha etcd.v0.9.2..none +#beta none..etcd.v0.9.2"
    );
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
    for stray in [
        r#"{"schema":"example.com.x"}"#,
        r#"{"package":"none","schema":"olm.bundle","name":"b"}"#,
    ] {
        assert_eq!(diff(ETCD, &format!("{ETCD}\n{stray}")), "", "{stray}");
    }
}

#[test]
fn the_order_of_blobs_counts_only_where_it_decides_which_of_two_is_served() {
    let all = lines(&format!(
        "{ETCD}\n{VAULT}\n{{\"package\":\"etcd\",\"schema\":\"x\"}}"
    ));
    let backwards: String = all.lines().rev().flat_map(|line| [line, "\n"]).collect();
    assert_eq!(
        Outline::from_catalog(&catalog_of(&all)),
        Outline::from_catalog(&catalog_of(&backwards))
    );
    let two = [
        r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#,
        r#"{"name":"p","schema":"olm.package"}"#,
    ];
    let of = |lines: [&str; 2]| {
        Outline::from_catalog(&catalog_of(&format!("{}\n{}\n", lines[0], lines[1])))
    };
    assert_eq!(
        shown(
            &of(two)
                .diff(&of([two[1], two[0]]), &Work::unlimited())
                .unwrap()
        ),
        "~p"
    );
}

/// What differs in packages and bundles, and the entries that differ, as short text.
fn shown_parts(from: &str, to: &str) -> String {
    let from = outline(from);
    let to = outline(to);
    let diff = from.diff(&to, &Work::unlimited()).unwrap();
    let package = &diff.packages[0];
    let mut shown = format!("{:?}", package.parts);
    for bundle in &package.bundles {
        write!(shown, " {} {:?}", bundle.name, bundle.parts).unwrap();
    }
    for entry in package.channels.iter().flat_map(|channel| &channel.entries) {
        write!(shown, " {} {}", entry.name, entry.change.as_str()).unwrap();
    }
    shown
}

#[test]
fn the_parts_of_a_package_that_differ_are_named() {
    let whole = r#"{"defaultChannel":"a","description":"d","icon":{"base64data":"aQ=="},"name":"p","properties":[],"schema":"olm.package","x":1}"#;
    let of = |from: &str, to: &str| shown_parts(whole, &whole.replace(from, to));
    assert_eq!(of("\"d\"", "\"e\""), "[Description]");
    assert_eq!(of("\"d\"", "null"), "[Description]");
    assert_eq!(of("aQ==", "aA=="), "[Icon]");
    assert_eq!(of("\"a\"", "\"b\""), "[DefaultChannel]");
    assert_eq!(of("[]", r#"[{"type":"t","value":1}]"#), "[Properties]");
    assert_eq!(of(":1}", ":2}"), "[Other]");
    assert_eq!(
        of("\"description\":\"d\",\"icon\"", "\"icon\""),
        "[Description]"
    );
    assert_eq!(
        of("\"a\",\"description\":\"d\"", "\"b\",\"description\":\"e\""),
        "[Description, DefaultChannel]"
    );
    let with = |blob: &str| shown_parts(whole, &format!("{whole}\n{blob}"));
    assert_eq!(
        with(r#"{"package":"p","schema":"example.com.x"}"#),
        "[Other]"
    );
    let deprecated = |reference: &str| {
        with(&format!(
            r#"{{"entries":[{{"message":"m","reference":{reference}}}],"package":"p","schema":"olm.deprecations"}}"#
        ))
    };
    assert_eq!(deprecated(r#"{"schema":"olm.package"}"#), "[Deprecation]");
    // A deprecation of nothing is the only difference there is.
    assert_eq!(
        deprecated(r#"{"name":"none","schema":"olm.bundle"}"#),
        "[Other]"
    );
}

#[test]
fn the_parts_of_a_bundle_that_differ_are_named() {
    let package = r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#;
    let property =
        |type_name: &str, value: &str| format!(r#"{{"type":"{type_name}","value":{value}}}"#);
    let [version, metadata, other] = [
        property("olm.package", r#"{"packageName":"p","version":"1.0.0"}"#),
        property("olm.csv.metadata", r#"{"displayName":"P"}"#),
        property("other", "1"),
    ];
    let whole = format!(
        r#"{{"image":"i","name":"b","package":"p","properties":[{version},{metadata},{other}],"relatedImages":[],"schema":"olm.bundle","x":1}}"#
    );
    let pair = |to: &str| shown_parts(&format!("{package}\n{whole}"), &format!("{package}\n{to}"));
    let of = |from: &str, to: &str| pair(&whole.replace(from, to));
    assert_eq!(of("\"i\"", "\"j\""), "[] b [Image]");
    assert_eq!(of("1.0.0", "1.0.1"), "[] b [Version]");
    assert_eq!(of("\"P\"", "\"Q\""), "[] b [Metadata]");
    assert_eq!(of("other", "another"), "[] b [Properties]");
    assert_eq!(
        of("\"relatedImages\":[]", "\"relatedImages\":[{}]"),
        "[] b [RelatedImages]"
    );
    assert_eq!(of("\"x\":1", "\"x\":2"), "[] b [Other]");
    let moved = format!("{other},{metadata},{version}");
    assert_eq!(
        of(&format!("{version},{metadata},{other}"), &moved),
        "[] b [Other]",
        "the order alone"
    );
    assert_eq!(
        of(
            &metadata,
            &property("olm.bundle.object", r#"{"data":"e30="}"#)
        ),
        "[] b [Metadata]"
    );
    let deprecation = r#"{"entries":[{"message":"m","reference":{"name":"b","schema":"olm.bundle"}}],"package":"p","schema":"olm.deprecations"}"#;
    assert_eq!(
        pair(&format!("{whole}\n{deprecation}")),
        "[] b [Deprecation]"
    );
    assert_eq!(pair(""), "[] b []", "it was removed");
}

#[test]
fn the_entries_of_a_channel_that_differ_are_named() {
    let with = |entries: &str| {
        let channel =
            format!(r#"{{"entries":[{entries}],"name":"a","package":"p","schema":"olm.channel"}}"#);
        format!(
            "{}\n{channel}",
            r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#
        )
    };
    let [one, two] = [r#"{"name":"one"}"#, r#"{"name":"two","replaces":"one"}"#];
    let both = with(&format!("{one},{two}"));
    assert_eq!(shown_parts(&with(one), &both), "[] two ADDED");
    assert_eq!(shown_parts(&both, &with(two)), "[] one REMOVED");
    for changed in [
        r#""skips":["one"]"#,
        r#""skipRange":"one""#,
        r#""replaces":"zero""#,
    ] {
        let changed = with(&format!(r#"{one},{{"name":"two",{changed}}}"#));
        assert_eq!(shown_parts(&both, &changed), "[] two CHANGED");
    }
    assert_eq!(
        shown_parts(&both, &with(&format!("{one},{one},{two}"))),
        "[] one CHANGED",
        "there is another one"
    );
    assert_eq!(
        shown_parts(&both, &with(&format!("{two},{one}"))),
        "[]",
        "the order alone"
    );
    assert_eq!(
        shown_parts(&with(one), r#"{"name":"p","schema":"olm.package"}"#),
        "[DefaultChannel] one REMOVED"
    );
}

#[test]
fn default_channels_are_named_whether_or_not_there_are_such() {
    let package = |default: &str| {
        format!(r#"{{"defaultChannel":"{default}","name":"p","schema":"olm.package"}}"#)
    };
    let from = outline(&package(""));
    let to = outline(&package("none"));
    let changed = from.diff(&to, &Work::unlimited()).unwrap();
    let package = &changed.packages[0];
    assert_eq!(
        (package.from_default_channel, package.to_default_channel),
        (None, Some("none"))
    );
}

#[test]
fn an_outline_of_another_format_is_not_read() {
    let bytes = outline(ETCD).as_bytes().to_vec();
    assert_eq!(bytes[7], 2, "the version of the format");
    // The checksum is over what follows it.
    let former = [&b"fbcout\0\x01"[..], &bytes[8..]].concat();
    assert_eq!(Outline::from_bytes(former.into()), None);
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

/// A package as JSON values.
#[derive(Default, PartialEq)]
struct Naive {
    own: Value,
    deprecation: Option<String>,
    /// Every blob of the package.
    blobs: Vec<String>,
    /// Those that are neither typed nor deprecations.
    others: Vec<String>,
    channels: BTreeMap<String, NaiveChannel>,
    bundles: BTreeMap<String, NaiveBundle>,
}

#[derive(PartialEq)]
struct NaiveChannel {
    blob: Value,
    deprecation: Option<String>,
    head: Option<String>,
    /// The entries of each name.
    entries: BTreeMap<String, Vec<String>>,
}

#[derive(PartialEq)]
struct NaiveBundle {
    blob: Value,
    deprecation: Option<String>,
}

fn naive(lines: &str) -> BTreeMap<String, Naive> {
    let blobs: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |blob: &Value, key: &str| blob[key].as_str().unwrap_or_default().to_owned();
    let schema = |wanted: &'static str| blobs.iter().filter(move |blob| blob["schema"] == wanted);
    let mut deprecations = BTreeMap::new();
    for blob in schema("olm.deprecations") {
        for entry in blob["entries"].as_array().unwrap() {
            let [kind, name] = ["schema", "name"].map(|key| of(&entry["reference"], key));
            deprecations.insert((of(blob, "package"), kind, name), of(entry, "message"));
        }
    }
    let mut packages = BTreeMap::new();
    for blob in schema("olm.package") {
        let name = of(blob, "name");
        let deprecation = deprecations
            .get(&(name.clone(), "olm.package".to_owned(), String::new()))
            .cloned();
        packages.insert(
            name,
            Naive {
                own: blob.clone(),
                deprecation,
                ..Naive::default()
            },
        );
    }
    for blob in blobs.iter().filter(|blob| blob["schema"] != "olm.package") {
        let package = of(blob, "package");
        let name = of(blob, "name");
        let schema = of(blob, "schema");
        let Some(into) = packages.get_mut(&package) else {
            continue;
        };
        into.blobs.push(blob.to_string());
        let deprecation = deprecations
            .get(&(package, schema.clone(), name.clone()))
            .cloned();
        let blob = blob.clone();
        let is_new_channel = !into.channels.contains_key(&name);
        match schema.as_str() {
            "olm.channel" if is_new_channel => {
                let head = naive_head(&blob);
                let entries = naive_entries(&blob);
                into.channels.insert(
                    name,
                    NaiveChannel {
                        blob,
                        deprecation,
                        head,
                        entries,
                    },
                );
            }
            "olm.bundle" if !into.bundles.contains_key(&name) => {
                into.bundles.insert(name, NaiveBundle { blob, deprecation });
            }
            "olm.deprecations" => {}
            _ => into.others.push(blob.to_string()),
        }
    }
    for package in packages.values_mut() {
        package.blobs.sort();
        package.others.sort();
    }
    packages
}

fn naive_entries(channel: &Value) -> BTreeMap<String, Vec<String>> {
    let mut entries = BTreeMap::<_, Vec<_>>::new();
    for entry in channel["entries"].as_array().unwrap() {
        let edges = ["replaces", "skips", "skipRange"].map(|key| entry.get(key));
        entries
            .entry(entry["name"].as_str().unwrap().to_owned())
            .or_default()
            .push(format!("{edges:?}"));
    }
    for of_name in entries.values_mut() {
        of_name.sort();
    }
    entries
}

/// The members of a blob but these.
fn without(blob: &Value, keys: &[&str]) -> Vec<String> {
    let members = blob
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()));
    members
        .map(|(key, value)| format!("{key}{value}"))
        .collect()
}

fn naive_package_parts(before: Option<&Naive>, after: Option<&Naive>) -> Vec<PackagePart> {
    let Some((before, after)) = before.zip(after) else {
        return Vec::new();
    };
    let names = ["description", "icon", "defaultChannel", "properties"];
    let members = [before, after].map(|side| names.map(|name| side.own.get(name)));
    let others = [before, after].map(|side| (without(&side.own, &names), &side.others));
    let differ = [
        members[0][0] != members[1][0],
        members[0][1] != members[1][1],
        members[0][2] != members[1][2],
        members[0][3] != members[1][3],
        before.deprecation != after.deprecation,
        others[0] != others[1],
    ];
    PackagePart::ALL
        .into_iter()
        .zip(differ)
        .filter(|(_, differs)| *differs)
        .map(|(part, _)| part)
        .collect()
}

fn naive_bundle_parts(
    before: Option<&NaiveBundle>,
    after: Option<&NaiveBundle>,
) -> Vec<BundlePart> {
    let Some((before, after)) = before.zip(after) else {
        return Vec::new();
    };
    let kind = |property: &Value| match property["type"].as_str().unwrap() {
        "olm.package" => 0,
        "olm.csv.metadata" | "olm.bundle.object" => 1,
        _ => 2,
    };
    let properties = |side: &NaiveBundle, wanted: i32| -> Vec<Value> {
        let all = side.blob["properties"].as_array().into_iter().flatten();
        all.filter(|property| kind(property) == wanted)
            .cloned()
            .collect()
    };
    let of_kind = |wanted| properties(before, wanted) != properties(after, wanted);
    let of_member = |name| before.blob.get(name) != after.blob.get(name);
    let named = ["image", "relatedImages", "properties"];
    let differ = [
        of_member("image"),
        of_kind(0),
        of_member("relatedImages"),
        of_kind(2),
        of_kind(1),
        before.deprecation != after.deprecation,
        without(&before.blob, &named) != without(&after.blob, &named),
    ];
    let parts: Vec<_> = BundlePart::ALL
        .into_iter()
        .zip(differ)
        .filter(|(_, differs)| *differs)
        .map(|(part, _)| part)
        .collect();
    if parts.is_empty() {
        vec![BundlePart::Other]
    } else {
        parts
    }
}

fn naive_entry_diffs<'n>(
    before: Option<&'n NaiveChannel>,
    after: Option<&'n NaiveChannel>,
) -> Vec<EntryDiff<'n>> {
    let none = BTreeMap::new();
    let [before, after] = [before, after].map(|side| side.map(|side| &side.entries));
    let names: BTreeSet<&'n str> = before
        .into_iter()
        .chain(after)
        .flat_map(|entries| entries.keys().map(String::as_str))
        .collect();
    let before = before.unwrap_or(&none);
    let after = after.unwrap_or(&none);
    let differ = names.into_iter().filter_map(|name| {
        Some(EntryDiff {
            name,
            change: Change::between(before.get(name), after.get(name))?,
        })
    });
    differ.collect()
}

fn naive_head(channel: &Value) -> Option<String> {
    let entries = channel["entries"].as_array().unwrap();
    let passed: BTreeSet<_> = entries
        .iter()
        .flat_map(|entry| {
            entry["skips"]
                .as_array()
                .into_iter()
                .flatten()
                .chain([&entry["replaces"]])
        })
        .filter_map(Value::as_str)
        .collect();
    let heads: Vec<_> = entries
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .filter(|name| !passed.contains(name))
        .collect();
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
        let channels =
            [before, after].map(|side| side.map_or(&none.channels, |side| &side.channels));
        let bundles = [before, after].map(|side| side.map_or(&none.bundles, |side| &side.bundles));
        let names =
            |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let channel_names = names(keys(channels[0], channels[1]));
        let bundle_names = names(keys(bundles[0], bundles[1]));
        Some((name, change, channel_names, bundle_names, before, after))
    });
    let packages = packages.map(
        |(name, change, channel_names, bundle_names, before, after)| {
            let channels = channel_names.iter().filter_map(|name| {
                let [before, after] = [before, after]
                    .map(|side| side.and_then(|side| side.channels.get_key_value(name)));
                let change = Change::between(
                    before.map(|(_, value)| value),
                    after.map(|(_, value)| value),
                )?;
                let head = |side: Option<(&'n String, &'n NaiveChannel)>| {
                    side.and_then(|(_, side)| side.head.as_deref())
                };
                let name = before.or(after)?.0;
                let entries =
                    naive_entry_diffs(before.map(|(_, side)| side), after.map(|(_, side)| side));
                Some(ChannelDiff {
                    name,
                    change,
                    from_head: head(before),
                    to_head: head(after),
                    entries,
                })
            });
            let bundles = bundle_names.iter().filter_map(|name| {
                let [before, after] = [before, after]
                    .map(|side| side.and_then(|side| side.bundles.get_key_value(name)));
                let change = Change::between(
                    before.map(|(_, value)| value),
                    after.map(|(_, value)| value),
                )?;
                let parts =
                    naive_bundle_parts(before.map(|(_, side)| side), after.map(|(_, side)| side));
                Some(BundleDiff {
                    name: before.or(after)?.0,
                    change,
                    parts,
                })
            });
            let (channels, bundles): (Vec<_>, Vec<_>) = (channels.collect(), bundles.collect());
            let mut parts = naive_package_parts(before, after);
            if change == Change::Changed
                && parts.is_empty()
                && channels.is_empty()
                && bundles.is_empty()
            {
                parts.push(PackagePart::Other);
            }
            let default = |side: Option<&'n Naive>| {
                side.and_then(|side| side.own["defaultChannel"].as_str())
                    .filter(|name| !name.is_empty())
            };
            let from_default_channel = default(before);
            let to_default_channel = default(after);
            PackageDiff {
                name,
                change,
                parts,
                from_default_channel,
                to_default_channel,
                channels,
                bundles,
            }
        },
    );
    Diff {
        packages: packages.collect(),
    }
}

/// A pair of catalogs that have some packages in common: each of the second is as in the first, or
/// another.
fn pairs() -> impl Strategy<Value = (String, String)> {
    let packages = |fixture: &str| -> BTreeMap<String, String> {
        let text = format!("\n{fixture}");
        let parts = text.split("\npackage ").skip(1);
        parts
            .map(|part| {
                (
                    part.split(' ').next().unwrap().to_owned(),
                    format!("package {part}"),
                )
            })
            .collect()
    };
    (random::catalogs(), random::catalogs(), any::<u8>()).prop_map(move |(one, other, same)| {
        let first = packages(&one);
        let mut second = packages(&other);
        for (_, (name, text)) in first
            .iter()
            .enumerate()
            .filter(|(at, _)| same >> at & 1 == 1)
        {
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
        let from = lines(&from);
        let to = lines(&to);
        let plain_from = naive(&from);
        let plain_to = naive(&to);
        let from = Outline::from_catalog(&catalog_of(&from));
        let to = Outline::from_catalog(&catalog_of(&to));
        prop_assert_eq!(from.diff(&to, &Work::unlimited()).unwrap(), naive_diff(&plain_from, &plain_to));
        prop_assert_eq!(to.diff(&from, &Work::unlimited()).unwrap(), naive_diff(&plain_to, &plain_from));
    }
}

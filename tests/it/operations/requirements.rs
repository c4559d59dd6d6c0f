//! Who needs whom: requirements with what meets them, and back, against a look at every bundle.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::model::{Bundle, compare_versions, text};
use super::{Community, community, some};
use crate::served;

/// A bundle by the names of its package and its own.
type Named = (String, String);

const NEEDS: &str = "query($catalog: String!, $package: String!, $bundle: String!) {
    bundle(catalog: $catalog, package: $package, name: $bundle) {
        maxOpenShiftVersion
        requirements { propertyType text label constraint { cel package { packageName versionRange } gvk { group version kind } }
            providers(first: 500) { totalCount nodes { name package { name } } } }
        requiredApis { providers(first: 500, channelHead: true) { totalCount nodes { name package { name } } } }
        requiredPackages { package { name } providers(first: 500) { totalCount nodes { name package { name } } } }
    }
}";

const NEEDED: &str = "query($package: String!, $bundle: String!) {
    package(catalog: \"community\", name: $package) {
        requiredBy(first: 500) { totalCount nodes { name package { name } } }
        bundle(name: $bundle) { requiredBy(first: 500) { totalCount nodes { name package { name } } } }
    }
}";

/// The bundles on a page that has all of them.
#[track_caller]
fn named(connection: &Value) -> BTreeSet<Named> {
    let of = |value: &Value| value.as_str().expect("a text").to_owned();
    let nodes = connection["nodes"].as_array().expect("a list");
    let found: BTreeSet<_> = nodes
        .iter()
        .map(|node| (of(&node["package"]["name"]), of(&node["name"])))
        .collect();
    assert_eq!(connection["totalCount"], nodes.len());
    assert_eq!(found.len(), nodes.len());
    found
}

/// Whether a version is in a range of comparators; the corpus has no other form.
fn is_in(range: &str, version: &str) -> bool {
    let meets = |comparator: &str| {
        let (operator, bound) = comparator.split_at(
            comparator
                .find(|letter: char| letter.is_ascii_digit())
                .unwrap(),
        );
        let order = compare_versions(version, bound);
        match operator {
            ">=" => order != Ordering::Less,
            ">" => order == Ordering::Greater,
            "<=" => order != Ordering::Greater,
            "<" => order == Ordering::Less,
            "" | "=" | "==" => order == Ordering::Equal,
            other => panic!("{other} in {range}"),
        }
    };
    range
        .split("||")
        .any(|group| group.split_whitespace().all(meets))
}

fn api(value: &'static Value) -> [&'static str; 3] {
    ["group", "version", "kind"].map(|part| text(value, part).unwrap_or_default())
}

impl Community {
    fn bundles_where(&self, meets: impl Fn(&Bundle) -> bool) -> BTreeSet<Named> {
        let found = self.model.bundles.iter().filter(|bundle| meets(bundle));
        found
            .map(|bundle| (bundle.package.to_owned(), bundle.name.to_owned()))
            .collect()
    }

    fn in_range(&self, required: &'static Value) -> BTreeSet<Named> {
        let name = text(required, "packageName").unwrap();
        let range = text(required, "versionRange").unwrap();
        self.bundles_where(|bundle| bundle.package == name && is_in(range, bundle.version()))
    }
}

#[test]
fn requirements_are_in_words_and_lead_to_what_meets_them() {
    let community = community();
    let mut requirements = 0;
    let mut met = 0;
    for bundle in &community.model.bundles {
        let packages: Vec<_> = bundle.values("olm.package.required").collect();
        let apis: Vec<_> = bundle.values("olm.gvk.required").collect();
        let constraints = bundle.values("olm.constraint").count();
        if packages.is_empty() && apis.is_empty() && constraints == 0 {
            continue;
        }
        let variables =
            json!({ "catalog": "community", "package": bundle.package, "bundle": bundle.name });
        let answer = served::data(&community.engine, NEEDS, &variables);
        let answer = &answer["bundle"];
        let found = answer["requirements"].as_array().expect("a list");
        requirements += found.len();
        assert_eq!(
            found.len(),
            packages.len() + apis.len() + constraints,
            "{}",
            bundle.name
        );
        for (required, own) in packages
            .iter()
            .zip(answer["requiredPackages"].as_array().expect("a list"))
        {
            let name = text(required, "packageName").unwrap();
            let range = text(required, "versionRange").unwrap();
            let words = format!("with package: {name} and with version in range: {range}");
            let expected = community.in_range(required);
            met += usize::from(!expected.is_empty());
            let package = community
                .model
                .packages
                .get(name)
                .map(|package| json!({ "name": package.name }));
            assert_eq!(
                (&own["package"], named(&own["providers"])),
                (&json!(package), expected.clone()),
                "{words}"
            );
            let own = found
                .iter()
                .find(|own| own["text"] == words)
                .expect("it is in the list");
            assert_eq!(
                (&own["propertyType"], &own["label"]),
                (&json!("olm.package.required"), &json!(null))
            );
            assert_eq!(
                own["constraint"]["package"],
                json!({ "packageName": name, "versionRange": range })
            );
            assert_eq!(named(&own["providers"]), expected, "{words}");
        }
        for (required, own) in apis
            .iter()
            .zip(answer["requiredApis"].as_array().expect("a list"))
        {
            let [group, version, kind] = api(required);
            let words =
                format!("providing an API with group: {group}, version: {version}, kind: {kind}");
            let provides =
                |bundle: &Bundle| bundle.provided().any(|own| own == (group, version, kind));
            let is_head = |bundle: &Bundle| {
                community.model.packages[bundle.package]
                    .heads
                    .contains(bundle.name)
            };
            let heads = community.bundles_where(|bundle| provides(bundle) && is_head(bundle));
            assert_eq!(named(&own["providers"]), heads, "{words}");
            let expected = community.bundles_where(provides);
            met += usize::from(!expected.is_empty());
            let own = found
                .iter()
                .find(|own| own["text"] == words)
                .expect("it is in the list");
            assert_eq!(
                own["constraint"]["gvk"],
                json!({ "group": group, "version": version, "kind": kind })
            );
            assert_eq!(named(&own["providers"]), expected, "{words}");
        }
    }
    let (least, least_met) = community.whole_or_part((200, 100), (90, 10));
    assert!(
        requirements > least && met > least_met,
        "{requirements} {met}"
    );
}

#[test]
fn the_last_openshift_version_is_that_of_its_property() {
    let community = community();
    let query = "query($package: String!) {
        package(catalog: \"community\", name: $package) { bundles(first: 500) { nodes { name maxOpenShiftVersion } } }
    }";
    let mut given = 0;
    for package in community.model.packages.values() {
        let data = served::data(
            &community.engine,
            query,
            &json!({ "package": package.name }),
        );
        for node in data["package"]["bundles"]["nodes"]
            .as_array()
            .expect("a list")
        {
            let bundle = package.bundles[node["name"].as_str().expect("a text")];
            let mut versions = bundle.values("olm.maxOpenShiftVersion");
            let plain = |value: &Value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), |text| text.replace('"', ""))
            };
            let expected = versions.next().map(plain);
            given += usize::from(expected.is_some());
            assert_eq!(
                node["maxOpenShiftVersion"],
                json!(expected),
                "{}",
                bundle.name
            );
        }
    }
    assert_eq!(given, community.whole_or_part(550, 10));
}

#[test]
fn what_others_require_leads_back_to_them() {
    let community = community();
    let needs_api = |needs: &Bundle, of: &Bundle| {
        needs.values("olm.gvk.required").any(|required| {
            let [group, version, kind] = api(required);
            of.provided().any(|own| own == (group, version, kind))
        })
    };
    let needs_package = |needs: &Bundle, name: &str, version: Option<&str>| {
        needs.values("olm.package.required").any(|required| {
            let range = text(required, "versionRange").unwrap();
            text(required, "packageName") == Some(name)
                && version.is_none_or(|version| is_in(range, version))
        })
    };
    let names: BTreeSet<_> = ["olm.package.required", "olm.gvk.required"]
        .iter()
        .flat_map(|kind| {
            community
                .model
                .bundles
                .iter()
                .flat_map(|bundle| bundle.values(kind))
        })
        .filter_map(|value| text(value, "packageName").or_else(|| text(value, "group")))
        .collect();
    let is_needed = |bundle: &&Bundle| {
        names.contains(bundle.package) || bundle.provided().any(|(group, ..)| names.contains(group))
    };
    let mut chosen: Vec<_> = some(
        &community
            .model
            .bundles
            .iter()
            .filter(is_needed)
            .copied()
            .collect::<Vec<_>>(),
        60,
    );
    chosen.extend(some(&community.model.bundles, 20));
    let mut found_any = 0;
    for bundle in chosen {
        let variables = json!({ "package": bundle.package, "bundle": bundle.name });
        let data = served::data(&community.engine, NEEDED, &variables);
        let package = &community.model.packages[bundle.package];
        let by_package = community.bundles_where(|needs| {
            needs.package != bundle.package
                && (needs_package(needs, bundle.package, None)
                    || package.bundles.values().any(|own| needs_api(needs, own)))
        });
        assert_eq!(
            named(&data["package"]["requiredBy"]),
            by_package,
            "{}",
            bundle.package
        );
        let by_bundle = community.bundles_where(|needs| {
            needs.package != bundle.package
                && (needs_package(needs, bundle.package, Some(bundle.version()))
                    || needs_api(needs, &bundle))
        });
        assert_eq!(
            named(&data["package"]["bundle"]["requiredBy"]),
            by_bundle,
            "{}",
            bundle.name
        );
        found_any += usize::from(!by_bundle.is_empty());
    }
    assert!(found_any > 20, "{found_any}");
}

#[test]
fn upgrades_of_many_installed_bundles_are_those_of_each() {
    let community = community();
    let bundles = some(&community.model.bundles, 200);
    let installed: Vec<_> = bundles
        .iter()
        .map(|bundle| {
            let installed = json!({ "name": bundle.name, "version": bundle.version() });
            json!({ "packageName": bundle.package, "bundle": installed })
        })
        .collect();
    let edge = "toName channelNames reasons";
    let query = format!(
        "query($installed: [InstalledPackage!]!) {{ availableUpgrades(installed: $installed) {{ \
         index package {{ name }} bundle {{ name }} successors {{ {edge} }} deprecations {{ name }} }} }}"
    );
    let data = served::data(
        &community.engine,
        &query,
        &json!({ "installed": installed }),
    );
    let all = data["availableUpgrades"].as_array().expect("a list");
    assert_eq!(all.len(), 200);
    let one = format!(
        "query($package: String!, $of: InstalledBundle!) {{ \
         package(catalog: \"community\", name: $package) {{ successors(of: $of) {{ {edge} }} }} }}"
    );
    for (index, (bundle, found)) in bundles.iter().zip(all).enumerate() {
        let variables = json!({ "package": bundle.package, "of": installed[index]["bundle"] });
        let single = served::data(&community.engine, &one, &variables);
        let expected = json!({
            "index": index,
            "package": { "name": bundle.package },
            "bundle": { "name": bundle.name },
            "successors": single["package"]["successors"],
            "deprecations": [],
        });
        assert_eq!(*found, expected, "{}", bundle.name);
    }
}

//! Packages: tiles with their facets, details, and the two plain look-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::model::{Channel, Package};
use super::{assert_all_equal, community, display, take_nodes};

/// How many values of a facet are told when nobody says otherwise.
const FACET_VALUES: usize = 20;

#[test]
fn tiles_show_every_package_with_everything_on_a_tile() {
    let Some(community) = community() else { return };
    let mut pages = community.pages("Tiles", &json!({}), "/packages");
    let facets = facets(&community.model.packages.values().collect::<Vec<_>>());
    assert_eq!(pages.len(), 7);
    let mut nodes = Vec::new();
    for page in &mut pages {
        assert_eq!(page["totalCount"], 333);
        assert_eq!(page["facets"], facets);
        nodes.extend(take_nodes(page));
    }
    let ids: BTreeSet<String> = nodes.iter_mut().map(|node| take_id(node).to_string()).collect();
    assert_eq!(ids.len(), 333);
    let expected: Vec<_> = community.model.packages.values().map(tile).collect();
    assert_all_equal(&nodes, &expected, "tiles");
    // What the corpus has is what makes this test one of every kind of value.
    let (icons, levels) = (with(&nodes, "/icon/url"), with(&nodes, "/metadata/capabilityLevel"));
    assert_eq!((icons, levels, with(&nodes, "/metadata/infrastructureFeatures/0")), (331, 332, 69));
}

#[test]
fn tiles_of_a_category_are_those_that_are_in_it() {
    let Some(community) = community() else { return };
    let packages: Vec<_> = community.model.packages.values().collect();
    let known: BTreeSet<_> = packages.iter().flat_map(|package| categories(package)).collect();
    assert!(known.len() > 15, "{known:?}");
    let all_categories = facets(&packages)["categories"].clone();
    let mut wanted: Vec<Vec<&str>> = known.iter().map(|category| vec![*category]).collect();
    wanted.extend([vec!["Database", "Security"], vec!["Storage", "no such category"], vec!["no such category"]]);
    wanted.push(vec![]);
    for wanted in wanted {
        let is_in = |package: &&&Package| wanted.is_empty() || categories(package).iter().any(|of| wanted.contains(of));
        let found: Vec<_> = packages.iter().filter(is_in).copied().collect();
        let mut pages = community.pages("Tiles", &json!({ "categories": wanted }), "/packages");
        // The facet of the condition itself leaves the condition out.
        let mut facets = facets(&found);
        facets["categories"] = all_categories.clone();
        assert_eq!((&pages[0]["facets"], &pages[0]["totalCount"]), (&facets, &json!(found.len())), "{wanted:?}");
        let mut nodes: Vec<_> = pages.iter_mut().flat_map(take_nodes).collect();
        for node in &mut nodes {
            take_id(node);
        }
        assert_all_equal(&nodes, &found.into_iter().map(tile).collect::<Vec<_>>(), &format!("{wanted:?}"));
    }
}

#[test]
fn details_show_each_package_with_its_channels_and_their_entries() {
    let Some(community) = community() else { return };
    let (mut entries, mut moments) = (0, 0);
    for package in community.model.packages.values() {
        let answer = community.ask("Details", &json!({ "catalog": "community", "package": package.name }));
        let versioned = |name: &str| {
            let version = package.bundles.get(name).map(|bundle| json!({ "version": bundle.version() }));
            json!({ "name": name, "bundle": version })
        };
        let channel = |channel: &Channel| {
            entries += channel.entries.len();
            let entry = |entry: &Value| versioned(entry["name"].as_str().expect("an entry has a name"));
            json!({
                "name": channel.name,
                "isDefault": Some(channel.name) == package.text("defaultChannel"),
                "deprecation": null,
                "head": channel.head().map(versioned),
                "entries": channel.entries.iter().map(entry).collect::<Vec<_>>(),
            })
        };
        let expected = json!({
            "description": package.text("description"),
            "metadata": package.metadata().map(display::in_details),
            "defaultChannel": package.default_channel().map(|channel| json!({ "name": channel.name })),
            "channels": package.channels_in_order().iter().map(channel).collect::<Vec<_>>(),
        });
        assert_eq!(answer["package"]["metadata"], expected["metadata"], "{}", package.name);
        assert_eq!(answer["package"], expected, "{}", package.name);
        moments += usize::from(!answer["package"]["metadata"]["createdAt"].is_null());
    }
    assert_eq!((entries, moments), (10_011, 299));
    let none = community.ask("Details", &json!({ "catalog": "community", "package": "no-such-package" }));
    assert_eq!(none, json!({ "package": null }));
}

#[test]
fn the_list_of_packages_has_the_name_of_each() {
    let Some(community) = community() else { return };
    let nodes = community.nodes("ListPackages", &json!({ "catalog": "community" }), "/catalog/packages");
    let expected: Vec<_> = community.model.packages.keys().map(|name| json!({ "name": name })).collect();
    assert_all_equal(&nodes, &expected, "packages");
    let none = community.ask("ListPackages", &json!({ "catalog": "no-such-catalog" }));
    assert_eq!(none, json!({ "catalog": null }));
}

#[test]
fn each_package_is_looked_up_with_its_channels_and_their_heads() {
    let Some(community) = community() else { return };
    for package in community.model.packages.values() {
        let answer = community.ask("GetPackage", &json!({ "catalog": "community", "name": package.name }));
        let channel = |channel: &Channel| {
            let head = channel.head().map(|name| json!({ "name": name }));
            json!({ "name": channel.name, "head": head, "deprecation": null })
        };
        let expected = json!({
            "name": package.name,
            "defaultChannel": { "name": package.text("defaultChannel") },
            "deprecation": null,
            "channels": package.channels_in_order().iter().map(channel).collect::<Vec<_>>(),
        });
        assert_eq!(answer, json!({ "package": expected }));
    }
}

/// A tile without its id, which only the program knows.
fn tile(package: &Package) -> Value {
    let icon = &package.blob["icon"];
    let url = icon["base64data"].as_str().map(|data| {
        let image = STANDARD.decode(data).expect("icons of the corpus are base64");
        Sha256::digest(image).iter().fold("icons/".to_owned(), |mut url, byte| {
            write!(url, "{byte:02x}").expect("a string takes all text");
            url
        })
    });
    json!({
        "name": package.name,
        "catalog": { "name": "community" },
        "icon": url.map(|url| json!({ "url": url })),
        "deprecation": null,
        "metadata": package.metadata().map(display::on_tile),
    })
}

/// The facets of a tile page over these packages.
pub(super) fn facets(packages: &[&Package]) -> Value {
    let facet = |values: &dyn Fn(&'static Value) -> Vec<&'static str>| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for value in packages.iter().filter_map(|package| package.metadata()).flat_map(values) {
            *counts.entry(value).or_default() += 1;
        }
        display::facet(counts, FACET_VALUES)
    };
    json!({
        "categories": facet(&display::categories),
        "providers": facet(&|metadata| display::provider(metadata).map(display::short_name).into_iter().collect()),
        "capabilityLevels": facet(&|metadata| display::capability_level(metadata).into_iter().collect()),
        "installModes": facet(&|metadata| display::install_modes(metadata).into_iter().collect()),
    })
}

fn categories(package: &Package) -> Vec<&'static str> {
    package.metadata().map(display::categories).unwrap_or_default()
}

fn take_id(node: &mut Value) -> Value {
    node.as_object_mut().expect("a node is an object").remove("id").expect("it has an id")
}

/// How many nodes have something there.
fn with(nodes: &[Value], pointer: &str) -> usize {
    nodes.iter().filter(|node| node.pointer(pointer).is_some_and(|value| !value.is_null())).count()
}

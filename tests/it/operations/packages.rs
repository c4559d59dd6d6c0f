//! Packages: tiles with their facets, details, and the two plain look-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::model::{Bundle, Channel, Package, text};
use super::{assert_all_equal, community, display, take_nodes};

/// How many values of a facet are told when nobody says otherwise.
const FACET_VALUES: usize = 20;

#[test]
fn tiles_show_every_package_with_everything_on_a_tile() {
    let community = community();
    let mut pages = community.pages("Tiles", &json!({}), "/packages");
    let facets = facets(&community.model.packages.values().collect::<Vec<_>>());
    let all = community.whole_or_part(333, 30);
    assert_eq!(pages.len(), community.whole_or_part(6, 1));
    let mut nodes = Vec::new();
    for page in &mut pages {
        assert_eq!(page["totalCount"], all);
        assert_eq!(counted(&page["facets"]), facets);
        nodes.extend(take_nodes(page));
    }
    let ids: BTreeSet<String> = nodes.iter().map(|node| node["id"].to_string()).collect();
    assert_eq!(ids.len(), all);
    nodes.iter_mut().for_each(take_ids);
    let expected: Vec<_> = community.model.packages.values().map(tile).collect();
    assert_all_equal(&nodes, &expected, "tiles");
    // What the corpus has is what makes this test one of every kind of value.
    let icons = with(&nodes, "/icon/url");
    let versions = with(&nodes, "/latest/version");
    assert_eq!(
        (
            icons,
            versions,
            with(&nodes, "/metadata/provider/shortName")
        ),
        community.whole_or_part((331, 333, 333), (29, 30, 30))
    );
}

#[test]
fn tiles_of_a_category_are_those_that_are_in_it() {
    let community = community();
    let packages: Vec<_> = community.model.packages.values().collect();
    let known: BTreeSet<_> = packages
        .iter()
        .flat_map(|package| categories(package))
        .collect();
    assert!(known.len() > community.whole_or_part(15, 10), "{known:?}");
    let all_categories = facets(&packages)["categories"].clone();
    let mut wanted: Vec<Vec<&str>> = known.iter().map(|category| vec![*category]).collect();
    wanted.extend([
        vec!["Database", "Security"],
        vec!["Storage", "no such category"],
        vec!["no such category"],
    ]);
    wanted.push(vec![]);
    for wanted in wanted {
        let is_in = |package: &&&Package| {
            wanted.is_empty() || categories(package).iter().any(|of| wanted.contains(of))
        };
        let found: Vec<_> = packages.iter().filter(is_in).copied().collect();
        let mut pages = community.pages(
            "Tiles",
            &json!({ "filter": { "categories": wanted } }),
            "/packages",
        );
        // The facet of the condition itself leaves the condition out.
        let mut facets = facets(&found);
        facets["categories"] = all_categories.clone();
        assert_eq!(
            (counted(&pages[0]["facets"]), &pages[0]["totalCount"]),
            (facets, &json!(found.len())),
            "{wanted:?}"
        );
        let mut nodes: Vec<_> = pages.iter_mut().flat_map(take_nodes).collect();
        nodes.iter_mut().for_each(take_ids);
        assert_all_equal(
            &nodes,
            &found.into_iter().map(tile).collect::<Vec<_>>(),
            &format!("{wanted:?}"),
        );
    }
}

#[test]
fn details_show_each_package_with_its_latest_bundle_and_its_channels() {
    let community = community();
    let mut entries = 0;
    let mut moments = 0;
    for package in community.model.packages.values() {
        let mut answer = community.ask(
            "Details",
            &json!({ "catalog": "community", "package": package.name }),
        );
        let details = &mut answer["package"];
        take_ids(details);
        let channel = |channel: &Channel| {
            entries += channel.entries.len();
            let head = channel.head().map(|name| {
                let bundle = package.bundles.get(name);
                json!({ "bundle": bundle.map(|bundle| json!({ "name": name, "version": bundle.version() })) })
            });
            json!({
                "name": channel.name,
                "isDefault": Some(channel.name) == package.text("defaultChannel"),
                "entryCount": channel.entries.len(),
                "deprecation": null,
                "head": head,
            })
        };
        // The order of the heads is that of `orders.rs`.
        let by_name = |channels: &mut Value| {
            let channels = channels.as_array_mut().expect("a list");
            channels.sort_by_key(|channel| channel["name"].as_str().map(str::to_owned));
        };
        let mut channels = package
            .channels_in_order()
            .iter()
            .map(channel)
            .collect::<Value>();
        by_name(&mut channels);
        by_name(&mut details["channels"]);
        assert_eq!(details["channels"], channels, "{}", package.name);
        let head = package
            .default_channel()
            .and_then(|channel| package.bundles.get(channel.head()?));
        let latest = details["latest"].take();
        assert_eq!(
            latest["metadata"],
            head.map_or(Value::Null, display::in_details),
            "{}",
            package.name
        );
        assert_eq!(latest["name"].as_str(), head.map(|head| head.name));
        assert_eq!(latest["image"].as_str(), head.map(Bundle::image));
        assert_eq!(details["description"].as_str(), package.text("description"));
        assert_eq!(details["icon"], icon(package));
        let default_channel = package
            .default_channel()
            .map(|channel| json!({ "name": channel.name }));
        assert_eq!(details["defaultChannel"], json!(default_channel));
        moments += usize::from(!latest["metadata"]["createdAt"].is_null());
    }
    assert_eq!(
        (entries, moments),
        community.whole_or_part((10_011, 299), (253, 21))
    );
    let none = community.ask(
        "Details",
        &json!({ "catalog": "community", "package": "no-such-package" }),
    );
    assert_eq!(none, json!({ "package": null }));
}

#[test]
fn the_list_of_packages_has_the_name_of_each() {
    let community = community();
    let nodes = community.nodes(
        "ListPackages",
        &json!({ "catalog": "community" }),
        "/catalog/packages",
    );
    let expected: Vec<_> = community
        .model
        .packages
        .keys()
        .map(|name| json!({ "name": name }))
        .collect();
    assert_all_equal(&nodes, &expected, "packages");
    let none = community.ask("ListPackages", &json!({ "catalog": "no-such-catalog" }));
    assert_eq!(none, json!({ "catalog": null }));
}

#[test]
fn each_package_is_looked_up_with_its_channels_and_their_heads() {
    let community = community();
    for package in community.model.packages.values() {
        let answer = community.ask(
            "GetPackage",
            &json!({ "catalog": "community", "name": package.name }),
        );
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

/// A tile without its ids, which only the program knows.
fn tile(package: &Package) -> Value {
    let head = package
        .default_channel()
        .and_then(|channel| package.bundles.get(channel.head()?));
    let metadata = package.metadata();
    let provider = metadata
        .and_then(display::provider)
        .map(|name| json!({ "shortName": display::short_name(name) }));
    json!({
        "name": package.name,
        "displayName": metadata.and_then(|metadata| text(metadata, "displayName")).unwrap_or(package.name),
        "catalog": { "displayName": "community" },
        "icon": icon(package),
        "latest": head.map(|head| json!({ "version": head.version() })),
        "deprecation": null,
        "metadata": metadata.map(|_| json!({ "provider": provider })),
    })
}

fn icon(package: &Package) -> Value {
    let Some(data) = package.blob["icon"]["base64data"].as_str() else {
        return Value::Null;
    };
    let image = STANDARD
        .decode(data)
        .expect("icons of the corpus are base64");
    let url = Sha256::digest(image)
        .iter()
        .fold("icons/".to_owned(), |mut url, byte| {
            write!(url, "{byte:02x}").expect("a string takes all text");
            url
        });
    json!({ "url": url })
}

/// The facets of a page with the values that are filtered by, after a look at what is shown in
/// their place.
pub(super) fn counted(facets: &Value) -> Value {
    let mut counted = facets.clone();
    for (name, values) in counted.as_object_mut().expect("an object") {
        for value in values.as_array_mut().expect("a list") {
            let shown = value
                .as_object_mut()
                .and_then(|value| value.remove("displayName"))
                .expect("it is there");
            if !["capabilityLevels", "installModes"].contains(&name.as_str()) {
                assert_eq!(shown, value["value"], "{name}");
            }
        }
    }
    counted
}

/// The facets of a tile page over these packages.
pub(super) fn facets(packages: &[&Package]) -> Value {
    let facet = |values: &dyn Fn(&'static Value) -> Vec<&'static str>| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for value in packages
            .iter()
            .filter_map(|package| package.metadata())
            .flat_map(values)
        {
            *counts.entry(value).or_default() += 1;
        }
        display::facet(counts, FACET_VALUES)
    };
    let found = if packages.is_empty() {
        json!([])
    } else {
        json!([{ "value": "community", "count": packages.len() }])
    };
    json!({
        "catalogs": found,
        "architectures": architectures(packages),
        "categories": facet(&display::categories),
        "providers": facet(&|metadata| display::provider(metadata).map(display::short_name).into_iter().collect()),
        "capabilityLevels": facet(&|metadata| display::capability_level(metadata).into_iter().collect()),
        "installModes": facet(&|metadata| display::install_modes(metadata).into_iter().collect()),
    })
}

fn categories(package: &Package) -> Vec<&'static str> {
    package
        .metadata()
        .map(display::categories)
        .unwrap_or_default()
}

fn architectures(packages: &[&Package]) -> Value {
    let supported: Vec<_> = packages
        .iter()
        .filter_map(|package| package.metadata())
        .flat_map(|metadata| display::supported(metadata, "arch", "amd64"))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &supported {
        *counts.entry(name).or_default() += 1;
    }
    display::facet(counts, FACET_VALUES)
}

/// Removes ids, and summaries, which `metadata.rs` judges.
fn take_ids(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(take_ids),
        Value::Object(members) => {
            members.remove("id");
            members.remove("summary");
            members.values_mut().for_each(take_ids);
        }
        _ => {}
    }
}

/// How many nodes have something there.
fn with(nodes: &[Value], pointer: &str) -> usize {
    nodes
        .iter()
        .filter(|node| node.pointer(pointer).is_some_and(|value| !value.is_null()))
        .count()
}

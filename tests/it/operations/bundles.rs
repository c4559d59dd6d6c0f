//! Bundles: by name, by image, by what they provide, all of them, and their properties; and the
//! blobs as they are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::model::{Bundle, Channel, text};
use super::{Community, assert_all_equal, community, some};

#[test]
fn each_bundle_is_looked_up_by_its_name_and_some_by_their_image() {
    let community = community();
    let bundles = &community.model.bundles;
    assert_eq!(bundles.len(), community.whole_or_part(6_475, 205));
    for bundle in bundles {
        let name =
            json!({ "catalog": "community", "package": bundle.package, "bundle": bundle.name });
        let expected = json!({ "bundle": community.whole(bundle) });
        assert_eq!(
            community.ask("GetBundle", &name),
            expected,
            "{}",
            bundle.name
        );
    }
    for bundle in some(bundles, 500) {
        let expected = json!({ "bundle": community.whole(&bundle) });
        let found = community.with_images(&[bundle.image()]);
        assert!(
            found
                .as_array()
                .expect("a list")
                .contains(&expected["bundle"]),
            "{}",
            bundle.image()
        );
    }
    assert_eq!(
        community.with_images(&["registry.example/no/such:image"]),
        json!([])
    );
}

#[test]
fn bundles_that_provide_an_api_are_found_in_any_version_of_it_and_in_one() {
    let community = community();
    let mut providers: BTreeMap<(&str, Option<&str>, &str), Vec<Bundle>> = BTreeMap::new();
    for bundle in &community.model.bundles {
        let provided = bundle.provided().flat_map(|(group, version, kind)| {
            [None, Some(version)].map(|version| (group, version, kind))
        });
        for api in provided.collect::<BTreeSet<_>>() {
            providers.entry(api).or_default().push(*bundle);
        }
    }
    let apis: Vec<_> = providers
        .keys()
        .filter(|(_, version, _)| version.is_some())
        .copied()
        .collect();
    assert_eq!(apis.len(), community.whole_or_part(1_683, 121));
    for (group, version, kind) in some(&apis, 200) {
        for version in [version, None] {
            let gvk = json!({ "group": group, "version": version, "kind": kind });
            community.assert_provided(&gvk, &providers[&(group, version, kind)]);
        }
    }
    community.assert_provided(&json!({ "group": "no.such.group", "kind": "Nothing" }), &[]);
    community.assert_provided(
        &json!({ "group": apis[0].0, "version": "v0", "kind": apis[0].2 }),
        &[],
    );
}

#[test]
fn bundles_are_listed_over_all_pages_of_one_content_and_of_no_other() {
    let community = community();
    let query = "{ catalog(name: \"community\") { digest } }";
    let digest = crate::served::data(&community.engine, query, &Value::Null);
    let digest = &digest["catalog"]["digest"];
    let variables = json!({ "catalog": "community", "digest": digest });
    let nodes = community.nodes("ListBundles", &variables, "/catalog/bundles");
    let listed = |bundle: &Bundle| {
        let mut whole = community.whole(bundle);
        let members = whole.as_object_mut().expect("a bundle is an object");
        members.retain(|member, _| {
            !["providedApis", "requiredApis", "requiredPackages"].contains(&member.as_str())
        });
        whole
    };
    let expected: Vec<_> = community.model.bundles.iter().map(listed).collect();
    assert_all_equal(&nodes, &expected, "bundles");

    let other = format!("sha256:{}", "0".repeat(64));
    let answer = community.answer(
        "ListBundles",
        json!({ "catalog": "community", "digest": other }),
    );
    assert_eq!(answer["data"], json!({ "catalog": null }));
    assert_eq!(answer["errors"][0]["extensions"]["code"], "CATALOG_CHANGED");
}

#[test]
fn blobs_of_a_schema_come_as_they_are_in_the_files() {
    let community = community();
    let node = |blob: &Value| json!({ "packageName": blob.get("package"), "name": blob.get("name"), "blob": blob });
    let blobs = || community.model.blobs.iter();
    for schema in ["olm.package", "olm.channel", "no.such.schema"] {
        let nodes = community.nodes("CustomSchemas", &json!({ "schema": schema }), "/metas");
        let expected: Vec<_> = blobs()
            .filter(|blob| blob["schema"] == schema)
            .map(node)
            .collect();
        assert_all_equal(&nodes, &expected, schema);
    }
    for package in some(&community.model.packages.keys().collect::<Vec<_>>(), 30) {
        let variables = json!({ "schema": "olm.bundle", "package": package });
        let nodes = community.nodes("CustomSchemas", &variables, "/metas");
        let expected =
            blobs().filter(|blob| blob["schema"] == "olm.bundle" && blob["package"] == **package);
        assert_all_equal(&nodes, &expected.map(node).collect::<Vec<_>>(), package);
    }
}

#[test]
fn properties_come_as_they_are_and_with_what_they_mean() {
    let community = community();
    let bundles = &community.model.bundles;
    // Rare types besides those that any bundle has.
    let is_rare = |bundle: &&Bundle| {
        ["olm.constraint", "olm.package.required", "olm.gvk.required"]
            .iter()
            .any(|rare| bundle.values(rare).next().is_some())
    };
    let mut chosen: Vec<_> = bundles.iter().filter(is_rare).copied().collect();
    chosen.extend(some(bundles, 300));
    let mut seen = BTreeSet::new();
    for bundle in chosen {
        let name =
            json!({ "catalog": "community", "package": bundle.package, "bundle": bundle.name });
        let answer = community.ask("Properties", &name);
        let expected: Vec<_> = bundle.properties().iter().map(property).collect();
        assert_eq!(
            answer,
            json!({ "bundle": { "properties": expected } }),
            "{}",
            bundle.name
        );
        seen.extend(
            bundle
                .properties()
                .iter()
                .map(|property| property["type"].to_string()),
        );
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
}

impl Community {
    /// The bundles with one of these images, as `GetBundle` selects them.
    fn with_images(&self, images: &[&str]) -> Value {
        let selection = super::OPERATIONS
            .split("query GetBundle")
            .nth(1)
            .expect("there is such an operation");
        let selection = selection
            .split_once("bundle(")
            .expect("it has one field")
            .1
            .split_once('{')
            .expect("with fields")
            .1;
        let selection = &selection[..selection.find("\n  }").expect("the fields end")];
        let query = format!(
            "query($images: [String!]) {{ bundles(filter: {{images: $images}}, first: 500) {{ nodes {{ {selection} }} }} }}"
        );
        crate::served::data(&self.engine, &query, &json!({ "images": images }))["bundles"]["nodes"]
            .take()
    }

    /// All that is asked of a bundle.
    fn whole(&self, bundle: &Bundle) -> Value {
        let places = self.model.packages[bundle.package].places(bundle.name);
        let place = |(channel, entry): &(Channel, &Value)| {
            json!({
                "channel": { "name": channel.name },
                "replaces": entry["replaces"],
                "skips": entry.get("skips").unwrap_or(&json!([])),
                "skipRange": entry["skipRange"],
            })
        };
        let packages = bundle.values("olm.package.required").cloned();
        json!({
            "name": bundle.name,
            "version": bundle.version(),
            "image": bundle.image(),
            "providedApis": bundle.values("olm.gvk").map(api).collect::<Vec<_>>(),
            "requiredApis": bundle.values("olm.gvk.required").map(api).collect::<Vec<_>>(),
            "requiredPackages": packages.collect::<Vec<_>>(),
            "properties": bundle.properties(),
            "channelEntries": places.iter().map(place).collect::<Vec<_>>(),
        })
    }

    /// Asserts that just these bundles provide an API, and of those at the head of a channel just
    /// these as well.
    #[track_caller]
    fn assert_provided(&self, gvk: &Value, by: &[Bundle]) {
        let node = |bundle: &Bundle| {
            let package = &self.model.packages[bundle.package];
            let places = package.places(bundle.name);
            let place = |(channel, entry): &(Channel, &Value)| json!({ "channel": { "name": channel.name }, "replaces": entry["replaces"] });
            json!({
                "name": bundle.name,
                "package": { "name": package.name, "defaultChannel": { "name": package.text("defaultChannel") } },
                "channelEntries": places.iter().map(place).collect::<Vec<_>>(),
            })
        };
        let is_head = |bundle: &&Bundle| {
            self.model.packages[bundle.package]
                .heads
                .contains(bundle.name)
        };
        let heads: Vec<_> = by.iter().filter(is_head).map(node).collect();
        for (latest, expected) in [(None, by.iter().map(node).collect()), (Some(true), heads)] {
            let mut pages = self.pages(
                "Providers",
                &json!({ "gvk": gvk, "latest": latest }),
                "/bundles",
            );
            assert!(
                pages
                    .iter()
                    .all(|page| page["totalCount"] == expected.len()),
                "{gvk} {latest:?}"
            );
            let nodes: Vec<_> = pages.iter_mut().flat_map(super::take_nodes).collect();
            assert_all_equal(&nodes, &expected, &format!("{gvk} {latest:?}"));
        }
    }
}

/// An API in the order and with the members of the schema.
fn api(value: &'static Value) -> Value {
    let part = |member| text(value, member).unwrap_or_default();
    json!({ "group": part("group"), "version": part("version"), "kind": part("kind") })
}

/// A property, raw and with what its type means.
fn property(property: &'static Value) -> Value {
    let of = &property["type"];
    let value = &property["value"];
    let mut expected = json!({ "type": of, "value": value });
    match of.as_str().expect("a property has a type") {
        "olm.package" => {
            expected["packageName"] = value["packageName"].clone();
            expected["version"] = value["version"].clone();
            expected["release"] = value["release"].clone();
        }
        "olm.gvk" | "olm.gvk.required" => expected["gvk"] = api(value),
        "olm.package.required" => expected["requirement"] = value.clone(),
        "olm.maxOpenShiftVersion" => expected["maximum"] = value.clone(),
        "olm.constraint" => expected["constraint"] = constraint(value),
        _ => {}
    }
    expected
}

/// A constraint that asks for any of some packages, which is all that the corpus has.
fn constraint(value: &'static Value) -> Value {
    let any = value["any"]["constraints"]
        .as_array()
        .expect("the constraints of the corpus are of this kind");
    let any = any
        .iter()
        .map(|one| json!({ "gvk": one["gvk"], "package": one["package"] }));
    json!({ "failureMessage": value["failureMessage"], "any": any.collect::<Vec<_>>() })
}

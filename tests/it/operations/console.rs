//! The two pages of a console, tiles and a package, each in one request: what they hold, and how
//! large they are.

use serde_json::{Map, Value, json};

use super::model::text;
use super::{Community, OPERATIONS, community, display};

/// Bytes of the same tile page before the schema had fields for it: with long descriptions, labels
/// and all catalogs.
const TILES_BEFORE: usize = 117_916;

/// Number of tiles of that page.
const TILES: usize = 60;

/// Bytes of the page of `project-quay` before: with all entries, and problems through the catalog.
const PACKAGE_BEFORE: usize = 14_486;

/// Maximum number of bytes of the page of `cert-manager`.
const PACKAGE_OF_PART: usize = 7_200;

impl Community {
    /// The body of the answer to one of the operations.
    fn body(&self, operation: &str, variables: Value) -> String {
        let Value::Object(variables) = variables else {
            panic!("variables are an object")
        };
        let variables: Option<Map<String, Value>> = Some(variables);
        let operation_name = Some(operation.into());
        let query = Some(OPERATIONS.into());
        let request = graphql::Request {
            query,
            operation_name,
            variables,
            ..graphql::Request::default()
        };
        String::from_utf8(self.engine.execute(&request).body).expect("an answer is UTF-8")
    }
}

#[test]
fn a_page_of_tiles_has_at_most_half_the_bytes_that_it_had() {
    let community = community();
    let body = community.body("Tiles", json!({}));
    println!("{} bytes of tiles", body.len());
    let tiles = community.whole_or_part(TILES, community.model.packages.len());
    let before = TILES_BEFORE * tiles / TILES;
    assert!(2 * body.len() <= before, "{} bytes", body.len());
    let answer: Value = body.parse().expect("an answer is JSON");
    let nodes = answer["data"]["packages"]["nodes"]
        .as_array()
        .expect("a list");
    assert_eq!(nodes.len(), tiles);
    for (package, node) in community.model.packages.values().zip(nodes) {
        let metadata = package
            .metadata()
            .expect("packages of the corpus have metadata");
        let head = package.default_channel().and_then(|channel| channel.head());
        let expected = json!({
            "name": package.name,
            "displayName": text(metadata, "displayName").unwrap_or(package.name),
            "version": head.and_then(|name| package.bundles.get(name)).map(super::model::Bundle::version),
            "provider": display::provider(metadata).map(display::short_name),
        });
        let shown = json!({
            "name": node["name"],
            "displayName": node["displayName"],
            "version": node["latest"]["version"],
            "provider": node["metadata"]["provider"]["shortName"],
        });
        assert_eq!(shown, expected);
        assert!(
            node["summary"]
                .as_str()
                .is_none_or(|summary| summary.chars().count() <= 300),
            "{}",
            package.name
        );
    }
}

#[test]
fn the_page_of_a_package_has_at_most_half_the_bytes_that_it_had() {
    let community = community();
    let (name, most) = community.whole_or_part(
        ("project-quay", PACKAGE_BEFORE / 2),
        ("cert-manager", PACKAGE_OF_PART),
    );
    let body = community.body(
        "Details",
        json!({ "catalog": "community", "package": name }),
    );
    println!("{} bytes of {name}", body.len());
    assert!(body.len() <= most, "{} bytes", body.len());
    let answer: Value = body.parse().expect("an answer is JSON");
    let package = &community.model.packages[name];
    let channels = answer["data"]["package"]["channels"]
        .as_array()
        .expect("a list");
    assert_eq!(channels.len(), package.channels.len());
    for channel in channels {
        let name = channel["name"].as_str().expect("a text");
        let known = package.channels[name];
        assert_eq!(channel["entryCount"], known.entries.len());
        assert_eq!(channel["head"]["bundle"]["name"].as_str(), known.head());
    }
    assert_eq!(
        answer["data"]["package"]["latest"]["channelNames"]
            .as_array()
            .map(Vec::is_empty),
        Some(false)
    );
}

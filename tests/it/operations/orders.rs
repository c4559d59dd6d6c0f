//! Orders of packages, bundles and channels over the whole catalog, against sorting by what the
//! files say.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::model::{Channel, Package, compare_versions, text};
use super::{Community, community, display};

impl Community {
    /// The nodes of a connection at the root in an order, each by what identifies it, over all its
    /// pages.
    fn in_order(&self, connection: &str, order: &str, selection: &str) -> Vec<Value> {
        let query = format!(
            "query($after: String) {{ {connection}(orderBy: {order}, first: 500, after: $after) {{ \
             pageInfo {{ hasNextPage endCursor }} nodes {{ {selection} }} }} }}"
        );
        let mut nodes = Vec::new();
        let mut after = Value::Null;
        loop {
            let mut data = crate::served::data(&self.engine, &query, &json!({ "after": after }));
            let page = data[connection].take();
            nodes.extend(page["nodes"].as_array().expect("a list").iter().cloned());
            if page["pageInfo"]["hasNextPage"] == false {
                return nodes;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    }

    fn names(&self, connection: &str, order: &str) -> Vec<String> {
        let nodes = self.in_order(connection, order, "name");
        nodes
            .iter()
            .map(|node| node["name"].as_str().expect("a text").to_owned())
            .collect()
    }
}

/// What a display name is ordered by: its words in lower case.
fn folded(package: &Package) -> String {
    let shown = package
        .metadata()
        .and_then(|metadata| text(metadata, "displayName"))
        .unwrap_or(package.name);
    assert!(
        shown.is_ascii() || shown.contains(['®', '™', '–', '’']),
        "{shown}"
    );
    let words = shown.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '™');
    let words: Vec<_> = words
        .filter(|word| !word.is_empty())
        .map(|word| word.replace('™', "tm").to_lowercase())
        .collect();
    words.join(" ")
}

#[test]
fn packages_are_ordered_by_display_name_level_and_creation() {
    let community = community();
    let by = |order: &dyn Fn(&Package) -> Option<String>| {
        let mut packages: Vec<_> = community.model.packages.values().collect();
        packages.sort_by_key(|package| (order(package).is_none(), order(package)));
        packages
            .iter()
            .map(|package| package.name.to_owned())
            .collect::<Vec<_>>()
    };
    let by_name = by(&|package| Some(folded(package)));
    assert_eq!(
        community.names("packages", "{field: DISPLAY_NAME}"),
        by_name
    );
    let levels = [
        "BASIC_INSTALL",
        "SEAMLESS_UPGRADES",
        "FULL_LIFECYCLE",
        "DEEP_INSIGHTS",
        "AUTO_PILOT",
    ];
    let by_level = by(&|package| {
        let level = display::capability_level(package.metadata()?)?;
        levels
            .iter()
            .position(|known| *known == level)
            .map(|at| at.to_string())
    });
    assert_eq!(
        community.names("packages", "{field: CAPABILITY_LEVEL}"),
        by_level
    );
    let by_creation =
        by(&|package| display::created_at(package.metadata()?).map(|at| at.to_string()));
    assert_eq!(
        community.names("packages", "{field: CREATED_AT}"),
        by_creation
    );
}

#[test]
fn bundles_are_ordered_by_creation() {
    let community = community();
    let nodes = community.in_order(
        "bundles",
        "{field: CREATED_AT}",
        "name package { name } metadata { createdAt }",
    );
    let key = |node: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let created_at = text(&node["metadata"]["createdAt"])
            .map(|at| at.parse::<jiff::Timestamp>().expect("a time"));
        (
            created_at.is_none(),
            created_at.map(Reverse),
            text(&node["package"]["name"]),
            text(&node["name"]),
        )
    };
    assert_eq!(nodes.len(), community.whole_or_part(6_475, 205));
    assert!(nodes.is_sorted_by_key(key));
    assert!(
        nodes
            .iter()
            .filter(|node| node["metadata"]["createdAt"].is_null())
            .count()
            < community.whole_or_part(1_000, 30)
    );
}

#[test]
fn channels_are_ordered_by_name_and_by_version_of_their_head() {
    let community = community();
    let query = "query($package: String!, $order: ChannelOrder) {
        package(catalog: \"community\", name: $package) { channels(orderBy: $order) { name } }
    }";
    let mut moved = 0;
    for package in community.model.packages.values() {
        let names = |order: Value| {
            let variables = json!({ "package": package.name, "order": order });
            let mut data = crate::served::data(&community.engine, query, &variables);
            let channels = data["package"]["channels"].take();
            let name = |channel: &Value| channel["name"].as_str().expect("a text").to_owned();
            channels
                .as_array()
                .expect("a list")
                .iter()
                .map(name)
                .collect::<Vec<_>>()
        };
        let by_number: Vec<_> = package
            .channels_in_order()
            .iter()
            .map(|channel| channel.name.to_owned())
            .collect();
        assert_eq!(names(Value::Null), by_number, "{}", package.name);
        moved += usize::from(!by_number.is_sorted());
        let version = |channel: &Channel| Some(package.bundles.get(channel.head()?)?.version());
        let mut channels: Vec<_> = package
            .channels
            .values()
            .map(|channel| (version(channel), channel.name))
            .collect();
        channels.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) => compare_versions(b, a),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        let by_head: Vec<_> = channels
            .into_iter()
            .map(|(_, name)| name.to_owned())
            .collect();
        assert_eq!(
            names(json!({ "field": "HEAD_VERSION", "direction": "DESC" })),
            by_head,
            "{}",
            package.name
        );
    }
    assert!(moved >= community.whole_or_part(6, 0), "{moved}");
}

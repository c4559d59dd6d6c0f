//! Lists over many catalogs: they are those of each catalog, sorted, whatever the catalogs have in
//! common and whichever of them are hidden.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fastrand::Rng;
use fbc::BundleKey;
use serde_json::{Value, json};
use serving::{CatalogMetadata, Served, Visibility};

use super::fixture::{ask, ask_with, data, publish, served};
use crate::Engine;
use crate::limits::Limits;
use crate::opaque_key::{KeyTag, OpaqueKey};

const SEEDS: u64 = 12;

const CATALOGS: u8 = 9;

const KEYWORDS: [&str; 4] = ["store", "Étoile", "backup", "queue"];

/// Compares the parts of two sort keys.
type CompareKeys = fn(&[Option<String>], &[Option<String>]) -> Ordering;

/// An order of a connection, as its cursors have it.
struct Listed {
    connection: &'static str,
    order: &'static str,
    tag: KeyTag,
    compare: CompareKeys,
}

/// An item of a list: its sort key, its cursor and what was selected of it.
#[derive(Clone, Debug, PartialEq)]
struct ListedItem {
    key: Vec<Option<String>>,
    edge: Value,
}

fn orders() -> Vec<Listed> {
    fn number(text: &str) -> i64 {
        text.parse().unwrap()
    }
    /// Present values first, in a direction.
    fn present<T: Ord>(a: Option<T>, b: Option<T>, descending: bool) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if descending => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }
    fn by_number(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        let value = |key: &[Option<String>]| key[0].as_deref().map(number);
        present(value(a), value(b), false).then_with(|| a[1..].cmp(&b[1..]))
    }
    fn by_number_descending(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        let value = |key: &[Option<String>]| key[0].as_deref().map(number);
        present(value(a), value(b), true).then_with(|| a[1..].cmp(&b[1..]))
    }
    fn by_text(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        present(a[0].as_ref(), b[0].as_ref(), false).then_with(|| a[1..].cmp(&b[1..]))
    }
    fn by_text_descending(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        present(a[0].as_ref(), b[0].as_ref(), true).then_with(|| a[1..].cmp(&b[1..]))
    }
    fn by_name(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        a[1..].cmp(&b[1..])
    }
    fn by_name_descending(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        b[1].cmp(&a[1]).then_with(|| a[2].cmp(&b[2]))
    }
    fn version(key: &[Option<String>]) -> BundleKey<'_> {
        let text = |at: usize| key[at].as_deref();
        BundleKey::new(text(0).unwrap(), text(1), text(2), text(3).unwrap())
    }
    fn by_version(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        let [one, other] = [version(a), version(b)];
        let versions = match (&one.version, &other.version) {
            (Some(a), Some(b)) => a.precedence(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        versions.then_with(|| [&a[0], &a[3], &a[4]].cmp(&[&b[0], &b[3], &b[4]]))
    }
    fn by_version_descending(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        let [one, other] = [version(a), version(b)];
        let versions = match (&one.version, &other.version) {
            (Some(a), Some(b)) => b.precedence(a),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        versions.then_with(|| [&a[0], &a[3], &a[4]].cmp(&[&b[0], &b[3], &b[4]]))
    }
    fn by_package(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        version(a).order(&version(b)).then_with(|| a[4].cmp(&b[4]))
    }
    fn by_bundle(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        [&a[3], &a[0], &a[4]].cmp(&[&b[3], &b[0], &b[4]])
    }
    fn by_bundle_descending(a: &[Option<String>], b: &[Option<String>]) -> Ordering {
        b[3].cmp(&a[3])
            .then_with(|| [&a[0], &a[4]].cmp(&[&b[0], &b[4]]))
    }
    let listed = |connection, order, tag, compare| Listed {
        connection,
        order,
        tag,
        compare,
    };
    vec![
        listed("packages", "", KeyTag::PACKAGES_BY_NAME[0], by_name),
        listed(
            "packages",
            "{field: NAME, direction: DESC}",
            KeyTag::PACKAGES_BY_NAME[1],
            by_name_descending,
        ),
        listed(
            "packages",
            "{field: RELEVANCE}",
            KeyTag::PACKAGES_BY_RELEVANCE[0],
            by_number,
        ),
        listed(
            "packages",
            "{field: RELEVANCE, direction: DESC}",
            KeyTag::PACKAGES_BY_RELEVANCE[1],
            by_number_descending,
        ),
        listed(
            "packages",
            "{field: DISPLAY_NAME}",
            KeyTag::PACKAGES_BY_DISPLAY_NAME[0],
            by_text,
        ),
        listed(
            "packages",
            "{field: DISPLAY_NAME, direction: DESC}",
            KeyTag::PACKAGES_BY_DISPLAY_NAME[1],
            by_text_descending,
        ),
        listed(
            "packages",
            "{field: CREATED_AT}",
            KeyTag::PACKAGES_BY_CREATION[0],
            by_number,
        ),
        listed(
            "packages",
            "{field: CREATED_AT, direction: DESC}",
            KeyTag::PACKAGES_BY_CREATION[1],
            by_number_descending,
        ),
        listed(
            "packages",
            "{field: CAPABILITY_LEVEL}",
            KeyTag::PACKAGES_BY_CAPABILITY_LEVEL[0],
            by_number,
        ),
        listed(
            "packages",
            "{field: CAPABILITY_LEVEL, direction: DESC}",
            KeyTag::PACKAGES_BY_CAPABILITY_LEVEL[1],
            by_number_descending,
        ),
        listed("bundles", "", KeyTag::BUNDLES, by_package),
        listed(
            "bundles",
            "{field: VERSION, direction: ASC}",
            KeyTag::BUNDLES_BY_VERSION[0],
            by_version,
        ),
        listed(
            "bundles",
            "{field: VERSION, direction: DESC}",
            KeyTag::BUNDLES_BY_VERSION[1],
            by_version_descending,
        ),
        listed(
            "bundles",
            "{field: NAME, direction: ASC}",
            KeyTag::BUNDLES_BY_NAME[0],
            by_bundle,
        ),
        listed(
            "bundles",
            "{field: NAME, direction: DESC}",
            KeyTag::BUNDLES_BY_NAME[1],
            by_bundle_descending,
        ),
        listed(
            "bundles",
            "{field: CREATED_AT, direction: ASC}",
            KeyTag::BUNDLES_BY_CREATION[0],
            by_number,
        ),
        listed(
            "bundles",
            "{field: CREATED_AT, direction: DESC}",
            KeyTag::BUNDLES_BY_CREATION[1],
            by_number_descending,
        ),
    ]
}

/// Filters of a connection; the empty one is none.
fn filters(connection: &str) -> &'static [&'static str] {
    if connection == "packages" {
        &[
            "",
            "{search: \"store\"}",
            "{search: \"bakcup\"}",
            "{keywords: [\"queue\", \"Étoile\"]}",
            "{deprecated: false}",
            "{names: [\"p1\", \"p4\", \"none\"]}",
            "{problemSeverity: WARNING}",
        ]
    } else {
        &[
            "",
            "{versionRange: \">=1.0.0\"}",
            "{names: [\"b1\", \"b4\"]}",
            "{deprecated: false}",
        ]
    }
}

/// Lines whose packages and bundles have equal names, display names, levels, versions and times, or
/// none.
fn lines(random: &mut Rng) -> Vec<String> {
    let mut lines = Vec::new();
    for package in 0..6 {
        if random.u8(..3) == 0 {
            continue;
        }
        let name = format!("p{package}");
        lines.push(json!({"name": name, "schema": "olm.package"}).to_string());
        if random.u8(..4) == 0 {
            let entry = json!({"message": "old", "reference": {"schema": "olm.package"}});
            lines.push(
                json!({"entries": [entry], "package": name, "schema": "olm.deprecations"})
                    .to_string(),
            );
        }
        for bundle in 0..random.u8(..6) {
            let bundle_name = format!("b{bundle}");
            let mut properties = Vec::new();
            if random.u8(..5) > 0 {
                let mut version = json!({"packageName": name, "version": format!("{}.{}.0", random.u8(..3), random.u8(..2))});
                if random.u8(..3) == 0 {
                    version["release"] = random.u8(..3).to_string().into();
                }
                properties.push(json!({"type": "olm.package", "value": version}));
            }
            if random.u8(..5) > 0 {
                let mut annotations = json!({});
                if random.bool() {
                    annotations["createdAt"] = format!("2024-01-0{}", 1 + random.u8(..3)).into();
                }
                if random.bool() {
                    annotations["capabilities"] =
                        ["Basic Install", "Auto Pilot"][random.usize(..2)].into();
                }
                let mut metadata = json!({"annotations": annotations, "keywords": [KEYWORDS[random.usize(..4)], KEYWORDS[random.usize(..4)]]});
                if random.bool() {
                    metadata["displayName"] =
                        ["Store", "störe", "Queue of backups"][random.usize(..3)].into();
                }
                properties.push(json!({"type": "olm.csv.metadata", "value": metadata}));
            }
            let line = json!({"image": format!("a.io/{name}-{bundle}"), "name": bundle_name, "package": name, "properties": properties, "schema": "olm.bundle"});
            lines.push(line.to_string());
        }
    }
    lines
}

/// An engine over random catalogs, some of which have one content, and of which a caller may see a
/// part; with the names of the visible ones.
fn world(seed: u64) -> (Engine, Vec<String>) {
    let mut random = Rng::with_seed(seed);
    let mut catalogs: Vec<Served> = Vec::new();
    for at in 0..CATALOGS {
        let name = format!("c{}{at}", random.u8(..10));
        let content = if at > 0 && random.u8(..3) == 0 {
            catalogs[random.usize(..catalogs.len())].content.clone()
        } else {
            served(&name, &lines(&mut random), at + 1).content
        };
        let metadata = CatalogMetadata {
            display_name: Some(display_name(&name)),
            ..CatalogMetadata::default()
        };
        catalogs.push(Served::new(name, content, metadata));
    }
    let mut visible: Vec<String> = catalogs
        .iter()
        .filter(|_| seed.is_multiple_of(2) || random.u8(..4) > 0)
        .map(|served| served.name.clone())
        .collect();
    visible.sort_unstable();
    let (_, reader) = publish(catalogs);
    let visibility = if seed.is_multiple_of(2) {
        Visibility::All
    } else {
        Visibility::only(visible.iter().cloned())
    };
    let engine = Engine::new(reader.visible(visibility), "test", Limits::default());
    (engine, visible)
}

fn display_name(catalog: &str) -> String {
    format!("Catalog {catalog}")
}

/// Arguments of a connection, without parentheses.
fn arguments(first: &str, order: &str, filter: &str) -> String {
    let mut all = first.to_owned();
    for (name, value) in [("orderBy", order), ("filter", filter)] {
        if !value.is_empty() {
            all = format!("{all}, {name}: {value}");
        }
    }
    all
}

const EDGES: &str = "totalCount edges { cursor node { id name catalog { name } } }";

fn items(page: &Value, tag: KeyTag) -> Vec<ListedItem> {
    let edges = page["edges"].as_array().unwrap();
    let item = |edge: &Value| {
        let key = OpaqueKey::decode(edge["cursor"].as_str().unwrap()).unwrap();
        let three = key.parts::<3>(tag).map(Vec::from);
        let four = key.parts::<4>(tag).map(Vec::from);
        let five = key.parts::<5>(tag).map(Vec::from);
        let parts = three.or(four).or(five).expect("a key of the order");
        ListedItem {
            key: parts
                .into_iter()
                .map(|part| part.map(str::to_owned))
                .collect(),
            edge: edge.clone(),
        }
    };
    edges.iter().map(item).collect()
}

#[test]
fn a_list_over_catalogs_is_the_sorted_lists_of_each_in_any_order_filter_and_visibility() {
    for seed in 0..SEEDS {
        let (engine, visible) = world(seed);
        for listed in orders() {
            for filter in filters(listed.connection) {
                let arguments = arguments("first: 500", listed.order, filter);
                let connection = listed.connection;
                let mut expected = Vec::new();
                for name in &visible {
                    let query = format!(
                        "{{ catalog(name: \"{name}\") {{ {connection}({arguments}) {{ {EDGES} }} }} }}"
                    );
                    expected.extend(items(
                        &data(&engine, &query)["catalog"][connection],
                        tag(&listed, filter),
                    ));
                }
                let compare = compare(&listed, filter);
                expected.sort_by(|a, b| compare(&a.key, &b.key));
                let query = format!("{{ {connection}({arguments}) {{ {EDGES} }} }}");
                let page = data(&engine, &query)[connection].take();
                assert_eq!(
                    items(&page, tag(&listed, filter)),
                    expected,
                    "{seed} {query}"
                );
                assert_eq!(page["totalCount"], expected.len(), "{seed} {query}");
            }
        }
    }
}

#[test]
fn pages_between_any_cursors_are_parts_of_the_list_in_both_directions() {
    for seed in 0..SEEDS {
        let (engine, _) = world(seed);
        let mut random = Rng::with_seed(seed);
        for listed in orders() {
            for filter in filters(listed.connection) {
                let connection = listed.connection;
                let whole = arguments("first: 500", listed.order, filter);
                let whole = data(
                    &engine,
                    &format!("{{ {connection}({whole}) {{ {EDGES} }} }}"),
                )[connection]
                    .take();
                let edges = whole["edges"].as_array().unwrap();
                let bounds = arguments(
                    "first: $first, last: $last, after: $after, before: $before",
                    listed.order,
                    filter,
                );
                let query = format!(
                    "query($first: Int, $last: Int, $after: String, $before: String) {{ {connection}({bounds}) {{ {EDGES} \
                     pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
                );
                for _ in 0..6 {
                    let mut ends = [random.usize(..=edges.len()), random.usize(..=edges.len())];
                    ends.sort_unstable();
                    let [from, to] = ends;
                    let size = random.usize(..8);
                    let backwards = random.bool();
                    let cursor = |at: Option<usize>| {
                        at.and_then(|at| edges.get(at)).map(|edge| &edge["cursor"])
                    };
                    let variables = json!({
                        "after": cursor(from.checked_sub(1)), "before": cursor(Some(to)),
                        if backwards { "last" } else { "first" }: size,
                    });
                    let taken = if backwards {
                        from.max(to.saturating_sub(size))..to
                    } else {
                        from..to.min(from + size)
                    };
                    let page = ask_with(&engine, &query, &variables)["data"][connection].take();
                    let expected = json!({
                        "totalCount": edges.len(),
                        "edges": edges[taken.clone()],
                        "pageInfo": {
                            "hasNextPage": taken.end < edges.len(), "hasPreviousPage": taken.start > 0,
                            "startCursor": edges[taken.clone()].first().map(|edge| &edge["cursor"]),
                            "endCursor": edges[taken].last().map(|edge| &edge["cursor"]),
                        },
                    });
                    assert_eq!(page, expected, "{seed} {query} {variables}");
                }
            }
        }
    }
}

#[test]
fn facets_over_catalogs_are_the_sums_of_each() {
    const FACETS: [&str; 8] = [
        "categories(first: 1000)",
        "providers(first: 1000)",
        "keywords(first: 1000)",
        "capabilityLevels",
        "installModes",
        "certified",
        "deprecated",
        "olmV1",
    ];
    for seed in 0..SEEDS {
        let (engine, visible) = world(seed);
        for filter in filters("packages") {
            let arguments = arguments("first: 1", "", filter);
            for facet in FACETS {
                let name = facet.split('(').next().unwrap();
                let counts = |connection: &Value| -> BTreeMap<String, u64> {
                    let values = connection["facets"][name].as_array().unwrap().iter();
                    let count = |value: &Value| {
                        (value["value"].to_string(), value["count"].as_u64().unwrap())
                    };
                    values.map(count).collect()
                };
                let selected =
                    format!("packages({arguments}) {{ facets {{ {facet} {{ value count }} }} }}");
                let mut expected = BTreeMap::new();
                for catalog in &visible {
                    let found = data(
                        &engine,
                        &format!("{{ catalog(name: \"{catalog}\") {{ {selected} }} }}"),
                    );
                    for (value, count) in counts(&found["catalog"]["packages"]) {
                        *expected.entry(value).or_default() += count;
                    }
                }
                let found = data(&engine, &format!("{{ {selected} }}"));
                assert_eq!(
                    counts(&found["packages"]),
                    expected,
                    "{seed} {filter} {facet}"
                );
            }
            // The facet of catalogs counts those that are not selected too.
            let totals: BTreeMap<_, _> = visible
                .iter()
                .map(|name| {
                    let query = format!("{{ catalog(name: \"{name}\") {{ packages({arguments}) {{ totalCount }} }} }}");
                    (name.clone(), data(&engine, &query)["catalog"]["packages"]["totalCount"].as_u64().unwrap())
                })
                .filter(|(_, count)| *count > 0)
                .collect();
            for catalogs in ["", ", catalogs: [\"none\"]"] {
                let query = format!(
                    "{{ packages({arguments}{catalogs}) {{ facets {{ catalogs {{ value displayName count }} }} }} }}"
                );
                let body = ask(&engine, &query);
                let values = body["data"]["packages"]["facets"]["catalogs"]
                    .as_array()
                    .unwrap();
                let found: BTreeMap<_, _> = values
                    .iter()
                    .map(|value| {
                        let name = value["value"].as_str().unwrap();
                        assert_eq!(value["displayName"], display_name(name));
                        (name.to_owned(), value["count"].as_u64().unwrap())
                    })
                    .collect();
                assert_eq!(found, totals, "{seed} {query}");
            }
        }
    }
}

/// The tag of the cursors: a search without an order is by relevance.
fn tag(listed: &Listed, filter: &str) -> KeyTag {
    if listed.order.is_empty() && filter.contains("search") {
        KeyTag::PACKAGES_BY_RELEVANCE[0]
    } else {
        listed.tag
    }
}

fn compare(listed: &Listed, filter: &str) -> CompareKeys {
    let wanted = tag(listed, filter);
    let found = orders().into_iter().find(|order| order.tag == wanted);
    found.expect("each tag is of an order").compare
}

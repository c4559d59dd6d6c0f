//! Pages over many catalogs: what they cost, their order, and what a refused one says.

use fbc::work::{Step, UNIT};
use serde_json::{Value, json};
use serving::{CatalogMetadata, Served};

use super::fixture::{ask, code, data, engine_of, served};
use crate::limits::Limits;
use crate::{Engine, Request};

const CATALOGS: u8 = 4;

const PACKAGES: usize = 30;

/// Bundles of each package.
const BUNDLES: usize = 8;

/// Every order of bundles beside that of the catalogs.
const ORDERS: [&str; 6] = [
    "{field: VERSION}",
    "{field: VERSION, direction: ASC}",
    "{field: NAME}",
    "{field: NAME, direction: ASC}",
    "{field: CREATED_AT}",
    "{field: CREATED_AT, direction: ASC}",
];

/// Orders of packages.
const PACKAGE_ORDERS: [&str; 8] = [
    "{field: NAME}",
    "{field: NAME, direction: DESC}",
    "{field: RELEVANCE}",
    "{field: DISPLAY_NAME}",
    "{field: CREATED_AT}",
    "{field: CREATED_AT, direction: DESC}",
    "{field: CAPABILITY_LEVEL}",
    "{field: CAPABILITY_LEVEL, direction: DESC}",
];

/// A catalog whose bundles share versions and times of creation; one bundle of each package has
/// neither.
fn catalog(number: u8) -> Served {
    let mut lines = Vec::new();
    for package in 0..PACKAGES {
        lines.push(json!({"name": format!("p{package:02}"), "schema": "olm.package"}).to_string());
        for bundle in 0..BUNDLES {
            let mut properties = Vec::new();
            if bundle > 0 {
                let version = format!("{}.{}.0", bundle % 3, (package + bundle) % 5);
                let created_at = format!("2024-01-{:02}", 1 + (7 * package + bundle) % 20);
                properties = vec![
                    json!({"type": "olm.package", "value": {"packageName": format!("p{package:02}"), "version": version}}),
                    json!({"type": "olm.csv.metadata", "value": {"annotations": {"createdAt": created_at}}}),
                ];
            }
            let name = format!("p{package:02}.v{bundle}");
            let image = format!("a.io/{name}");
            let package = format!("p{package:02}");
            let line = json!({"image": image, "name": name, "package": package, "properties": properties, "schema": "olm.bundle"});
            lines.push(line.to_string());
        }
    }
    served(&format!("c{number}"), &lines, number)
}

fn engine(limits: Limits) -> Engine {
    engine_of((1..=CATALOGS).map(catalog), limits)
}

/// Bundles that a field with these arguments selects, by catalog, package and name.
fn nodes(engine: &Engine, arguments: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let query = format!(
            "{{ bundles(first: 500{after}, {arguments}) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ name version \
             package {{ name }} catalog {{ name }} metadata {{ createdAt }} }} }} }}"
        );
        let page = data(engine, &query)["bundles"].take();
        all.extend(page["nodes"].as_array().unwrap().iter().cloned());
        if page["pageInfo"]["hasNextPage"] == false {
            return all;
        }
        after = format!(", after: {}", page["pageInfo"]["endCursor"]);
    }
}

#[test]
fn a_page_in_any_order_costs_its_items_and_not_the_catalogs() {
    // The root, the connection, its `pageInfo` and four bundles; and for 240 bundles of each catalog
    // eight places on the way to the cursor.
    let engine = engine(Limits {
        work: 7 + 16,
        ..Limits::default()
    });
    for order in ORDERS {
        let mut after = String::new();
        for _ in 0..3 {
            let query = format!(
                "{{ bundles(first: 4{after}, orderBy: {order}) {{ pageInfo {{ endCursor }} nodes {{ name }} }} }}"
            );
            let body = ask(&engine, &query);
            assert_eq!(body.get("errors"), None, "{order}");
            after = format!(
                ", after: {}",
                body["data"]["bundles"]["pageInfo"]["endCursor"]
            );
        }
    }
}

#[test]
fn a_page_looks_once_at_each_catalog_and_halves_its_way_to_a_cursor() {
    const ITEMS: u64 = 20;
    let content = catalog(1).content;
    for count in [1, 10, 100, 400] {
        let catalogs = (0..count).map(|at| {
            Served::new(
                format!("c{at:03}"),
                content.clone(),
                CatalogMetadata::default(),
            )
        });
        let engine = engine_of(catalogs, Limits::default());
        let lists = ORDERS
            .map(|order| ("bundles", format!("orderBy: {order}"), 8))
            .into_iter()
            .chain(PACKAGE_ORDERS.map(|order| ("packages", format!("orderBy: {order}"), 5)));
        for (connection, order, halvings) in lists {
            let page = |after: &str| {
                let query = format!(
                    "{{ {connection}(first: {ITEMS}, {order}{after}) {{ pageInfo {{ endCursor }} nodes {{ name }} }} }}"
                );
                let request = Request {
                    query: Some(query.into()),
                    extensions: json!({"cost": true}).as_object().cloned(),
                    ..Request::default()
                };
                serde_json::from_slice::<Value>(&engine.execute(&request).body).unwrap()
            };
            let work = |page: &Value| {
                page["extensions"]["cost"]["actualQueryCost"]
                    .as_u64()
                    .unwrap()
            };
            let seeks = |places: u64| {
                let counted = if count == 1 {
                    0
                } else {
                    places.saturating_sub(ITEMS)
                };
                (counted * Step::Seek.price()).div_ceil(UNIT)
            };
            let first = page("");
            let objects = 3 + first["data"][connection]["nodes"].as_array().unwrap().len() as u64;
            assert_eq!(
                work(&first),
                objects + seeks(count),
                "{count} {connection} {order}"
            );
            let cursor = &first["data"][connection]["pageInfo"]["endCursor"];
            let next = page(&format!(", after: {cursor}"));
            let objects = 3 + next["data"][connection]["nodes"].as_array().unwrap().len() as u64;
            let places = count + count * halvings;
            assert_eq!(
                work(&next),
                objects + seeks(places),
                "{count} {connection} {order}"
            );
        }
    }
}

#[test]
fn equal_contents_are_searched_once() {
    let content = catalog(1).content;
    let work = |count: usize| {
        let catalogs = (0..count).map(|at| {
            Served::new(
                format!("c{at}"),
                content.clone(),
                CatalogMetadata::default(),
            )
        });
        let engine = engine_of(catalogs, Limits::default());
        [
            "packages(filter: {search: \"p01\"})",
            "bundles(filter: {versionRange: \">=1.0.0\"})",
            "metas(filter: {schema: \"olm.bundle\"})",
        ]
        .map(|list| {
            let request = Request {
                query: Some(format!("{{ {list} {{ totalCount }} }}").into()),
                extensions: json!({"cost": true}).as_object().cloned(),
                ..Request::default()
            };
            let body: Value = serde_json::from_slice(&engine.execute(&request).body).unwrap();
            body["extensions"]["cost"]["actualQueryCost"]
                .as_u64()
                .unwrap()
        })
    };
    assert_eq!(work(1), work(40));
}

#[test]
fn bundles_that_match_a_filter_come_in_the_order_of_all_bundles() {
    let engine = engine(Limits::default());
    for order in ORDERS {
        let all = nodes(&engine, &format!("orderBy: {order}"));
        assert_eq!(all.len(), usize::from(CATALOGS) * PACKAGES * BUNDLES);
        let selected = |filter: &str, is_selected: &dyn Fn(&Value) -> bool| {
            let expected: Vec<_> = all
                .iter()
                .filter(|node| is_selected(node))
                .cloned()
                .collect();
            assert!(!expected.is_empty(), "{filter}");
            assert_eq!(
                nodes(&engine, &format!("orderBy: {order}, {filter}")),
                expected,
                "{order} {filter}"
            );
        };
        selected("filter: {deprecated: false}", &|_| true);
        selected("filter: {versionRange: \">=1.0.0\"}", &|node| {
            node["version"]
                .as_str()
                .is_some_and(|version| !version.starts_with('0'))
        });
        selected(
            "filter: {names: [\"p03.v0\", \"p03.v1\", \"p07.v7\"]}",
            &|node| ["p03.v0", "p03.v1", "p07.v7"].contains(&node["name"].as_str().unwrap()),
        );
        selected("packages: [\"p05\", \"p06\"]", &|node| {
            ["p05", "p06"].contains(&node["package"]["name"].as_str().unwrap())
        });
    }
}

#[test]
fn a_search_that_is_refused_says_what_to_narrow() {
    let engine = engine(Limits {
        work: 10,
        ..Limits::default()
    });
    let begin = "the request takes more than 10 units of work: ";
    for (query, advice) in [
        (
            "{ bundles(filter: {versionRange: \">=1.0.0\"}) { totalCount } }",
            "`bundles` searches 4 catalogs; name fewer of them in `catalogs` or packages in `packages`",
        ),
        (
            "{ b: bundles(catalogs: [\"c1\", \"c2\"], packages: [\"p01\"], filter: {deprecated: false}) { totalCount } \
             c: bundles(filter: {deprecated: true}, packages: [\"p01\", \"p02\", \"p03\", \"p04\", \"p05\", \"p06\"]) { totalCount } }",
            "`bundles` searches 4 catalogs; name fewer of them in `catalogs`",
        ),
        (
            "{ catalog(name: \"c1\") { bundles(filter: {versionRange: \">=1.0.0\"}) { totalCount } } }",
            "`bundles` searches a catalog; name packages in `packages`",
        ),
        (
            "{ packages(filter: {search: \"p\"}) { totalCount } }",
            "`packages` searches 4 catalogs; name fewer of them in `catalogs`",
        ),
        (
            "{ metas(filter: {schema: \"olm.bundle\"}) { totalCount } }",
            "`metas` searches 4 catalogs; name fewer of them in `catalogs`",
        ),
        (
            "{ bundles { nodes { name } } }",
            "ask for smaller pages or fewer fields",
        ),
    ] {
        let body = ask(&engine, query);
        let message = body["errors"][0]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{query}: {body}"));
        assert_eq!(
            (code(&body), message),
            ("COST_ACTUAL_TOO_EXPENSIVE", &*format!("{begin}{advice}")),
            "{query}"
        );
    }
}

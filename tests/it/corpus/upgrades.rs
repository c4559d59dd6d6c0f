//! The update graphs of a real catalog, against a plain search that is written here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fbc::work::Work;
use fbc::{Bundle, Catalog, Channel, Head, Package};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;
use fbc_graph::graph::{Installed, UpdateGraph, successors};
use graphql::{Engine, Request};
use serde_json::{Value, json};
use testing::corpus::REFUSED;

use super::{of_whole_or_part, serve_community};
use crate::served;

/// How many steps each bundle of the package is away from the head of a channel, by a plain
/// breadth-first search over its entries as they stand: names, and ranges evaluated for every
/// version.
fn distances<'a>(channel: Channel<'a>, head: &'a str) -> BTreeMap<&'a str, usize> {
    let versions: Vec<(&str, Version<'_>)> = channel
        .package()
        .bundles()
        .map(|bundle| {
            (
                bundle.name(),
                Version::parse(bundle.version().expect("a valid bundle has one")).unwrap(),
            )
        })
        .collect();
    let mut distances = BTreeMap::from([(head, 0)]);
    let mut queue = VecDeque::from([head]);
    while let Some(to) = queue.pop_front() {
        let next = distances[to] + 1;
        for entry in channel.entries().filter(|entry| entry.name() == to) {
            let range = entry
                .skip_range()
                .map(|range| BlangRange::parse(range).expect("a valid range"));
            let in_range = versions
                .iter()
                .filter(|(_, version)| range.as_ref().is_some_and(|it| it.contains(version)));
            let named = entry.replaces().into_iter().chain(entry.skips());
            for from in named.chain(in_range.map(|(name, _)| *name)) {
                if channel.package().bundle(from).is_some() && !distances.contains_key(from) {
                    distances.insert(from, next);
                    queue.push_back(from);
                }
            }
        }
    }
    distances
}

#[test]
fn in_each_channel_of_a_valid_package_every_bundle_reaches_the_head_or_is_stranded() {
    let catalog = serve_community().content.catalog;
    let valid: Vec<Package<'_>> = catalog
        .packages()
        .filter(|package| !REFUSED.contains(&package.name()))
        .collect();
    assert_eq!(valid.len(), of_whole_or_part(&catalog, 325, 29));
    let mut channels = 0;
    let mut reaching = 0;
    let mut stranded = 0;
    let mut longest = 0;
    for channel in valid.into_iter().flat_map(Package::channels) {
        let place = format!("{} {}", channel.package().name(), channel.name());
        let Head::One(head) = channel.head() else {
            panic!("{place} has not one head")
        };
        let head = head.bundle().expect("a valid entry has a bundle");
        let distances = distances(channel, head.name());
        let graph =
            UpdateGraph::new(channel.package(), &[channel.name()], &Work::unlimited()).unwrap();
        let is_stranded: BTreeSet<_> = graph.stranded().into_iter().map(Bundle::name).collect();
        for bundle in channel
            .entries()
            .map(|entry| entry.bundle().expect("a valid entry has a bundle"))
        {
            let path = graph.path(bundle, head, &Work::unlimited()).unwrap();
            let length = path.as_ref().map(|path| path.len() - 1);
            assert_eq!(
                length,
                distances.get(bundle.name()).copied(),
                "{place} {}",
                bundle.name()
            );
            assert_eq!(
                length.is_none(),
                is_stranded.contains(bundle.name()),
                "{place} {}",
                bundle.name()
            );
            for step in path.iter().flat_map(|path| path.windows(2)) {
                let next = successors(
                    channel.package(),
                    &Installed::from_bundle(step[0]),
                    &[channel.name()],
                    &Work::unlimited(),
                )
                .unwrap();
                assert!(
                    next.iter().any(|bundle| bundle.name() == step[1].name()),
                    "{place} {}",
                    step[1].name()
                );
            }
            longest = longest.max(length.unwrap_or_default());
            *if length.is_some() {
                &mut reaching
            } else {
                &mut stranded
            } += 1;
        }
        channels += 1;
    }
    // Channels, bundles that reach the head of theirs, stranded ones, and the most steps it takes.
    assert_eq!(
        (channels, reaching, stranded, longest),
        of_whole_or_part(&catalog, (629, 9_561, 0, 198), (49, 239, 0, 25))
    );
}

/// The blobs of one schema and package, as JSON.
fn blobs(catalog: &Catalog, schema: &str, package: &str) -> Vec<Value> {
    let metas = (0..catalog.meta_count()).map(|at| catalog.meta_at(at));
    let of = metas.filter(|meta| meta.schema() == schema && meta.package_name() == Some(package));
    of.map(|meta| serde_json::from_slice(meta.blob().raw()).expect("a blob is JSON"))
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The version of each bundle, from its blob.
fn versions(bundles: &[Value]) -> BTreeMap<&str, Version<'_>> {
    let mut versions = BTreeMap::new();
    for bundle in bundles {
        let mut properties = bundle["properties"]
            .as_array()
            .expect("a bundle has properties")
            .iter();
        let own = properties
            .find(|property| property["type"] == "olm.package")
            .expect("a bundle has a version");
        let version = Version::parse(text(&own["value"]["version"])).expect("a valid version");
        versions.insert(text(&bundle["name"]), version);
    }
    versions
}

/// Statements of the channels of a package: each with the names of the channels that make it.
#[derive(Default)]
struct Statements {
    /// Field, bundle upgraded from or range, bundle upgraded to.
    said: BTreeMap<(&'static str, String, String), BTreeSet<String>>,
    /// Each bundle with those that it can be upgraded to.
    successors: BTreeMap<String, BTreeSet<String>>,
}

/// What the blobs of the channels say, without edges from a bundle to itself.
fn expected_statements(channels: &[Value], versions: &BTreeMap<&str, Version<'_>>) -> Statements {
    let mut statements = Statements::default();
    for channel in channels {
        for entry in channel["entries"]
            .as_array()
            .expect("a channel has entries")
        {
            let to = text(&entry["name"]);
            let range = text(&entry["skipRange"]);
            let names = entry["skips"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|name| ("skips", text(name)));
            let names = names.chain([
                ("replaces", text(&entry["replaces"])),
                ("skipRanges", range),
            ]);
            for (field, from) in names.filter(|(_, from)| !from.is_empty() && *from != to) {
                let statement = (field, from.to_owned(), to.to_owned());
                statements
                    .said
                    .entry(statement)
                    .or_default()
                    .insert(text(&channel["name"]).to_owned());
            }
            let range = BlangRange::parse(range).ok();
            let is_named = |name: &str| {
                entry["replaces"] == name
                    || entry["skips"]
                        .as_array()
                        .is_some_and(|skips| skips.iter().any(|it| it == name))
            };
            for (from, version) in versions.iter().filter(|(from, _)| **from != to) {
                if is_named(from) || range.as_ref().is_some_and(|range| range.contains(version)) {
                    statements
                        .successors
                        .entry((*from).to_owned())
                        .or_default()
                        .insert(to.to_owned());
                }
            }
        }
    }
    statements
}

/// The statements of a graph in an answer, whose ranges must contain what they say.
fn told_statements(
    graph: &Value,
    versions: &BTreeMap<&str, Version<'_>>,
) -> BTreeMap<(&'static str, String, String), BTreeSet<String>> {
    let mut said = BTreeMap::new();
    for field in ["replaces", "skips", "skipRanges"] {
        for statement in graph[field].as_array().expect("a list") {
            let from = text(
                &statement[if field == "skipRanges" {
                    "range"
                } else {
                    "fromName"
                }],
            );
            let to = text(&statement["toName"]);
            let channels = statement["channelNames"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|name| text(name).to_owned());
            let former = said.insert((field, from.to_owned(), to.to_owned()), channels.collect());
            assert_eq!(former, None, "{field} {from} {to} is said once");
            if field == "skipRanges" {
                let range = BlangRange::parse(from).ok();
                assert_eq!(statement["isValid"], range.is_some(), "{from}");
                let is_in = |version| range.as_ref().is_some_and(|range| range.contains(version));
                let count = versions
                    .iter()
                    .filter(|(name, version)| **name != to && is_in(version))
                    .count();
                assert_eq!(statement["fromCount"], count, "{from}");
            }
        }
    }
    said
}

/// A request for an operation of `examples/operations.graphql`.
fn request<'a>(operation: &'a str, variables: &Value) -> Request<'a> {
    Request {
        query: Some(include_str!("../../../examples/operations.graphql").into()),
        document_id: None,
        operation_name: Some(operation.into()),
        variables: variables.as_object().cloned(),
        extensions: None,
    }
}

/// The data of the answer to such a request.
fn ask(engine: &Engine, operation: &str, variables: &Value) -> Value {
    let answer = engine.execute(&request(operation, variables));
    let mut body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
    assert_eq!(body.get("errors"), None, "{operation} {variables}");
    body["data"].take()
}

#[test]
fn graphs_and_successors_are_those_that_the_blobs_of_community_say() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let engine = served::engine([served]);
    // Every eighth package, and those that take longest.
    let mut packages: Vec<_> = catalog.packages().collect();
    packages.sort_by_key(|package| {
        std::cmp::Reverse(
            package
                .channels()
                .map(|it| it.entries().len())
                .sum::<usize>(),
        )
    });
    let packages = packages
        .iter()
        .take(3)
        .chain(packages.iter().skip(3).step_by(8))
        .map(|package| package.name());
    let mut total = 0;
    for name in packages {
        let bundles = blobs(&catalog, "olm.bundle", name);
        let channels = blobs(&catalog, "olm.channel", name);
        let versions = versions(&bundles);
        let expected = expected_statements(&channels, &versions);
        let answer = ask(
            &engine,
            "Graph",
            &json!({"catalog": "community", "package": name}),
        );
        let graph = &answer["package"]["updateGraph"];
        assert_eq!(told_statements(graph, &versions), expected.said, "{name}");
        for bundle in graph["nodes"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|node| text(&node["name"]))
        {
            let by = json!({"catalog": "community", "package": name, "bundle": bundle});
            let answer = ask(&engine, "Successors", &by);
            let found = answer["bundle"]["successors"].as_array().expect("a list");
            let found: BTreeSet<_> = found
                .iter()
                .map(|next| text(&next["toName"]).to_owned())
                .collect();
            assert_eq!(
                found,
                expected.successors.get(bundle).cloned().unwrap_or_default(),
                "{name} {bundle}"
            );
            total += found.len();
        }
    }
    let least = of_whole_or_part(&catalog, 4_000, 100);
    assert!(total > least, "{total} upgrades");
}

#[test]
fn the_graph_of_a_package_with_thousands_of_edges_is_small() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let engine = served::engine([served]);
    let whole = [
        ("project-quay", 1_500, 100_000),
        ("assisted-service-operator", 600, 60_000),
    ];
    let part = [
        ("cert-manager", 220, 20_000),
        ("grafana-operator", 220, 20_000),
    ];
    for (package, objects, bytes) in of_whole_or_part(&catalog, whole, part) {
        let answer = ask(
            &engine,
            "Graph",
            &json!({"catalog": "community", "package": package}),
        );
        let found = (count_objects(&answer), answer.to_string().len());
        assert!(
            found.0 <= objects && found.1 <= bytes,
            "{package}: {} objects, {} bytes",
            found.0,
            found.1
        );
    }
}

#[test]
fn no_update_graph_costs_more_than_its_estimate() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let engine = served::engine([served]);
    let cost_of = |package: &str| {
        let variables = json!({"catalog": "community", "package": package});
        let extensions = json!({"cost": true}).as_object().cloned();
        let answer = engine.execute(&Request {
            extensions,
            ..request("Graph", &variables)
        });
        let body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
        let cost = &body["extensions"]["cost"];
        [&cost["requestedQueryCost"], &cost["actualQueryCost"]]
            .map(|cost| cost.as_u64().expect("a cost is a number"))
    };
    let costs: Vec<_> = catalog
        .packages()
        .map(|package| (package.name(), cost_of(package.name())))
        .collect();
    let above: Vec<_> = costs
        .iter()
        .filter(|(_, [estimated, actual])| actual > estimated)
        .collect();
    assert!(above.is_empty(), "{above:?}");
    assert_eq!(costs.len(), of_whole_or_part(&catalog, 333, 30));
}

fn count_objects(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_objects).sum(),
        Value::Object(fields) => 1 + fields.values().map(count_objects).sum::<usize>(),
        _ => 0,
    }
}

#[test]
fn an_install_of_each_package_of_community_picks_its_highest_version_unless_that_needs_others() {
    let served = serve_community();
    let catalog = Arc::clone(&served.content.catalog);
    let engine = served::engine([served]);
    let mut picked = 0;
    let mut needy = 0;
    for package in catalog.packages() {
        let bundles = blobs(&catalog, "olm.bundle", package.name());
        let versions = versions(&bundles);
        // Of equal versions the least name comes first.
        let highest = versions
            .iter()
            .rev()
            .max_by(|(_, a), (_, b)| a.precedence(b))
            .map(|(name, _)| *name);
        let best = bundles
            .iter()
            .find(|bundle| Some(text(&bundle["name"])) == highest)
            .expect("a package has bundles");
        let is_needy = best["properties"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|property| {
                ["olm.package.required", "olm.gvk.required", "olm.constraint"]
                    .contains(&text(&property["type"]))
            });
        let request = json!({"packageName": package.name(), "catalogs": ["community"]});
        let answer = &ask(&engine, "Resolve", &json!({ "request": request }))["resolve"];
        let (found, code) = match &answer["bundle"] {
            Value::Null => (&answer["considered"][0]["bundle"], text(&answer["code"])),
            bundle => (bundle, ""),
        };
        let expected = if is_needy { "HAS_DEPENDENCIES" } else { "" };
        assert_eq!(
            (found["name"].as_str(), code),
            (highest, expected),
            "{}",
            package.name()
        );
        *if is_needy { &mut needy } else { &mut picked } += 1;
    }
    let packages = of_whole_or_part(&catalog, 333, 30);
    assert_eq!(picked + needy, packages, "{needy} need others");
    assert!(needy > 0, "no package needs others");
}

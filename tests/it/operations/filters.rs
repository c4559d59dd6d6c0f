//! Conditions put together at random: which packages and bundles meet them all, and what the facets
//! count, against a look at every package and every bundle.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::model::{Bundle, Model, Package};
use super::{assert_all_equal, community, display};
use crate::served;
use crate::support::SeededRandom;

const PACKAGES: &str = "query($filter: PackageFilter!) {
    packages(filter: $filter, first: 500) {
        nodes { name }
        facets {
            categories(first: 100) { value count }
            providers(first: 100) { value count }
            keywords(first: 100) { value count }
            capabilityLevels { value count }
            installModes { value count }
            infrastructureFeatures { value count }
            architectures { value count }
            operatingSystems { value count }
            validSubscriptions { value count }
            certified { value count }
        }
    }
}";

const BUNDLES: &str = "query($packages: [String!], $filter: BundleFilter!) {
    bundles(packages: $packages, filter: $filter, first: 500) { totalCount nodes { name package { name } } }
}";

/// The kinds of values that packages are filtered by and counted for.
const FACETS: [&str; 10] = [
    "categories",
    "providers",
    "keywords",
    "capabilityLevels",
    "installModes",
    "infrastructureFeatures",
    "architectures",
    "operatingSystems",
    "validSubscriptions",
    "certified",
];

/// Those with few values; all of them are told.
const SMALL: [&str; 7] = [
    "capabilityLevels",
    "installModes",
    "infrastructureFeatures",
    "architectures",
    "operatingSystems",
    "validSubscriptions",
    "certified",
];

#[test]
fn packages_meet_every_condition_and_a_facet_leaves_its_own_out() {
    let community = community();
    let packages: Vec<_> = community.model.packages.values().map(Values::new).collect();
    let mut random = SeededRandom::new(3);
    let mut found_any = 0;
    let mut found_none = 0;
    for _ in 0..150 {
        let conditions = conditions(&packages, &mut random);
        let data = served::data(
            &community.engine,
            PACKAGES,
            &json!({ "filter": conditions }),
        );
        let meeting = |but: &str| {
            let meets = |package: &&&Values<'_>| {
                conditions
                    .iter()
                    .all(|(of, wanted)| of == but || package.meets(of, wanted))
            };
            packages
                .iter()
                .filter(|package| meets(&package))
                .collect::<Vec<_>>()
        };
        let found: Vec<_> = meeting("")
            .iter()
            .map(|found| json!({ "name": found.package.name }))
            .collect();
        let nodes = data["packages"]["nodes"].as_array().expect("a list");
        assert_all_equal(nodes, &found, &format!("{conditions:?}"));
        for facet in FACETS {
            let shown = if SMALL.contains(&facet) { 20 } else { 100 };
            let expected = counted(&meeting(facet), facet, shown);
            assert_eq!(
                data["packages"]["facets"][facet], expected,
                "{facet} with {conditions:?}"
            );
        }
        *(if found.is_empty() {
            &mut found_none
        } else {
            &mut found_any
        }) += 1;
    }
    assert!(
        found_any > 50 && found_none > 10,
        "{found_any} {found_none}"
    );
}

#[test]
fn bundles_meet_every_condition() {
    let community = community();
    let mut random = SeededRandom::new(4);
    let mut sizes = BTreeSet::new();
    for _ in 0..150 {
        let (variables, tests) = bundle_conditions(&community.model, &mut random);
        let meets = |bundle: &&Bundle| tests.iter().all(|test| test(bundle));
        let node =
            |bundle: &Bundle| json!({ "name": bundle.name, "package": { "name": bundle.package } });
        let mut expected: Vec<_> = community
            .model
            .bundles
            .iter()
            .filter(meets)
            .map(node)
            .collect();
        let data = served::data(&community.engine, BUNDLES, &variables);
        assert_eq!(data["bundles"]["totalCount"], expected.len(), "{variables}");
        expected.truncate(500);
        assert_all_equal(
            data["bundles"]["nodes"].as_array().expect("a list"),
            &expected,
            &variables.to_string(),
        );
        sizes.insert(expected.len());
    }
    assert!(sizes.len() > 15, "{sizes:?}");
}

/// Whether a bundle meets one condition.
type Test<'a> = Box<dyn Fn(&Bundle) -> bool + 'a>;

/// Conditions on bundles as variables of the query, and as tests.
fn bundle_conditions<'a>(model: &'a Model, random: &mut SeededRandom) -> (Value, Vec<Test<'a>>) {
    let like = *random.choose(&model.bundles);
    let others = [*random.choose(&model.bundles), like];
    let package = |bundle: &Bundle| &model.packages[bundle.package];
    let mut packages = json!([]);
    let mut filter = Map::new();
    let mut tests = Vec::<Test<'_>>::new();
    if one_in_three(random) {
        let names = others.map(|bundle| bundle.package);
        packages = json!(names);
        tests.push(Box::new(move |bundle| names.contains(&bundle.package)));
    }
    if one_in_three(random) {
        let channel = package(&like).places(like.name)[0].0.name;
        filter.insert("channels".into(), json!([channel, "no-such-channel"]));
        let is_in = move |bundle: &Bundle| {
            package(bundle)
                .places(bundle.name)
                .iter()
                .any(|at| at.0.name == channel)
        };
        tests.push(Box::new(is_in));
    }
    if one_in_three(random) {
        let heads = one_in_three(random);
        filter.insert("channelHead".into(), json!(heads));
        tests.push(Box::new(move |bundle| {
            package(bundle).heads.contains(bundle.name) == heads
        }));
    }
    if one_in_three(random) {
        let names = others.map(|bundle| bundle.name);
        filter.insert("names".into(), json!(names));
        tests.push(Box::new(move |bundle| names.contains(&bundle.name)));
    }
    if one_in_three(random) {
        let kind = *random.choose(&[
            "olm.constraint",
            "olm.gvk.required",
            "olm.maxOpenShiftVersion",
        ]);
        filter.insert("propertyTypes".into(), json!([kind]));
        tests.push(Box::new(move |bundle| bundle.values(kind).next().is_some()));
    }
    if one_in_three(random) {
        let platform = platform(random);
        filter.insert("compatibleWith".into(), platform.clone());
        tests.push(Box::new(move |bundle| display::runs_on(bundle, &platform)));
    }
    if let Some(api) = like.provided().next().filter(|_| one_in_three(random)) {
        filter.insert(
            "provides".into(),
            json!({ "group": api.0, "version": api.1, "kind": api.2 }),
        );
        tests.push(Box::new(move |bundle| {
            bundle.provided().any(|other| other == api)
        }));
    }
    (json!({ "packages": packages, "filter": filter }), tests)
}

/// A package with the values that it is filtered by and counted for.
struct Values<'a> {
    package: &'a Package,
    of: BTreeMap<&'static str, BTreeSet<String>>,
}

impl<'a> Values<'a> {
    fn new(package: &'a Package) -> Self {
        let metadata = package
            .metadata()
            .expect("packages of the corpus have metadata");
        let texts = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
        let of = BTreeMap::from([
            ("categories", texts(display::categories(metadata))),
            (
                "providers",
                texts(
                    display::provider(metadata)
                        .map(display::short_name)
                        .into_iter()
                        .collect(),
                ),
            ),
            (
                "keywords",
                texts(
                    display::keywords(metadata)
                        .filter(|keyword| !keyword.is_empty())
                        .collect(),
                ),
            ),
            (
                "capabilityLevels",
                texts(display::capability_level(metadata).into_iter().collect()),
            ),
            (
                "installModes",
                texts(display::install_modes(metadata).into_iter().collect()),
            ),
            (
                "infrastructureFeatures",
                display::features(metadata).into_iter().collect(),
            ),
            (
                "architectures",
                display::supported(metadata, "arch", "amd64"),
            ),
            (
                "operatingSystems",
                display::supported(metadata, "os", "linux"),
            ),
            (
                "validSubscriptions",
                display::subscriptions(metadata).into_iter().collect(),
            ),
            (
                "certified",
                display::certified(metadata)
                    .map(|is| is.to_string())
                    .into_iter()
                    .collect(),
            ),
        ]);
        Self { package, of }
    }

    fn meets(&self, condition: &str, wanted: &Value) -> bool {
        if condition == "compatibleWith" {
            return self
                .package
                .bundles
                .values()
                .any(|bundle| display::runs_on(bundle, wanted));
        }
        if let Some(wanted) = wanted.as_bool() {
            return self.of[condition].contains(&wanted.to_string());
        }
        let mut wanted = wanted
            .as_array()
            .expect("conditions are lists")
            .iter()
            .filter_map(Value::as_str);
        match condition {
            "names" => wanted.any(|name| name == self.package.name),
            // The one condition that all members of the list must meet.
            "infrastructureFeatures" => wanted.all(|feature| self.of[condition].contains(feature)),
            _ => wanted.any(|value| self.of[condition].contains(value)),
        }
    }
}

/// Whether to do something that is done once in three times.
fn one_in_three(random: &mut SeededRandom) -> bool {
    random.below(3) == 0
}

/// Conditions of a few kinds, most of them with values of one package, so that often something is
/// found.
fn conditions(packages: &[Values<'_>], random: &mut SeededRandom) -> Map<String, Value> {
    let mut conditions = Map::new();
    let like = random.choose(packages);
    for facet in FACETS {
        let other = if one_in_three(random) {
            random.choose(packages)
        } else {
            like
        };
        let mut values = other.of[facet].iter().cloned().collect::<Vec<_>>();
        if one_in_three(random) && !values.is_empty() {
            values.truncate(2);
            let is_one = facet == "certified";
            conditions.insert(
                facet.into(),
                if is_one {
                    json!(values[0] == "true")
                } else {
                    json!(values)
                },
            );
        }
    }
    if one_in_three(random) {
        conditions.insert("compatibleWith".into(), platform(random));
    }
    if one_in_three(random) {
        conditions.insert(
            "names".into(),
            json!([like.package.name, random.choose(packages).package.name]),
        );
    }
    conditions
}

/// A cluster of some versions and an architecture, each with and without.
pub(super) fn platform(random: &mut SeededRandom) -> Value {
    let mut platform = Map::new();
    for (part, values) in [
        ("kubernetes", ["1.15", "v1.20.9+k3s1", "1.26.0", "1.34"]),
        ("openshift", ["4.7", "4.12.30", "4.18", "5.0"]),
        ("architecture", ["amd64", "arm64", "s390x", "riscv64"]),
    ] {
        if one_in_three(random) {
            platform.insert(part.into(), json!(random.choose(&values)));
        }
    }
    platform.into()
}

/// The most frequent values of a facet among some packages.
fn counted(packages: &[&Values<'_>], facet: &str, first: usize) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in packages.iter().flat_map(|package| &package.of[facet]) {
        *counts.entry(value).or_default() += 1;
    }
    let mut values = display::facet(counts, first);
    if facet == "certified" {
        let values = values.as_array_mut().expect("a list");
        for value in values.iter_mut() {
            value["value"] = json!(value["value"] == "true");
        }
        values.sort_by_key(|value| value["value"] == false);
    }
    values
}

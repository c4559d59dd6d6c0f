//! Resolution against the answers of upstream's code: see `testdata/golden/README.md`.

use std::collections::BTreeMap;

use fbc::work::Work;
use fbc::{Catalog, Deprecation};
use fbc_grammar::selector::{MatchExpression, Selector};
use fbc_graph::graph::Releases;
use fbc_graph::resolve::{
    InstalledBundle, Offer, Resolution, ResolutionFailure, ResolutionRequest, UpgradePolicy,
    resolve,
};
use serde::Deserialize;
use serde_json::Value;

use testing::fixture;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct World {
    name: String,
    feature_gates: Vec<String>,
    catalogs: Vec<OfferedCatalog>,
    request: RequestedBundle,
    installed: Option<Installed>,
    result: Option<Value>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferedCatalog {
    name: String,
    labels: BTreeMap<String, String>,
    priority: i32,
    availability: String,
    fetch_error: Option<String>,
    metas: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedBundle {
    package: String,
    version: String,
    channels: Vec<String>,
    selector: Option<LabelSelector>,
    upgrade_constraint_policy: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LabelSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Deserialize)]
struct Installed {
    name: String,
    version: String,
    release: Option<String>,
}

/// Worlds that we answer in another way on purpose, by name, and why.
const DIFFERENT: [(&str, &str); 7] = [
    (
        "case/edge/same-channel-name-twice",
        "of two channels of one name the first counts, not both",
    ),
    (
        "case/edge/skiprange-panics",
        "a range with an empty group holds nothing, where upstream panics",
    ),
    (
        "case/list-error",
        "the catalogs are given as values: listing them cannot fail",
    ),
    (
        "case/tie-same-version-first-wins",
        "of two bundles of one version the least name wins, not the first read",
    ),
    (
        "case/two-unparsable-first-wins",
        "of two bundles without a version the least name wins, not the first read",
    ),
    (
        "table/ErrorWalkingCatalogs",
        "the catalogs are given as values: listing them cannot fail",
    ),
    (
        "table/ValidationFailed",
        "there is one validation, and no other can be put in its place",
    ),
];

/// Worlds in which upstream answers the deprecations of another catalog than the winner's, or none
/// although that has some. We answer those of the winner.
const FOREIGN_DEPRECATIONS: [&str; 19] = [
    "case/wrong-deprecation-returned",
    "case/wrong-deprecation-returned/foreign",
    "case/wrong-deprecation-returned/nil",
    "random/036",
    "random/059",
    "random/108",
    "random/114",
    "random/115",
    "random/200",
    "random/240",
    "random/289",
    "random/322",
    "random/332",
    "random/365",
    "random/370",
    "random/371",
    "random/373",
    "random/378",
    "random/398",
];

/// What is picked as `catalog bundle image` with its deprecations, or the message.
fn answer(world: &World) -> Result<(String, Vec<String>), String> {
    let contents: Vec<Option<Catalog>> = world.catalogs.iter().map(content).collect();
    let served = world
        .catalogs
        .iter()
        .zip(&contents)
        .filter(|(catalog, _)| catalog.availability == "Available");
    let offers: Vec<Offer<'_>> = served
        .map(|(catalog, content)| Offer {
            name: &catalog.name,
            priority: catalog.priority,
            labels: &catalog.labels,
            content: content
                .as_ref()
                .ok_or_else(|| catalog.fetch_error.as_deref().unwrap()),
        })
        .collect();
    let selector = world
        .request
        .selector
        .as_ref()
        .map(selector)
        .transpose()
        .map_err(|failure| failure.message)?;
    let channels: Vec<_> = world.request.channels.iter().map(String::as_str).collect();
    let request = ResolutionRequest {
        package: &world.request.package,
        version: &world.request.version,
        channels: &channels,
        selector: selector.as_ref(),
        installed: world.installed.as_ref().map(|installed| InstalledBundle {
            name: &installed.name,
            version: &installed.version,
            release: installed.release.as_deref(),
        }),
        policy: match world.request.upgrade_constraint_policy.as_str() {
            "" | "CatalogProvided" => UpgradePolicy::CatalogProvided,
            "SelfCertified" => UpgradePolicy::SelfCertified,
            other => panic!("no policy: {other}"),
        },
        platform: None,
        releases: match world.feature_gates.as_slice() {
            [] => Releases::FromBuildMetadata,
            [gate] if gate == "BundleReleaseSupport" => Releases::Given,
            other => panic!("no feature gates: {other:?}"),
        },
    };
    let resolution = resolve(&request, &offers, &Work::unlimited()).unwrap();
    check_reasons(&resolution);
    resolution
        .map_err(|failure| failure.message)
        .map(|resolution| {
            let bundle = resolution.bundle;
            let offer = offers[resolution.offer].name;
            let message = |deprecation: &Deprecation<'_>| {
                deprecation.message().unwrap().decode().into_owned()
            };
            let deprecations = resolution.deprecations.iter().map(message).collect();
            (
                format!("{offer} {} {}", bundle.name(), bundle.image().decode()),
                deprecations,
            )
        })
}

/// Exactly what was chosen has no rejection, and comes first.
fn check_reasons(resolution: &Result<Resolution<'_>, ResolutionFailure<'_>>) {
    let (considered, chosen) = match resolution {
        Ok(resolution) => (
            &resolution.considered,
            Some((resolution.offer, resolution.bundle.name())),
        ),
        Err(failure) => (&failure.considered, None),
    };
    let accepted: Vec<_> = considered
        .iter()
        .filter(|considered| considered.rejection.is_none())
        .collect();
    let names: Vec<_> = accepted
        .iter()
        .map(|considered| (considered.offer, considered.bundle.name()))
        .collect();
    assert_eq!(names, Vec::from_iter(chosen));
    let first = considered
        .first()
        .map(|considered| (considered.offer, considered.bundle.name()));
    assert!(chosen.is_none() || first == chosen);
}

fn content(catalog: &OfferedCatalog) -> Option<Catalog> {
    let lines: Vec<_> = catalog
        .metas
        .iter()
        .map(|meta| meta.to_string() + "\n")
        .collect();
    catalog
        .fetch_error
        .is_none()
        .then(|| fixture::catalog_of(&lines.concat()))
}

fn selector(selector: &LabelSelector) -> Result<Selector, ResolutionFailure<'static>> {
    let expressions: Vec<_> = selector
        .match_expressions
        .iter()
        .map(
            |Expression {
                 key,
                 operator,
                 values,
             }| MatchExpression {
                key,
                operator,
                values,
            },
        )
        .collect();
    Ok(Selector::from_kubernetes(
        &selector.match_labels,
        &expressions,
    )?)
}

#[test]
fn every_recorded_world_is_resolved_as_upstream_resolves_it() {
    let worlds: Vec<World> =
        include_str!("../../../../fbc/tests/testdata/golden/resolve/resolver.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
    assert_eq!(worlds.len(), 441);
    let mut different = Vec::new();
    let mut foreign = Vec::new();
    for world in &worlds {
        let text = |field: &str| {
            world.result.as_ref().unwrap()[field]
                .as_str()
                .map(str::to_owned)
        };
        let expected = match &world.error {
            Some(error) => Err(error.clone()),
            None => Ok(["catalog", "bundle", "image"]
                .map(|field| text(field).unwrap())
                .join(" ")),
        };
        let found = answer(world);
        if found.as_ref().map(|(choice, _)| choice) != expected.as_ref() {
            different.push(world.name.as_str());
            continue;
        }
        let Ok((_, deprecations)) = found else {
            continue;
        };
        let catalog = world
            .catalogs
            .iter()
            .find(|catalog| Some(&catalog.name) == text("catalog").as_ref())
            .unwrap();
        let is_own = |meta: &Value| {
            meta["schema"] == "olm.deprecations" && meta["package"] == *world.request.package
        };
        let own = catalog.metas.iter().any(is_own);
        if text("deprecationFrom") != own.then(|| catalog.name.clone()) {
            foreign.push(world.name.as_str());
        }
        assert_eq!(
            deprecations,
            own_deprecations(world, catalog, &text("bundle").unwrap()),
            "{}",
            world.name
        );
    }
    different.sort_unstable();
    foreign.sort_unstable();
    assert_eq!(different, DIFFERENT.map(|(name, _)| name));
    assert_eq!(foreign, FOREIGN_DEPRECATIONS);
}

/// The messages that the blobs of a catalog have for a bundle, its package and the channels asked
/// for that it is in.
fn own_deprecations(world: &World, catalog: &OfferedCatalog, bundle: &str) -> Vec<String> {
    let of_schema = |schema: &'static str| {
        catalog.metas.iter().filter(move |meta| {
            meta["schema"] == schema && meta["package"] == *world.request.package
        })
    };
    let has = |channel: &&Value| {
        channel["entries"]
            .as_array()
            .unwrap()
            .iter()
            .any(|entry| entry["name"] == bundle)
    };
    let mut channels: Vec<_> = of_schema("olm.channel")
        .filter(has)
        .map(|meta| meta["name"].as_str().unwrap())
        .collect();
    let asked = &world.request.channels;
    channels.retain(|channel| asked.is_empty() || asked.iter().any(|name| name == channel));
    channels.sort_unstable();
    channels.dedup();
    let entries: Vec<_> = of_schema("olm.deprecations")
        .take(1)
        .flat_map(|meta| meta["entries"].as_array().unwrap())
        .collect();
    let message = |schema: &str, name: Option<&str>| {
        let names = |entry: &&&Value| {
            let reference = &entry["reference"];
            reference["schema"] == schema && reference["name"].as_str() == name
        };
        entries
            .iter()
            .find(names)
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
    };
    let of_bundle = message("olm.bundle", Some(bundle));
    let of_channels = channels
        .iter()
        .filter_map(|channel| message("olm.channel", Some(channel)));
    of_bundle
        .into_iter()
        .chain(message("olm.package", None))
        .chain(of_channels)
        .collect()
}

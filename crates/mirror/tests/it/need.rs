//! Sets by need: what upgrades, a platform and dependencies select.

use fbc::work::Work;
use fbc::{Bundle, Catalog, Channel, Package};
use fbc_graph::graph::{Installed, UpdateGraph, upgrades_from};
use fbc_read::Severity;
use mirror::filtered::filtered_blobs;
use mirror::{
    MAX_INSTALLED_BUNDLES, MirrorConfiguration, MirrorPlan, MirrorProblem, MirrorRules, MirrorSet,
    plan, select,
};
use serde_json::{Value, json};
use testing::fixture;

use crate::golden::{cases, made_catalog};

/// Upgrades by each kind of edge; 1.3.0 and 1.4.0 are not needed from 1.2.0 on.
const ETCD: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0 <- v1.3.0 <- v1.4.0 <- v2.0.0 range=\">=1.2.0 <2.0.0\"
    channel old: v1.0.0 <- v1.1.0";

fn configured(packages: &Value) -> Result<MirrorConfiguration, Vec<MirrorProblem>> {
    MirrorConfiguration::from_request("a.io/catalog:v1", &json!({ "packages": packages }))
}

fn planned(catalog: &Catalog, packages: &Value) -> MirrorPlan {
    let configuration = configured(packages).unwrap();
    plan(
        &configuration,
        &[catalog],
        MirrorRules::Catalogql,
        &Work::unlimited(),
    )
    .unwrap()
}

/// Each bundle of a plan with its reasons.
fn bundles(plan: &MirrorPlan) -> Vec<String> {
    let bundles = plan.bundles.iter().map(|bundle| {
        let reasons = bundle.reasons.iter().map(|reason| {
            let required_by = reason.required_by.as_deref().unwrap_or_default();
            format!("{} {required_by}", reason.kind).trim().to_owned()
        });
        format!(
            "{}: {}",
            bundle.name,
            reasons.collect::<Vec<_>>().join(", ")
        )
    });
    bundles.collect()
}

/// The entries of the channels of a plan.
fn entries(plan: &MirrorPlan) -> Vec<String> {
    let packages = plan.packages.iter();
    let channels = packages.flat_map(|package| &package.channels);
    channels
        .map(|channel| format!("{}: {}", channel.name, channel.entries.join(" ")))
        .collect()
}

/// The codes and messages of the problems of a plan, without those of the images of fixtures.
fn problems(plan: &MirrorPlan) -> Vec<(&str, &str)> {
    let problems = plan.problems.iter();
    problems
        .filter(|problem| problem.code != "BUNDLE_IMAGE_ADDED")
        .map(|problem| (problem.code, &*problem.message))
        .collect()
}

#[test]
fn upgrades_select_what_they_pass_through_in_the_default_channel() {
    let plan = planned(
        &fixture::catalog(ETCD),
        &json!([{ "name": "etcd", "from": ["etcd.v1.1.0"] }]),
    );
    assert_eq!(
        bundles(&plan),
        [
            "etcd.v1.1.0: INSTALLED",
            "etcd.v1.2.0: ON_THE_WAY",
            "etcd.v1.3.0: ON_THE_WAY",
            "etcd.v1.4.0: ON_THE_WAY",
            "etcd.v2.0.0: HEAD",
        ],
        "1.3.0 and 1.4.0 connect 1.2.0 to the head"
    );
    assert_eq!(problems(&plan), []);
}

#[test]
fn an_installed_bundle_that_the_channel_has_no_place_for_is_mirrored_for_its_images() {
    let catalog = fixture::catalog(ETCD);
    let plan = planned(&catalog, &json!([{ "name": "etcd", "from": ["1.3.0"] }]));
    assert_eq!(
        bundles(&plan),
        ["etcd.v1.3.0: INSTALLED", "etcd.v2.0.0: HEAD"]
    );
    assert_eq!(entries(&plan), ["stable: etcd.v2.0.0"]);
    assert_eq!(plan.images.len(), 2);

    let configuration = configured(&json!([{ "name": "etcd", "from": ["1.3.0"] }])).unwrap();
    let work = Work::unlimited();
    let set = select(
        &catalog,
        &configuration.operators[0],
        MirrorRules::Catalogql,
        &work,
    )
    .unwrap();
    let filtered = filtered(&catalog, &set);
    let names: Vec<_> = filtered.bundles().map(Bundle::name).collect();
    assert_eq!((errors(&filtered), names), (vec![], vec!["etcd.v2.0.0"]));
}

#[test]
fn upgrades_end_at_the_named_bundle_and_begin_at_one_that_the_catalog_does_not_have() {
    let catalog = fixture::catalog(ETCD);
    let package = |from: &str, to: &str, channel: &str| json!([{ "name": "etcd", "from": [from], "to": to, "channels": [{ "name": channel }] }]);
    let plan = planned(&catalog, &package("1.1.0", "v1.2.0", "stable"));
    assert_eq!(
        bundles(&plan),
        ["etcd.v1.1.0: INSTALLED", "etcd.v1.2.0: ON_THE_WAY"]
    );
    // By its version alone, which a skip range contains.
    let plan = planned(
        &catalog,
        &package("etcd.v1.9.0@1.9.0", "etcd.v2.0.0", "stable"),
    );
    assert_eq!(bundles(&plan), ["etcd.v2.0.0: HEAD"]);
    // The default channel is not selected; the only one becomes it.
    let plan = planned(&catalog, &package("1.0.0", "1.1.0", "old"));
    assert_eq!(plan.packages[0].default_channel, "old");
    assert_eq!(problems(&plan), []);
}

#[test]
fn upgrades_that_are_impossible_are_refused_with_the_nearest_bundle() {
    let catalog = fixture::catalog(
        "package etcd default=stable
         channel stable: v1.2.0 <- v1.3.0
         channel one: v1.0.0 <- v1.1.0",
    );
    let stranded = |from: &str| {
        let plan = planned(
            &catalog,
            &json!([{ "name": "etcd", "from": [from], "channels": [{ "name": "one" }] }]),
        );
        let problems = problems(&plan).into_iter();
        let problems = problems.map(|(code, message)| format!("{code}: {message}"));
        problems.collect::<Vec<_>>()
    };
    assert_eq!(stranded("1.0.0"), [""; 0]);
    assert_eq!(
        stranded("1.2.0"),
        [
            "STRANDED: no upgrades of channel `one` of package `etcd` lead from `1.2.0` to `etcd.v1.1.0`: it has no upgrades there"
        ]
    );
    let plan = planned(
        &catalog,
        &json!([{ "name": "etcd", "from": ["1.0.0"], "to": "1.9.0", "channels": [{ "name": "one" }] }]),
    );
    assert_eq!(
        problems(&plan),
        [(
            "VERSION_NOT_FOUND",
            "channel `one` of package `etcd` has no bundle `1.9.0`"
        )]
    );
}

/// A package whose newer bundles run on newer platforms only.
fn on_platforms() -> Catalog {
    let bundle = |version: &str, maximum: &str| {
        format!(
            "{{\"image\":\"a.io/p:{version}\",\"name\":\"p.v{version}\",\"package\":\"p\",\"properties\":[{{\"type\":\"olm.maxOpenShiftVersion\",\"value\":\"{maximum}\"}},{{\"type\":\"olm.package\",\"value\":{{\"packageName\":\"p\",\"version\":\"{version}\"}}}}],\"schema\":\"olm.bundle\"}}\n"
        )
    };
    fixture::catalog_of(&format!(
        "{{\"defaultChannel\":\"s\",\"name\":\"p\",\"schema\":\"olm.package\"}}\n\
         {{\"entries\":[{{\"name\":\"p.v1.0.0\"}},{{\"name\":\"p.v1.1.0\",\"replaces\":\"p.v1.0.0\",\"skipRange\":\"<1.1.0\"}},{{\"name\":\"p.v1.2.0\",\"replaces\":\"p.v1.1.0\"}}],\"name\":\"s\",\"package\":\"p\",\"schema\":\"olm.channel\"}}\n{}{}{}",
        bundle("1.0.0", "4.16"),
        bundle("1.1.0", "4.18"),
        bundle("1.2.0", "4.16"),
    ))
}

#[test]
fn only_bundles_that_run_on_the_platform_are_selected() {
    let catalog = on_platforms();
    let on = |version: &str, mut package: Value| {
        package["name"] = "p".into();
        package["platform"] = json!({ "openshift": version });
        planned(&catalog, &json!([package]))
    };
    assert_eq!(bundles(&on("4.16", json!({}))), ["p.v1.2.0: HEAD"]);
    assert_eq!(bundles(&on("4.18", json!({}))), ["p.v1.1.0: HEAD"]);
    assert_eq!(
        bundles(&on("4.18", json!({ "minVersion": "1.0.0" }))),
        ["p.v1.1.0: IN_RANGE"]
    );
    assert_eq!(
        bundles(&on("4.18", json!({ "from": ["1.0.0"] }))),
        ["p.v1.0.0: INSTALLED", "p.v1.1.0: HEAD"]
    );
    let none = on("4.20", json!({}));
    assert_eq!(
        problems(&none),
        [(
            "EMPTY_DEFAULT",
            "nothing of the default channel `s` of package `p` is selected: it has no bundle that runs on the platform"
        )]
    );
}

#[test]
fn dependencies_are_selected_with_the_bundle_that_requires_them() {
    let catalog = fixture::catalog(
        "package app default=stable
         channel stable: v1.0.0 <- v2.0.0
         bundle v2.0.0 needs=vault@>=1.1.0
         package vault default=stable
         channel stable: v1.0.0 <- v1.1.0
         bundle v1.1.0 requires=etcd.io/v1/Etcd
         package etcd default=stable
         channel stable: v3.0.0 <- v3.1.0
         channel beta: v4.0.0
         bundle v3.1.0 provides=etcd.io/v1/Etcd
         package lonely default=stable
         channel stable: v1.0.0
         bundle v1.0.0 needs=nothing@>=1.0.0",
    );
    let plan = planned(&catalog, &json!([{ "name": "app", "dependencies": true }]));
    assert_eq!(
        bundles(&plan),
        [
            "app.v2.0.0: HEAD",
            "etcd.v3.1.0: REQUIRED_BY vault.v1.1.0",
            "vault.v1.1.0: REQUIRED_BY app.v2.0.0",
        ]
    );
    assert_eq!(problems(&plan), []);

    // An entry that is selected otherwise is connected to the one that is required.
    let both = json!([
        { "name": "app", "dependencies": true },
        { "name": "vault", "minVersion": "1.0.0", "maxVersion": "1.0.0" },
    ]);
    let plan = planned(&catalog, &both);
    assert_eq!(
        entries(&plan),
        [
            "stable: app.v2.0.0",
            "stable: etcd.v3.1.0",
            "stable: vault.v1.0.0 vault.v1.1.0"
        ]
    );

    let plan = planned(
        &catalog,
        &json!([{ "name": "lonely", "dependencies": true }]),
    );
    assert_eq!(bundles(&plan), ["lonely.v1.0.0: HEAD"]);
    assert_eq!(problems(&plan)[0].0, "UNMET_DEPENDENCY");
}

#[test]
fn needs_that_exclude_each_other_or_are_malformed_are_refused() {
    let many: Vec<_> = (0..=MAX_INSTALLED_BUNDLES)
        .map(|at| at.to_string())
        .collect();
    let refused = |package: Value| -> Vec<String> {
        let mut package = package;
        package["name"] = "etcd".into();
        let problems = configured(&json!([package])).err().unwrap_or_default();
        let places = problems.into_iter().map(|problem| problem.path);
        places.collect()
    };
    let package = "input.packages[0]";
    assert_eq!(
        refused(json!({ "from": ["1.0.0"], "minVersion": "1" })),
        [package]
    );
    assert_eq!(
        refused(json!({ "from": many })),
        [format!("{package}.from")]
    );
    assert_eq!(refused(json!({ "from": many[1..] })), [""; 0]);
    assert_eq!(
        refused(json!({ "platform": { "openshift": "next" } })),
        [format!("{package}.platform.openshift")]
    );
    assert_eq!(
        refused(json!({ "until": "1" })),
        [format!("{package}.until")]
    );

    let full = json!({ "full": true, "packages": [{ "name": "etcd", "from": ["1.0.0"] }] });
    assert!(MirrorConfiguration::from_request("a", &full).is_err());
    // A file of oc-mirror has none of these members.
    let text = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n\
        mirror: {operators: [{catalog: a, packages: [{name: etcd, from: [a]}]}]}";
    assert!(MirrorConfiguration::parse(text).is_err());

    let configuration = configured(&json!([{ "name": "etcd", "from": ["1.0.0"] }])).unwrap();
    let catalog = fixture::catalog(ETCD);
    let like = plan(
        &configuration,
        &[&catalog],
        MirrorRules::OcMirror,
        &Work::unlimited(),
    );
    assert_eq!(like.unwrap().problems[0].code, "CONFIG");
}

/// The catalog that has only what is selected.
fn filtered(catalog: &Catalog, set: &MirrorSet<'_>) -> Catalog {
    let content = std::str::from_utf8(catalog.content()).unwrap();
    let lines: Vec<_> = content.lines().collect();
    let blobs = filtered_blobs(catalog, &set.packages).into_iter();
    let blobs = blobs.map(|blob| blob.line.unwrap_or_else(|| lines[blob.meta].to_owned()) + "\n");
    fixture::catalog_of(&blobs.collect::<String>())
}

fn errors(catalog: &Catalog) -> Vec<&str> {
    let problems = catalog.problems().iter();
    problems
        .filter(|problem| problem.severity() == Severity::Error)
        .map(|problem| &*problem.message)
        .collect()
}

/// Tells by walking edge after edge whether upgrades lead from a bundle to another one.
fn leads(package: Package<'_>, channel: &str, from: Bundle<'_>, to: &str) -> bool {
    let mut seen = vec![from.name()];
    let mut open = vec![from];
    while let Some(bundle) = open.pop() {
        if bundle.name() == to {
            return true;
        }
        let installed = Installed::from_bundle(bundle);
        let upgrades = upgrades_from(package, &installed, &[channel], &Work::unlimited()).unwrap();
        for upgrade in upgrades {
            let is_allowed = upgrade.reasons.iter().next().is_some();
            if let Some(next) = upgrade.to_bundle.filter(|_| is_allowed)
                && !seen.contains(&next.name())
            {
                seen.push(next.name());
                open.push(next);
            }
        }
    }
    false
}

/// What became of a set of upgrades from one bundle.
#[derive(Default, Debug, PartialEq, Eq)]
struct Outcomes {
    selected: usize,
    stranded: usize,
    /// The channel or the package was not valid before.
    invalid: usize,
}

/// Selects upgrades from one bundle in one channel, and checks what is selected.
fn check_upgrades(
    catalog: &Catalog,
    channel: Channel<'_>,
    from: Bundle<'_>,
    outcomes: &mut Outcomes,
) {
    let package = channel.package();
    let name = json!({ "name": channel.name() });
    let request = json!([{ "name": package.name(), "from": [from.name()], "channels": [name] }]);
    let configuration = configured(&request).unwrap();
    let work = Work::unlimited();
    let set = select(
        catalog,
        &configuration.operators[0],
        MirrorRules::Catalogql,
        &work,
    )
    .unwrap();
    let head = match channel.head() {
        fbc::Head::One(head) => head.name(),
        _ => "",
    };
    if set.is_refused() {
        let code = set.problems.iter().find(|problem| problem.is_error());
        if code.unwrap().code.as_str() == "STRANDED" {
            assert!(!leads(package, channel.name(), from, head), "{request}");
            outcomes.stranded += 1;
        } else {
            outcomes.invalid += 1;
        }
        return;
    }
    outcomes.selected += 1;
    assert!(leads(package, channel.name(), from, head), "{request}");

    let part = filtered(catalog, &set);
    assert_eq!(errors(&part), [""; 0], "{request}");
    let kept = part.package(package.name()).unwrap();
    let graph = UpdateGraph::new(kept, &[channel.name()], &work).unwrap();
    let installed = Installed::from_bundle(from);
    let mut lost = graph.unreachable(&installed, &work).unwrap();
    lost.retain(|bundle| bundle.name() != from.name());
    let lost: Vec<_> = lost.into_iter().map(Bundle::name).collect();
    assert_eq!(lost, [""; 0], "{request}");
    let target = kept.bundle(head).unwrap();
    let way = graph.path_from_installed(&installed, target, &|_| true, &work);
    assert!(way.unwrap().is_some(), "{request}");
    let is_there = |bundle: &mirror::MirroredBundle<'_>| bundle.bundle.name() == from.name();
    assert!(set.packages[0].bundles.iter().any(is_there), "{request}");
}

#[test]
fn selected_upgrades_are_possible_in_the_valid_catalog_that_has_only_them() {
    let mut outcomes = Outcomes::default();
    for case in cases("made.jsonl.gz").iter().step_by(3) {
        let catalog = made_catalog(case);
        for package in catalog.packages() {
            for channel in package.channels() {
                for from in package.bundles() {
                    check_upgrades(&catalog, channel, from, &mut outcomes);
                }
            }
        }
    }
    assert!(outcomes.selected > 500, "{outcomes:?}");
    assert!(outcomes.stranded > 100, "{outcomes:?}");
}

#[test]
fn upgrades_of_packages_of_community_are_possible_in_the_catalogs_of_them() {
    let directory = testing::corpus::community();
    let mut outcomes = Outcomes::default();
    let mut folders: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    for folder in folders {
        let Ok(file) = std::fs::read(folder.join("catalog.json")) else {
            continue;
        };
        let catalog = crate::golden::catalog("catalog.json", &file);
        for package in catalog.packages() {
            for channel in package.channels() {
                let entries = channel.entries().filter_map(fbc::ChannelEntry::bundle);
                for from in entries.step_by(7) {
                    check_upgrades(&catalog, channel, from, &mut outcomes);
                }
            }
        }
    }
    assert!(outcomes.selected > 20, "{outcomes:?}");
}

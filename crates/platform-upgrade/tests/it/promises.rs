//! Each upgrade that a plan promises is the one that `solve` or `resolve` chooses there.

use std::collections::BTreeMap;

use fbc::Catalog;
use fbc::work::Work;
use fbc_graph::resolve::{InstalledBundle, Offer, ResolutionRequest, resolve};
use platform_upgrade::{
    ClusterBundle, MoveKind, OlmRules, PackagePlan, PlanMove, PlatformUpgradeRequest,
};
use testing::corpus::{community, whole_or_part};

use crate::chosen::{SubscribedBundle, solved};
use crate::cut::{installed, lines, three_versions};
use crate::naive::made_catalog;
use crate::world::{World, planned};

/// Packages of the real catalog that require what no package of it provides, so that the solver
/// installs nothing of them. A plan does not look at dependencies: they may be of other catalogs.
const UNSOLVABLE: [&str; 4] = [
    "bpfman-operator",
    "eclipse-che",
    "l5-operator",
    "special-resource-operator",
];

/// Returns the bundle that OLM chooses from the catalog of a move.
fn chosen(installed: &ClusterBundle<'_>, one: &PlanMove<'_>, catalog: &Catalog) -> Option<String> {
    let version = one.from_version.unwrap_or_default();
    if installed.rules == OlmRules::V0 {
        let subscribed = SubscribedBundle {
            package: installed.package,
            name: &one.from,
            version,
            channel: one.channel.unwrap_or_default(),
        };
        return solved(subscribed, catalog);
    }
    let labels = BTreeMap::new();
    let offers = [Offer {
        name: "catalog",
        priority: 0,
        labels: &labels,
        content: Ok(catalog),
    }];
    let channels: Vec<_> = one.channel.into_iter().collect();
    let request = ResolutionRequest {
        package: installed.package,
        version: installed.version_range,
        channels: &channels,
        installed: Some(InstalledBundle {
            name: &one.from,
            version,
            release: None,
        }),
        ..ResolutionRequest::default()
    };
    let resolved = resolve(&request, &offers, &Work::unlimited());
    let resolution = resolved.expect("the work is not limited").ok()?;
    Some(resolution.bundle.name().to_owned())
}

/// Walks the moves of a plan, each from where the one before it led; returns those upgrades that OLM
/// does not choose, and the number of all.
fn broken_promises(
    request: &PlatformUpgradeRequest<'_>,
    plan: &PackagePlan<'_>,
    installed: &ClusterBundle<'_>,
) -> (Vec<String>, usize) {
    let mut broken = Vec::new();
    let mut upgrades = 0;
    let mut present = installed.name.expect("it is named").to_owned();
    for one in &plan.moves {
        assert_eq!(one.from, present, "the moves are not a way");
        let Some(to) = one.to.filter(|_| one.kind == MoveKind::Upgrade) else {
            continue;
        };
        upgrades += 1;
        let content = request.steps[one.step].catalogs[0].content;
        let chosen = chosen(installed, one, content.expect("it is served"));
        if chosen.as_deref() != Some(to.bundle.name()) {
            let line = format!(
                "{}: {} -> {}, and OLM chooses {chosen:?}",
                installed.package,
                one.from,
                to.bundle.name()
            );
            broken.push(line);
        }
        to.bundle.name().clone_into(&mut present);
    }
    (broken, upgrades)
}

#[test]
fn each_upgrade_of_a_plan_over_made_catalogs_is_what_olm_chooses() {
    let mut upgrades = 0;
    for seed in 10_000..10_800 {
        let mut random = fastrand::Rng::with_seed(seed);
        let fixtures: Vec<_> = (16..19)
            .map(|minor| made_catalog(&mut random, minor))
            .collect();
        let fixtures: Vec<_> = fixtures.iter().map(String::as_str).collect();
        let world = World::openshift(&fixtures);
        let names: Vec<_> = (0..7).map(|version| format!("p.v1.{version}.0")).collect();
        let installed = names.iter().flat_map(|name| {
            [OlmRules::V0, OlmRules::V1].map(|rules| ClusterBundle {
                rules,
                ..crate::world::installed(name, "stable")
            })
        });
        let request = world.request(installed.collect());
        let plans = planned(&request).packages;
        for (plan, installed) in plans.iter().zip(&request.installed) {
            let (broken, count) = broken_promises(&request, plan, installed);
            assert!(broken.is_empty(), "seed {seed}: {broken:?}");
            upgrades += count;
        }
    }
    assert!(upgrades > 1_000, "{upgrades}");
}

#[test]
fn each_upgrade_of_a_plan_over_a_real_catalog_is_what_olm_chooses() {
    let directory = community();
    let world = World::of_catalogs(three_versions(&lines(&directory)));
    let mut broken = Vec::new();
    let mut upgrades = 0;
    for rules in [OlmRules::V0, OlmRules::V1] {
        for part in installed(&world.catalogs[0]).chunks(100) {
            // None of them runs on the next version, so that each must be upgraded.
            let part = part.iter().map(|installed| ClusterBundle {
                rules,
                max_openshift: Some(vec!["\"4.16\""]),
                ..installed.clone()
            });
            let request = world.request(part.collect());
            let plans = planned(&request).packages;
            for (plan, installed) in plans.iter().zip(&request.installed) {
                let (more, count) = broken_promises(&request, plan, installed);
                broken.extend(more);
                upgrades += count;
            }
        }
    }
    let least = whole_or_part(&directory, 100, 10);
    assert!(upgrades > least, "{upgrades}");
    let is_unsolvable = |line: &String| {
        let package = line.split(':').next().unwrap_or_default();
        UNSOLVABLE.contains(&package) && line.ends_with("OLM chooses None")
    };
    broken.retain(|line| !is_unsolvable(line));
    assert_eq!(broken, Vec::<String>::new(), "of {upgrades} upgrades");
}

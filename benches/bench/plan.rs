//! Planning upgrades: successors, paths, graphs and resolutions of every package, in process.

use std::collections::BTreeMap;
use std::time::Duration;

use fbc::Package;
use fbc::work::Work;
use fbc_graph::graph::{Installed, UpdateGraph, successors};
use fbc_graph::resolve::{InstalledBundle, Offer, ResolutionRequest, resolve};
use serving::Served;

use crate::measure::{least, once, percentile, report, within};

const ALL: &[&str] = &[];
const MS: Duration = Duration::from_millis(1);

/// Measures upgrade graphs, successors and resolution over one catalog.
pub(crate) fn bench(served: &Served) {
    println!(
        "plan in {} packages and {} bundles",
        served.content.catalog.packages().len(),
        served.content.catalog.bundles().len()
    );
    let bundles = || served.content.catalog.bundles();
    let next = bundles().map(|bundle| {
        once(|| {
            successors(
                bundle.package(),
                &Installed::from_bundle(bundle),
                ALL,
                &Work::unlimited(),
            )
            .expect("an account without limit stops nothing")
        })
        .0
    });
    within(
        "successors of each bundle, p99",
        percentile(99, next),
        Duration::from_micros(200),
    );
    let labels = BTreeMap::new();
    let offers = [Offer {
        name: &served.name,
        priority: 0,
        labels: &labels,
        content: Ok(&served.content.catalog),
    }];
    let pick = |request: ResolutionRequest<'_>| {
        once(|| {
            resolve(&request, &offers, &Work::unlimited())
                .expect("an account without limit stops nothing")
                .is_ok()
        })
        .0
    };
    let installs = served.content.catalog.packages().map(|package| {
        pick(ResolutionRequest {
            package: package.name(),
            ..ResolutionRequest::default()
        })
    });
    within(
        "resolve an install of each package, p99",
        percentile(99, installs),
        MS,
    );
    let upgrades = bundles().map(|bundle| {
        let version = bundle.version().unwrap_or("0.0.0");
        let installed = Some(InstalledBundle {
            name: bundle.name(),
            version,
            release: bundle.release(),
        });
        pick(ResolutionRequest {
            package: bundle.package().name(),
            version: ">=0.0.0",
            installed,
            ..ResolutionRequest::default()
        })
    });
    within(
        "resolve an upgrade of each bundle, p99",
        percentile(99, upgrades),
        MS,
    );
    let edges = |package: Package<'_>| {
        UpdateGraph::new(package, ALL, &Work::unlimited())
            .expect("an account without limit stops nothing")
            .edges()
            .count()
    };
    let largest = served
        .content
        .catalog
        .packages()
        .max_by_key(|&package| edges(package))
        .expect("a catalog has packages");
    let name = format!(
        "{}, {} bundles and {} edges",
        largest.name(),
        largest.bundles().len(),
        edges(largest)
    );
    report("  the largest graph", &name, None);
    within(
        "update graph of the largest package",
        least(9, || edges(largest)),
        Duration::from_millis(5),
    );
    let drawn = least(9, || {
        let graph = UpdateGraph::new(largest, ALL, &Work::unlimited())
            .expect("an account without limit stops nothing");
        testing::drawing::draw(largest, &graph)
            .mermaid()
            .to_string()
    });
    within("  drawn", drawn, Duration::from_millis(20));
    let paths = served.content.catalog.packages().filter_map(|package| {
        let from = package.bundles().next_back()?;
        let to = package.bundles().next()?;
        Some(
            once(|| {
                UpdateGraph::new(package, ALL, &Work::unlimited())
                    .expect("an account without limit stops nothing")
                    .path(from, to, &Work::unlimited())
                    .expect("an account without limit stops nothing")
                    .is_some()
            })
            .0,
        )
    });
    within(
        "path from the lowest to the highest version of each package, p99",
        percentile(99, paths),
        5 * MS,
    );
}

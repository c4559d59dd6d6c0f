//! A real catalog, cut into three versions of itself.

use std::collections::BTreeMap;

use fbc::work::Work;
use platform_upgrade::{PlatformUpgradeRequest, package_matrix, plan};
use rustix::time::{ClockId, clock_gettime};
use testing::corpus::{community, whole_or_part};

use crate::cut::{installed, lines, three_versions};
use crate::naive::{found, search};
use crate::world::{World, planned, said};

#[test]
fn the_walk_agrees_with_a_search_of_all_states_over_a_real_catalog() {
    let directory = community();
    let world = World::of_catalogs(three_versions(&lines(&directory)));
    let all = installed(&world.catalogs[0]);
    let least = whole_or_part(&directory, 300, 25);
    assert!(all.len() > least, "{}", all.len());
    let mut verdicts = BTreeMap::new();
    for part in all.chunks(100) {
        let request = world.request(part.to_vec());
        for (at, plan) in planned(&request).packages.iter().enumerate() {
            *verdicts.entry(plan.verdict.as_str()).or_insert(0) += 1;
            let package = world.catalogs[0].package(request.installed[at].package);
            // The search of all states takes its time with the square of the bundles.
            if package.is_some_and(|package| package.bundles().len() > 40) {
                continue;
            }
            assert_eq!(
                found(plan),
                search(&request, at),
                "{}: {}",
                request.installed[at].package,
                said(plan)
            );
        }
    }
    assert!(
        verdicts.len() >= whole_or_part(&directory, 3, 2),
        "{verdicts:?}"
    );
}

/// Returns the time that this thread spent on a processor, in microseconds.
fn cpu_micros() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

/// Returns the least time of several runs, in microseconds.
fn least(mut run: impl FnMut()) -> i64 {
    let times = (0..5).map(|_| {
        let start = cpu_micros();
        run();
        cpu_micros() - start
    });
    times.min().unwrap_or_default()
}

#[test]
fn a_hundred_installed_bundles_and_the_matrix_of_four_catalogs_are_planned_in_time() {
    let directory = community();
    let world = World::of_catalogs(three_versions(&lines(&directory)));
    let all = installed(&world.catalogs[0]);
    let request: PlatformUpgradeRequest<'_> =
        world.request(all.iter().step_by(5).take(100).cloned().collect());
    // Decodes the metadata of all bundles, as a server does after loading.
    let work = Work::unlimited();
    plan(&request, &work)
        .expect("the work is not limited")
        .expect("the request is well-formed");
    // A server allows 100,000 units for the whole request.
    assert!(work.units() <= 50_000, "{} units", work.units());
    let time = least(|| drop(planned(&request)));
    let catalogs: Vec<_> = world
        .catalogs
        .iter()
        .chain(world.catalogs.first())
        .collect();
    let packages = whole_or_part(&directory, 200, 25);
    let matrix = least(|| {
        let matrix = package_matrix(&catalogs, &[], &Work::unlimited());
        assert!(matrix.is_ok_and(|matrix| matrix.len() > packages));
    });
    // Without optimization, the code takes more than ten times as long.
    let factor = if cfg!(debug_assertions) { 15 } else { 1 };
    assert!(time <= 20_000 * factor, "the plan takes {time} µs");
    assert!(matrix <= 50_000 * factor, "the matrix takes {matrix} µs");
}

//! A real catalog, cut into three versions of itself.

use std::fs;
use std::path::Path;

use fbc::Catalog;
use fbc::work::Work;
use platform_upgrade::{ClusterBundle, PlatformUpgradeRequest, package_matrix, plan};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use testing::corpus::{REFUSED, find_catalog};
use testing::fixture::{catalog_of, read_file};

use crate::naive::{found, search};
use crate::world::{World, planned, said};

/// Reads the canonical lines of a directory, one folder for each package.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate is pure; its tests read the corpus"
)]
fn lines(directory: &Path) -> String {
    let mut lines = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(directory)
        .expect("the corpus can be read")
        .map(|entry| entry.expect("the corpus can be read").path())
        .collect();
    folders.retain(|folder| folder.is_dir() && !REFUSED.iter().any(|name| folder.ends_with(name)));
    folders.sort();
    for folder in folders {
        for entry in fs::read_dir(folder).expect("the corpus can be read") {
            let path = entry.expect("the corpus can be read").path();
            if path.is_file() {
                let file = fs::read(&path).expect("the corpus can be read");
                read_file(&path.to_string_lossy(), &file, &mut lines);
            }
        }
    }
    String::from_utf8(lines).expect("JSON is UTF-8")
}

/// Returns the minor version in the property with the last version of `OpenShift`.
fn max_minor(bundle: &Value) -> Option<u32> {
    let properties = bundle["properties"].as_array()?;
    let max = properties
        .iter()
        .find(|property| property["type"] == "olm.maxOpenShiftVersion")?;
    let text = match &max["value"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim_matches('"').split_once('.')?.1.parse().ok()
}

/// Cuts the catalog of a version of `OpenShift` out of a catalog: without bundles for versions
/// before it, without the channels that its number drops, and without what is empty then.
fn cut(objects: &[(Value, &str)], minor: u32) -> Catalog {
    let key = |object: &Value| {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        (text("package"), text("name"))
    };
    let is_kept = |object: &Value| match object["schema"].as_str() {
        Some("olm.bundle") => max_minor(object).is_none_or(|max| max >= minor),
        // A third of the channels other than the first of a package end with each version.
        Some("olm.channel") => {
            let (package, name) = key(object);
            let sum: u32 = package.bytes().chain(name.bytes()).map(u32::from).sum();
            minor == 16 || sum % 7 + 16 != minor
        }
        _ => true,
    };
    let bundles: std::collections::BTreeSet<_> = objects
        .iter()
        .filter(|(object, _)| object["schema"] == "olm.bundle" && is_kept(object))
        .map(|(object, _)| key(object))
        .collect();
    let mut lines = String::new();
    for (object, line) in objects {
        if !is_kept(object) {
            continue;
        }
        if object["schema"] != "olm.channel" {
            lines.push_str(line);
            lines.push('\n');
            continue;
        }
        let mut channel = object.clone();
        let (package, _) = key(object);
        if let Some(entries) = channel["entries"].as_array_mut() {
            entries.retain(|entry| {
                let name = entry["name"].as_str().unwrap_or_default().to_owned();
                bundles.contains(&(package.clone(), name))
            });
            if entries.is_empty() {
                continue;
            }
        }
        lines.push_str(&channel.to_string());
        lines.push('\n');
    }
    catalog_of(&lines)
}

fn three_versions(lines: &str) -> World {
    let objects: Vec<(Value, &str)> = lines
        .lines()
        .map(|line| (serde_json::from_str(line).expect("a line is JSON"), line))
        .collect();
    World::of_catalogs((16..=18).map(|minor| cut(&objects, minor)).collect())
}

/// Returns what a cluster might have installed: of each package the head of its default channel and
/// a lower bundle of it.
fn installed(world: &World) -> Vec<ClusterBundle<'_>> {
    let mut installed = Vec::new();
    for package in world.catalogs[0].packages() {
        let Some(channel) = package.default_channel() else {
            continue;
        };
        let mut bundles: Vec<_> = channel
            .entries()
            .filter_map(fbc::ChannelEntry::bundle)
            .collect();
        bundles.sort_by_key(|bundle| bundle.place());
        for bundle in [bundles.first(), bundles.get(bundles.len() / 2)] {
            installed.extend(bundle.map(|bundle| ClusterBundle {
                package: package.name(),
                name: Some(bundle.name()),
                version: bundle.version(),
                channels: vec![channel.name()],
                ..ClusterBundle::default()
            }));
        }
    }
    installed
}

#[test]
fn the_walk_agrees_with_a_search_of_all_states_over_a_real_catalog() {
    let Some(directory) = find_catalog("community") else {
        return;
    };
    let world = three_versions(&lines(&directory));
    let all = installed(&world);
    assert!(all.len() > 300, "{}", all.len());
    let mut verdicts = std::collections::BTreeMap::new();
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
    assert!(verdicts.len() >= 3, "{verdicts:?}");
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
    let Some(directory) = find_catalog("community") else {
        return;
    };
    let world = three_versions(&lines(&directory));
    let all = installed(&world);
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
    let matrix = least(|| {
        let matrix = package_matrix(&catalogs, &[], &Work::unlimited());
        assert!(matrix.is_ok_and(|matrix| matrix.len() > 200));
    });
    // Without optimization, the code takes more than ten times as long.
    let factor = if cfg!(debug_assertions) { 15 } else { 1 };
    assert!(time <= 20_000 * factor, "the plan takes {time} µs");
    assert!(matrix <= 50_000 * factor, "the matrix takes {matrix} µs");
}

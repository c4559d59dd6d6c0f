//! Measures selections over the catalog `community` of the corpus: each channel of each package with
//! three ranges, and the heads of the whole catalog. Prints the thread's CPU time: the median and
//! the worst.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of benches cannot do fails the bench"
)]
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "benches read the corpus and print what they measured"
)]

use std::fs;

use fbc::Catalog;
use fbc::work::Work;
use fbc_read::Origins;
use mirror::{MirrorConfiguration, MirrorRules, select};
use rustix::time::{ClockId, clock_gettime};

/// Number of times that the heads of the whole catalog are selected.
const REPEATS: usize = 20;

fn main() {
    let Some(directory) = testing::corpus::find_catalog("community") else {
        return;
    };
    let mut lines = Vec::new();
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut origins = Origins::default();
    for folder in files {
        let path = folder.join("catalog.json");
        let Ok(bytes) = fs::read(&path) else {
            continue;
        };
        origins.files.push(testing::fixture::read_file(
            &path.to_string_lossy(),
            &bytes,
            &mut lines,
        ));
    }
    let catalog = Catalog::build(lines.into(), &origins).unwrap();
    catalog.prepare();

    for rules in [MirrorRules::Catalogql, MirrorRules::OcMirror] {
        let mut times = Vec::new();
        for package in catalog.packages() {
            for channel in package.channels() {
                for range in ranges(package) {
                    let channel = format!("{{\"name\":{:?}{range}}}", channel.name());
                    let packages = format!(
                        "[{{\"name\":{:?},\"defaultChannel\":{:?},\"channels\":[{channel}]}}]",
                        package.name(),
                        channel_name(&channel)
                    );
                    times.push(measure(&catalog, &packages, rules));
                }
            }
        }
        report(&format!("{rules:?}: a channel with a range"), times);
        let heads = (0..REPEATS)
            .map(|_| measure(&catalog, "[]", rules))
            .collect();
        report(&format!("{rules:?}: all heads"), heads);
    }
}

/// Members of three ranges: all versions, from the one in the middle on, and exactly that one.
fn ranges(package: fbc::Package<'_>) -> [String; 3] {
    let versions: Vec<_> = package.bundles().filter_map(fbc::Bundle::version).collect();
    let last = versions.last().copied().unwrap_or("0.0.0");
    let middle = versions.get(versions.len() / 2).copied().unwrap_or("0.0.0");
    [
        format!(",\"minVersion\":{last:?}"),
        format!(",\"minVersion\":{middle:?}"),
        format!(",\"minVersion\":{middle:?},\"maxVersion\":{middle:?}"),
    ]
}

/// The name in an item of `channels`.
fn channel_name(item: &str) -> String {
    let name = item.split('"').nth(3).unwrap_or_default();
    name.to_owned()
}

/// Selects and returns the CPU time in microseconds.
fn measure(catalog: &Catalog, packages: &str, rules: MirrorRules) -> u64 {
    let text = format!(
        "{{\"kind\":\"ImageSetConfiguration\",\"apiVersion\":\"mirror.openshift.io/v2alpha1\",\"mirror\":{{\"operators\":[{{\"catalog\":\"a\",\"packages\":{packages}}}]}}}}"
    );
    let configuration = MirrorConfiguration::parse(&text).unwrap();
    let begin = cpu_nanoseconds();
    let set = select(
        catalog,
        &configuration.operators[0],
        rules,
        &Work::unlimited(),
    )
    .unwrap();
    let time = cpu_nanoseconds() - begin;
    assert!(!set.packages.is_empty() || set.is_refused());
    time / 1_000
}

fn report(name: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let median = times[times.len() / 2];
    let worst = times[times.len() - 1];
    println!(
        "{name}: {} selections, median {median} µs, worst {worst} µs",
        times.len()
    );
}

fn cpu_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

//! Measures plans and the matrix over a real catalog that is cut into three versions, and plans over
//! hostile catalogs against the prices of their work. Prints the thread's CPU time.

#![expect(clippy::disallowed_macros, reason = "benches print what they measured")]

#[path = "../tests/it/cut.rs"]
mod cut;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fbc::work::{UNIT, Work};
use fbc::{Catalog, Platform};
use platform_upgrade::{
    ClusterBundle, MAX_STEPS, OlmRules, PlatformStep, PlatformUpgradeRequest, StepCatalog,
    package_matrix, plan,
};
use testing::fixture::catalog;

/// Units of work that a server allows a request.
const MAX_WORK: u64 = 100_000;

fn main() {
    let labels = BTreeMap::new();
    if let Some(directory) = testing::corpus::find_catalog("community") {
        let catalogs = cut::three_versions(&cut::lines(&directory));
        for catalog in &catalogs {
            catalog.prepare();
        }
        let installed = cut::installed(&catalogs[0]);
        let installed: Vec<_> = installed.into_iter().step_by(5).take(100).collect();
        for rules in [OlmRules::V0, OlmRules::V1] {
            let installed = installed.iter().cloned();
            let installed: Vec<_> = installed
                .map(|bundle| ClusterBundle { rules, ..bundle })
                .collect();
            let count = installed.len();
            let request = request(&catalogs.iter().collect::<Vec<_>>(), installed, &labels);
            let (micros, units) = measure(&request);
            println!(
                "plan of {count} installed bundles over 3 steps by {rules:?}: {micros} µs, {units} units of work"
            );
        }
        let four: Vec<_> = catalogs.iter().chain(catalogs.first()).collect();
        let (micros, units) = least(|work| {
            let matrix = package_matrix(&four, &[], work);
            assert!(matrix.is_ok_and(|matrix| !matrix.is_empty()));
        });
        println!("matrix of 4 catalogs: {micros} µs, {units} units of work");
    }

    let mut worst = (0, "");
    for (name, fixture) in hostile() {
        let content = catalog(&fixture);
        content.prepare();
        for rules in [OlmRules::V0, OlmRules::V1] {
            let installed = (0..50).map(|_| ClusterBundle {
                package: "p",
                name: Some("p.v0.0.0"),
                version: Some("0.0.0"),
                channels: vec!["c0"],
                max_openshift: Some(vec!["\"4.8\""]),
                rules,
                ..ClusterBundle::default()
            });
            let request = request(&[&content; MAX_STEPS], installed.collect(), &labels);
            let (micros, units) = measure(&request);
            let percent = micros.saturating_mul(100) / units.max(1);
            worst = worst.max((percent, name));
            println!(
                "{name} by {rules:?}: {micros} µs, {units} units of work, {percent} % of the price"
            );
        }
    }
    println!("worst: {} % of the price, {}", worst.0, worst.1);
}

/// Asks for the way over these catalogs, from `OpenShift` 4.8 on.
fn request<'a>(
    catalogs: &[&'a Catalog],
    installed: Vec<ClusterBundle<'a>>,
    labels: &'a BTreeMap<String, String>,
) -> PlatformUpgradeRequest<'a> {
    let first = if catalogs.len() == MAX_STEPS { 8 } else { 16 };
    let steps = (first..)
        .zip(catalogs)
        .map(|(minor, content)| PlatformStep {
            platform: Platform {
                openshift: format!("4.{minor}").parse().ok(),
                ..Platform::default()
            },
            catalogs: vec![StepCatalog {
                name: "catalog",
                priority: 0,
                labels,
                content: Some(content),
            }],
        });
    PlatformUpgradeRequest {
        steps: steps.collect(),
        installed,
    }
}

fn measure(request: &PlatformUpgradeRequest<'_>) -> (u64, u64) {
    least(|work| {
        if let Ok(plan) = plan(request, work) {
            assert!(plan.is_ok_and(|plan| !plan.packages.is_empty()));
        }
    })
}

/// Returns the least CPU time of several runs in microseconds, and the units of work.
fn least(mut run: impl FnMut(&Work<'_>)) -> (u64, u64) {
    let limit = |drawn| (drawn < MAX_WORK * UNIT).then_some(MAX_WORK * UNIT);
    let mut least = u64::MAX;
    let mut units = 0;
    for _ in 0..5 {
        let work = Work::new(&limit);
        let begin = cpu_nanoseconds();
        run(&work);
        least = least.min((cpu_nanoseconds() - begin) / 1_000);
        units = work.units();
    }
    (least, units)
}

/// Returns hostile catalogs: many ranges, many channels, long lists of skipped names, long chains,
/// and rings.
fn hostile() -> Vec<(&'static str, String)> {
    let mut ranges = package("c0");
    channel(&mut ranges, "c0", 2_000, |at| {
        format!(r#","skipRange":">=0.0.0 <0.{at}.0 || >=0.0.1 <0.{at}.1""#)
    });
    let mut chain = package("c0");
    channel(&mut chain, "c0", 2_000, |at| match at {
        0 => String::new(),
        _ => format!(r#","replaces":"p.v0.{}.0""#, at - 1),
    });
    let mut ring = package("c0");
    channel(&mut ring, "c0", 2_000, |at| {
        format!(r#","replaces":"p.v0.{}.0""#, (at + 1) % 2_000)
    });
    // Each entry of the second half is a head, and all their chains share the first half.
    let mut heads = package("c0");
    channel(&mut heads, "c0", 2_000, |at| match at {
        0 => String::new(),
        _ => format!(r#","replaces":"p.v0.{}.0""#, (at - 1).min(999)),
    });
    let mut skips = package("c0");
    channel(&mut skips, "c0", 300, |at| {
        let names: Vec<_> = (0..300)
            .filter(|name| *name != at)
            .map(|name| format!(r#""p.v0.{name}.1""#))
            .collect();
        format!(
            r#","replaces":"p.v0.{}.0","skips":[{}]"#,
            at.saturating_sub(1),
            names.join(",")
        )
    });
    let mut channels = package("c0");
    for name in 0..300 {
        channel(&mut channels, &format!("c{name}"), 30, |at| match at {
            0 => String::new(),
            _ => format!(r#","replaces":"p.v0.{}.0","skipRange":"<0.{at}.0""#, at - 1),
        });
    }
    let mut fixtures = vec![
        ("ranges", ranges, 2_000),
        ("chain", chain, 2_000),
        ("ring", ring, 2_000),
        ("heads", heads, 2_000),
        ("skips", skips, 300),
        ("channels", channels, 30),
    ];
    for (_, fixture, bundles) in &mut fixtures {
        for at in 0..*bundles {
            bundle(fixture, at);
        }
    }
    fixtures
        .into_iter()
        .map(|(name, fixture, _)| (name, fixture))
        .collect()
}

fn package(default: &str) -> String {
    format!("package p default={default}\n")
}

fn channel(fixture: &mut String, name: &str, entries: usize, links: impl Fn(usize) -> String) {
    let entries: Vec<_> = (0..entries)
        .map(|at| format!(r#"{{"name":"p.v0.{at}.0"{}}}"#, links(at)))
        .collect();
    writeln!(
        fixture,
        r#"{{"entries":[{}],"name":"{name}","package":"p","schema":"olm.channel"}}"#,
        entries.join(",")
    )
    .expect("a string takes all text");
}

fn bundle(fixture: &mut String, at: usize) {
    writeln!(
        fixture,
        r#"{{"image":"a.io/p:{at}","name":"p.v0.{at}.0","package":"p","properties":[{{"type":"olm.package","value":{{"packageName":"p","version":"0.{at}.0"}}}},{{"type":"olm.maxOpenShiftVersion","value":"4.8"}}],"schema":"olm.bundle"}}"#
    )
    .expect("a string takes all text");
}

/// CPU time of this thread.
fn cpu_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).expect("it does not run backwards")
}

//! Measures solving over the catalogs of the corpus: each package alone, and thirty at once, from
//! default channels. Prints the thread's CPU time, the median and the worst of each.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

use fbc::Catalog;
use fbc::work::Work;
use solve::{SolveOutcome, SolveRequest, SourceCatalog, solve};

/// Number of requests for thirty packages at once.
const SAMPLES: usize = 40;

fn main() {
    for name in ["community", "community-v4.18-yaml"] {
        let Some(directory) = testing::corpus::find_catalog(name) else {
            continue;
        };
        let catalog = testing::corpus::load(&directory, &[]).unwrap();
        catalog.prepare();
        let names: Vec<&str> = catalog.packages().map(fbc::Package::name).collect();
        let alone: Vec<_> = names
            .iter()
            .map(|name| measure(&catalog, &[name]))
            .collect();
        report(name, "alone", alone);
        let mut random = fastrand::Rng::with_seed(1);
        let many = (0..SAMPLES)
            .map(|_| measure(&catalog, &random.choose_multiple(names.iter().copied(), 30)));
        report(name, "30 at once", many.collect());
    }
}

/// Solves for these packages; returns the CPU time in microseconds, the units of work and the kind
/// of the answer.
fn measure(catalog: &Catalog, names: &[&str]) -> (u64, u64, &'static str) {
    let subscriptions: Vec<_> = names
        .iter()
        .filter_map(|name| Some((name, catalog.package(name)?.default_channel_name())))
        .map(|(name, channel)| serde_json::json!({"name": name, "package": name, "channel": channel}))
        .collect();
    let request = serde_json::json!({"namespaces": ["olm"], "subscriptions": subscriptions});
    let request: SolveRequest =
        serde_json::from_value(request).expect("the request is well-formed");
    let catalogs = [SourceCatalog {
        name: "community",
        namespace: "olm",
        priority: 0,
        labels: None,
        catalog,
    }];
    let begin = cpu_nanoseconds();
    let work = Work::unlimited();
    let outcome = solve(&request, &catalogs, u64::MAX, &work)
        .expect("an account without limit stops nothing");
    let kind = match outcome {
        SolveOutcome::Solution(_) => "solved",
        SolveOutcome::Conflict(_) => "conflicts",
        SolveOutcome::Refusal(_) => "refused",
    };
    ((cpu_nanoseconds() - begin) / 1_000, work.units(), kind)
}

/// CPU time of this thread.
fn cpu_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).expect("it does not run backwards")
}

fn report(catalog: &str, what: &str, mut runs: Vec<(u64, u64, &'static str)>) {
    runs.sort_unstable();
    let count = |wanted: &str| runs.iter().filter(|(_, _, kind)| *kind == wanted).count();
    let solved = count("solved");
    let conflicts = count("conflicts");
    let refused = count("refused");
    let units = runs
        .iter()
        .map(|(_, units, _)| *units)
        .max()
        .unwrap_or_default();
    let median = runs[runs.len() / 2].0;
    let worst = runs[runs.len() - 1].0;
    println!(
        "{catalog}, {what}: median {median} µs, worst {worst} µs, at most {units} units of work; {solved} solved, \
         {conflicts} conflicts, {refused} refused"
    );
}

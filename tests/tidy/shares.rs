//! Whatever is counted for many clients has a share for each of them: `docs/reference/limits.md`
//! lists all of it.

use crate::{Faults, Tree, catches, holds};

const LIMITS: &str = "docs/reference/limits.md";

/// Heading of the table of shares.
const HEADING: &str = "## Shares\n";

/// What counts: constructors of semaphores and budgets.
const CONSTRUCTORS: [&str; 5] = [
    "FairSemaphore::new(",
    "FairSemaphore::per_processor(",
    "Permits::new(",
    "ByteBudget::new(",
    "Semaphore::new(",
];

/// The files that construct counters, and the rows of the table that these have, one for each
/// counter.
const COUNTERS: [(&str, &[&str]); 16] = [
    (
        "crates/alpha-graphql/src/lib.rs",
        &["alpha requests", "alpha in flight"],
    ),
    (
        "crates/auth/src/reviews.rs",
        &["questions about callers", "questions about callers"],
    ),
    (
        "crates/bundle-images/src/fetcher.rs",
        &["bundle fetches", "waiting fetches"],
    ),
    (
        "crates/catalogd-http/src/catalogd.rs",
        &["compressed streams", "places", "work of a view"],
    ),
    (
        "crates/catalogd-http/src/catalogd/encoding_cache.rs",
        &["encoding that is made"],
    ),
    (
        "crates/edit-http/src/catalogs.rs",
        &["edits of a catalog", "pending batches"],
    ),
    (
        "crates/graphql-http/src/lib.rs",
        &[
            "in flight",
            "bodies",
            "waiting",
            "subscription requests",
            "streams",
            "streams",
        ],
    ),
    (
        "crates/graphql/src/streams.rs",
        &["events that are written"],
    ),
    (
        "crates/grpc/src/lib.rs",
        &["gRPC responses", "work of a view"],
    ),
    (
        "crates/kube-api/src/lib.rs",
        &["lists being sent", "watches", "work of a view"],
    ),
    (
        "crates/mcp/src/http.rs",
        &["calls of tools", "bodies of tools"],
    ),
    ("crates/feeds-http/src/lib.rs", &["work of a view"]),
    ("crates/pages/src/lib.rs", &["work of a view"]),
    ("crates/renovate-http/src/lib.rs", &["work of a view"]),
    ("crates/catalog-server/src/scrapes.rs", &["work of a view"]),
    (
        "crates/catalog-server/src/minimum_revisions.rs",
        &["waits for revisions"],
    ),
];

/// The files that construct counters of which clients take nothing.
const WITHOUT_CLIENTS: [(&str, &str); 8] = [
    (
        "crates/graphql-http/src/budget.rs",
        "parts of a budget, which is counted where it is constructed",
    ),
    (
        "crates/kube-api/src/manifest_cache.rs",
        "memory of cached manifests, as many as catalogs have",
    ),
    (
        "crates/images/src/copy/plan.rs",
        "images that one command copies",
    ),
    ("crates/loading/src/image.rs", "pulls of sources"),
    (
        "crates/remote-sources/src/client.rs",
        "downloads of sources",
    ),
    ("crates/loading/src/pipeline.rs", "loads of sources"),
    (
        "crates/shared-store/src/store.rs",
        "uploads of contents that were loaded",
    ),
    (
        "crates/admission/src/fair_semaphore.rs",
        "parts of a semaphore, which is counted where it is constructed",
    ),
];

/// Rows of what is counted in other ways than by the constructors.
const COUNTED_OTHERWISE: [&str; 5] = [
    "connections",
    "TLS handshakes",
    "HTTP/2 requests",
    "large requests",
    "long requests",
];

#[test]
fn whatever_is_counted_for_many_clients_has_a_share_for_each_of_them() {
    holds(shares);

    let row = |name: &str| format!("| `{name}` | half |\n");
    let names = COUNTERS
        .iter()
        .flat_map(|(_, rows)| rows.iter())
        .chain(&COUNTED_OTHERWISE);
    let table: String = names.map(|name| row(name)).collect();
    let limits = format!("{HEADING}\n| counted | share |\n|---|---|\n{table}\n## Of edits\n");
    let code = |count: usize| "FairSemaphore::new(4); ".repeat(count);
    let counters: Vec<_> = COUNTERS
        .iter()
        .map(|(path, rows)| (*path, code(rows.len())))
        .collect();
    let mut good: Vec<(&str, &str)> = counters
        .iter()
        .map(|(path, code)| (*path, code.as_str()))
        .collect();
    good.push((LIMITS, &limits));
    good.push(("crates/new/src/tests.rs", "Semaphore::new(3);"));
    good.push((
        "crates/new/src/lib.rs",
        "#[cfg(test)]\nmod tests { fn new() { Semaphore::new(3); } }",
    ));

    catches(
        shares,
        &[
            (
                "crates/new/src/lib.rs",
                "fn new() { Arc::new(Semaphore::new(3)); }",
            ),
            ("crates/pages/src/lib.rs", &code(2)),
            ("crates/pages/src/lib.rs", ""),
            (LIMITS, &limits.replace(&row("watches"), "")),
            (
                LIMITS,
                &limits.replace(&row("watches"), &(row("watches") + &row("other"))),
            ),
        ],
        &good,
    );
}

/// Counters that no row of the table stands for, and rows that no counter has.
fn shares(tree: &Tree) -> Faults {
    let mut faults = Faults::new();
    for (path, text) in tree.ending(".rs") {
        let count = counters(path, text);
        if WITHOUT_CLIENTS.iter().any(|(other, _)| *other == path) {
            continue;
        }
        let rows = COUNTERS
            .iter()
            .find(|(other, _)| *other == path)
            .map_or(0, |(_, rows)| rows.len());
        if count != rows {
            faults.push(format!(
                "{path} has {count} counters, and tests/tidy/shares.rs names {rows} shares of them: give each client a \
                 share by a FairSemaphore or Permits, and add it to {LIMITS}"
            ));
        }
    }

    let limits = tree.text(LIMITS).unwrap_or_default();
    let (_, table) = limits.split_once(HEADING).unwrap_or_default();
    let table = table.split("\n## ").next().unwrap_or_default();
    let cells = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let documented: Vec<&str> = cells.skip(1).map(|cell| cell.trim_matches('`')).collect();
    let counted: Vec<&str> = COUNTERS
        .iter()
        .flat_map(|(_, rows)| rows.iter())
        .chain(&COUNTED_OTHERWISE)
        .copied()
        .collect();
    let missing = counted.iter().filter(|name| !documented.contains(name));
    faults.extend(
        missing.map(|name| format!("{LIMITS} has no row `{name}` under {}", HEADING.trim())),
    );
    let unknown = documented.iter().filter(|name| !counted.contains(name));
    faults.extend(
        unknown.map(|name| format!("{LIMITS} has the share `{name}` of nothing that is counted")),
    );
    faults
}

/// Returns the number of counters that a file constructs, outside of tests.
fn counters(path: &str, text: &str) -> usize {
    let is_test =
        path.starts_with("tests/") || path.contains("/tests") || path.contains("/testing/");
    if is_test {
        return 0;
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    // One name may end with another one.
    let is_whole = |at: usize| !code[..at].ends_with(|before: char| before.is_alphanumeric());
    let constructs = |name: &str| {
        code.match_indices(name)
            .filter(|(at, _)| is_whole(*at))
            .count()
    };
    CONSTRUCTORS.iter().map(|name| constructs(name)).sum()
}

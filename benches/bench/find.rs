//! Finding: what consoles and resolvers ask of a whole catalog, answered in process and never from
//! a cache.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fbc::OlmV1Installability;
use fbc::work::Work;
use fbc_read::manifest::Manifests;
use graphql::{Engine, Request};
use serde_json::{Map, Value, json};
use serving::Served;

use crate::execute::{engine, roomy};
use crate::look_up::among_fifty;
use crate::measure::{least, once, percentile, report, within};

const MS: Duration = Duration::from_millis(1);

/// A page of tiles: 50 packages with seven fields, and three facets.
const TILES: &str = "query($after: String) { packages(first: 50, after: $after) { totalCount \
    facets { categories { value count } providers { value count } capabilityLevels { value count } } \
    pageInfo { hasNextPage endCursor } nodes { id name catalog { name } icon { url } deprecation { message } description \
    metadata { displayName provider { name } categories capabilityLevel infrastructureFeatures } } } }";

const SEARCH: &str = "query($words: String!) { packages(first: 50, filter: {search: $words}) { totalCount nodes { name } } }";

const PROVIDES: &str = "query($api: GroupVersionKindInput!) { bundles(filter: {provides: $api}) { nodes { name version } } }";

const IMAGES: &str = "query($after: String) { bundles(first: 500, after: $after) { pageInfo { endCursor } nodes { relatedImages { name image } } } }";

/// Measures filters, facets and search over one catalog.
pub(crate) fn bench(served: &Arc<Served>) {
    println!(
        "find in {} packages and {} bundles",
        served.content.catalog.packages().len(),
        served.content.catalog.bundles().len()
    );
    served.content.catalog.prepare();
    let one = engine(served, roomy());
    let tiles = percentile(99, (0..1_000).map(|_| execute(&one, TILES, json!({})).0));
    within("tiles: 50 packages × 7 fields, 3 facets, p99", tiles, MS);
    search(&one, served);
    provides(&one, served);
    images(&one, served);
    olm_v1(served);
}

/// Measures judging every bundle by its properties, without rendering manifests.
fn olm_v1(served: &Served) {
    let catalog = &served.content.catalog;
    let mut manifests = Manifests::default();
    let decoded: Vec<_> = catalog
        .bundles()
        .map(|bundle| (bundle, bundle.metadata_by(&mut manifests)))
        .collect();
    let judge = || {
        let judgements = decoded
            .iter()
            .map(|(bundle, metadata)| bundle.judge_olm_v1(metadata.as_ref()));
        judgements
            .filter(|judgement| judgement.installability == OlmV1Installability::Yes)
            .count()
    };
    within(
        "judging all bundles for OLM v1 by their metadata",
        least(5, judge),
        20 * MS,
    );
    let whole = least(3, || {
        let all = catalog.bundles();
        all.filter(|bundle| {
            let judgement = bundle.olm_v1(&mut manifests, &Work::unlimited());
            judgement.is_ok_and(|judgement| judgement.installability == OlmV1Installability::Yes)
        })
        .count()
    });
    report(
        "  with decoding their metadata",
        &format!("{whole:.1?}"),
        None,
    );
}

fn search(engine: &Engine, served: &Served) {
    let words = words(served);
    let times = words.iter().flat_map(|word| {
        let mistyped: String = word
            .chars()
            .enumerate()
            .filter(|(at, _)| *at != 2)
            .map(|(_, letter)| letter)
            .collect();
        let half: String = word
            .chars()
            .take(word.chars().count().div_ceil(2))
            .collect();
        [word.clone(), mistyped, half]
    });
    let times: Vec<_> = times
        .map(|word| execute(engine, SEARCH, json!({ "words": word })).0)
        .collect();
    report("  searches", &times.len().to_string(), None);
    within(
        "search of one word, right, mistyped or half, p99",
        percentile(99, times),
        MS,
    );
}

fn provides(one: &Engine, served: &Arc<Served>) {
    let apis: BTreeSet<_> = served
        .content
        .catalog
        .bundles()
        .flat_map(|bundle| {
            bundle
                .provided_apis()
                .map(|api| (api.group, api.version, api.kind))
        })
        .collect();
    let times = |engine: &Engine| {
        let times = apis.iter().map(|(group, version, kind)| {
            execute(
                engine,
                PROVIDES,
                json!({"api": {"group": group, "version": version, "kind": kind}}),
            )
            .0
        });
        times.collect::<Vec<_>>()
    };
    let alone = times(one);
    within(
        "bundles that provide an API, p99",
        percentile(99, alone.clone()),
        Duration::from_micros(200),
    );
    let among = times(&among_fifty(served));
    let further = percentile(50, among).saturating_sub(percentile(50, alone)) / 49;
    within(
        "  each of 49 further catalogs, p50",
        further,
        Duration::from_micros(5),
    );
}

fn images(engine: &Engine, served: &Served) {
    let all = || {
        let mut took = Duration::ZERO;
        let mut after = Value::Null;
        for _ in 0..served.content.catalog.bundles().len().div_ceil(500) {
            let (page, body) = execute(engine, IMAGES, json!({ "after": after }));
            let body: Value = serde_json::from_slice(&body).expect("an answer is JSON");
            after = body["data"]["bundles"]["pageInfo"]["endCursor"].clone();
            took += page;
        }
        took
    };
    let least = (0..5).map(|_| all()).min().expect("five runs");
    within(
        "related images of every bundle",
        least,
        Duration::from_millis(15),
    );
}

/// Every word of a name, at most a thousand.
fn words(served: &Served) -> Vec<String> {
    let names = served
        .content
        .catalog
        .packages()
        .flat_map(|package| package.name().split('-'));
    let words: BTreeSet<_> = names
        .filter(|word| word.len() >= 4)
        .map(str::to_owned)
        .collect();
    words.into_iter().take(1_000).collect()
}

/// Executes a document that was not seen before, and returns the CPU time with the response.
fn execute(engine: &Engine, query: &str, variables: Value) -> (Duration, Vec<u8>) {
    let query = format!("{query}#{:?}", std::time::Instant::now());
    let Value::Object(variables) = variables else {
        return (Duration::ZERO, Vec::new());
    };
    let variables: Option<Map<String, Value>> = Some(variables);
    let request = Request {
        query: Some(query.into()),
        variables,
        ..Request::default()
    };
    let (took, answer) = once(|| engine.execute(&request));
    assert!(
        !answer.body.starts_with(b"{\"errors\""),
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    (took, answer.body)
}

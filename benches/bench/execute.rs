//! Executing: whole requests in process, from the text to the JSON answer.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use graphql::limits::Limits;
use graphql::{Engine, Request};
use serving::{Content, Served, catalogs};

use crate::derive;
use crate::measure::{at_least, at_most, least, least_of_many, report, within};

const RUNS: usize = 7;

/// Ten scalar fields of a bundle, twice the five that both sides have.
const FIELDS: &str = "id name version release image a: id b: name c: version d: release e: image";

/// Measures execution over one catalog.
pub(crate) fn bench(served: &Arc<Served>) {
    println!(
        "execute over {} bundles",
        served.content.catalog.bundles().len()
    );
    let engine = engine(served, roomy());
    pages(&engine, served);
    page_sizes(&engine);
    let tiles = "{ packages(first: 50) { nodes { id name description catalog { name } defaultChannel { name } \
                 deprecation { message } } } }";
    let tiles = least_of_many(RUNS, 200, || answer(&engine, tiles));
    within(
        "50 packages × 7 fields, document kept",
        tiles,
        Duration::from_micros(20),
    );
}

/// An engine over one catalog.
pub(crate) fn engine(served: &Arc<Served>, limits: Limits) -> Engine {
    let (mut writer, catalogs) = catalogs();
    writer.publish(Served::new(
        served.name.clone(),
        Content::new(Arc::clone(&served.content.catalog), served.content.digest),
        served.metadata.clone(),
    ));
    Engine::new(catalogs, "test", limits)
}

/// Limits with room for the aliases of the benches.
pub(crate) fn roomy() -> Limits {
    Limits {
        aliases: 1_000,
        ..Limits::default()
    }
}

/// The answer to a document without variables.
pub(crate) fn answer(engine: &Engine, query: &str) -> Vec<u8> {
    let request = Request {
        query: Some(query.into()),
        ..Request::default()
    };
    let answer = engine.execute(&request);
    assert!(
        !answer.body.starts_with(b"{\"errors\""),
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    answer.body
}

/// Twenty pages of 500 bundles, against the same fields by derive macros.
fn pages(engine: &Engine, served: &Served) {
    const PAGES: u32 = 20;
    let mut query = "{".to_owned();
    for page in 0..PAGES {
        write!(
            query,
            " p{page}: bundles(first: 500) {{ nodes {{ ...F }} }}"
        )
        .expect("a string takes all");
    }
    let ours = format!("{query} }} fragment F on Bundle {{ {FIELDS} }}");
    let bytes = answer(engine, &ours).len();
    let ours = least(RUNS, || {
        // A document that was not seen before, so that parsing it counts.
        answer(engine, &format!("{ours}#{:?}", std::time::Instant::now()))
    });
    let theirs = format!("{query} }} fragment F on Bundle {{ {FIELDS} }}");
    let yardstick = derive::yardstick(Arc::clone(&served.content.catalog));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime starts");
    let theirs = least(RUNS, || {
        let response = runtime.block_on(yardstick.execute(theirs.as_str()));
        assert!(response.errors.is_empty(), "{:?}", response.errors);
        serde_json::to_vec(&response).expect("a response is JSON")
    });
    let fields = f64::from(PAGES) * 500.0 * 10.0;
    let speed = |time: Duration| fields / time.as_secs_f64() / 1e6;
    report(
        "20 pages × 500 bundles × 10 fields",
        &format!("{:.1} M/s", speed(ours)),
        None,
    );
    report("  answer", &format!("{} kB", bytes / 1000), None);
    report(
        "  the same by async-graphql's derive macros",
        &format!("{:.1} M/s", speed(theirs)),
        None,
    );
    at_least("  ours / theirs", speed(ours), speed(theirs), 12.0);
}

fn page_sizes(engine: &Engine) {
    let page = |size: u32| {
        let query = format!(
            "{{ bundles(first: {size}) {{ nodes {{ id name version image package {{ name }} }} }} }}"
        );
        least_of_many(RUNS, 50, || answer(engine, &query))
    };
    at_most("a page of 500 / a page of 50", page(500), page(50), 11.0);
}

//! Look-ups: one object by its name, whatever else is served.

use std::sync::Arc;
use std::time::Duration;

use graphql::Engine;
use graphql::limits::Limits;
use serving::{CatalogMetadata, Content, Served, catalogs};

use crate::execute::{answer, engine, roomy};
use crate::measure::{at_most, least_of_many, within};

const RUNS: usize = 9;
const CALLS: u32 = 1_000;
const MOST: Duration = Duration::from_micros(20);

/// Measures look-ups in one catalog, and in it among fifty.
pub(crate) fn bench(served: &Arc<Served>) {
    println!(
        "look up in {} packages",
        served.content.catalog.packages().len()
    );
    let package = served
        .content
        .catalog
        .package_at(served.content.catalog.packages().len() / 2);
    let bundle = package
        .bundles()
        .next()
        .expect("a package has bundles")
        .name();
    let catalog = &served.name;
    let package = package.name();
    let queries = [
        (
            "package by name",
            format!(r#"{{ package(catalog: "{catalog}", name: "{package}") {{ name }} }}"#),
        ),
        (
            "bundle by name",
            format!(
                r#"{{ bundle(catalog: "{catalog}", package: "{package}", name: "{bundle}") {{ version }} }}"#
            ),
        ),
        (
            "channel head",
            format!(
                r#"{{ package(catalog: "{catalog}", name: "{package}") {{ defaultChannel {{ head {{ name }} }} }} }}"#
            ),
        ),
    ];
    let one = engine(served, roomy());
    let fifty = among_fifty(served);
    for (what, query) in queries {
        let alone = least_of_many(RUNS, CALLS, || answer(&one, &query));
        within(what, alone, MOST);
        let among = least_of_many(RUNS, CALLS, || answer(&fifty, &query));
        at_most("  among 50 catalogs / alone", among, alone, 1.3);
    }
}

/// An engine over the catalog and 49 more of the same content.
pub(crate) fn among_fifty(served: &Arc<Served>) -> Engine {
    let (mut writer, catalogs) = catalogs();
    for at in 0..50 {
        writer.publish(Served::new(
            if at == 25 {
                served.name.clone()
            } else {
                format!("catalog-{at:02}")
            },
            Content::new(Arc::clone(&served.content.catalog), served.content.digest),
            CatalogMetadata::default(),
        ));
    }
    Engine::new(catalogs, "test", Limits::default())
}

//! Metrics of catalogs: what is served, how it was loaded, and what the store holds.

use std::fmt;
use std::sync::Arc;

use ::metrics::Label as _;
use fbc_read::Severity;
use images::registry_metrics;
use jiff::Timestamp;
use loading::{CatalogLoads, LoadResult};
use serving::{CatalogName, Served};

use super::Sources;
use super::page::{Page, Scale};

/// The schemas that have a series of their own; others are counted together.
const SCHEMAS: [&str; 4] = [
    "olm.package",
    "olm.channel",
    "olm.bundle",
    "olm.deprecations",
];

/// Severities of problems, as the label has them.
const SEVERITIES: [(&str, Severity); 2] =
    [("error", Severity::Error), ("warning", Severity::Warning)];

/// A wanted catalog, and what is served of it.
struct Catalog {
    name: CatalogName,
    loads: CatalogLoads,
    served: Option<Arc<Served>>,
    digest: String,
}

/// Writes the metrics of wanted catalogs.
pub(super) fn catalogs(page: &mut Page<'_>, sources: &Sources) -> fmt::Result {
    let snapshot = sources.catalogs.snapshot();
    let catalogs = sources.loads.catalogs().into_iter().map(|(name, loads)| {
        let served = snapshot.get(name.as_str()).cloned();
        let digest = served
            .as_ref()
            .map(|served| served.content.digest.to_string())
            .unwrap_or_default();
        Catalog {
            name,
            loads,
            served,
            digest,
        }
    });
    let catalogs: Vec<_> = catalogs.collect();
    contents(page, sources, &catalogs)?;
    times(page, &catalogs)?;
    loads(page, &catalogs)?;
    page.histogram(
        "catalogql_catalog_load_duration_seconds",
        "Time that a stage of a load took.",
        Scale::Seconds,
        sources
            .loads
            .stages()
            .iter()
            .map(|(stage, histogram)| ([("stage", stage.as_str())], histogram)),
    )
}

/// Writes what the contents of catalogs are.
fn contents(page: &mut Page<'_>, sources: &Sources, catalogs: &[Catalog]) -> fmt::Result {
    let served = || {
        catalogs
            .iter()
            .filter_map(|catalog| Some((catalog, catalog.served.as_ref()?)))
    };
    let info = served().map(|(catalog, _)| {
        let kind = catalog.loads.source_kind.as_str();
        (
            [
                ("catalog", catalog.name.as_str()),
                ("digest", catalog.digest.as_str()),
                ("source_kind", kind),
            ],
            1_u64,
        )
    });
    page.gauge(
        "catalogql_catalog_info",
        "The content of a catalog that is served: always 1.",
        info,
    )?;
    let serving = catalogs
        .iter()
        .map(|catalog| (catalog.label(), u64::from(catalog.served.is_some())));
    let blocked = sources
        .controller
        .as_ref()
        .map(|metrics| metrics.blocked())
        .unwrap_or_default();
    // The loader forgets a catalog a moment after the controller has found that its source cannot
    // be used.
    let blocked = blocked
        .iter()
        .filter(|name| catalogs.iter().all(|catalog| catalog.name != **name));
    let serving = serving.chain(blocked.map(|name| ([("catalog", name.as_str())], 0)));
    page.gauge(
        "catalogql_catalog_serving",
        "Whether a wanted catalog is served: 0 or 1.",
        serving,
    )?;
    let bytes =
        served().map(|(catalog, served)| (catalog.label(), served.content.catalog.content().len()));
    page.gauge(
        "catalogql_catalog_bytes",
        "Bytes of the content of a catalog that is served.",
        bytes,
    )?;
    let blobs = served().flat_map(|(catalog, served)| {
        let name = catalog.name.as_str();
        blobs(served).map(move |(schema, count)| ([("catalog", name), ("schema", schema)], count))
    });
    page.gauge(
        "catalogql_catalog_blobs",
        "Blobs of a catalog that is served.",
        blobs,
    )?;
    let problems = served().flat_map(|(catalog, served)| {
        let name = catalog.name.as_str();
        let counts = &served.content.catalog.all_problems().counts;
        SEVERITIES.map(|(text, severity)| {
            (
                [("catalog", name), ("severity", text)],
                counts.of_severity(severity),
            )
        })
    });
    page.gauge(
        "catalogql_catalog_problems",
        "Problems in the content of a catalog that is served.",
        problems,
    )
}

/// Writes when catalogs were loaded.
fn times(page: &mut Page<'_>, catalogs: &[Catalog]) -> fmt::Result {
    let poll = catalogs.iter().map(|catalog| {
        (
            catalog.label(),
            catalog
                .loads
                .poll_interval
                .map_or(0.0, |interval| interval.as_secs_f64()),
        )
    });
    let help = "Time between two polls of the source of a catalog; 0 if it is loaded once.";
    page.gauge("catalogql_catalog_poll_interval_seconds", help, poll)?;
    let last_read = |catalog: &Catalog| catalog.served.as_ref()?.content.last_unpacked;
    let success = catalogs.iter().filter_map(|catalog| {
        Some((
            catalog.label(),
            seconds(catalog.loads.last_success.or_else(|| last_read(catalog))?),
        ))
    });
    let help = "When a source was last found to have the content that is served; when that was read if not by this process.";
    page.gauge(
        "catalogql_catalog_last_success_timestamp_seconds",
        help,
        success,
    )?;
    let change = catalogs
        .iter()
        .filter_map(|catalog| Some((catalog.label(), seconds(last_read(catalog)?))));
    let help = "When the content that is served was first read from its source.";
    page.gauge(
        "catalogql_catalog_last_change_timestamp_seconds",
        help,
        change,
    )
}

fn loads(page: &mut Page<'_>, catalogs: &[Catalog]) -> fmt::Result {
    let loads = catalogs.iter().flat_map(|catalog| {
        let CatalogLoads {
            loaded,
            unchanged,
            failed,
            ..
        } = catalog.loads;
        let counts = [
            (LoadResult::Loaded, loaded),
            (LoadResult::Unchanged, unchanged),
            (LoadResult::Failed, failed),
        ];
        let name = catalog.name.as_str();
        counts.map(|(result, count)| ([("catalog", name), ("result", result.as_str())], count))
    });
    page.counter(
        "catalogql_catalog_loads",
        "Attempts to load a catalog.",
        loads,
    )
}

/// Writes the metrics of requests to registries.
pub(super) fn registries(page: &mut Page<'_>) -> fmt::Result {
    let metrics = registry_metrics();
    let results = [
        ("ok", &metrics.ok),
        ("retried", &metrics.retried),
        ("failed", &metrics.failed),
    ];
    let requests =
        results.map(|(result, count)| ([("kind", "registry"), ("result", result)], count.get()));
    let help =
        "Requests for manifests, configs and layers; retried ones failed and were sent again.";
    page.counter("catalogql_source_requests", help, requests)?;
    let bytes = [([("kind", "registry")], metrics.bytes.get())];
    page.counter(
        "catalogql_source_bytes",
        "Bytes of manifests, configs and layers that came.",
        bytes,
    )
}

/// Writes the metrics of the store. They are left out while its folder cannot be read.
pub(super) fn store(page: &mut Page<'_>, Sources { loads, .. }: &Sources) -> fmt::Result {
    let usage = loads
        .store_usage()
        .inspect_err(|error| tracing::debug!(%error, "cannot measure the store"))
        .ok();
    let series = |value: Option<u64>| value.map(|value| ([], value));
    page.gauge(
        "catalogql_store_bytes",
        "Bytes in the store.",
        series(usage.map(|usage| usage.bytes)),
    )?;
    let quota = series(usage.map(|usage| usage.quota));
    page.gauge(
        "catalogql_store_quota_bytes",
        "Maximum bytes in the store.",
        quota,
    )?;
    page.gauge(
        "catalogql_store_contents",
        "Contents in the store.",
        usage.map(|usage| ([], usage.contents)),
    )
}

impl Catalog {
    fn label(&self) -> [(&'static str, &str); 1] {
        [("catalog", self.name.as_str())]
    }
}

/// Numbers of blobs by schema.
fn blobs(served: &Served) -> impl Iterator<Item = (&'static str, u64)> {
    let schemas = served.content.catalog.schemas();
    let count = |name: &str| {
        schemas
            .iter()
            .filter(|schema| &*schema.schema == name)
            .map(|schema| u64::from(schema.count))
            .sum()
    };
    let known = SCHEMAS.map(|name| (name, count(name)));
    let all: u64 = schemas.iter().map(|schema| u64::from(schema.count)).sum();
    let other = all - known.iter().map(|(_, count)| count).sum::<u64>();
    known.into_iter().chain([("other", other)])
}

fn seconds(moment: Timestamp) -> f64 {
    moment.as_duration().as_secs_f64()
}

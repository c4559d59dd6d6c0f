//! Metrics of catalogs: what is served, how it was loaded, and what the store holds.

use std::fmt;
use std::sync::Arc;

use ::metrics::Label as _;
use bundle_images::{FetchResult, bundle_image_metrics};
use fbc_read::Severity;
use http_server::{MetricsWriter, Scale};
use images::registry_metrics;
use jiff::Timestamp;
use loading::{CatalogLoads, LoadResult, LoadStatistics, VerificationCounts};
use remote_sources::remote_requests;
use serving::{CatalogName, Served, VerificationState};
use webhooks::WebhookMetrics;

use super::ServerMetrics;

/// Schemas with a series of their own; others are counted together, because a catalog may have
/// any number of them.
const SCHEMAS: [&str; 4] = [
    "olm.package",
    "olm.channel",
    "olm.bundle",
    "olm.deprecations",
];

/// Severities of problems, as the label has them.
const SEVERITIES: [(&str, Severity); 2] =
    [("error", Severity::Error), ("warning", Severity::Warning)];

/// A wanted catalog: its loads, and the content that is served.
struct CatalogMetrics {
    name: CatalogName,
    loads: CatalogLoads,
    served: Option<Arc<Served>>,
    digest: String,
}

/// Writes the metrics of wanted catalogs.
pub(super) fn catalogs(writer: &mut MetricsWriter<'_>, metrics: &ServerMetrics) -> fmt::Result {
    let snapshot = metrics.catalogs.snapshot();
    let catalogs = metrics.loads.catalogs().into_iter().map(|(name, loads)| {
        let served = snapshot.get(name.as_str()).cloned();
        let digest = served
            .as_ref()
            .map(|served| served.content.digest.to_string())
            .unwrap_or_default();
        CatalogMetrics {
            name,
            loads,
            served,
            digest,
        }
    });
    let catalogs: Vec<_> = catalogs.collect();
    contents(writer, metrics, &catalogs)?;
    times(writer, &catalogs)?;
    loads(writer, &catalogs)?;
    verifications(writer, &catalogs)?;
    writer.histogram(
        "catalogql_catalog_load_duration_seconds",
        "Time that a stage of a load took.",
        Scale::Seconds,
        metrics
            .loads
            .stages()
            .iter()
            .map(|(stage, histogram)| ([("stage", stage.as_str())], histogram)),
    )
}

/// Writes the metrics of the contents that are served.
fn contents(
    writer: &mut MetricsWriter<'_>,
    metrics: &ServerMetrics,
    catalogs: &[CatalogMetrics],
) -> fmt::Result {
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
    writer.gauge(
        "catalogql_catalog_info",
        "The content of a catalog that is served: always 1.",
        info,
    )?;
    let serving = catalogs
        .iter()
        .map(|catalog| (catalog.label(), u64::from(catalog.served.is_some())));
    let blocked = metrics
        .controller
        .as_ref()
        .map(|controller| controller.blocked())
        .unwrap_or_default();
    // The loader forgets a catalog a moment after the controller has found that its source cannot
    // be used.
    let blocked = blocked
        .iter()
        .filter(|name| catalogs.iter().all(|catalog| catalog.name != **name));
    let serving = serving.chain(blocked.map(|name| ([("catalog", name.as_str())], 0)));
    writer.gauge(
        "catalogql_catalog_serving",
        "Whether a wanted catalog is served: 0 or 1.",
        serving,
    )?;
    let bytes =
        served().map(|(catalog, served)| (catalog.label(), served.content.catalog.content().len()));
    writer.gauge(
        "catalogql_catalog_bytes",
        "Bytes of the content of a catalog that is served.",
        bytes,
    )?;
    let blobs = served().flat_map(|(catalog, served)| {
        let name = catalog.name.as_str();
        blobs(served).map(move |(schema, count)| ([("catalog", name), ("schema", schema)], count))
    });
    writer.gauge(
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
    writer.gauge(
        "catalogql_catalog_problems",
        "Problems in the content of a catalog that is served.",
        problems,
    )
}

/// Writes the poll intervals of catalogs and when they were loaded.
fn times(writer: &mut MetricsWriter<'_>, catalogs: &[CatalogMetrics]) -> fmt::Result {
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
    writer.gauge("catalogql_catalog_poll_interval_seconds", help, poll)?;
    let last_read = |catalog: &CatalogMetrics| catalog.served.as_ref()?.content.last_unpacked;
    let success = catalogs.iter().filter_map(|catalog| {
        Some((
            catalog.label(),
            seconds(catalog.loads.last_success.or_else(|| last_read(catalog))?),
        ))
    });
    let help = "When a source was last found to have the content that is served; when that was read if not by this process.";
    writer.gauge(
        "catalogql_catalog_last_success_timestamp_seconds",
        help,
        success,
    )?;
    let change = catalogs
        .iter()
        .filter_map(|catalog| Some((catalog.label(), seconds(last_read(catalog)?))));
    let help = "When the content that is served was first read from its source.";
    writer.gauge(
        "catalogql_catalog_last_change_timestamp_seconds",
        help,
        change,
    )
}

fn loads(writer: &mut MetricsWriter<'_>, catalogs: &[CatalogMetrics]) -> fmt::Result {
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
    writer.counter(
        "catalogql_catalog_loads",
        "Attempts to load a catalog.",
        loads,
    )
}

/// Writes the decisions of the signature policy.
fn verifications(writer: &mut MetricsWriter<'_>, catalogs: &[CatalogMetrics]) -> fmt::Result {
    let counts = catalogs.iter().flat_map(|catalog| {
        let VerificationCounts {
            accepted,
            verified,
            refused,
            ..
        } = catalog.loads.verifications;
        let counts = [
            ("accepted", accepted),
            ("verified", verified),
            ("refused", refused),
        ];
        let name = catalog.name.as_str();
        counts.map(|(result, count)| ([("catalog", name), ("result", result)], count))
    });
    writer.counter(
        "catalogql_signature_verifications",
        "Decisions of the signature policy about the image of a catalog.",
        counts,
    )?;
    let refused = catalogs.iter().map(|catalog| {
        let is_refused = catalog.loads.verifications.last == Some(VerificationState::Refused);
        (catalog.label(), u64::from(is_refused))
    });
    writer.gauge(
        "catalogql_catalog_refused",
        "Whether the signature policy refuses the content that was loaded last: 0 or 1.",
        refused,
    )
}

/// Writes the metrics of requests to registries.
pub(super) fn registries(writer: &mut MetricsWriter<'_>) -> fmt::Result {
    let registry = registry_metrics();
    let results = [
        ("ok", &registry.ok),
        ("retried", &registry.retried),
        ("failed", &registry.failed),
    ];
    let requests =
        results.map(|(result, count)| ([("kind", "registry"), ("result", result)], count.get()));
    let remote = remote_requests().iter().flat_map(|(kind, results)| {
        results.iter().map(move |(result, count)| {
            let labels = [("kind", kind.as_str()), ("result", result.as_str())];
            (labels, count.get())
        })
    });
    let requests = requests.into_iter().chain(remote);
    let help = "Requests for manifests, configs and layers (retried ones failed and were sent again), \
                and polls of HTTP sources.";
    writer.counter("catalogql_source_requests", help, requests)?;
    let bytes = [([("kind", "registry")], registry.bytes.get())];
    writer.counter(
        "catalogql_source_bytes",
        "Bytes of manifests, configs and layers that came.",
        bytes,
    )
}

/// Writes the metrics of bundles that are fetched from their images.
pub(super) fn bundle_images(writer: &mut MetricsWriter<'_>) -> fmt::Result {
    let fetches = bundle_image_metrics();
    let results = FetchResult::ALL
        .iter()
        .map(|&result| ([("result", result.as_str())], fetches[result].get()));
    let help = "Fetches of the manifests of a bundle from its image; kept ones need no registry.";
    writer.counter("catalogql_bundle_image_fetches", help, results)
}

/// Writes the metrics of the store. They are left out while its folder cannot be read.
pub(super) fn store(writer: &mut MetricsWriter<'_>, loads: &LoadStatistics) -> fmt::Result {
    let usage = loads
        .store_usage()
        .inspect_err(|error| tracing::debug!(%error, "cannot measure the store"))
        .ok();
    let series = |value: Option<u64>| value.map(|value| ([], value));
    writer.gauge(
        "catalogql_store_bytes",
        "Bytes in the store.",
        series(usage.map(|usage| usage.bytes)),
    )?;
    let quota = series(usage.map(|usage| usage.quota));
    writer.gauge(
        "catalogql_store_quota_bytes",
        "Maximum bytes in the store.",
        quota,
    )?;
    writer.gauge(
        "catalogql_store_contents",
        "Contents in the store.",
        usage.map(|usage| ([], usage.contents)),
    )
}

/// Writes the metrics of the shared store, if there is one.
pub(super) fn shared_store(writer: &mut MetricsWriter<'_>, loads: &LoadStatistics) -> fmt::Result {
    let Some(metrics) = loads.shared_store() else {
        return Ok(());
    };
    let lookups = metrics.lookups.iter();
    let lookups = lookups.map(|(result, count)| ([("result", result.as_str())], count.get()));
    let help =
        "Searches for the content of an image in the shared store, before the image is pulled.";
    writer.counter("catalogql_shared_store_lookups", help, lookups)?;
    let uploads = metrics.uploads.iter();
    let uploads = uploads.map(|(result, count)| ([("result", result.as_str())], count.get()));
    let help = "Contents of pulled images that were to be uploaded to the shared store.";
    writer.counter("catalogql_shared_store_uploads", help, uploads)
}

/// Writes the metrics of webhooks.
pub(super) fn webhooks(writer: &mut MetricsWriter<'_>, metrics: &WebhookMetrics) -> fmt::Result {
    let results = metrics.results.iter();
    let results = results.map(|(result, count)| ([("result", result.as_str())], count.get()));
    let help = "Attempts to send a change of a catalog to a webhook that succeeded or failed, and changes that were given up.";
    writer.counter("catalogql_webhook_events", help, results)?;
    let help = "Changes of catalogs that wait for a webhook.";
    writer.gauge(
        "catalogql_webhook_pending_events",
        help,
        [([], metrics.pending.get())],
    )
}

impl CatalogMetrics {
    fn label(&self) -> [(&'static str, &str); 1] {
        [("catalog", self.name.as_str())]
    }
}

/// Returns the numbers of blobs by schema.
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
